package runtimetest

import (
	"bytes"
	"context"
	"errors"
	"sync/atomic"
	"time"
)

// runner is one loaded model, or one being loaded. The fake's mutex guards all
// of it except dead, which is closed once.
type runner struct {
	m       *model
	ctx     int // tokens per slot
	loading bool
	gone    bool          // out of the table: holders finish, nobody joins
	broken  bool          // its process was killed
	dead    chan struct{} // closed with broken
	load    *time.Timer   // ends the load

	refs    int // requests that hold a slot of it or wait for one
	slots   []*slot
	waiting []*seat

	keep    time.Duration
	expires time.Time
	expiry  *time.Timer // nil while refs > 0
	evict   bool        // leaves as soon as refs is 0
	used    time.Time   // for least-recently-used eviction
	port    int         // of its process, as llama-server's router tells
}

// slot is one place of a runner, with the prompt its cache holds.
type slot struct {
	id     int
	busy   bool
	task   int
	prompt []byte
	n      int // tokens of prompt
	used   time.Time
	// of the request that runs, for /slots
	limit, cached int
	said          atomic.Int32
}

// seat is a request in line for a slot of a loaded runner.
type seat struct{ turn chan *slot }

// lease is a slot held by a request. Exactly one release each.
type lease struct {
	f      *Fake
	rn     *runner
	sl     *slot
	cached int // prompt tokens found in the slot's cache
}

// Refusals of acquire.
var (
	errQueueFull = errors.New("server busy, please try again.  maximum pending requests exceeded")
	errLoading   = errors.New("Loading model") // llama-server's words
	errRunner    = errors.New("an error was encountered while running the model: unexpected EOF")
)

// sit takes a slot of a runner the request has joined, in order of arrival.
// On error the request has left the runner.
func (f *Fake) sit(ctx context.Context, rn *runner, a *ask) (*lease, error) {
	f.mu.Lock()
	if rn.broken {
		f.leave(rn)
		f.mu.Unlock()
		return nil, errRunner
	}
	if sl := rn.free(a.prompt); sl != nil && len(rn.waiting) == 0 {
		l := f.take(rn, sl, a)
		f.mu.Unlock()
		f.bell.ring()
		return l, nil
	}
	s := &seat{turn: make(chan *slot, 1)}
	rn.waiting = append(rn.waiting, s)
	f.stats(rn.m.key).waiting++
	f.mu.Unlock()
	f.bell.ring()

	var err error
	select {
	case sl := <-s.turn:
		f.mu.Lock()
		defer f.mu.Unlock()
		f.stats(rn.m.key).waiting--
		f.bell.ring()
		return f.take(rn, sl, a), nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-rn.dead:
		err = errRunner
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stats(rn.m.key).waiting--
	select {
	case sl := <-s.turn: // called in the same moment: the next one gets it
		sl.busy = false
		rn.call()
	default:
		rn.giveUp(s)
	}
	f.leave(rn)
	f.bell.ring()
	return nil, err
}

// take fills a slot. Called with the lock held.
func (f *Fake) take(rn *runner, sl *slot, a *ask) *lease {
	sl.busy = true
	f.tasks++
	sl.task = f.tasks
	n := a.promptTokens(rn.m)
	cached := int(float64(sharedPrefix(sl.prompt, a.prompt)) / float64(max(1, len(a.prompt))) * float64(n))
	sl.prompt, sl.n, sl.used = a.prompt, n, time.Now()
	sl.limit, sl.cached = a.max, max(0, min(cached, n-1))
	sl.said.Store(0)
	st := f.stats(rn.m.key)
	st.running++
	st.most = max(st.most, st.running)
	return &lease{f: f, rn: rn, sl: sl, cached: sl.cached}
}

// release gives the slot back.
func (l *lease) release() {
	f := l.f
	f.mu.Lock()
	f.stats(l.rn.m.key).running--
	l.sl.busy = false
	l.rn.call()
	f.leave(l.rn)
	f.mu.Unlock()
	f.bell.ring()
}

// free finds an idle slot: the one whose cache begins most like prompt, else
// the one unused for longest.
func (rn *runner) free(prompt []byte) *slot {
	var best *slot
	most := -1
	for _, s := range rn.slots {
		if s.busy {
			continue
		}
		like := sharedPrefix(s.prompt, prompt)
		if best == nil || like > most || like == most && s.used.Before(best.used) {
			best, most = s, like
		}
	}
	return best
}

// call hands a free slot to the first in line.
func (rn *runner) call() {
	for len(rn.waiting) > 0 {
		sl := rn.free(nil)
		if sl == nil {
			return
		}
		sl.busy = true
		rn.waiting[0].turn <- sl
		rn.waiting = rn.waiting[1:]
	}
}

func (rn *runner) giveUp(s *seat) {
	for i, other := range rn.waiting {
		if other == s {
			rn.waiting = append(rn.waiting[:i:i], rn.waiting[i+1:]...)
			return
		}
	}
}

// sharedPrefix is the number of bytes a and b begin with in common.
func sharedPrefix(a, b []byte) int {
	const block = 1024
	n, i := min(len(a), len(b)), 0
	for i+block <= n && bytes.Equal(a[i:i+block], b[i:i+block]) {
		i += block
	}
	for i < n && a[i] == b[i] {
		i++
	}
	return i
}
