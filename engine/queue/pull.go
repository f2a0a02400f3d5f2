package queue

import (
	"cmp"
	"slices"

	"bellwether/engine/fleet"
	"bellwether/engine/route"
)

// ReasonPulled marks a decision whose request an idle slot took over from
// another lane; its operand is the lane it waited in.
const ReasonPulled = "pulled_when_free"

// pullWhenFree lets idle slots work (routing.md 11): wherever a model is loaded,
// its lane empty and a slot free, the next of the lane of that model with the
// longest expected wait comes over, by that lane's own order, if it finishes
// here sooner than there. It reports whether one did.
//
// The cycle of pre-warming and rebalancing, which may look at lanes that are
// not idle and loads that are not there yet, belongs beside this, run from
// onTime every 5 s.
func (d *Dispatcher) pullWhenFree() bool {
	if !d.idle {
		return false
	}
	d.idle = false
	if d.waiting == 0 || !d.policy.PullWhenFree {
		return false
	}
	for _, from := range d.donors() {
		if d.pullFrom(from) {
			d.idle = true // there may be more
			return true
		}
	}
	return false
}

// donors lists the lanes with requests waiting, longest expected wait first.
func (d *Dispatcher) donors() []*lane {
	var out []*lane
	for _, l := range d.lanes {
		if l.order.n > 0 {
			out = append(out, l)
		}
	}
	slices.SortFunc(out, func(a, b *lane) int {
		return cmp.Or(cmp.Compare(d.expectedWait(b), d.expectedWait(a)), a.id.Compare(b.id))
	})
	return out
}

// expectedWait is how long a request that joined the lane now would wait, seconds.
func (d *Dispatcher) expectedWait(l *lane) float64 {
	sum := l.order.queued
	for _, g := range l.live {
		sum += d.remaining(g)
	}
	return sum / float64(max(1, l.slots))
}

// remaining is the rest of a running request, by its prediction; 0 when that
// is used up.
func (d *Dispatcher) remaining(g *grant) float64 {
	return max(0, g.seconds-d.now.Sub(g.issued).Seconds())
}

// pullFrom moves a lane's next request to the idle slot where it finishes
// first, if that is sooner than here.
func (d *Dispatcher) pullFrom(from *lane) bool {
	t := from.order.next(d.now)
	if boundToNode(t) {
		if t = firstUnbound(from.order.all()); t == nil {
			return false
		}
	}
	best := d.nextStart(from) + t.cost
	var to fleet.DeploymentID
	var plan *route.Decision
	for _, id := range d.sameModel(from.id.Model) {
		if id == from.id || !d.idleAt(id) {
			continue
		}
		here := d.decideAt(d.nodeOf(id.Node), t.q)
		if here.Verdict != route.Serve || here.Chosen != id || here.Plan.Load {
			continue
		}
		if l := d.lanes[id]; l != nil && l.running() >= max(1, here.Plan.Slots) {
			continue
		}
		if s := max(leastCost, here.Plan.PredictedSeconds); s < best {
			best, to, plan = s, id, here
		}
	}
	if plan == nil {
		return false
	}
	d.pullOver(from, t, to, plan)
	return true
}

func boundToNode(t *Ticket) bool { return t.q.Needs.Node != "" || t.q.Needs.Bound == "node" }

func firstUnbound(waiting []*Ticket) *Ticket {
	for _, t := range waiting {
		if !boundToNode(t) {
			return t
		}
	}
	return nil
}

// nextStart is when the lane's next request would start, in seconds from now.
func (d *Dispatcher) nextStart(l *lane) float64 {
	if !l.open(d.now) {
		return reportEvery // it opens with the node's next report
	}
	if len(l.live) == 0 {
		return 0
	}
	first := d.remaining(l.live[0])
	for _, g := range l.live[1:] {
		first = min(first, d.remaining(g))
	}
	return first + d.view.Lanes[l.id].LoadRemaining.Seconds()
}

// reportEvery is the rhythm of heartbeats, seconds.
const reportEvery = 5

// idleAt reports whether a deployment could take a request from elsewhere:
// loaded, nothing of its own waiting, and not shut.
func (d *Dispatcher) idleAt(id fleet.DeploymentID) bool {
	if l := d.lanes[id]; l != nil && (l.order.n > 0 || !l.open(d.now)) {
		return false
	}
	n := d.nodeOf(id.Node)
	if n.src == nil {
		return false
	}
	dep := n.src.Deployment(id)
	return dep != nil && dep.Residency == fleet.Loaded
}

// pullOver grants a request on the lane that pulled it. The app it belongs to
// pays in the lane where it waited.
func (d *Dispatcher) pullOver(from *lane, t *Ticket, id fleet.DeploymentID, here *route.Decision) {
	from.order.take(t)
	d.waiting--
	d.show(from)
	d.touch(from)
	d.giveUpTry(t)
	dec := *t.decision
	dec.Chosen, dec.Plan = here.Chosen, here.Plan
	dec.Reasons = append(slices.Clip(dec.Reasons), route.Reason{Code: ReasonPulled, Operands: []any{from.id.String()}})
	t.decision = &dec
	to := d.laneOf(id)
	to.slots = max(1, here.Plan.Slots)
	t.cost = max(leastCost, here.Plan.PredictedSeconds)
	d.chosen++
	to.lastUsed = int64(d.chosen)
	d.circuits.trial(id, t, d.now)
	d.noteMove(t, from.id)
	d.grant(to, t)
}
