package queue

import (
	"strconv"
	"sync/atomic"
	"time"

	"bellwether/engine/fleet"
	"bellwether/engine/route"
)

// grant is one permission given, from Answer to both its ends: over (the slot
// is free) and closed (the record is complete). It is forgotten when both are.
type grant struct {
	id      string
	dep     fleet.DeploymentID
	boot    string
	seq     uint64
	ticket  *Ticket
	lane    *lane
	issued  time.Time
	total   time.Duration // the agent's own deadline for it
	seconds float64       // predicted
	claim   *claim        // the load it carries, nil = none

	// use is decided once, by whoever comes first: the gateway that presents
	// the grant, or the loop that takes it back.
	use atomic.Int32
	// first is how long its first content took, in nanoseconds; 0 = none came yet.
	first atomic.Int64

	pressed          bool // the runtime's own queue was full: its end frees nothing there
	over, closed     bool
	overAt, closedAt time.Time
	prev, next       *grant // among the unused
	listed           bool
}

// Values of grant.use.
const (
	unusedGrant int32 = iota
	usedGrant
	returnedGrant
)

// grant gives a ticket that was taken from its lane the permission to run.
func (d *Dispatcher) grant(l *lane, t *Ticket) {
	plan := &t.decision.Plan
	n := l.node
	n.seq++
	d.granted++
	g := &grant{
		id: t.q.Request + "." + strconv.FormatUint(d.granted, 36), dep: l.id, seq: n.seq,
		ticket: t, lane: l, issued: d.now, total: plan.Total, seconds: t.cost,
	}
	if n.src != nil {
		g.boot = n.src.Boot
	}
	if plan.Load {
		d.claimLoad(n, g, plan)
	}
	l.live = append(l.live, g)
	d.grants[g.id] = g
	d.unused.push(g)
	d.startReaping()
	t.state, t.lane = granted, nil
	t.current.Store(g)
	d.show(l)
	d.note(t, EventGranted)
	t.decision.Waited = t.waited
	t.c <- Answer{
		Decision: t.decision, Queued: d.now.Sub(t.roundAt),
		Grant: &fleet.Grant{
			ID: g.id, Request: t.q.Request, Attempt: t.q.Attempt, Deployment: l.id,
			Origin: t.q.Origin, Sequence: g.seq, Epoch: d.cfg.Epoch(), Boot: g.boot,
			FirstContent: plan.FirstContent, Idle: plan.Idle, Total: plan.Total,
			Load: plan.Load, Context: plan.Context, Need: plan.Need, Evict: plan.Evict, Output: plan.Output,
		},
	}
}

// Released takes the agent's word that a grant's work is over. It alone frees
// the slot. It may come before or after Completed; a second one is ignored.
func (d *Dispatcher) Released(r fleet.Released) { d.desk.Post(&released{r}) }

// Completed takes the gateway's word how a grant ended. It closes the record
// and, unless Retry is set, ends the ticket. A second one is ignored.
func (d *Dispatcher) Completed(c fleet.Completed) { d.desk.Post(&completed{c}) }

type released struct{ fleet.Released }

func (m *released) apply(d *Dispatcher) { d.onReleased(&m.Released) }

type completed struct{ fleet.Completed }

func (m *completed) apply(d *Dispatcher) { d.onCompleted(&m.Completed) }

func (d *Dispatcher) onReleased(r *fleet.Released) {
	if n := d.nodes[r.Deployment.Node]; n != nil && r.Uncertain > 0 {
		n.holdUncertain(r.Deployment, d.now.Add(r.Uncertain))
		d.changedNode(n)
	}
	g := d.grants[r.Grant]
	if g == nil || g.over {
		return
	}
	g.use.CompareAndSwap(unusedGrant, usedGrant) // it ran: it was presented
	g.lane.refusals = 0
	if !g.pressed {
		d.undelay(g.lane) // a place in the runtime has become free
	}
	d.freeSlot(g)
}

func (d *Dispatcher) onCompleted(c *fleet.Completed) {
	g := d.grants[c.Grant]
	if g == nil || g.closed {
		return
	}
	t := g.ticket
	switch {
	case c.Failure != nil:
		d.judgeFailure(g, c.Failure)
	case c.Validated && c.Outcome == fleet.OutcomeOK:
		d.succeeded(g)
		d.pin(t, g)
	}
	d.closeRecord(g)
	if !c.Retry && t.current.Load() == g {
		d.end(t, c.Outcome, "")
	}
}

// closeRecord notes that the gateway is done with a grant.
func (d *Dispatcher) closeRecord(g *grant) {
	if g.closed {
		return
	}
	g.closed, g.closedAt = true, d.now
	d.forgetIfDone(g)
}

// freeSlot notes that a grant's work is over: its slot and, once the node has
// reported it, its memory are free.
func (d *Dispatcher) freeSlot(g *grant) {
	if g.over {
		return
	}
	g.over, g.overAt = true, d.now
	g.lane.off(g)
	if g.claim != nil {
		d.loadOver(g.claim)
	}
	d.show(g.lane)
	d.touch(g.lane)
	d.idle = true
	d.forgetIfDone(g)
}

// takeBack undoes a grant whose work never began: it came back unused, or the
// agent refused it. Its claim on memory goes at once.
func (d *Dispatcher) takeBack(g *grant) {
	g.use.Store(returnedGrant)
	if g.claim != nil {
		d.dropClaim(g.lane.node, g.claim)
	}
	d.freeSlot(g)
	d.closeRecord(g)
}

func (d *Dispatcher) forgetIfDone(g *grant) {
	if !g.over || !g.closed {
		return
	}
	delete(d.grants, g.id)
	d.unused.remove(g)
}

// expireUnused takes back the grants that nobody presented for 2 s.
func (d *Dispatcher) expireUnused() {
	for g := d.unused.first; g != nil && !d.now.Before(g.issued.Add(fleet.GrantTTL)); g = d.unused.first {
		d.unused.remove(g)
		if g.use.CompareAndSwap(unusedGrant, returnedGrant) {
			d.onUnused(g)
		}
	}
}

// onUnused puts a request whose grant came back unused to its place again. If
// the grant still lies on its channel it is taken away; a second time in a row
// nobody is there to serve.
func (d *Dispatcher) onUnused(g *grant) {
	t := g.ticket
	d.takeBack(g)
	if t.state != granted {
		return
	}
	select {
	case <-t.c:
	default: // taken already; Used will say no
	}
	d.note(t, EventReturned)
	t.returned++
	if t.returned > 1 {
		d.refuse(t, refusal(503, route.RefuseUnused), false)
		return
	}
	d.giveBack(d.laneOf(g.dep), t)
}

// grantList holds unused grants in order of issue, linked through the grants
// so that each leaves it in constant time.
type grantList struct{ first, last *grant }

func (l *grantList) push(g *grant) {
	g.listed = true
	g.prev = l.last
	if l.last == nil {
		l.first = g
	} else {
		l.last.next = g
	}
	l.last = g
}

func (l *grantList) remove(g *grant) {
	if !g.listed {
		return
	}
	if g.prev == nil {
		l.first = g.next
	} else {
		g.prev.next = g.next
	}
	if g.next == nil {
		l.last = g.prev
	} else {
		g.next.prev = g.prev
	}
	g.listed, g.prev, g.next = false, nil, nil
}
