package queue

import (
	"slices"
	"time"

	"bellwether/engine/fleet"
	"bellwether/engine/route"
)

// onSubmit takes a new request in: the app's cap, then a place.
func (d *Dispatcher) onSubmit(t *Ticket) {
	d.submitted++
	t.seq = d.submitted
	t.arrived = t.q.Arrived
	if t.arrived.IsZero() || t.arrived.After(d.now) {
		t.arrived = d.now
		t.q.Arrived = d.now
	}
	t.q.Attempt = max(1, t.q.Attempt)
	t.roundAt = d.now
	t.rank = rankOf(t, false)
	app := t.q.Needs.App
	d.tickets[t] = struct{}{}
	if t.q.Part <= 1 { // a batch counts once, by its first part
		d.apps[app]++
	}
	limit := t.q.Needs.AppLimit
	if limit == 0 {
		limit = d.policy.MaxInFlight
	}
	if limit > 0 && d.apps[app] > limit && t.q.Part <= 1 {
		d.refuse(t, refusal(429, route.RefuseAppLimit, app, limit), false)
		return
	}
	d.place(t)
}

// place decides where a request goes and puts it there.
func (d *Dispatcher) place(t *Ticket) {
	t.decision = d.decide(t.q)
	d.keepInput(t)
	switch t.decision.Verdict {
	case route.Serve:
		d.join(t)
	case route.Hold:
		d.hold(t, d.policy.HoldMax)
	case route.Pull:
		d.hold(t, d.policy.AutoPullTimeout)
		d.fetch(t)
	default:
		d.refuse(t, t.decision, false)
	}
}

// decide asks route about a request, on the current picture.
func (d *Dispatcher) decide(q *route.Query) *route.Decision {
	d.refreshView()
	return d.cfg.Decide(&d.view, d.policy, q)
}

// decideAt asks route whether a request may run on one node, as it is now.
func (d *Dispatcher) decideAt(n *node, q *route.Query) *route.Decision {
	d.refreshView()
	whole := d.view.Fleet
	d.view.Fleet = &n.solo
	defer func() { d.view.Fleet = whole }()
	return d.cfg.Decide(&d.view, d.policy, q)
}

// join puts a request into the lane that was chosen for it, and grants what
// can be granted: deciding and reserving are one step, so nothing is evicted
// or given away between "it is loaded" and the grant.
func (d *Dispatcher) join(t *Ticket) {
	l := d.laneOf(t.decision.Chosen)
	l.slots = max(1, t.decision.Plan.Slots)
	t.planned = l.node.version
	if t.model == "" {
		t.model = t.decision.Model
	}
	t.q.Changed = t.q.Changed || t.decision.Model != t.model
	d.chosen++
	l.lastUsed = int64(d.chosen)
	d.circuits.trial(l.id, t, d.now)
	d.enter(l, t)
	d.note(t, EventQueued)
	d.pump(l)
}

// enter puts a ticket into a lane at its place: by class, held or returned
// before new, then the lane's own order.
func (d *Dispatcher) enter(l *lane, t *Ticket) {
	t.state, t.lane = waiting, l
	t.rank = rankOf(t, t.rank.before())
	l.order.add(t)
	d.waiting++
	d.idle = true
	d.show(l)
}

// leave takes a ticket out of the lane or holding list it waits in.
func (d *Dispatcher) leave(t *Ticket) {
	switch t.state {
	case waiting:
		l := t.lane
		l.order.remove(t)
		t.lane = nil
		d.waiting--
		d.show(l)
		d.touch(l)
	case held:
		d.unhold(t)
	}
}

// refusal is a decision of the dispatcher's own, where route had or could have
// had a place.
func refusal(status int, code string, operands ...any) *route.Decision {
	return &route.Decision{
		Verdict: route.Refuse, Status: status, RefuseCode: code,
		Reasons: []route.Reason{{Code: code, Operands: operands}},
	}
}

// refuse gives the final answer.
func (d *Dispatcher) refuse(t *Ticket, why *route.Decision, heldOut bool) {
	why.Waited = t.waited
	t.c <- Answer{Decision: why, HeldOut: heldOut, Queued: d.now.Sub(t.roundAt)}
	outcome := fleet.OutcomeRefused
	if heldOut {
		outcome = fleet.OutcomeHeldOut
	}
	d.end(t, outcome, why.RefuseCode)
}

// end forgets a ticket. It must not be in a lane or the holding list any more.
func (d *Dispatcher) end(t *Ticket, outcome fleet.Outcome, reason string) {
	if t.state == ended {
		return
	}
	d.giveUpTry(t)
	t.state = ended
	t.current.Store(nil)
	delete(d.tickets, t)
	if app := t.q.Needs.App; t.q.Part <= 1 {
		if d.apps[app]--; d.apps[app] <= 0 {
			delete(d.apps, app)
		}
	}
	d.noteEnd(t, outcome, reason)
}

// onAbandon ends a ticket whose client is gone.
func (d *Dispatcher) onAbandon(t *Ticket, reason string) {
	switch t.state {
	case waiting, held:
		d.leave(t)
	case granted:
		g := t.current.Load()
		if g.use.CompareAndSwap(unusedGrant, returnedGrant) {
			d.takeBack(g)
		} else {
			d.closeRecord(g)
		}
	case ended:
		return
	}
	d.end(t, fleet.OutcomeClientDisconnected, reason)
}

// onRefused puts a request whose grant the agent refused back to its place.
func (d *Dispatcher) onRefused(t *Ticket, id string, why *fleet.Refusal) {
	g := t.current.Load()
	if t.state != granted || g == nil || g.id != id {
		return
	}
	d.putBack(t, g, why)
}

// putBack returns a request to its place whose grant had nothing sent for it, and
// closes the lane until the node has reported something newer.
func (d *Dispatcher) putBack(t *Ticket, g *grant, why *fleet.Refusal) {
	d.takeBack(g)
	l := d.laneOf(g.dep)
	if t.refusedAt.IsZero() {
		t.refusedAt = d.now
	}
	d.closeLane(l, g, why)
	t.decision.Refused = why
	if d.now.Sub(t.refusedAt) >= d.policy.HoldMax {
		d.touch(l)
		d.refuse(t, t.decision, true)
		return
	}
	d.noteRefusal(t, why)
	d.giveBack(l, t)
}

// giveBack returns a ticket to the lane it was granted from: before new ones,
// by its age, and what the grant cost its app is refunded.
func (d *Dispatcher) giveBack(l *lane, t *Ticket) {
	t.current.Store(nil)
	t.rank = rankOf(t, true)
	d.enter(l, t)
	l.order.refund(t)
	d.pump(l)
}

// onRetry asks again for a request whose attempt failed before content.
func (d *Dispatcher) onRetry(t *Ticket, id string, f fleet.Failure, changed bool) {
	g := t.current.Load()
	if t.state != granted || g == nil || g.id != id {
		return
	}
	if !g.closed {
		d.judgeFailure(g, &f)
		d.closeRecord(g)
	}
	d.giveUpTry(t)
	t.q.Changed = t.q.Changed || changed
	if f.Class == fleet.FailConnect && !d.elsewhere(t, g) {
		d.unreached(t, g, &f)
		return
	}
	t.roundAt, t.refusedAt = d.now, time.Time{}
	if f.Class == fleet.FailBackPressure {
		d.pressBack(t, g)
		return
	}
	if !d.counted(t, g, &f) && !slices.Contains(t.q.Failed, g.dep) {
		t.q.Failed = append(slices.Clip(t.q.Failed), g.dep)
	}
	t.q.Attempt++
	if t.q.Attempt > 1+d.policy.MaxRetries {
		d.refuse(t, refusal(502, route.RefuseRetries, d.policy.MaxRetries), false)
		return
	}
	t.current.Store(nil)
	t.rank = rankOf(t, true)
	d.place(t)
}

// counted takes in what a runtime counted of a prompt that it refused as too long.
// It reports whether that settles where the request can go: then the deployment
// has not failed, and may be loaded with a larger context.
func (d *Dispatcher) counted(t *Ticket, g *grant, f *fleet.Failure) bool {
	n := d.view.Fleet.Node(g.dep.Node)
	if f.Tokens <= 0 || n == nil {
		return false
	}
	dep := n.Deployment(g.dep)
	if dep == nil {
		return false
	}
	t.q.Counted, t.q.CountedBy = f.Tokens, dep.Identity()
	return route.CountSettles(dep, t.decision.Plan.Context, f.Tokens)
}

// elsewhere reports whether a request may be tried at once on another deployment
// than the one its grant was for.
func (d *Dispatcher) elsewhere(t *Ticket, g *grant) bool {
	if t.q.Attempt > d.policy.MaxRetries {
		return false
	}
	q := *t.q
	q.Failed = append(slices.Clip(q.Failed), g.dep)
	q.Attempt++
	return d.decide(&q).Verdict == route.Serve
}

// unreached handles a runtime that could not be reached where no other can
// serve: nothing was sent, so this uses no retry and excludes nobody, as a
// refusal by its agent. It waits with the others for the runtime to come back.
func (d *Dispatcher) unreached(t *Ticket, g *grant, f *fleet.Failure) {
	why := &fleet.Refusal{Code: fleet.CodeNoRuntime, Reason: f.Message}
	if src := g.lane.node.src; src != nil {
		why.Sequence = src.Sequence
	}
	d.putBack(t, g, why)
	if l := d.lanes[g.dep]; l != nil {
		d.review(l) // the node may have reported it already
	}
}

// pressBack handles "queue full" of a runtime: back to its place in the lane
// once, then the client is told to come back later. Never a mark against the
// node: it is busy, not broken.
func (d *Dispatcher) pressBack(t *Ticket, g *grant) {
	if t.pressed {
		d.refuse(t, refusal(429, route.RefuseBackPressure, g.dep.String()), false)
		return
	}
	t.pressed, g.pressed = true, true
	l := d.laneOf(g.dep)
	d.delay(l, d.now.Add(d.policy.RetryAfter))
	d.giveBack(l, t)
}
