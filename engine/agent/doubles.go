package agent

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"bellwether/engine/budget"
	"bellwether/engine/fleet"
	"bellwether/engine/runtime"
)

// Two runtimes may be one server under two addresses: two names of a host,
// loopback and the machine's own address on the network. Its memory and its
// slots would count twice, so one of the two is used and the other stands back:
// it has no models, and is looked at like one that is down, to be used should
// the first one end. What shows in the settings already never comes this far.

// unlikeMost is how many observations in a row must differ until runtimes at one
// address are two after all. A model pulled between two looks makes one differ.
const unlikeMost = 2

// standsBack looks whether a runtime that was observed well is another one's
// server, and if so has one of them stand back; it reports whether that is srv.
func (s *state) standsBack(srv *server, inv *runtime.Inventory, started time.Time) bool {
	srv.leads = inv.Server
	for _, name := range slices.Sorted(maps.Keys(s.servers)) {
		other := s.servers[name]
		if other == srv || !other.up || !s.isOneWith(srv, other, inv) {
			continue
		}
		used, back := other, srv
		if s.rank(srv) < s.rank(other) {
			used, back = srv, other
		}
		if !s.unused(back) {
			if !s.unused(used) {
				continue // both are at work: later
			}
			used, back = back, used
		}
		s.standBack(back, used, started)
		if back == srv {
			return true
		}
	}
	srv.oneWith, srv.unlike = "", 0
	return false
}

// isOneWith reports whether an observation of srv is one of other's server:
// reached at the same place, and the same in kind, version and models.
func (s *state) isOneWith(srv, other *server, inv *runtime.Inventory) bool {
	if inv.Server == "" || inv.Server != other.leads || srv.adapter.Target().Kind != other.adapter.Target().Kind {
		return false
	}
	if inv.Version == other.version && sameModels(inv.Deployments, other.models) {
		srv.unlike = 0
		return true
	}
	srv.unlike++
	return srv.oneWith == other.name && srv.unlike < unlikeMost
}

func sameModels(listed []fleet.Deployment, known map[string]*fleet.Deployment) bool {
	if len(listed) != len(known) {
		return false
	}
	for i := range listed {
		d := known[fleet.CanonicalModel(listed[i].ID.Model)]
		if d == nil || d.Digest != listed[i].Digest {
			return false
		}
	}
	return true
}

// rank orders runtimes by the owner's word for them: as the settings list them,
// then what was found.
func (s *state) rank(srv *server) int {
	i := slices.IndexFunc(s.set.Runtimes, func(t runtime.Target) bool { return t.Name == srv.name })
	if i < 0 {
		return len(s.set.Runtimes)
	}
	return i
}

// standBack takes a runtime out of use as long as another is its server.
func (s *state) standBack(back, used *server, started time.Time) {
	reason := fmt.Sprintf("it is the same server as %s at %s, and only one of the two is used", used.name, used.target.URL)
	if back.up || back.reason != reason {
		s.dirty = true
		s.saveSoon()
		s.a.log.Warn("two runtimes are one server", "used", used.name, "not_used", back.name)
	}
	back.up, back.reason, back.oneWith, back.fails = false, reason, used.name, 0
	back.cure = "take " + back.name + " out of runtimes in the settings"
	back.models, back.leftovers, back.observedAt = nil, nil, started
	delete(s.known, back.name)
	// What may be in memory there is counted as the other's.
	s.ledger.Observe(budget.Observation{Node: s.a.cfg.Node, Runtime: back.name, StartedAt: started})
	s.tellAbsent(back)
}
