package agent

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"bellwether/engine/fleet"
	"bellwether/engine/runtime"
)

// lastKnown is what a runtime had when it was last looked at. It outlives the
// process and a change of the settings, so that a model whose runtime is not up
// yet is one to wait for, as when a runtime goes down while we run: nothing is
// served by it.
type lastKnown struct {
	URL    string             `json:"url"`
	Found  string             `json:"found,omitempty"` // the kind of one that nobody declared
	Models []fleet.Deployment `json:"models,omitempty"`
}

// know keeps what a runtime says it has. Where its models are is not kept: who
// looks next may find another process.
func (s *state) know(srv *server, models []fleet.Deployment) {
	k := lastKnown{URL: srv.target.URL, Models: slices.Clone(models)}
	if !srv.declared {
		k.Found = srv.adapter.Target().Kind
	}
	for i := range k.Models {
		d := &k.Models[i]
		d.ID.Node, d.ID.Runtime = s.a.cfg.Node, srv.name
		d.Kind = cmp.Or(d.Kind, srv.adapter.Target().Kind)
		d.Residency, d.LoadedContext, d.ResidentBytes, d.ResidentVRAM = fleet.OnDisk, 0, 0, 0
		d.SlotsBusy, d.Degraded = 0, ""
		d.ExpiresAt, d.LoadedAt, d.UnloadedAt = time.Time{}, time.Time{}, time.Time{}
	}
	s.known[srv.name] = k
}

// recall gives a runtime that was not looked at yet what it had.
func (s *state) recall(srv *server) {
	k, ok := s.known[srv.name]
	if !ok || runtime.Place(k.URL) != runtime.Place(srv.target.URL) {
		return
	}
	srv.models = make(map[string]*fleet.Deployment, len(k.Models))
	for i := range k.Models {
		d := s.adopt(srv, k.Models[i])
		srv.models[fleet.CanonicalModel(d.ID.Model)] = d
	}
}

// recallFound goes on with the runtimes that an earlier process had found by
// itself and that are not up yet, and forgets those that nobody wants any more.
// Like all that is found they are for machines whose owner declared none.
func (s *state) recallFound() {
	found := s.a.cfg.Discover != nil && len(s.set.Runtimes) == 0
	for _, name := range slices.Sorted(maps.Keys(s.known)) {
		switch k := s.known[name]; {
		case s.servers[name] != nil:
		case k.Found == "" || !found || s.at(k.URL) != nil:
			delete(s.known, name)
		default:
			s.add(runtime.Target{Name: name, Kind: k.Found, URL: k.URL}, false)
			s.servers[name].recalled = true
		}
	}
}

// giveUp forgets a runtime that an earlier process had found and this one did
// not, though it had the time to come up: it may be gone for good. If it is not,
// it will be found.
func (s *state) giveUp(srv *server) {
	if srv.recalled && !srv.up && s.now().Sub(srv.downAt) >= restartTime {
		delete(s.known, srv.name)
		s.remove(srv)
		s.saveSoon()
	}
}
