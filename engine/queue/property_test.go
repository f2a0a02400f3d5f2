package queue

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"bellwether/engine/fleet"
	"bellwether/engine/route"

	"pgregory.net/rapid"
)

// machineModel draws messages in any order and checks, after each, what must
// hold between two messages.
type machineModel struct {
	x     *fx
	nodes map[string]*fleet.Node
	next  int
}

func newMachineModel(t *testing.T, rt *rapid.T) *machineModel {
	m := &machineModel{nodes: map[string]*fleet.Node{}}
	var all []*fleet.Node
	for _, name := range []string{"a", "b", "c"} {
		n := machine(name, loaded("m", 1), loaded("k", 2), onDisk("big", 1))
		n.Pools[0].Limit = 26 * gb // big comes in only where another leaves
		count(n)
		for i := range n.Deployments {
			d := &n.Deployments[i]
			d.Kind, d.Preallocated, d.MaxContext, d.LoadedContext = "ollama", true, 8192, 8192
			d.Capabilities = fleet.Capabilities{fleet.CapChat: {Support: fleet.Yes, Source: fleet.SourceRuntime}}
		}
		m.nodes[name] = n
		all = append(all, n)
	}
	m.x = newFx(t, all...)
	m.x.policy.PullWhenFree = rapid.Bool().Draw(rt, "pull when free")
	if rapid.Bool().Draw(rt, "real decide") {
		m.x.d.cfg.Decide = route.Decide
	}
	return m
}

func (m *machineModel) anyNode(t *rapid.T) *fleet.Node {
	return m.nodes[rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "node")]
}

// anyTicket draws one that is in a state.
func (m *machineModel) anyTicket(t *rapid.T, fits func(name string, tk *Ticket) bool) string {
	var names []string
	for name, tk := range m.x.tickets {
		if fits(name, tk) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		t.Skip("none")
	}
	slices.Sort(names)
	return rapid.SampledFrom(names).Draw(t, "ticket")
}

func (m *machineModel) actions() map[string]func(*rapid.T) {
	x := m.x
	running := func(name string, tk *Ticket) bool {
		g := tk.current.Load()
		return tk.state == granted && g != nil && g.use.Load() == usedGrant
	}
	return map[string]func(*rapid.T){
		"submit": func(t *rapid.T) {
			m.next++
			q := []func(*route.Query){fromApp(rapid.SampledFrom([]string{"x", "y"}).Draw(t, "app")), taking(rapid.IntRange(1, 9).Draw(t, "seconds"))}
			q = append(q, func(q *route.Query) { q.Needs.Role = route.RoleChat })
			if rapid.Bool().Draw(t, "batch") {
				q = append(q, batch)
			}
			if rapid.IntRange(0, 4).Draw(t, "bound") == 0 {
				q = append(q, boundTo(m.anyNode(t).Node))
			}
			x.submit(fmt.Sprint("r", m.next), rapid.SampledFrom([]string{"m", "m", "k", "big", "none"}).Draw(t, "model"), q...)
		},
		"use": func(t *rapid.T) {
			name := m.anyTicket(t, func(name string, tk *Ticket) bool { return tk.state == granted && !running(name, tk) })
			x.use(name)
		},
		"release": func(t *rapid.T) {
			name := m.anyTicket(t, running)
			x.release(name)
		},
		"complete": func(t *rapid.T) {
			name := m.anyTicket(t, running)
			if rapid.Bool().Draw(t, "released first") {
				x.release(name)
				x.complete(name)
			} else {
				g := x.grants[name]
				x.complete(name)
				x.do(&released{fleet.Released{Grant: g.ID, Deployment: g.Deployment}})
			}
		},
		"fail": func(t *rapid.T) {
			name := m.anyTicket(t, running)
			g := x.grants[name]
			class := rapid.SampledFrom([]fleet.FailureClass{fleet.FailConnect, fleet.FailBackPressure, fleet.FailInvalid}).Draw(t, "class")
			if rapid.Bool().Draw(t, "released first") {
				x.release(name)
				x.retry(name, class)
			} else {
				x.retry(name, class)
				x.do(&released{fleet.Released{Grant: g.ID, Deployment: g.Deployment}})
			}
		},
		"refuse": func(t *rapid.T) {
			name := m.anyTicket(t, running)
			n := m.nodes[x.grants[name].Deployment.Node]
			x.refuse(name, fleet.CodePressure, n.Sequence-rapid.Uint64Range(0, 1).Draw(t, "behind"))
		},
		"abandon": func(t *rapid.T) {
			name := m.anyTicket(t, func(string, *Ticket) bool { return true })
			tk := x.tickets[name]
			g, used := x.grants[name], running(name, tk)
			x.abandon(name)
			if used {
				x.do(&released{fleet.Released{Grant: g.ID, Deployment: g.Deployment}})
			}
		},
		"pause or resume": func(t *rapid.T) {
			n := m.anyNode(t)
			n.State.Paused = !n.State.Paused
			x.report(n)
		},
		"change slots": func(t *rapid.T) {
			n := m.anyNode(t)
			n.Deployments = slices.Clone(n.Deployments)
			n.Deployments[0].Slots = rapid.IntRange(1, 3).Draw(t, "slots")
			x.report(n)
		},
		"load or unload": func(t *rapid.T) {
			n := m.anyNode(t)
			n.Deployments = slices.Clone(n.Deployments)
			d := &n.Deployments[rapid.IntRange(0, 2).Draw(t, "deployment")]
			d.Residency = fleet.Loaded - d.Residency/2*2 // loaded <-> on disk
			count(n)
			n.IncludesGrant = x.d.nodeOf(n.Node).seq
			x.report(n)
		},
		"go offline or come back": func(t *rapid.T) {
			n := m.anyNode(t)
			n.Liveness = fleet.Offline - n.Liveness
			x.report(n)
		},
		"restart": func(t *rapid.T) {
			n := m.anyNode(t)
			m.next++
			n.Boot, n.Sequence, n.IncludesGrant = fmt.Sprint(n.Node, m.next), 0, 0
			x.report(n)
		},
		"pass time": func(t *rapid.T) {
			x.pass(time.Duration(rapid.IntRange(1, 8000).Draw(t, "ms")) * time.Millisecond)
		},
		"": m.check,
	}
}

func (m *machineModel) check(t *rapid.T) {
	d := m.x.d
	m.x.log = nil
	waitingNow := 0
	for id, l := range d.lanes {
		shown := d.view.Lanes[id]
		if shown.Running != l.running() || shown.Waiting != l.order.n || shown.Closed == l.open(d.now) {
			t.Fatalf("%s: the view shows %+v of %d running, %d waiting", id, shown, l.running(), l.order.n)
		}
		if l.order.n == 0 && len(l.live) == 0 && l.open(d.now) {
			t.Fatalf("%s: an empty lane", id)
		}
		if l.order.n > 0 && l.open(d.now) && l.running() < l.slots {
			t.Fatalf("%s: %d waiting, %d running on %d slots", id, l.order.n, l.running(), l.slots)
		}
		m.checkSlots(t, l)
		waitingNow += l.order.n
	}
	if waitingNow != d.waiting {
		t.Fatalf("%d waiting in lanes, %d counted", waitingNow, d.waiting)
	}
	apps := map[string]int{}
	for tk := range d.tickets {
		apps[tk.q.Needs.App]++
		m.checkTicket(t, tk)
	}
	if !maps.Equal(apps, d.apps) {
		t.Fatalf("apps %v, counted %v", apps, d.apps)
	}
	for name, tk := range m.x.tickets {
		if _, live := d.tickets[tk]; live == (tk.state == ended) {
			t.Fatalf("%s: state %v, live %v", name, tk.state, live)
		}
	}
}

// checkSlots: a grant is only given while fewer run than the node has slots.
// The node may have lowered them since; then nothing was given since either.
func (m *machineModel) checkSlots(t *rapid.T, l *lane) {
	n := m.nodes[l.id.Node]
	dep := n.Deployment(l.id)
	if dep == nil || len(l.live) == 0 {
		return
	}
	newest := slices.MaxFunc(l.live, func(a, b *grant) int { return a.issued.Compare(b.issued) })
	if newest.issued.Equal(m.x.d.now) && newest.issued.After(n.LastSeen) && l.running() > max(1, dep.Slots) {
		t.Fatalf("%s: %d running on %d slots", l.id, l.running(), dep.Slots)
	}
}

// checkTicket: a live ticket is in exactly one place, and a held one would not
// be served if it were judged now.
func (m *machineModel) checkTicket(t *rapid.T, tk *Ticket) {
	d := m.x.d
	switch tk.state {
	case waiting:
		if tk.lane == nil || d.lanes[tk.lane.id] != tk.lane || !slices.Contains(tk.lane.order.all(), tk) {
			t.Fatalf("%s waits in no lane", tk.q.Request)
		}
	case held:
		if !slices.Contains(*d.holds.class(tk), tk) {
			t.Fatalf("%s is held nowhere", tk.q.Request)
		}
		if now := d.decide(tk.q); now.Verdict == route.Serve {
			t.Fatalf("%s is held though %s could serve it", tk.q.Request, now.Chosen)
		}
	case granted:
		g := tk.current.Load()
		if g == nil || g.ticket != tk {
			t.Fatalf("%s has no grant", tk.q.Request)
		}
	default:
		t.Fatalf("%s has ended and is still here", tk.q.Request)
	}
}

func TestBetweenTwoMessagesNothingThatCouldRunWaits(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := newMachineModel(t, rt)
		for range 4 { // long enough for lanes to close, circuits to open, and memory to run out
			rt.Repeat(m.actions())
		}
		m.wind(rt)
	})
}

// wind ends everything and looks for what is left.
func (m *machineModel) wind(t *rapid.T) {
	for name := range m.x.tickets {
		m.x.abandon(name)
	}
	for _, g := range m.x.d.grants {
		m.x.do(&released{fleet.Released{Grant: g.id, Deployment: g.dep}})
	}
	for range 3 {
		for _, n := range m.nodes {
			m.x.report(n)
		}
		m.x.pass(5 * time.Second)
	}
	wantEmpty(t, m.x.d)
}

func TestOrderServesEveryAppAndKeepsAge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var o order
		n := rapid.IntRange(1, 40).Draw(t, "requests")
		for i := range n {
			tk := &Ticket{q: &route.Query{}, seq: uint64(i), arrived: t0.Add(time.Duration(i) * time.Second), decision: &route.Decision{}}
			tk.q.Needs.App = rapid.SampledFrom([]string{"x", "y", "z"}).Draw(t, "app")
			tk.q.Needs.Batch = rapid.Bool().Draw(t, "batch")
			tk.decision.Plan.PredictedSeconds = float64(rapid.IntRange(0, 50).Draw(t, "seconds"))
			tk.rank = rankOf(tk, rapid.Bool().Draw(t, "before"))
			o.add(tk)
		}
		last := map[string]uint64{}
		lastRank := rank(0)
		for range n {
			tk := o.next(t0)
			if again := o.next(t0); again != tk {
				t.Fatal("asked twice, answered differently")
			}
			key := fmt.Sprint(tk.rank, tk.q.Needs.App)
			if tk.seq < last[key] || tk.rank < lastRank {
				t.Fatalf("%s %d after %d", key, tk.seq, last[key])
			}
			last[key], lastRank = tk.seq, tk.rank
			o.take(tk)
		}
		if o.next(t0) != nil || o.n != 0 || o.queued != 0 {
			t.Fatalf("%d left, %v s", o.n, o.queued)
		}
	})
}

// From the moment two apps have work until one has none left, their served
// seconds differ by at most the dearest request.
func TestDeficitRoundRobinIsFairInSeconds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var o order
		left := map[string]int{}
		dearest := 0.0
		for i := range 60 {
			tk := &Ticket{q: &route.Query{}, seq: uint64(i), arrived: t0, decision: &route.Decision{}}
			tk.q.Needs.App = rapid.SampledFrom([]string{"x", "y"}).Draw(t, "app")
			s := float64(rapid.IntRange(1, 30).Draw(t, "seconds"))
			dearest = max(dearest, s)
			tk.decision.Plan.PredictedSeconds = s
			tk.rank = interactiveNew
			left[tk.q.Needs.App]++
			o.add(tk)
		}
		served := map[string]float64{}
		for left["x"] > 0 && left["y"] > 0 {
			tk := o.next(t0)
			o.take(tk)
			left[tk.q.Needs.App]--
			served[tk.q.Needs.App] += tk.cost
			if diff := served["x"] - served["y"]; diff > dearest+1e-6 || diff < -dearest-1e-6 {
				t.Fatalf("served %v, dearest %v", served, dearest)
			}
		}
	})
}
