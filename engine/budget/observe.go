package budget

import (
	"time"

	"bellwether/engine/fleet"
)

// Observation is one successful reading of what a runtime has in memory. A
// failed reading is no observation, and neither is one of a runtime that
// cannot report residency: do not make one of it.
type Observation struct {
	Node, Runtime string
	// StartedAt is when the reading began: what it shows may be that old.
	StartedAt time.Time
	// Resident is everything in memory there; nothing else of this runtime is.
	Resident map[fleet.DeploymentID]Need
}

// Observe replaces what is resident on a runtime, and settles what was assumed
// before the observation started. An assumption made since stays, whatever the
// observation shows.
func (l *Ledger) Observe(o Observation) {
	for id, need := range o.Resident {
		if id.Runtime == o.Runtime && id.Node == o.Node && !need.none() {
			l.entry(id).resident = need
		}
	}
	for id, e := range l.entries {
		if id.Runtime != o.Runtime || id.Node != o.Node {
			continue
		}
		if o.StartedAt.After(e.assumed.at) {
			e.assumed = assumption{}
		}
		if _, seen := o.Resident[id]; !seen {
			e.resident = Need{}
			e.leaving = e.leaving && !e.assumed.need.none() // too old to have seen it leave
		}
		l.sweep(id)
	}
}

// Depart forgets that a deployment is or may be in memory: it was seen to be
// gone. Live reservations and uncertain holds stay.
func (l *Ledger) Depart(id fleet.DeploymentID) {
	e := l.entries[id]
	if e == nil {
		return
	}
	e.resident, e.assumed, e.leaving = Need{}, assumption{}, false
	l.sweep(id)
}
