package queue

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"bellwether/engine/budget"
	"bellwether/engine/event"
	"bellwether/engine/fleet"
	"bellwether/engine/route"
)

const gb = int64(1) << 30

var t0 = time.Date(2026, 11, 3, 9, 0, 0, 0, time.UTC)

// fx drives a dispatcher by hand: messages in, effects out as text. Its clock
// moves only when told, its fleet changes only when told.
type fx struct {
	t       *testing.T
	d       *Dispatcher
	now     time.Time
	policy  *route.Policy
	snap    *fleet.Snapshot
	events  *event.Sub[Event]
	tickets map[string]*Ticket
	grants  map[string]fleet.Grant
	log     []string
}

// newFx returns a dispatcher over the given nodes that has seen them.
func newFx(t *testing.T, nodes ...*fleet.Node) *fx {
	x := &fx{t: t, now: t0, policy: route.DefaultPolicy(), tickets: map[string]*Ticket{}, grants: map[string]fleet.Grant{}}
	x.policy.PullWhenFree = false // stories about pulling turn it on
	hub := event.NewHub[Event](4096)
	x.events = hub.Subscribe()
	x.snap = &fleet.Snapshot{Version: 1, Settled: true}
	x.d = New(Config{
		Policy: func() *route.Policy { return x.policy },
		Fleet:  func() *fleet.Snapshot { return x.snap },
		Now:    func() time.Time { return x.now },
		Events: hub, Decide: decideSimply,
	})
	x.report(nodes...)
	return x
}

// machine is a node with one pool of 32 GB and a margin of 2.
func machine(name string, deployments ...fleet.Deployment) *fleet.Node {
	n := &fleet.Node{Heartbeat: fleet.Heartbeat{
		Node: name, Name: name, Boot: name + "-1", Sequence: 1,
		Runtimes: []fleet.RuntimeState{{Name: "ollama", Kind: "ollama", Up: true, Pool: "unified"}},
		Pools: []fleet.Pool{{Name: "unified", Kind: fleet.PoolUnified, Total: 32 * gb, Limit: 32 * gb, Margin: 2 * gb,
			Free: fleet.Know(30 * gb)}},
	}}
	for _, dep := range deployments {
		dep.ID = fleet.DeploymentID{Node: name, Runtime: "ollama", Model: dep.ID.Model}
		n.Deployments = append(n.Deployments, dep)
	}
	count(n)
	return n
}

// count writes into a node's pool what its loaded deployments hold.
func count(n *fleet.Node) {
	p := n.Pools[0]
	p.Holders, p.Free = nil, fleet.Know(p.Limit-p.Margin)
	for _, dep := range n.Deployments {
		if dep.Residency == fleet.Loaded {
			size, label := budget.Size(&dep)
			p.Holders = append(p.Holders, fleet.Holder{Deployment: dep.ID, Kind: fleet.HoldResident, Bytes: size, Label: label})
			p.Free.V -= size.V
		}
	}
	n.Pools = []fleet.Pool{p}
}

func loaded(model string, slots int) fleet.Deployment {
	return fleet.Deployment{ID: fleet.DeploymentID{Model: model}, Residency: fleet.Loaded, Slots: slots, ResidentBytes: 8 * gb, WeightsBytes: 7 * gb}
}

func onDisk(model string, slots int) fleet.Deployment {
	return fleet.Deployment{ID: fleet.DeploymentID{Model: model}, Slots: slots, WeightsBytes: 10 * gb}
}

// report publishes nodes as they are now, each with a new sequence.
func (x *fx) report(nodes ...*fleet.Node) {
	s := &fleet.Snapshot{Version: x.snap.Version + 1, At: x.now, Settled: x.snap.Settled, Nodes: slices.Clone(x.snap.Nodes)}
	for _, n := range nodes {
		n.Sequence++
		n.LastSeen = x.now
		i := slices.IndexFunc(s.Nodes, func(o fleet.Node) bool { return o.Node == n.Node })
		if i < 0 {
			s.Nodes = append(s.Nodes, *n)
		} else {
			s.Nodes[i] = *n
		}
	}
	slices.SortFunc(s.Nodes, func(a, b fleet.Node) int { return strings.Compare(a.Node, b.Node) })
	x.snap = s
	x.do(fleetChanged{})
}

// remove publishes the fleet without a node.
func (x *fx) remove(name string) {
	s := *x.snap
	s.Version++
	s.Nodes = slices.DeleteFunc(slices.Clone(s.Nodes), func(n fleet.Node) bool { return n.Node == name })
	x.snap = &s
	x.do(fleetChanged{})
}

// do handles a message and notes what followed.
func (x *fx) do(m message) {
	x.d.step(m)
	for {
		select {
		case e := <-x.events.C:
			x.effect(e)
			continue
		default:
		}
		break
	}
	for name, t := range x.tickets {
		select {
		case a := <-t.c:
			if a.Grant == nil {
				continue // told by the event already
			}
			x.grants[name] = *a.Grant
		default:
		}
	}
}

func (x *fx) effect(e Event) {
	s := string(e.Kind) + " " + e.Request
	switch e.Kind {
	case EventGranted:
		s = "grant " + e.Request + " " + e.Deployment.Node
	case EventQueued:
		return // the grant or the silence after it says enough
	case EventMoved:
		s += " " + e.From.Node + ">" + e.Deployment.Node
	case EventDone:
		s += " " + string(e.Outcome)
		if e.Reason != "" {
			s += " " + e.Reason
		}
	}
	x.log = append(x.log, s)
}

// want compares the effects since the last want, written with "; " between.
func (x *fx) want(want string) {
	x.t.Helper()
	got := strings.Join(x.log, "; ")
	x.log = nil
	if got != want {
		x.t.Errorf("effects\n got %q\nwant %q", got, want)
	}
}

// query makes a query for a model; options change it.
func query(name, model string, options ...func(*route.Query)) *route.Query {
	q := &route.Query{Request: name, Model: model, Origin: "studio"}
	q.Needs.App, q.Needs.Tokens.Output = "app", 100
	for _, o := range options {
		o(q)
	}
	return q
}

func fromApp(app string) func(*route.Query) { return func(q *route.Query) { q.Needs.App = app } }
func taking(seconds int) func(*route.Query) {
	return func(q *route.Query) { q.Needs.Tokens.Output = seconds * 100 }
}
func batch(q *route.Query) { q.Needs.Batch = true }
func session(key string) func(*route.Query) {
	return func(q *route.Query) { q.Needs.Session, q.Needs.SessionPins = key, true }
}
func boundTo(node string) func(*route.Query) { return func(q *route.Query) { q.Needs.Node = node } }

func (x *fx) submit(name, model string, options ...func(*route.Query)) {
	t := &Ticket{d: x.d, c: make(chan Answer, 1), q: query(name, model, options...)}
	x.tickets[name] = t
	x.do(submitted{t})
}

func (x *fx) pass(d time.Duration) {
	for end := x.now.Add(d); ; {
		due := x.d.nextDue()
		if due.IsZero() || due.After(end) {
			x.now = end
			x.do(tick{})
			return
		}
		x.now = due
		x.do(tick{})
	}
}

// use presents a ticket's grant, as a gateway does.
func (x *fx) use(names ...string) {
	for _, n := range names {
		if !x.tickets[n].Used(x.grants[n]) {
			x.t.Errorf("%s: the grant was not good any more", n)
		}
	}
}

func (x *fx) release(name string) {
	g := x.grants[name]
	x.do(&released{fleet.Released{Grant: g.ID, Node: g.Deployment.Node, Deployment: g.Deployment, Sequence: g.Sequence}})
}

func (x *fx) complete(name string) {
	g := x.grants[name]
	x.do(&completed{fleet.Completed{Grant: g.ID, Request: name, Deployment: g.Deployment, Outcome: fleet.OutcomeOK, Validated: true}})
}

// done is a whole successful run.
func (x *fx) done(name string) {
	x.use(name)
	x.release(name)
	x.complete(name)
}

func (x *fx) retry(name string, class fleet.FailureClass) {
	x.do(&retried{x.tickets[name], x.grants[name].ID, fleet.Failure{Class: class, Message: "as told"}, false})
}

func (x *fx) refuse(name string, code fleet.Code, sequence uint64, pools ...fleet.Pool) {
	x.do(refused{x.tickets[name], x.grants[name].ID, &fleet.Refusal{Code: code, Sequence: sequence, Pools: pools}})
}

func (x *fx) abandon(name string) { x.do(&abandoned{x.tickets[name], "client gone"}) }

// wantEmpty checks that nothing is left of the requests so far.
func (x *fx) wantEmpty() {
	x.t.Helper()
	wantEmpty(x.t, x.d)
}

func wantEmpty(t interface {
	Helper()
	Errorf(string, ...any)
}, d *Dispatcher) {
	t.Helper()
	for what, n := range map[string]int{
		"tickets": len(d.tickets), "grants": len(d.grants), "lanes": len(d.lanes), "apps": len(d.apps),
		"held": d.holds.len(), "waiting": d.waiting, "loads": len(d.loading), "dirty": len(d.dirty),
		"delayed": len(d.delayed), "pulls": len(d.holds.pulls),
	} {
		if n != 0 {
			t.Errorf("%d %s left", n, what)
		}
	}
	if d.unused.first != nil {
		t.Errorf("unused grants left")
	}
	for id, n := range d.nodes {
		if len(n.claims) != 0 {
			t.Errorf("%d claims left on %s", len(n.claims), id)
		}
	}
}

// decideSimply is a small router for these stories: it knows liveness, pause,
// failures, circuits, uncertain holds and memory with eviction, prefers loaded
// models, then shallow lanes, then those used longest ago. A request takes
// output tokens / 100 seconds, on a node of known bandwidth that many times
// faster.
func decideSimply(v *route.View, p *route.Policy, q *route.Query) *route.Decision {
	dec := &route.Decision{Exclusions: map[fleet.DeploymentID][]route.Exclusion{}, RegistryVersion: v.Fleet.Version}
	if !v.Fleet.Settled {
		dec.Verdict = route.Hold
		return dec
	}
	type option struct {
		dep   *fleet.Deployment
		node  *fleet.Node
		plan  route.Plan
		score int
	}
	var options []option
	holdable := false
	for _, name := range append([]string{q.Model}, q.Fallbacks...) {
		for i := range v.Fleet.Nodes {
			n := &v.Fleet.Nodes[i]
			for k := range n.Deployments {
				dep := &n.Deployments[k]
				if !fleet.SameModel(dep.ID.Model, name) {
					continue
				}
				plan, code := judgeSimply(v, p, q, n, dep)
				if code != "" {
					dec.Exclusions[dep.ID] = []route.Exclusion{{Code: code, Hold: code.Holdable()}}
					holdable = holdable || code.Holdable()
					continue
				}
				lane := v.Lanes[dep.ID]
				score := -6 * lane.Depth()
				if dep.Residency == fleet.Loaded {
					score += 50
				}
				if pin, ok := v.Pins[q.Needs.Session]; ok && pin.Deployment == dep.ID {
					score += 20
				}
				options = append(options, option{dep, n, plan, score})
			}
		}
		if len(options) > 0 {
			dec.Model = name
			break
		}
	}
	if len(options) == 0 {
		dec.Verdict, dec.Status = route.Refuse, 404
		if holdable {
			dec.Verdict = route.Hold
		}
		return dec
	}
	best := slices.MinFunc(options, func(a, b option) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(v.Lanes[a.dep.ID].LastUsed, v.Lanes[b.dep.ID].LastUsed), a.dep.ID.Compare(b.dep.ID))
	})
	dec.Verdict, dec.Chosen, dec.Plan = route.Serve, best.dep.ID, best.plan
	return dec
}

func judgeSimply(v *route.View, p *route.Policy, q *route.Query, n *fleet.Node, dep *fleet.Deployment) (plan route.Plan, out fleet.Code) {
	circuit := v.Open[dep.ID]
	switch {
	case n.Liveness == fleet.Offline:
		return plan, fleet.CodeOffline
	case q.Needs.Node != "" && q.Needs.Node != n.Node:
		return plan, fleet.CodeBound
	case n.State.Paused:
		return plan, fleet.CodePaused
	case slices.Contains(q.Failed, dep.ID):
		return plan, fleet.CodeFailedBefore
	case circuit.KeepsOut(q.Needs.App) && v.Now.Before(circuit.RetryAt):
		return plan, fleet.CodeCircuitOpen
	case n.Uncertain[dep.ID] > 0:
		return plan, fleet.CodeUncertainHold
	}
	speed := 1.0
	if n.Hardware.BandwidthGBs.Known {
		speed = n.Hardware.BandwidthGBs.V
	}
	plan = route.Plan{Slots: max(1, dep.Slots), PredictedSeconds: float64(q.Needs.Tokens.Output) / 100 / speed, Total: p.Total}
	if dep.Residency == fleet.Loaded || dep.Residency == fleet.Loading {
		return plan, ""
	}
	if dep.Residency == fleet.Leaving {
		return plan, fleet.CodeMemory
	}
	plan.Load = true
	need := budget.NeedOf(dep, n.Runtime(dep.ID.Runtime), n.Pools)
	plan.Need, _ = need.Total()
	ledger := budget.Mirror(n.Pools, budget.Options{}, v.Now)
	for i := range n.Deployments {
		c := budget.Candidate{Deployment: dep.ID, Need: need, Evict: plan.Evict}
		if ledger.Admit(c) == nil {
			return plan, ""
		}
		other := &n.Deployments[i]
		if other.Residency == fleet.Loaded && v.Lanes[other.ID].Depth() == 0 && n.Running[other.ID] == 0 && !other.Pinned {
			plan.Evict = append(plan.Evict, other.ID)
		}
	}
	if ledger.Admit(budget.Candidate{Deployment: dep.ID, Need: need, Evict: plan.Evict}) == nil {
		return plan, ""
	}
	return plan, fleet.CodeMemory
}

func names(prefix string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprint(prefix, i+1)
	}
	return out
}
