package queue

import (
	"slices"
	"time"

	"bellwether/engine/fleet"
	"bellwether/engine/route"
)

// circuits keeps broken deployments out: open after Failures of the last Of
// ended calls within Window; then one try after RetryAfter, the wait doubling
// to RetryMax with every failed try. Only runtime faults count, and only a
// validated completion is a success.
//
// Not every mistake of a caller can be told from a fault: some make a runtime
// fall over. So what fails with the requests of one app alone is kept from that
// app alone. It is kept from everyone once others fail more often than not.
type circuits struct {
	by   map[fleet.DeploymentID]*circuit
	open map[fleet.DeploymentID]route.Circuit // the view's; RetryAt is in the future while a try is under way
}

// circuit exists while its deployment has a failure that counts, or is open.
type circuit struct {
	ends    []end // last ones, oldest first
	open    bool
	app     string // whose requests are kept out while open, "" = everyone's
	wait    time.Duration
	retryAt time.Time
	trying  *Ticket // has the one try
	told    bool    // that a try is due, to those who are held
}

type end struct {
	at     time.Time
	app    string
	failed bool
}

func (c *circuits) init() {
	c.by = map[fleet.DeploymentID]*circuit{}
	c.open = map[fleet.DeploymentID]route.Circuit{}
}

// judgeFailure counts a failed attempt, if it says something of the runtime.
func (d *Dispatcher) judgeFailure(g *grant, f *fleet.Failure) {
	if !runtimeFault(f) || f.Class == fleet.FailTimeout && d.hasty(g.ticket) {
		d.giveUpTry(g.ticket)
		return
	}
	if d.circuits.failed(g, d.policy.Circuit, d.now) {
		n := g.lane.node
		d.changedNode(n)
		if l := d.lanes[g.dep]; l != nil {
			d.review(l)
		}
	}
}

// hasty reports whether the time is over that the request's own client gave it:
// what does not answer within it need not be slow.
func (d *Dispatcher) hasty(t *Ticket) bool {
	given := t.q.Needs.Timeout
	return given > 0 && given < d.policy.Total && d.now.Sub(t.arrived) >= given
}

// runtimeFault reports whether a failure is the runtime's own: not the
// caller's mistake, nor a full queue, a refusal, a contract that it is no longer
// for, or somebody's cancel.
func runtimeFault(f *fleet.Failure) bool {
	if f.Caller {
		return false
	}
	switch f.Class {
	case fleet.FailConnect, fleet.FailBeforeOpen, fleet.FailMidStream, fleet.FailInvalid, fleet.FailTimeout, fleet.FailLoad:
		return true
	case fleet.FailStatus:
		return f.Status >= 500
	}
	return false
}

// failed counts a failure and reports whether it opened the circuit.
func (c *circuits) failed(g *grant, p route.CircuitPolicy, now time.Time) (opened bool) {
	k := c.by[g.dep]
	if k == nil {
		k = &circuit{}
		c.by[g.dep] = k
	}
	app := g.ticket.q.Needs.App
	switch {
	case k.trying == g.ticket:
		k.wait = min(2*k.wait, p.RetryMax)
		k.close(c, g.dep, now)
		return false
	case k.open && (k.app == "" || k.app == app): // sent before it opened
		return false
	}
	k.count(end{now, app, true}, p)
	switch {
	case k.open && k.failsBut(k.app):
		k.app = ""
	case k.open || k.failures() < p.Failures:
		return false
	default:
		k.open, k.app, k.wait = true, k.blamed(), p.RetryAfter
	}
	k.ends = slices.DeleteFunc(k.ends, func(e end) bool { return k.app == "" || k.app == e.app })
	k.close(c, g.dep, now)
	return true
}

func (k *circuit) failures() (n int) {
	for _, e := range k.ends {
		if e.failed {
			n++
		}
	}
	return n
}

// blamed is the app with the most failures, "" where it fails without it too.
func (k *circuit) blamed() (app string) {
	of, most := map[string]int{}, 0
	for _, e := range k.ends {
		if e.failed {
			of[e.app]++
		}
		if n := of[e.app]; n > most {
			app, most = e.app, n
		}
	}
	if k.failsBut(app) {
		return ""
	}
	return app
}

// failsBut reports whether what other apps ask fails more often than not.
func (k *circuit) failsBut(app string) bool {
	failed, ended := 0, 0
	for _, e := range k.ends {
		switch {
		case e.app == app:
		case e.failed:
			failed, ended = failed+1, ended+1
		default:
			ended++
		}
	}
	return 2*failed > ended
}

// close keeps those it is open to out for its wait.
func (k *circuit) close(c *circuits, id fleet.DeploymentID, now time.Time) {
	k.trying, k.told, k.retryAt = nil, false, now.Add(k.wait)
	c.open[id] = route.Circuit{Open: true, App: k.app, RetryAt: k.retryAt}
}

// succeeded counts a validated completion; that of the one try heals.
func (d *Dispatcher) succeeded(g *grant) {
	k, app := d.circuits.by[g.dep], g.ticket.q.Needs.App
	switch {
	case k == nil:
	case !k.open:
		k.count(end{d.now, app, false}, d.policy.Circuit)
	case k.trying == g.ticket:
		delete(d.circuits.by, g.dep)
		delete(d.circuits.open, g.dep)
		d.holds.touch(g.dep.Node)
	case k.app != "" && k.app != app:
		k.count(end{d.now, app, false}, d.policy.Circuit)
	}
}

// count adds an end and forgets those too old or too many.
func (k *circuit) count(e end, p route.CircuitPolicy) {
	k.ends = append(k.ends, e)
	k.ends = slices.DeleteFunc(k.ends, func(o end) bool { return e.at.Sub(o.at) > p.Window })
	if more := len(k.ends) - p.Of; more > 0 {
		k.ends = slices.Delete(k.ends, 0, more)
	}
}

// trial gives the one try of an open circuit to a ticket that was placed there;
// until it ends nobody else gets one.
func (c *circuits) trial(id fleet.DeploymentID, t *Ticket, now time.Time) {
	if k := c.by[id]; k != nil && k.trying == nil && c.open[id].KeepsOut(t.q.Needs.App) {
		k.trying = t
		c.open[id] = route.Circuit{Open: true, App: k.app, RetryAt: now.Add(k.wait)}
	}
}

// giveUpTry returns a try that told nothing: its ticket went elsewhere or ended
// without a word on the runtime. Somebody else may have it at once.
func (d *Dispatcher) giveUpTry(t *Ticket) {
	for id, k := range d.circuits.by {
		if k.trying == t {
			k.trying, k.told, k.retryAt = nil, true, d.now
			d.circuits.open[id] = route.Circuit{Open: true, App: k.app, RetryAt: d.now}
			d.holds.touch(id.Node)
		}
	}
}

// tryDue reports whether some circuit has come to the moment of its next try.
// Each such moment is reported once.
func (c *circuits) tryDue(now time.Time) (due bool) {
	for _, k := range c.by {
		if k.waits() && !now.Before(k.retryAt) {
			k.told, due = true, true
		}
	}
	return due
}

// nextTry is the first such moment; zero = there is none.
func (c *circuits) nextTry() (at time.Time) {
	for _, k := range c.by {
		if k.waits() && (at.IsZero() || k.retryAt.Before(at)) {
			at = k.retryAt
		}
	}
	return at
}

func (k *circuit) waits() bool { return k.open && k.trying == nil && !k.told }

// sweep forgets circuits whose failures are all too old to count.
func (c *circuits) sweep(p route.CircuitPolicy, now time.Time) {
	for id, k := range c.by {
		if !k.open && (len(k.ends) == 0 || now.Sub(k.ends[len(k.ends)-1].at) > p.Window) {
			delete(c.by, id)
		}
	}
}

func (c *circuits) forget(node string) {
	for id := range c.by {
		if id.Node == node {
			delete(c.by, id)
			delete(c.open, id)
		}
	}
}
