package queue

import (
	"slices"
	"time"

	"bellwether/engine/fleet"
	"bellwether/engine/route"
)

// lane is the queue of one deployment. It exists while it has requests waiting
// or running, or is kept shut.
type lane struct {
	id    fleet.DeploymentID
	node  *node
	order order
	live  []*grant // granted and not over: what counts as running
	slots int      // by the last plan made for it

	// Shut after a refusal by the agent, until a heartbeat with a higher
	// sequence than shutSeq (or of another boot), and until notBefore: a second
	// refusal in a row also waits a little, or the two sides would spin.
	shut      bool
	shutSeq   uint64
	shutBoot  string
	refusals  int // in a row
	notBefore time.Time

	lastUsed int64
	reviewed terms // when its waiting requests were last judged
	dirty    bool  // is in Dispatcher.dirty
	pumping  bool
}

// running is how many requests count as under way: ours, and those that the
// node was running for somebody else when we first saw it.
func (l *lane) running() int { return len(l.live) + l.node.foreign[l.id] }

func (l *lane) open(now time.Time) bool { return !l.shut && !now.Before(l.notBefore) }

// laneOf returns a deployment's lane, made if there is none.
func (d *Dispatcher) laneOf(id fleet.DeploymentID) *lane {
	l := d.lanes[id]
	if l == nil {
		l = &lane{id: id, node: d.nodeOf(id.Node), slots: 1, lastUsed: d.view.Lanes[id].LastUsed}
		l.reviewed = l.terms()
		d.lanes[id] = l
	}
	return l
}

// show brings the view's picture of a lane up to date. The entry outlives the
// lane for the sake of LastUsed, by which equal nodes take turns.
func (d *Dispatcher) show(l *lane) {
	d.view.Lanes[l.id] = route.Lane{
		Running: l.running(), Waiting: l.order.n, LastUsed: l.lastUsed,
		LoadRemaining: d.view.Lanes[l.id].LoadRemaining, Closed: !l.open(d.now),
	}
}

// touch marks a lane as one that may grant or may go.
func (d *Dispatcher) touch(l *lane) {
	if !l.dirty {
		l.dirty = true
		d.dirty = append(d.dirty, l)
	}
}

// pumpDirty grants in every lane that something happened to, and reports
// whether there was one.
func (d *Dispatcher) pumpDirty() bool {
	if len(d.dirty) == 0 {
		return false
	}
	for len(d.dirty) > 0 {
		l := d.dirty[len(d.dirty)-1]
		d.dirty = d.dirty[:len(d.dirty)-1]
		l.dirty = false
		d.pump(l)
		d.dropIfEmpty(l)
	}
	return true
}

// pump grants to a lane's requests in their order while it has a free slot.
// A plan made on an older picture of the node is made again first.
func (d *Dispatcher) pump(l *lane) {
	if l.pumping {
		return
	}
	l.pumping = true
	defer func() { l.pumping = false }()
	for l.order.n > 0 && l.open(d.now) {
		t := l.order.next(d.now)
		if t.planned != l.node.version && !d.replan(l, t) {
			continue // it went elsewhere
		}
		l.slots = max(1, t.decision.Plan.Slots)
		if l.running() >= l.slots {
			return
		}
		l.order.take(t)
		d.waiting--
		d.grant(l, t)
	}
}

// replan plans a waiting request's run on its node anew. When it can no longer
// run there it is placed again, and replan returns false.
func (d *Dispatcher) replan(l *lane, t *Ticket) bool {
	here := d.decideAt(l.node, t.q)
	t.planned = l.node.version
	if here.Verdict == route.Serve && here.Chosen == l.id {
		dec := *t.decision // the record keeps how it was chosen
		dec.Plan = here.Plan
		t.decision = &dec
		return true
	}
	d.move(t)
	return false
}

// move places a waiting request again, its age kept.
func (d *Dispatcher) move(t *Ticket) {
	d.leave(t)
	d.giveUpTry(t)
	t.rank = rankOf(t, true)
	d.place(t)
}

// review plans every request waiting in a lane anew, after its node changed in
// a way that may keep it from serving at all.
func (d *Dispatcher) review(l *lane) {
	for _, t := range l.order.all() {
		if t.state == waiting && t.lane == l && t.planned != l.node.version {
			d.replan(l, t)
		}
	}
	d.touch(l)
}

// dropIfEmpty forgets a lane that has nothing left to do and is not kept shut.
func (d *Dispatcher) dropIfEmpty(l *lane) {
	if l.order.n > 0 || len(l.live) > 0 || l.dirty || d.lanes[l.id] != l {
		return
	}
	d.holds.touch(l.id.Node) // idle now: others may have it evicted
	if l.open(d.now) {
		delete(d.lanes, l.id)
	}
}

// closeLane shuts a lane after a refusal by its agent.
func (d *Dispatcher) closeLane(l *lane, g *grant, why *fleet.Refusal) {
	n := l.node
	l.refusals++
	l.shut, l.shutSeq, l.shutBoot = true, 0, g.boot
	if why != nil {
		l.shutSeq = why.Sequence
		n.correct(why)
	}
	if l.refusals > 1 {
		wait := 100 * time.Millisecond << min(l.refusals-2, 5)
		d.delay(l, d.now.Add(min(wait, d.policy.HoldInterval)))
	}
	d.reopen(l)
	d.changedNode(n)
	d.show(l)
}

// reopen opens a lane whose node has reported since it was shut.
func (d *Dispatcher) reopen(l *lane) {
	src := l.node.src
	if !l.shut || src == nil || src.Boot == l.shutBoot && src.Sequence <= l.shutSeq {
		return
	}
	l.shut = false
	d.show(l)
	d.touch(l)
}

// delay keeps a lane from granting until at.
func (d *Dispatcher) delay(l *lane, at time.Time) {
	l.notBefore = at
	if !slices.Contains(d.delayed, l) {
		d.delayed = append(d.delayed, l)
	}
}

// undelay ends a lane's wait.
func (d *Dispatcher) undelay(l *lane) {
	if l.notBefore.IsZero() {
		return
	}
	l.notBefore = time.Time{}
	d.delayed = slices.DeleteFunc(d.delayed, func(o *lane) bool { return o == l })
	d.show(l)
	d.touch(l)
}

// reopenByTime ends the waits that are over.
func (d *Dispatcher) reopenByTime() {
	for _, l := range slices.Clone(d.delayed) {
		if !d.now.Before(l.notBefore) {
			d.undelay(l)
		}
	}
}

// nextReopen is when the first wait is over; zero = there is none.
func (d *Dispatcher) nextReopen() (at time.Time) {
	for _, l := range d.delayed {
		if at.IsZero() || l.notBefore.Before(at) {
			at = l.notBefore
		}
	}
	return at
}

// off takes a grant out of those that count as running.
func (l *lane) off(g *grant) {
	l.live = slices.DeleteFunc(l.live, func(o *grant) bool { return o == g })
}
