package agent

import (
	"context"
	"strconv"
	"time"

	"bellwether/engine/pulse"
	"bellwether/engine/runtime"
)

// discoverTimeout bounds one look for runtimes.
const discoverTimeout = 10 * time.Second

// startDiscovery looks for runtimes beside the loop.
func (s *state) startDiscovery() {
	s.discoverDue = time.Time{}
	if s.a.cfg.Discover == nil {
		return
	}
	ticket, ok := s.begin(&s.discovering, "the look for runtimes")
	if !ok {
		return
	}
	s.a.work.Go(func() {
		ctx, cancel := context.WithTimeout(s.work, discoverTimeout)
		defer cancel()
		s.a.post(&discovered{s.a.cfg.Discover(ctx), ticket})
	})
}

type discovered struct {
	targets []runtime.Target
	ticket  uint64
}

// on adds what is new. A runtime that was there before and is not among them
// stays: its own polls say that it is down, and when it is back.
func (m *discovered) on(s *state) {
	if !s.discovering.End(m.ticket) {
		return
	}
	s.discoverDue = s.now().Add(discoverEvery)
	s.dirty = s.dirty || !s.hello
	for _, t := range m.targets {
		if known := s.at(t.URL); known != nil {
			known.recalled = false
			s.recast(known, t)
			continue
		}
		t.Name = s.freeName(t.Name)
		s.a.log.Info("runtime found", "runtime", t.Name, "kind", t.Kind)
		s.add(t, false)
	}
}

// recast follows a discovered address at which another kind answers now.
func (s *state) recast(srv *server, t runtime.Target) {
	if srv.declared || srv.up || srv.target.Kind == t.Kind || !s.unused(srv) {
		return
	}
	s.remove(srv)
	delete(s.known, srv.name)
	t.Name = s.freeName(t.Name)
	s.add(t, false)
}

// declare makes the declared runtimes be there, each as declared.
func (s *state) declare(targets []runtime.Target) {
	wanted := map[string]bool{}
	for _, t := range targets {
		wanted[t.Name] = true
		switch old := s.servers[t.Name]; {
		case old != nil && old.declared && old.target == t:
			continue
		case old != nil:
			s.remove(old)
		}
		if same := s.at(t.URL); same != nil && !same.declared {
			s.remove(same) // the owner's word for what discovery had found
		}
		s.add(t, true)
	}
	for name, srv := range s.servers {
		if srv.declared && !wanted[name] {
			s.remove(srv)
			delete(s.known, name)
		}
	}
}

func (s *state) add(t runtime.Target, declared bool) {
	srv := &server{
		name: t.Name, target: t, declared: declared, reason: "not looked at yet",
		downAt: s.now(), cap: capLearner{most: s.caps[t.Name]}, polling: pulse.Round{Bound: pollTimeout + hangSlack},
	}
	s.servers[t.Name] = srv
	s.recall(srv)
	s.dirty = true
	s.poll(srv)
}

// remove forgets a runtime. Requests that run there go on to their end.
func (s *state) remove(srv *server) {
	srv.removed = true
	delete(s.servers, srv.name)
	for _, w := range srv.waits {
		close(w.done)
	}
	srv.waits = nil
	for _, d := range srv.models {
		s.ledger.Depart(d.ID)
	}
	if srv.adapter != nil && !srv.polling.Under() && s.unused(srv) {
		s.closeAdapter(srv.adapter)
	}
	for _, other := range s.servers {
		if other.oneWith == srv.name {
			s.observe(other) // which stood back for this one
		}
	}
	s.dirty = true
}

// at returns the runtime at an address, nil if there is none.
func (s *state) at(address string) *server {
	for _, srv := range s.servers {
		if runtime.Place(srv.target.URL) == runtime.Place(address) {
			return srv
		}
	}
	return nil
}

// freeName makes a discovered name unique on the node: ollama, ollama-2.
func (s *state) freeName(name string) string {
	free := name
	for n := 2; s.servers[free] != nil; n++ {
		free = name + "-" + strconv.Itoa(n)
	}
	return free
}
