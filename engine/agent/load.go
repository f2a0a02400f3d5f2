package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"bellwether/engine/budget"
	"bellwether/engine/fleet"
	"bellwether/engine/runtime"
)

// load brings one deployment into memory for all who wait for it. The loop
// makes it and ends it; its goroutine evicts the victims, waits until they are
// seen to be gone, and loads. It ends early when the last who waits leaves.
type load struct {
	a       *Agent
	id      fleet.DeploymentID
	server  *server
	adapter runtime.Adapter
	options runtime.LoadOptions
	victims []victim
	key     string // of its own reservation: it outlives the first who asked
	ordered bool   // the order to load left for the runtime; written before loadEnded is posted

	ctx    context.Context
	cancel context.CancelCauseFunc

	waiters int  // leases; the loop's
	aborted bool // cancelled, still ending; the loop's

	done chan struct{}  // closed when it has ended
	err  *fleet.Failure // why it failed; readable after done
}

type victim struct {
	id      fleet.DeploymentID
	adapter runtime.Adapter
}

// errAbandoned is why a load is given up: an impatient client's load would
// otherwise hold the machine for nobody.
var errAbandoned = &fleet.Failure{Class: fleet.FailCancelled, Message: "everyone who waited for the model left"}

// needsLoad reports whether the deployment must be brought into memory before
// the request: it is not there, or with a context too small for what was
// granted. Runtimes that cannot say what they hold load by themselves.
func (s *state) needsLoad(srv *server, d *fleet.Deployment, g *fleet.Grant) bool {
	switch s.residency(srv, d) {
	case fleet.Loaded:
		has := s.loadedContext(srv, d)
		return g.Load && has > 0 && g.Context > has
	default:
		return srv.reports
	}
}

// loadFor returns the deployment's load, begun if there is none. c is the
// candidate as it was admitted.
func (s *state) loadFor(l *lane, srv *server, c budget.Candidate, m *admission) *load {
	if l.load != nil {
		return l.load
	}
	s.loads++
	ld := &load{
		a: s.a, id: l.id, server: srv, adapter: srv.adapter,
		options: runtime.LoadOptions{Context: m.grant.Context, KeepAlive: m.keep},
		key:     fmt.Sprintf("load %d of %s", s.loads, l.id.Model),
		done:    make(chan struct{}),
	}
	ld.ctx, ld.cancel = context.WithCancelCause(s.work)
	for _, id := range c.Evict {
		s.lane(id).leaving++
		ld.victims = append(ld.victims, victim{id, s.servers[id.Runtime].adapter})
	}
	c.Evict = nil // marked once, by the reservation that admitted them
	s.ledger.Claim(ld.key, c)
	l.load = ld
	s.dirty = true
	s.a.log.Info("loading", "model", l.id.Model, "runtime", l.id.Runtime, "evicts", len(ld.victims))
	s.a.work.Go(ld.run)
	return ld
}

// run is the load's goroutine.
func (ld *load) run() {
	defer ld.cancel(nil)
	began := time.Now()
	spared, err := ld.bring()
	m := &loadEnded{load: ld, took: time.Since(began), spared: spared, err: err}
	if !ld.a.post(m) {
		ld.err = ld.failure(err)
		close(ld.done)
	}
}

// bring makes room and loads. On a failure to make room, spared are the victims
// that stay.
func (ld *load) bring() (spared []victim, err error) {
	for i, v := range ld.victims {
		if err := ld.a.evict(ld.ctx, v); err != nil {
			return ld.victims[i:], fmt.Errorf("make room: %w", err)
		}
	}
	return nil, ld.order()
}

// order has the runtime load. From then on its memory is assumed to be taken,
// and that is on file before the order leaves.
func (ld *load) order() error {
	var saved <-chan struct{}
	if err := ld.a.ask(ld.ctx, func(s *state) { saved, _ = s.assume(ld.key, ld.id) }); err != nil {
		return err
	}
	ld.ordered = true
	if saved != nil {
		select {
		case <-saved:
		case <-ld.ctx.Done():
			return context.Cause(ld.ctx)
		}
	}
	err := ld.adapter.Load(ld.ctx, ld.id.Model, ld.options)
	var f *fleet.Failure
	if errors.As(err, &f) && f.Code == runtime.CodeUnsupported {
		return nil // it loads by itself, with the request
	}
	return err
}

// evict unloads a deployment and returns when it was seen to be gone. On an
// error it is still marked as leaving: who called decides when it stays.
func (a *Agent) evict(ctx context.Context, v victim) error {
	ctx, cancel := context.WithTimeout(ctx, leaveTimeout)
	defer cancel()
	err := v.adapter.Unload(ctx, v.id.Model)
	if err == nil {
		err = a.awaitAbsence(ctx, v.id)
	}
	if err != nil {
		return fmt.Errorf("unload %s: %w", v.id.Model, err)
	}
	a.post(&departed{id: v.id, gone: true})
	return nil
}

// awaitAbsence returns when an observation begun after now lacks the
// deployment: what an unload says is not what the runtime's memory says.
func (a *Agent) awaitAbsence(ctx context.Context, id fleet.DeploymentID) error {
	w := &absence{id: id, since: a.cfg.Now(), seen: make(chan struct{})}
	if err := a.ask(ctx, func(s *state) { s.onAwaitAbsence(w) }); err != nil {
		return err
	}
	select {
	case <-w.seen:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%s is still listed as in memory: %w", id.Model, context.Cause(ctx))
	}
}

// departed ends an eviction or unload: the deployment is gone, or stays.
type departed struct {
	id   fleet.DeploymentID
	gone bool
}

func (m *departed) on(s *state) {
	l := s.lane(m.id)
	l.leaving--
	if m.gone {
		l.unloadedAt = s.now()
		s.ledger.Depart(m.id)
	} else {
		s.ledger.Stay(m.id)
	}
	s.dirty = true
}

// loadEnded ends a load in the loop.
type loadEnded struct {
	load   *load
	took   time.Duration
	spared []victim // that were to leave for it and stay
	err    error
}

func (m *loadEnded) on(s *state) {
	ld, now := m.load, s.now()
	l := s.lane(ld.id)
	l.load = nil
	s.ledger.Release(ld.key, s.provenFrom(ld.server, m.err != nil && ld.ordered, now))
	ld.err = ld.failure(m.err)
	if m.err == nil {
		l.loadedAt, l.context = now, ld.options.Context
		for le := range l.leases {
			if le.load == ld {
				s.ledger.Sent(le.key, now) // their requests leave now
			}
		}
		s.a.log.Info("loaded", "model", ld.id.Model, "runtime", ld.id.Runtime, "took", m.took.Round(time.Millisecond))
	} else {
		var f *fleet.Failure
		if errors.As(m.err, &f) && f.Class == fleet.FailConnect {
			s.ledger.Depart(ld.id) // the order never reached the runtime
		}
		// In one step with the victims' staying: nobody may count both.
		for le := range l.leases {
			if le.load == ld {
				s.ledger.Release(le.key, now)
			}
		}
		for _, v := range m.spared {
			(&departed{id: v.id}).on(s)
		}
		s.a.log.Info("load failed", "model", ld.id.Model, "runtime", ld.id.Runtime, "err", m.err)
	}
	close(ld.done)
	s.dirty = true
	s.observe(ld.server)
	s.saveSoon()
}

// abortSettles is how long a runtime may go on with what was broken off: a
// load is not listed while it lasts, so its absence proves nothing yet.
const abortSettles = time.Second

// provenFrom is from when on an observation may settle what an ended call or
// load had the runtime take into memory, and sees to one.
func (s *state) provenFrom(srv *server, broken bool, now time.Time) time.Time {
	if !broken {
		return now
	}
	at := now.Add(abortSettles)
	srv.lookAgain = at.Add(time.Millisecond)
	if !srv.pollDue.IsZero() && srv.lookAgain.Before(srv.pollDue) {
		srv.pollDue = srv.lookAgain
	}
	return at
}

// failure is what those who waited are told; nil when the load went well.
func (ld *load) failure(err error) *fleet.Failure {
	if err == nil {
		return nil
	}
	out := &fleet.Failure{Class: fleet.FailLoad, Message: ld.id.Model + " could not be loaded: " + err.Error()}
	var f *fleet.Failure
	if errors.As(err, &f) {
		out.Status, out.Code, out.Message = f.Status, f.Code, ld.id.Model+" could not be loaded: "+f.Message
		switch f.Class {
		case fleet.FailBackPressure, fleet.FailConnect: // it can be loaded, but not now
			out.Class, out.RetryAfter = f.Class, f.RetryAfter
		}
	}
	return out
}

// leave takes one waiter off a load. The last one ends it: an unwanted load
// would keep memory and disk busy for nobody. A runtime that must not be
// aborted goes on.
func (s *state) leave(ld *load) {
	ld.waiters--
	over := false
	select {
	case <-ld.done:
		over = true
	default:
	}
	if ld.waiters > 0 || over || ld.server.target.Drain {
		return
	}
	ld.aborted = true
	ld.cancel(errAbandoned)
}
