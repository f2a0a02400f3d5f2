package queue

import (
	"time"

	"bellwether/engine/route"
)

// tape rations the decisions that are kept with all they were made from. What
// one costs to write grows with the fleet, and it is written while everybody
// else waits, so a busy fleet keeps a sample and a huge one none.
type tape struct {
	left float64
	at   time.Time
}

const (
	tapeRate  = 2.0 // a second, in the long run
	tapeBurst = 20.0
	tapeMost  = 200 // deployments of a fleet that is still written down whole
)

// takes reports whether one more may be kept now.
func (p *tape) takes(now time.Time) bool {
	if p.at.IsZero() {
		p.left = tapeBurst
	} else if gone := now.Sub(p.at).Seconds(); gone > 0 {
		p.left = min(tapeBurst, p.left+gone*tapeRate)
	}
	p.at = now
	if p.left < 1 {
		return false
	}
	p.left--
	return true
}

// keepInput writes down what a request's decision was made from, so that it can
// be replayed when somebody asks why (decisions --export).
func (d *Dispatcher) keepInput(t *Ticket) {
	if t.decision.Verdict == route.Hold && t.taped { // rescored every 2 s; the first stands for all
		return
	}
	n := 0
	for i := range d.view.Fleet.Nodes {
		n += len(d.view.Fleet.Nodes[i].Deployments)
	}
	if n > tapeMost || !d.tape.takes(d.now) {
		return
	}
	t.taped = true
	t.decision.Scenario = route.Write(&d.view, d.policy, t.q)
}
