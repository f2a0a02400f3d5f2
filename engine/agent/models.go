package agent

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"

	"bellwether/engine/dialect"
	"bellwether/engine/fleet"
	"bellwether/engine/runtime"
)

var ownOrders atomic.Uint64 // numbers the owner's orders, for their reservations' names

// Load brings a model into memory under the same admission as a request,
// without a slot. The error is a *fleet.Refusal or a *fleet.Failure.
func (a *Agent) Load(ctx context.Context, runtimeName, model string) error {
	v := a.knock(&admission{own: true, at: a.cfg.Now(), grant: fleet.Grant{
		ID:         "order " + strconv.FormatUint(ownOrders.Add(1), 10),
		Deployment: fleet.DeploymentID{Node: a.cfg.Node, Runtime: runtimeName, Model: model},
		Origin:     a.cfg.Node, Load: true, Internal: true,
	}})
	if v.refusal != nil {
		return v.refusal
	}
	le := v.lease
	var failure *fleet.Failure
	if le.load != nil {
		select {
		case <-le.load.done:
			failure = le.load.err
		case <-ctx.Done():
			failure = clientGone(ctx)
		}
	}
	le.release(ending{failure: failure})
	if failure != nil {
		return failure
	}
	return nil
}

// Unload takes an idle model out of memory and returns when it was seen to be
// gone; of one that is not in memory, at once. In use, it is a *fleet.Refusal.
func (a *Agent) Unload(ctx context.Context, runtimeName, model string) error {
	var v victim
	var refusal *fleet.Refusal
	err := a.ask(ctx, func(s *state) {
		srv, d, r := s.freeToGo(runtimeName, model)
		if r != nil {
			refusal = s.refuse(r)
			return
		}
		if s.residency(srv, d) == fleet.OnDisk {
			return
		}
		s.lane(d.ID).leaving++
		s.dirty = true
		v = victim{d.ID, srv.adapter}
	})
	switch {
	case err != nil:
		return err
	case refusal != nil:
		return refusal
	case v.adapter == nil:
		return nil
	}
	err = a.evict(ctx, v)
	if err != nil {
		a.post(&departed{id: v.id})
	}
	return err
}

// Delete removes a model from its runtime's disk. In use, it is a *fleet.Refusal.
func (a *Agent) Delete(ctx context.Context, runtimeName, model string) error {
	var v victim
	var refusal *fleet.Refusal
	err := a.ask(ctx, func(s *state) {
		srv, d, r := s.freeToGo(runtimeName, model)
		if r != nil {
			refusal = s.refuse(r)
			return
		}
		s.lane(d.ID).leaving++
		s.dirty = true
		v = victim{d.ID, srv.adapter}
	})
	if err != nil {
		return err
	}
	if refusal != nil {
		return refusal
	}
	m, can := v.adapter.(runtime.Manager)
	if can {
		err = m.Delete(ctx, v.id.Model)
	} else {
		err = errNoManager(runtimeName)
	}
	a.post(&departed{id: v.id, gone: err == nil})
	if err != nil {
		return fmt.Errorf("delete %s: %w", v.id.Model, err)
	}
	return a.refreshRuntime(ctx, runtimeName)
}

// freeToGo finds a deployment that nothing uses.
func (s *state) freeToGo(runtimeName, model string) (*server, *fleet.Deployment, *fleet.Refusal) {
	srv := s.servers[runtimeName]
	switch {
	case srv == nil:
		return nil, nil, no(fleet.CodeNoRuntime, "there is no runtime "+runtimeName+" here")
	case !srv.up:
		return nil, nil, no(fleet.CodeNoRuntime, runtimeName+" is down: "+srv.reason)
	}
	d := srv.find(model)
	if d == nil {
		return nil, nil, no(fleet.CodeModelAbsent, runtimeName+" does not have "+model)
	}
	switch l := s.lane(d.ID); {
	case l.leaving > 0:
		return nil, nil, no(fleet.CodeAdmission, model+" is being unloaded already")
	case l.load != nil:
		return nil, nil, no(fleet.CodeAdmission, model+" is being loaded: wait until it is in memory")
	case len(l.leases) > 0:
		return nil, nil, no(fleet.CodeAdmission, fmt.Sprintf("%s is in use by %d requests", model, len(l.leases)))
	case len(l.holds) > 0:
		return nil, nil, no(fleet.CodeUncertainHold, unseenEnd(model))
	}
	return srv, d, nil
}

func errNoManager(name string) error {
	return &fleet.Failure{Class: fleet.FailStatus, Code: runtime.CodeUnsupported, Message: "runtime " + name + " cannot manage models", Caller: true}
}

// refreshRuntime observes one runtime and returns when that is reported.
func (a *Agent) refreshRuntime(ctx context.Context, name string) error {
	done := make(chan struct{})
	err := a.ask(ctx, func(s *state) {
		srv := s.servers[name]
		if srv == nil {
			close(done)
			return
		}
		srv.waits = append(srv.waits, pollWait{s.now(), done})
		s.observe(srv)
	})
	if err != nil {
		return err
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-a.done:
		return errStopped
	}
}

// Manager returns the model management of a runtime; false when it has none or
// is not connected. Its Pull and Delete are the agent's own, which know what
// runs; after a change the runtime is observed before the call returns.
func (a *Agent) Manager(name string) (runtime.Manager, bool) {
	m, err := a.manager(context.Background(), name)
	if err != nil {
		return nil, false
	}
	return &managed{Manager: m, a: a, name: name}, true
}

func (a *Agent) manager(ctx context.Context, name string) (runtime.Manager, error) {
	var ad runtime.Adapter
	err := a.ask(ctx, func(s *state) {
		if srv := s.servers[name]; srv != nil {
			ad = srv.adapter
		}
	})
	if err != nil {
		return nil, err
	}
	m, can := ad.(runtime.Manager)
	if !can {
		return nil, errNoManager(name)
	}
	return m, nil
}

// managed puts the agent's care around a runtime's own management.
type managed struct {
	runtime.Manager
	a    *Agent
	name string
}

func (m *managed) Pull(ctx context.Context, model string, progress func(runtime.PullProgress)) error {
	return m.a.Pull(ctx, m.name, model, progress)
}

func (m *managed) Delete(ctx context.Context, model string) error {
	return m.a.Delete(ctx, m.name, model)
}

func (m *managed) Copy(ctx context.Context, from, to string) error {
	return m.then(ctx, m.Manager.Copy(ctx, from, to))
}

func (m *managed) Create(ctx context.Context, body dialect.Raw, line func(dialect.Raw)) error {
	return m.then(ctx, m.Manager.Create(ctx, body, line))
}

// then makes a change visible before its caller hears of it.
func (m *managed) then(ctx context.Context, err error) error {
	if err != nil {
		return err
	}
	if err := m.a.refreshRuntime(ctx, m.name); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}
