package agent

import (
	"context"
	"slices"
	"time"

	"bellwether/engine/fleet"
	"bellwether/engine/runtime"
)

// canSayIdle reports whether a runtime can be asked what runs there.
func canSayIdle(srv *server) bool {
	_, can := srv.adapter.(runtime.Idler)
	return can
}

// askHolds asks a runtime that can say so whether the calls that may still run
// there do. Only where none of ours is known to run: what it shows as busy would
// not be told apart from them.
func (s *state) askHolds(srv *server) {
	idler, can := srv.adapter.(runtime.Idler)
	if !can || s.stopping {
		return
	}
	for _, d := range srv.models {
		l := s.lanes[d.ID]
		if l == nil || len(l.holds) == 0 || len(l.leases) > 0 || l.asked {
			continue
		}
		l.asked = true
		m := &idleSeen{id: d.ID, holds: slices.Clone(l.holds)}
		s.a.work.Go(func() {
			ctx, cancel := context.WithTimeout(s.work, pollTimeout)
			defer cancel()
			idle, err := idler.Idle(ctx, m.id.Model, 0)
			m.idle = err == nil && idle
			s.a.post(m)
		})
	}
}

// idleSeen is a runtime's answer whether nothing of a model runs there.
type idleSeen struct {
	id    fleet.DeploymentID
	holds []time.Time // asked about
	idle  bool
}

// on ends the holds that were asked about: what a runtime shows to be idle can
// hide no call of theirs.
func (m *idleSeen) on(s *state) {
	l := s.lane(m.id)
	l.asked = false
	if !m.idle || !slices.Equal(l.holds, m.holds) {
		return
	}
	l.holds = nil
	s.ledger.Settle(m.id)
	s.dirty = true
	s.saveSoon()
}

// expireHolds frees what was uncertain for long enough.
func (s *state) expireHolds(now time.Time) bool {
	ended := false
	for _, l := range s.lanes {
		kept := l.holds[:0]
		for _, h := range l.holds {
			if h.After(now) {
				kept = append(kept, h)
			}
		}
		ended = ended || len(kept) != len(l.holds)
		l.holds = kept
	}
	return s.ledger.Expire(now) || ended
}
