package queue

import (
	"slices"
	"time"

	"bellwether/engine/fleet"
	"bellwether/engine/route"
)

// holds is the list of requests that wait for a change: no node may serve them
// now, and waiting may cure it (routing.md 8). They are judged again every
// interval, and at once when something they were refused for has changed.
type holds struct {
	classes [2][]*Ticket // interactive, batch; each by age
	judgeAt time.Time    // next judging of all
	endAt   time.Time    // no later than the first one's end; zero = none
	all     bool         // everything may have changed
	touched []string     // nodes that changed
	joined  bool         // some node has a model it had not
	pulls   map[string]int
}

// hold puts a request on the list, for at most limit from its arrival on.
func (d *Dispatcher) hold(t *Ticket, limit time.Duration) {
	t.holdUntil = t.arrived.Add(limit)
	if t.q.NoHold || !d.now.Before(t.holdUntil) {
		d.refuse(t, t.decision, true)
		return
	}
	t.state, t.judged = held, d.now
	t.waitsFor(t.decision, d.now)
	t.rank = rankOf(t, true)
	h := &d.holds
	if h.len() == 0 {
		h.judgeAt = d.now.Add(d.policy.HoldInterval)
	}
	if h.endAt.IsZero() || t.holdUntil.Before(h.endAt) {
		h.endAt = t.holdUntil
	}
	c := h.class(t)
	i, _ := slices.BinarySearchFunc(*c, t, byAge)
	*c = slices.Insert(*c, i, t)
	d.note(t, EventHeld)
}

// fetch asks for the model a held request waits for, once for all who wait.
func (d *Dispatcher) fetch(t *Ticket) {
	if t.state != held {
		return
	}
	t.pulls = t.decision.Model
	if t.pulls == "" {
		t.pulls = t.q.Model
	}
	if d.holds.pulls == nil {
		d.holds.pulls = map[string]int{}
	}
	d.holds.pulls[t.pulls]++
	if d.holds.pulls[t.pulls] == 1 && d.cfg.Pull != nil {
		d.cfg.Pull(t.pulls)
	}
}

// PullFailed says that a model that Config.Pull asked for cannot be fetched:
// who waits for it is told now and not when its time is over.
func (d *Dispatcher) PullFailed(model string) { d.desk.Post(pullFailed(model)) }

type pullFailed string

func (m pullFailed) apply(d *Dispatcher) { d.onPullFailed(string(m)) }

func (d *Dispatcher) onPullFailed(model string) {
	for _, class := range d.holds.classes {
		for _, t := range slices.Clone(class) {
			if t.pulls == model {
				d.unhold(t)
				d.refuse(t, t.decision, true)
			}
		}
	}
}

// unhold takes a request off the list.
func (d *Dispatcher) unhold(t *Ticket) {
	t.waitOver(d.now)
	c := d.holds.class(t)
	if i, found := slices.BinarySearchFunc(*c, t, byAge); found {
		*c = slices.Delete(*c, i, i+1)
	}
	if t.pulls != "" {
		if d.holds.pulls[t.pulls]--; d.holds.pulls[t.pulls] <= 0 {
			delete(d.holds.pulls, t.pulls)
		}
		t.pulls = ""
	}
	if d.holds.len() == 0 {
		d.holds.endAt = time.Time{}
		d.holds.forgetChanges()
	}
}

func (h *holds) class(t *Ticket) *[]*Ticket {
	if t.q.Needs.Batch {
		return &h.classes[1]
	}
	return &h.classes[0]
}

func (h *holds) len() int { return len(h.classes[0]) + len(h.classes[1]) }

// due is when the list must be looked at next; zero when it is empty.
func (h *holds) due() time.Time {
	if h.len() == 0 {
		return time.Time{}
	}
	if h.endAt.Before(h.judgeAt) {
		return h.endAt
	}
	return h.judgeAt
}

// touch notes that something changed on a node.
func (h *holds) touch(node string) {
	if h.len() > 0 && !slices.Contains(h.touched, node) {
		h.touched = append(h.touched, node)
	}
}

func (h *holds) touchAll() { h.all = h.len() > 0 }

func (h *holds) forgetChanges() {
	h.all, h.joined, h.touched = false, false, h.touched[:0]
}

// holdsDue ends the holds whose time is over, and has all others judged when
// their interval is.
func (d *Dispatcher) holdsDue() {
	h := &d.holds
	if h.len() == 0 {
		return
	}
	if !d.now.Before(h.endAt) {
		d.endHolds()
	}
	if !d.now.Before(h.judgeAt) {
		h.judgeAt = d.now.Add(d.policy.HoldInterval)
		d.refreshUncertain()
		h.touchAll()
	}
	if d.circuits.tryDue(d.now) {
		h.touchAll()
	}
}

// endHolds refuses the requests that have waited their time.
func (d *Dispatcher) endHolds() {
	h := &d.holds
	var over []*Ticket
	h.endAt = time.Time{}
	for _, class := range h.classes {
		for _, t := range class {
			switch {
			case !d.now.Before(t.holdUntil):
				over = append(over, t)
			case h.endAt.IsZero() || t.holdUntil.Before(h.endAt):
				h.endAt = t.holdUntil
			}
		}
	}
	for _, t := range over {
		d.unhold(t)
		d.refuse(t, t.decision, true)
	}
}

// rescoreChanged judges the held requests that the changes since the last time
// concern, oldest first in each class, and reports whether there were changes.
func (d *Dispatcher) rescoreChanged() bool {
	h := &d.holds
	if h.len() == 0 || !h.all && !h.joined && len(h.touched) == 0 {
		return false
	}
	all, joined, touched := h.all, h.joined, slices.Clone(h.touched)
	h.forgetChanges()
	for _, class := range h.classes {
		for _, t := range slices.Clone(class) {
			if t.state == held && (all || concerns(t.decision, touched, joined)) {
				d.rescore(t)
			}
		}
	}
	return true
}

// concerns reports whether one of the nodes stands among a decision's
// exclusions with a deployment, or, when a model has appeared, at all.
func concerns(dec *route.Decision, nodes []string, joined bool) bool {
	if joined {
		return true
	}
	for id, out := range dec.Exclusions {
		if slices.Contains(nodes, id.Node) && !(len(out) == 1 && out[0].Code == fleet.CodeModelAbsent) {
			return true
		}
	}
	return false
}

// rescore judges one held request again.
func (d *Dispatcher) rescore(t *Ticket) {
	t.judged = d.now
	dec := d.decide(t.q)
	dec.Scenario = t.decision.Scenario
	t.decision = dec
	d.keepInput(t)
	switch dec.Verdict {
	case route.Hold:
		t.waitsFor(dec, d.now)
	case route.Pull:
		t.waitsFor(dec, d.now)
		if t.pulls == "" {
			t.holdUntil = t.arrived.Add(d.policy.AutoPullTimeout)
			d.fetch(t)
		}
	case route.Serve:
		d.unhold(t)
		d.join(t)
	default:
		d.unhold(t)
		d.refuse(t, dec, false)
	}
}
