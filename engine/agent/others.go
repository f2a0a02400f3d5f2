package agent

import (
	"time"

	"bellwether/engine/fleet"
)

const (
	// othersSlack is how far the end of something of ours may lie from what the
	// runtime makes of it: its own clock, and answers that end after their last byte.
	othersSlack = 5 * time.Second
	// othersToldIn is how long others' work is told of.
	othersToldIn = 10 * time.Minute
)

// noteOthers notices work on a runtime that did not come through us: a model
// that stays in memory for longer than it was said to, though nothing of ours
// ran there since. A runtime that unloads by no clock shows nothing of the kind.
func (s *state) noteOthers(srv *server, was map[string]*fleet.Deployment) {
	for name, d := range srv.models {
		before := was[name]
		if before == nil || before.Residency != fleet.Loaded || d.Residency != fleet.Loaded || before.ExpiresAt.IsZero() {
			continue
		}
		if d.ExpiresAt.Sub(before.ExpiresAt) < othersSlack {
			continue
		}
		l := s.lane(d.ID)
		// What an order or a request of ours asked for counts from its end; the
		// observation before may have begun while it ran.
		ours := s.now().Sub(l.usedAt) < pollEvery+pollTimeout+othersSlack || s.now().Sub(l.loadedAt) < pollEvery+pollTimeout+othersSlack
		if l.idle() && l.leaving == 0 && !ours {
			srv.othersAt = s.now()
		}
	}
}

// othersFinding tells of it, for a while.
func (s *state) othersFinding(srv *server) (f Finding, there bool) {
	now := s.now()
	if srv.othersAt.IsZero() || now.Sub(srv.othersAt) > othersToldIn {
		return f, false
	}
	return Finding{"bypass." + srv.name, Note,
		srv.name + " works for apps that do not ask through Bellwether (seen at " + fleet.Moment(srv.othersAt.In(time.Local), now) + "); their requests are not shown here and wait in no queue",
		"point those apps at Bellwether in place of " + srv.target.URL}, true
}
