package agent

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"bellwether/engine/fleet"
	"bellwether/engine/runtime"
)

// lease is one admitted grant: a slot and its memory, from admission to the
// one Released. The loop makes it and takes it back; between, the request's
// goroutine uses what does not change.
type lease struct {
	a          *Agent
	grant      *fleet.Grant // of its admission; never changed
	key        string       // of its reservation in the ledger
	server     *server
	adapter    runtime.Adapter
	deployment *fleet.Deployment // as of admission; never changed
	confirms   bool              // an aborted call certainly ends at the runtime
	drain      bool              // an abandoned call runs to its end
	own        bool              // the owner's order to load: no router waits for its Released

	load  *load           // joined; nil = none needed
	saved <-chan struct{} // closed when the assumption is on file; nil = it is
	fresh bool            // it is the first to assume the deployment in memory

	ctx      *callContext
	beside   int          // requests running on the deployment at admission, itself included
	began    time.Time    // admission, on the process clock
	sent     atomic.Int64 // when the request left, since began in ns; 0 = it has not
	content  atomic.Int64 // when the answer's body began, since began in ns; 0 = it has not
	released atomic.Bool
}

func newLease(a *Agent, srv *server, d *fleet.Deployment, m *admission) *lease {
	le := &lease{
		a: a, grant: &m.grant, key: m.grant.ID, server: srv, adapter: srv.adapter, deployment: d, own: m.own,
		confirms: srv.adapter.ConfirmsCancel(), drain: srv.target.Drain, began: time.Now(),
	}
	le.ctx = newCallContext()
	return le
}

// join makes the lease one of those who wait for a load.
func (le *lease) join(ld *load) {
	le.load = ld
	ld.waiters++
}

// cut ends the call with a cause: a deadline, the owner, the end of the node.
func (le *lease) cut(cause *fleet.Failure) { le.ctx.end(cause) }

// ending is how a lease's work ended.
type ending struct {
	failure  *fleet.Failure // nil = well
	sent     bool           // the request itself left for the runtime
	load     time.Duration
	content  time.Duration // admission to first content, load excluded; 0 = none came
	finished bool          // the runtime's own end was seen
	work     workShown
}

// uncertain reports whether the call may still be running: after one of our
// deadlines always, after an abort unless the runtime is known to stop then,
// and where the adapter says so (routing.md 12).
func (e *ending) uncertain(confirms bool) bool {
	switch f := e.failure; {
	case f == nil || !e.sent:
		return false
	case f.Class == fleet.FailTimeout:
		return true
	case f.Class == fleet.FailCancelled || f.Class == fleet.FailRefused:
		return !confirms
	default:
		return f.MayRun
	}
}

// release gives the lease back, once. Where an aborted call may still run and
// the runtime can be asked, it is asked first: a call confirmed to have ended
// needs no hold.
func (le *lease) release(e ending) {
	if !le.released.CompareAndSwap(false, true) {
		return
	}
	cut := le.ctx.Err() != nil // by us, before the end
	le.ctx.end(nil)
	m := &ended{lease: le, ending: e, uncertain: e.uncertain(le.confirms)}
	aborted := e.failure != nil && e.failure.Class != fleet.FailTimeout
	idler, can := le.adapter.(runtime.Idler)
	switch {
	case m.uncertain && aborted && can:
		le.a.work.Go(func() {
			m.uncertain = !le.confirmIdle(idler)
			le.a.finish(m)
		})
	case aborted && e.sent && cut && !m.uncertain:
		time.AfterFunc(abortNotice, func() { le.a.finish(m) })
	default:
		le.a.finish(m)
	}
}

// abortNotice is the moment a runtime that stops with its connection gets to
// notice that it was closed. Without it the next request would for an instant
// run beside the aborted one, beyond the slots.
const abortNotice = 20 * time.Millisecond

// finish hands an ended lease to the loop; after the loop's end only the
// Released is left to send.
func (a *Agent) finish(m *ended) {
	if !a.post(m) && !m.lease.own {
		a.cfg.Release(m.released(0))
	}
}

// idleTries are the pauses between the questions whether an aborted call has
// ended. Servers notice a closed connection at their next token.
var idleTries = [...]time.Duration{50 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond, time.Second}

// confirmIdle asks whether at most the other requests of ours run there.
func (le *lease) confirmIdle(idler runtime.Idler) bool {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	for _, pause := range idleTries {
		t := time.NewTimer(pause)
		select {
		case <-t.C:
		case <-le.a.done:
			t.Stop()
			return false
		}
		others := 0
		if le.a.ask(ctx, func(s *state) { others = len(s.lane(le.deployment.ID).leases) - 1 }) != nil {
			return false
		}
		if idle, err := idler.Idle(ctx, le.deployment.ID.Model, others); err == nil && idle {
			return true
		}
	}
	return false
}

// ended takes a lease back into the loop.
type ended struct {
	lease *lease
	ending
	uncertain bool
}

func (m *ended) released(hold time.Duration) fleet.Released {
	le := m.lease
	return fleet.Released{
		Grant: le.grant.ID, Node: le.a.cfg.Node, Deployment: le.deployment.ID,
		Sequence: le.grant.Sequence, Uncertain: hold, Load: m.load,
	}
}

func (m *ended) on(s *state) {
	le := m.lease
	l := s.lane(le.deployment.ID)
	l.remove(le)
	s.admitted--
	now := s.now()
	l.usedAt = now
	var hold time.Duration
	if m.uncertain && s.set.UncertainHold > 0 {
		hold = s.set.UncertainHold
		s.ledger.Hold(le.key, hold, now)
		l.holds = append(l.holds, now.Add(hold))
		s.dirty = true
		s.saveSoon()
	} else {
		s.ledger.Release(le.key, s.provenFrom(le.server, m.failure != nil && m.sent, now))
		s.forgetCall(le)
	}
	if le.load != nil {
		s.leave(le.load)
	}
	s.afterCall(l, m, now)
	s.learnParallel(l, m)
	if !le.own {
		s.a.cfg.Release(m.released(hold))
	}
	if s.refused || m.failure != nil || le.fresh || le.load != nil {
		s.dirty = true // a lane that we closed may open; memory may have come free
	}
}

// afterCall draws the conclusions from an ended call.
func (s *state) afterCall(l *lane, m *ended, now time.Time) {
	le := m.lease
	f := m.failure
	le.server.noteKey(f, m.finished && m.sent)
	nothingSent := !m.sent || f != nil && f.Class == fleet.FailConnect
	if le.fresh && nothingSent && len(l.leases) == 0 && !s.resident(l.id) {
		s.ledger.Depart(l.id) // what was assumed for its sake
		s.saveSoon()
	}
	switch {
	case f != nil && f.Class == fleet.FailConnect && !le.server.removed:
		s.onBlind(le.server, f) // as good as an observation that finds it down
		s.observe(le.server)
	case f != nil && (f.Class == fleet.FailBeforeOpen || f.Class == fleet.FailMidStream || f.Class == fleet.FailLoad):
		s.observe(le.server) // the runtime may have died
	case le.fresh || le.load != nil:
		s.observe(le.server) // what was loaded has a measured size now
	}
	if m.content > 0 && l.pace.add(m.content) {
		s.dirty = true
	}
}

// noteKey takes from a call whether its runtime takes our key: some ask for it
// only there, and answer those who look.
func (srv *server) noteKey(f *fleet.Failure, well bool) {
	switch {
	case f != nil && f.Code == runtime.CodeUnauthorized:
		srv.locked = f.Message
	case well:
		srv.locked = ""
	}
}

// failureOf makes a Failure of whatever an adapter returned.
func failureOf(err error) *fleet.Failure {
	var f *fleet.Failure
	if errors.As(err, &f) {
		return f
	}
	return &fleet.Failure{Class: fleet.FailBeforeOpen, Message: err.Error()}
}
