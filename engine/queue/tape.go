package queue

import (
	"time"

	"bellwether/engine/route"
)

// tape rations the decisions that are kept with all they were made from. What
// one costs to write grows with the fleet, and it is written while everybody
// else waits; what it takes on the disk crowds out older records. So a home's
// fleet keeps a long burst whole, a large one a short one, both a sample of what
// goes on coming, and a huge one none.
type tape struct {
	left float64 // deployments that may be written down at once
	at   time.Time
}

const (
	tapeRate  = 2.0    // decisions a second, in the long run
	tapeBurst = 4000.0 // deployments at once: 100 decisions of a home's fleet, 20 of the largest
	tapeLeast = 40     // deployments that a decision counts for at least
	tapeMost  = 200    // deployments of a fleet that is still written down whole
)

// takes reports whether one more decision of a fleet of so many deployments may
// be kept now.
func (p *tape) takes(now time.Time, deployments int) bool {
	if deployments > tapeMost {
		return false
	}
	one := float64(max(deployments, tapeLeast))
	if p.at.IsZero() {
		p.left = tapeBurst
	} else if gone := now.Sub(p.at).Seconds(); gone > 0 {
		p.left = min(tapeBurst, p.left+gone*tapeRate*one)
	}
	p.at = now
	if p.left < one {
		return false
	}
	p.left -= one
	return true
}

// keepInput writes down what a request's decision was made from, so that it can
// be replayed when somebody asks why (decisions --export). Of what is asked
// about most, a request that is refused, waits or failed somewhere, a flood of
// served ones takes nothing.
func (d *Dispatcher) keepInput(t *Ticket) {
	if t.decision.Verdict == route.Hold && t.taped { // rescored every 2 s; the first stands for all
		return
	}
	n := 0
	for i := range d.view.Fleet.Nodes {
		n += len(d.view.Fleet.Nodes[i].Deployments)
	}
	p := &d.tape
	if t.decision.Verdict != route.Serve || len(t.q.Failed) > 0 {
		p = &d.troubleTape
	}
	if !p.takes(d.now, n) {
		return
	}
	t.taped = true
	t.decision.Scenario = route.Write(&d.view, d.policy, t.q)
}
