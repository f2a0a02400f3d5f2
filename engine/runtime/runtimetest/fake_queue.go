package runtimetest

import (
	"context"
	"fmt"
	"time"
)

// pending is a request that needs a load first (Ollama's pending queue). The
// first of the list is in work, the others wait.
type pending struct {
	m     *model
	ctx   int
	ready chan placed // buffer 1: step never waits for the request
	alone bool        // no request waits: the load is its own end
}

type placed struct {
	rn  *runner
	err error
}

// acquire brings the model into memory if it must and returns with a slot of
// it. It fails with ctx's error when the client leaves, which aborts a load
// that was begun for this request.
func (f *Fake) acquire(ctx context.Context, m *model, numCtx int, keep time.Duration) (*runner, error) {
	want := f.contextFor(m, numCtx)
	f.mu.Lock()
	rn := f.runners[m.key]
	if rn != nil && !rn.loading && !rn.broken && rn.ctx == want {
		f.join(rn, keep)
		f.mu.Unlock()
		return rn, nil
	}
	if f.single() && rn != nil && rn.loading {
		f.mu.Unlock()
		return nil, errLoading
	}
	if f.config.Kind == Ollama && len(f.pending) > f.config.MaxQueue {
		f.mu.Unlock()
		return nil, errQueueFull
	}
	p := &pending{m: m, ctx: want, ready: make(chan placed, 1)}
	f.pending = append(f.pending, p)
	f.stats(m.key).waiting++
	f.step()
	f.mu.Unlock()
	f.bell.ring()

	select {
	case got := <-p.ready:
		f.arrived(m, got.rn, keep)
		return got.rn, got.err
	case <-ctx.Done():
		f.withdraw(p)
		return nil, ctx.Err()
	}
}

// arrived ends the wait for a load; step has counted the request in.
func (f *Fake) arrived(m *model, rn *runner, keep time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stats(m.key).waiting--
	if rn != nil {
		rn.keep = keep
	}
}

// withdraw takes an abandoned request out of the queue. A load begun for it is
// aborted, as Ollama does, even when others wait for the same model: they
// begin it again.
func (f *Fake) withdraw(p *pending) {
	f.mu.Lock()
	defer f.mu.Unlock()
	defer f.bell.ring()
	f.stats(p.m.key).waiting--
	for i, q := range f.pending {
		if q != p {
			continue
		}
		if rn := f.runners[p.m.key]; i == 0 && rn != nil && rn.loading {
			f.remove(rn)
		}
		f.pending = append(f.pending[:i:i], f.pending[i+1:]...)
		f.step()
		return
	}
	if got := <-p.ready; got.rn != nil { // placed in the same moment
		f.leave(got.rn)
	}
}

// join counts a request in. Called with the lock held.
func (f *Fake) join(rn *runner, keep time.Duration) {
	rn.refs++
	rn.keep = keep
	rn.used = time.Now()
	if rn.expiry != nil {
		rn.expiry.Stop()
		rn.expiry = nil
	}
}

// leave counts it out, and decides whether the runner stays. Called with the
// lock held.
func (f *Fake) leave(rn *runner) {
	rn.refs--
	if rn.refs > 0 || rn.gone {
		return
	}
	if rn.evict || rn.keep == 0 {
		f.remove(rn)
		f.step()
		return
	}
	f.rest(rn)
	f.step()
}

// rest starts the keep-alive of an idle runner. Called with the lock held.
func (f *Fake) rest(rn *runner) {
	rn.expires = time.Now().Add(rn.keep)
	if rn.keep == forever || f.config.Kind != Ollama {
		return
	}
	rn.expiry = time.AfterFunc(rn.keep, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if rn.refs == 0 && !rn.gone && rn.expiry != nil && !time.Now().Before(rn.expires) {
			f.remove(rn)
			f.step()
			f.bell.ring()
		}
	})
}

// remove takes a runner out of memory. Called with the lock held.
func (f *Fake) remove(rn *runner) {
	rn.gone = true
	for _, t := range []*time.Timer{rn.load, rn.expiry} {
		if t != nil {
			t.Stop()
		}
	}
	if f.runners[rn.m.key] == rn {
		delete(f.runners, rn.m.key)
	}
}

// step works on the head of the queue until it must wait for something.
// Called with the lock held after every change it may depend on.
func (f *Fake) step() {
	for len(f.pending) > 0 {
		p := f.pending[0]
		rn := f.runners[p.m.key]
		switch {
		case rn != nil && rn.loading:
			return
		case rn != nil && rn.broken:
			f.remove(rn)
		case rn != nil && rn.ctx == p.ctx:
			f.join(rn, rn.keep)
			f.place(placed{rn: rn})
		case rn != nil: // another num_ctx: everything it runs ends first, then it is loaded anew
			if !f.vacate(rn) {
				return
			}
		case f.cannotFit(p) != nil:
			f.place(placed{err: f.cannotFit(p)})
		case f.full(p):
			if !f.vacate(f.victim()) {
				return
			}
		default:
			f.beginLoad(p)
		}
	}
}

// place answers the head of the queue.
func (f *Fake) place(got placed) {
	p := f.pending[0]
	f.pending = f.pending[1:]
	if !p.alone {
		p.ready <- got
		return
	}
	if got.rn != nil {
		got.rn.refs--
		f.rest(got.rn)
	}
}

// vacate removes an idle runner; a busy one is told to go when it is idle.
func (f *Fake) vacate(rn *runner) bool {
	if rn.refs > 0 {
		rn.evict = true
		return false
	}
	f.remove(rn)
	return true
}

// full reports whether something must leave before p can be loaded.
func (f *Fake) full(p *pending) bool {
	if len(f.runners) == 0 {
		return false
	}
	if len(f.runners) >= f.config.MaxLoaded {
		return true
	}
	return f.config.MemoryBytes > 0 && f.residentBytes()+p.m.resident(p.ctx, f.config.Parallel) > f.config.MemoryBytes
}

func (f *Fake) residentBytes() (sum int64) {
	for _, rn := range f.runners {
		sum += rn.m.resident(rn.ctx, f.config.Parallel)
	}
	return sum
}

// victim chooses what leaves: idle before busy, the shortest keep-alive, the
// least recently used, the name.
func (f *Fake) victim() *runner {
	var best *runner
	for _, rn := range f.runners {
		if best == nil || before(rn, best) {
			best = rn
		}
	}
	return best
}

func before(a, b *runner) bool {
	switch {
	case (a.refs == 0) != (b.refs == 0):
		return a.refs == 0
	case a.keep != b.keep:
		return a.keep < b.keep
	case !a.used.Equal(b.used):
		return a.used.Before(b.used)
	}
	return a.m.key < b.m.key
}

// cannotFit says why the model can never be loaded here, nil when it can.
func (f *Fake) cannotFit(p *pending) error {
	need := p.m.resident(p.ctx, f.config.Parallel)
	if f.config.MemoryBytes <= 0 || need <= f.config.MemoryBytes {
		return nil
	}
	return tooLittleMemory(need, f.config.MemoryBytes)
}

// beginLoad starts the load of the head's model. Called with the lock held.
func (f *Fake) beginLoad(p *pending) {
	rn := &runner{m: p.m, ctx: p.ctx, loading: true, dead: make(chan struct{}), used: time.Now()}
	for i := range f.config.Parallel {
		rn.slots = append(rn.slots, &slot{id: i})
	}
	f.ports++
	rn.port = 50000 + f.ports%10000
	f.runners[p.m.key] = rn
	delay, failure := f.faults.load(p.m.key, f.key)
	if p.m.Broken != "" {
		failure = p.m.Broken
	}
	delay += p.m.loadTime(f.config.LoadBytesPerSecond)
	if delay <= 0 {
		f.endLoad(rn, failure)
		return
	}
	rn.load = time.AfterFunc(delay, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if rn.gone {
			return
		}
		f.endLoad(rn, failure)
		f.step()
		f.bell.ring()
	})
}

// endLoad makes the runner usable, or fails its request. Called with the lock
// held; step goes on with the queue.
func (f *Fake) endLoad(rn *runner, failure string) {
	rn.loading = false
	if failure != "" {
		f.remove(rn)
		if len(f.pending) > 0 && f.pending[0].m == rn.m {
			f.place(placed{err: loadError(failure)})
		}
		return
	}
	f.stats(rn.m.key).loads++
	rn.keep = f.config.KeepAlive
	f.rest(rn)
}

// tooLittleMemory is Ollama's answer when a model can never fit.
func tooLittleMemory(need, have int64) error {
	return loadError(fmt.Sprintf("model requires more system memory (%.1f GiB) than is available (%.1f GiB)",
		float64(need)/(1<<30), float64(have)/(1<<30)))
}

// loadError is why a load failed, in the words of the answer.
type loadError string

func (e loadError) Error() string { return string(e) }
