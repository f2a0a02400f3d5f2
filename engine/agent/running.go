package agent

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"bellwether/engine/dialect"
	"bellwether/engine/fleet"
	"bellwether/engine/runtime"
)

// Do runs one granted request. It admits (all checks in one step of the loop),
// loads the model if it must, and starts the call; it returns when the runtime
// begins to answer. The error is a *fleet.Refusal (nothing happened, and no
// Released follows) or a *fleet.Failure (the one Released has been or is being
// sent). Cancelling ctx ends the call at the runtime at once, or lets it run
// to its end unseen where the runtime is declared to drain.
func (a *Agent) Do(ctx context.Context, g fleet.Grant, r *dialect.Request) (*Running, error) {
	v := a.knock(&admission{grant: g, unload: unloads(r), keep: r.KeepAlive, at: a.cfg.Now()})
	if v.refusal != nil {
		return nil, v.refusal
	}
	run := newRunning(ctx, v.lease)
	if err := run.start(ctx, r); err != nil {
		return nil, err
	}
	return run, nil
}

// unloads reports whether a request is an Ollama client's order to unload.
func unloads(r *dialect.Request) bool {
	if !r.LoadOnly {
		return false
	}
	switch string(r.KeepAlive) {
	case "0", `"0"`, `"0s"`, `"0m"`, `"0h"`:
		return true
	}
	return false
}

// Running is a granted request under way: the runtime's answer with the
// agent's deadlines around it. It is a dialect.Stream. Its end (EOF, an error,
// Close, or the end of Do's ctx, whichever is first) sends the one Released.
type Running struct {
	lease  *lease
	stream dialect.Stream
	edits  []string
	load   time.Duration
	untie  func() bool // stops watching the client
	unhook func() bool // stops watching the lease's own context

	first, idle, total time.Duration // since lease.began; idle since the last chunk
	timer              *time.Timer
	// waiting is when the reader began to wait for the next chunk, since
	// lease.began in ns; -1 while it does not wait: a reader that is slow to
	// come back is not the runtime's silence.
	waiting atomic.Int64

	// reading is held while the stream's Next runs: one reader at a time, and a
	// drain takes over from the client's.
	reading sync.Mutex
	opened  atomic.Bool   // stream is there; what is written before it may be read after it
	sent    bool          // the request left for the runtime
	content time.Duration // to first content, load excluded
	// streamed says that content came before the end; times are the runtime's own.
	streamed bool
	times    *dialect.Timings
	ended    time.Duration // since lease.began, when the end marker came
	final    bool          // the runtime's end marker was passed on
	lent     bool          // a chunk was handed out and not yet given back; reading guards it
	left     atomic.Bool   // drained: the client left; whoever reads closes
	closed   atomic.Bool
	over     atomic.Bool
}

var _ dialect.Stream = (*Running)(nil)

func newRunning(ctx context.Context, le *lease) *Running {
	g, own := le.grant, le.adapter.Target()
	r := &Running{
		lease: le,
		first: tightest(orElse(g.FirstContent, defaultFirstContent), own.FirstContent),
		idle:  tightest(orElse(g.Idle, defaultIdle), own.Idle),
		total: tightest(orElse(g.Total, defaultTotal), own.Total),
	}
	r.waiting.Store(-1)
	r.timer = time.AfterFunc(time.Hour, r.check)
	r.timer.Reset(min(r.first, r.total)) // only now may it fire: check uses r.timer
	r.unhook = le.ctx.AfterFunc(r.cutOff)
	if !le.drain {
		r.untie = context.AfterFunc(ctx, func() { le.cut(clientGone(ctx)) })
	}
	return r
}

func orElse(d, fallback time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return fallback
}

// tightest applies a runtime's own deadline (runtimes[].timeouts); 0 = none.
func tightest(d, own time.Duration) time.Duration {
	if own > 0 {
		return min(d, own)
	}
	return d
}

func (r *Running) since() time.Duration { return time.Since(r.lease.began) }

// check runs when the timer fires. Deadlines are looked at here only, so that
// a chunk costs two stores and no timer.
func (r *Running) check() {
	if r.over.Load() {
		return
	}
	now := r.since()
	next := r.total - now
	if next <= 0 {
		r.expire("the request took longer than its total time of " + r.total.Round(time.Millisecond).String())
		return
	}
	if r.lease.content.Load() == 0 {
		left := r.first - now
		if left <= 0 {
			r.expire("no content came within " + r.first.String())
			return
		}
		r.timer.Reset(min(next, left))
		return
	}
	left := r.idle
	if w := r.waiting.Load(); w >= 0 {
		left = time.Duration(w) + r.idle - now
	}
	if left <= 0 {
		r.expire("the runtime was silent for " + r.idle.String())
		return
	}
	r.timer.Reset(min(next, left))
}

func (r *Running) expire(why string) {
	r.lease.cut(&fleet.Failure{Class: fleet.FailTimeout, Message: why, MayRun: true})
}

// cutOff runs when the call was cut, by whomever: it frees slot and memory even
// if the reader never comes back. Before the stream is open, open itself sees
// the end.
func (r *Running) cutOff() {
	if r.opened.Load() {
		r.Close()
	}
}

// start waits for the load and the ledger, then opens the call.
func (r *Running) start(ctx context.Context, q *dialect.Request) error {
	if r.lease.drain {
		return r.startDrained(ctx, q)
	}
	return r.open(q)
}

func (r *Running) open(q *dialect.Request) error {
	le := r.lease
	if err := r.wait(); err != nil {
		return r.fail(err)
	}
	r.sent = true
	le.sent.Store(int64(max(r.since(), 1)))
	s, edits, err := le.adapter.Do(le.ctx, runtime.Call{
		Request: q, Model: le.deployment.ID.Model, Context: le.grant.Context,
		Output: le.grant.Output, Deployment: le.deployment,
	})
	if err != nil {
		return r.fail(err)
	}
	r.stream, r.edits = s, edits
	r.opened.Store(true)
	if le.ctx.Err() != nil { // it ended while nobody could close the stream yet
		r.Close()
	}
	return nil
}

// startDrained opens a call that must outlive its client: beside the client's
// goroutine, so that this one can leave.
func (r *Running) startDrained(ctx context.Context, q *dialect.Request) error {
	opened := make(chan error, 1) // read by whoever is still there
	r.lease.a.work.Go(func() { opened <- r.open(q) })
	select {
	case err := <-opened:
		if err == nil {
			r.reading.Lock() // a Close may end the call, and look at untie, at once
			defer r.reading.Unlock()
			r.untie = context.AfterFunc(ctx, r.leave)
		}
		return err
	case <-ctx.Done():
		r.lease.a.work.Go(func() {
			if <-opened == nil {
				r.Close()
			}
		})
		return clientGone(ctx)
	}
}

// wait is the part before the call: the load, then the saved assumption.
func (r *Running) wait() error {
	le := r.lease
	if le.load != nil {
		select {
		case <-le.load.done:
			r.load = r.since()
			if le.load.err != nil {
				return le.load.err
			}
		case <-le.ctx.Done():
			r.load = r.since()
			return context.Cause(le.ctx)
		}
	}
	if le.saved != nil {
		select {
		case <-le.saved:
		case <-le.ctx.Done():
		}
	}
	if le.ctx.Err() != nil {
		return context.Cause(le.ctx)
	}
	return nil
}

// Next returns the next chunk; see dialect.Stream.
func (r *Running) Next() (*dialect.Chunk, error) {
	r.reading.Lock()
	defer r.reading.Unlock()
	r.lent = false
	if r.gone() {
		return nil, r.closedError()
	}
	c, err := r.next()
	if err != nil {
		return nil, err
	}
	if r.gone() {
		return nil, r.closedError()
	}
	r.lent = true
	return c, nil
}

// gone reports whether the answer was closed; where its client left, it closes
// it. The caller holds reading and no chunk.
func (r *Running) gone() bool {
	if r.left.Load() {
		r.Close() // drained: does not wait for reading
	}
	return r.closed.Load()
}

// leave is the client's going where the call is drained. A chunk is its
// reader's until they come back, so what reads the rest must wait for that.
func (r *Running) leave() {
	r.left.Store(true)
	if !r.reading.TryLock() {
		return // the reader is in Next, and sees it there
	}
	lent := r.lent
	r.reading.Unlock()
	if !lent {
		r.Close()
	}
}

// next reads the stream; the caller holds reading.
func (r *Running) next() (*dialect.Chunk, error) {
	r.waiting.Store(int64(r.since()))
	c, err := r.stream.Next()
	r.waiting.Store(-1)
	if err != nil {
		return nil, r.endOf(err)
	}
	if (c.HasContent() || c.Held) && r.lease.content.Load() == 0 {
		at := max(r.since(), 1)
		r.content = max(at-r.load, 1)
		r.lease.content.Store(int64(at))
		r.streamed = !c.Final
		r.timer.Reset(min(r.idle, r.total)) // from the deadline of the first to that of the next
	}
	r.final = r.final || c.Final
	if c.Timings != nil {
		r.times = c.Timings
	}
	if c.Final {
		r.ended = r.since()
	}
	return c, nil
}

// closedError is what reading after the end gives.
func (r *Running) closedError() error {
	if cause := context.Cause(r.lease.ctx); cause != nil {
		var f *fleet.Failure
		if errors.As(cause, &f) {
			return f
		}
	}
	return &fleet.Failure{Class: fleet.FailCancelled, Message: "the answer was closed"}
}

// endOf turns the stream's end into ours.
func (r *Running) endOf(err error) error {
	if errors.Is(err, io.EOF) {
		r.finish(nil)
		return io.EOF
	}
	return r.fail(err)
}

// fail ends the request with an error. Where we cut the call ourselves, the
// reason we had counts, not what the adapter made of it.
func (r *Running) fail(err error) error {
	f := failureOf(err)
	var ours *fleet.Failure
	if errors.As(context.Cause(r.lease.ctx), &ours) && f.Class != fleet.FailConnect {
		mine := *ours
		mine.MayRun = r.sent && (f.MayRun || ours.MayRun)
		f = &mine
	}
	r.finish(f)
	return f
}

// finish gives everything back, once.
func (r *Running) finish(f *fleet.Failure) {
	if !r.over.CompareAndSwap(false, true) {
		return
	}
	r.timer.Stop()
	r.unhook()
	if r.untie != nil {
		r.untie()
	}
	r.lease.release(ending{failure: f, sent: r.sent, load: r.load, content: r.content, finished: f == nil, work: r.work()})
}

// work is what the call shows of its time at the runtime.
func (r *Running) work() workShown {
	le := r.lease
	w := workShown{sent: le.began.Add(time.Duration(le.sent.Load())), end: le.began.Add(r.ended), times: r.times}
	if r.streamed {
		w.content = le.began.Add(time.Duration(le.content.Load()))
	}
	return w
}

// Buffered reports whether a whole further frame is here already.
func (r *Running) Buffered() bool { return r.stream.Buffered() }

// Close ends the call; at any time, more than once. With a draining runtime it
// only lets go: the call runs to its end, keeping its slot.
func (r *Running) Close() {
	if r.closed.Swap(true) {
		return
	}
	switch {
	case r.over.Load():
		r.stream.Close()
	case r.lease.drain:
		r.lease.a.work.Go(r.runDry)
	case r.whole():
	default:
		r.lease.cut(&fleet.Failure{Class: fleet.FailCancelled, Message: "the caller closed the answer"})
		r.stream.Close()
		// A Next under way ends now and may still report how it really ended.
		r.reading.Lock()
		defer r.reading.Unlock()
		if r.final {
			r.finish(nil)
			return
		}
		_ = r.fail(r.closedError())
	}
}

// whole ends a call whose end marker was passed on, the common case: there is
// nothing to cut, and so nobody to tell. It reports whether that was so.
func (r *Running) whole() bool {
	if !r.reading.TryLock() {
		return false // in Next
	}
	defer r.reading.Unlock()
	if r.final {
		r.stream.Close()
		r.finish(nil)
	}
	return r.final
}

// Recycle lets the memory of an answer be used again that was read to its end
// marker. Only for its reader, on its own goroutine and when it looks at no
// chunk any more; of an answer that ended otherwise nothing is taken back.
func (r *Running) Recycle() {
	if !r.reading.TryLock() {
		return // somebody is about to end it
	}
	defer r.reading.Unlock()
	if s, can := r.stream.(runtime.Recycler); can && r.final {
		s.Recycle()
	}
}

// runDry reads an abandoned call to its end. Deadlines go on.
func (r *Running) runDry() {
	r.reading.Lock()
	defer r.reading.Unlock()
	for {
		if _, err := r.next(); err != nil {
			r.stream.Close()
			return
		}
	}
}

// Edits lists in words what the adapter changed in the body.
func (r *Running) Edits() []string { return r.edits }

// LoadTime is how long the request waited for its model to load; 0 = not at all.
func (r *Running) LoadTime() time.Duration { return r.load }

// Notes are the adapter's remarks on the answer, complete after its end.
func (r *Running) Notes() []string {
	if n, ok := r.stream.(runtime.Noter); ok {
		return n.Notes()
	}
	return nil
}
