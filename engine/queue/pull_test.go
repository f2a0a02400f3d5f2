package queue

import (
	"fmt"
	"testing"
	"time"

	"bellwether/engine/evidence"
	"bellwether/engine/fleet"
	"bellwether/engine/route"
)

// card is a machine with one graphics card of that bandwidth, a 4.4 GB model
// loaded on it, and one slot.
func card(name string, bandwidth float64) *fleet.Node {
	n := machine(name, loaded("m", 1))
	n.Hardware.BandwidthGBs = fleet.Know(bandwidth)
	d := &n.Deployments[0]
	d.Kind, d.WeightsBytes, d.ResidentBytes, d.Preallocated = "ollama", 4_430_000_000, 5*gb, true
	d.MaxContext, d.LoadedContext = 8192, 8192
	d.Capabilities = fleet.Capabilities{fleet.CapChat: {Support: fleet.Yes, Source: fleet.SourceRuntime}}
	return n
}

// answers 286 tokens, which takes 2.45 s at 936 GB/s and 5 s at 360.
func answering(q *route.Query) {
	q.Needs.Role = route.RoleChat
	q.Needs.Tokens = route.Tokens{Input: 20, Output: 286}
}

// measured is a book that has seen each node answer often enough to know.
func measured(nodes []*fleet.Node, takes map[string]time.Duration) *evidence.Book {
	l := evidence.NewLedger()
	for _, n := range nodes {
		for range 30 {
			l.Observe(evidence.Sample{
				Deployment: &n.Deployments[0], Validated: true, Took: takes[n.Node], TTFT: 50 * time.Millisecond,
				Estimate: 20, Input: 20, Output: 286, Reasoning: -1, Cached: -1,
			})
		}
	}
	return l.Book()
}

// serve runs requests to their end, each taking what its node needs, and
// returns how many each node served and when the last one ended.
func (x *fx) serve(takes map[string]time.Duration) (served map[string]int, took time.Duration) {
	served = map[string]int{}
	ends := map[string]time.Time{}
	for {
		for name, t := range x.tickets {
			if _, running := ends[name]; !running && t.state == granted {
				x.use(name)
				ends[name] = x.now.Add(takes[x.grants[name].Deployment.Node])
			}
		}
		first := ""
		for name, at := range ends {
			if x.tickets[name].state == granted && (first == "" || at.Before(ends[first]) || at.Equal(ends[first]) && name < first) {
				first = name
			}
		}
		if first == "" {
			return served, x.now.Sub(t0)
		}
		x.pass(ends[first].Sub(x.now))
		served[x.grants[first].Deployment.Node]++
		x.release(first)
		x.complete(first)
	}
}

func TestTwentyRequestsOnAFastAndASlowCard(t *testing.T) {
	takes := map[string]time.Duration{"fast": 2450 * time.Millisecond, "slow": 5 * time.Second}
	cases := []struct {
		name       string
		pull, cold bool // cold: nothing was measured yet
		nodes      []*fleet.Node
		fast, slow int
		seconds    float64
	}{
		{"signals alone", false, false, []*fleet.Node{card("fast", 936), card("slow", 360)}, 5, 15, 75},
		{"pulled when free", true, false, []*fleet.Node{card("fast", 936), card("slow", 360)}, 13, 7, 35},
		{"pulled when free, nothing measured", true, true, []*fleet.Node{card("fast", 936), card("slow", 360)}, 13, 7, 35},
		{"the fast one alone", true, false, []*fleet.Node{card("fast", 936)}, 20, 0, 49},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			x := newFx(t, c.nodes...)
			x.policy.PullWhenFree = c.pull
			x.d.cfg.Decide = route.Decide
			book := measured(c.nodes, takes)
			if !c.cold {
				x.d.cfg.Book = func() *evidence.Book { return book }
			}
			for _, n := range names("r", 20) {
				x.submit(n, "m", answering)
			}
			served, took := x.serve(takes)
			if served["fast"] != c.fast || served["slow"] != c.slow || took.Seconds() != c.seconds {
				t.Errorf("%d on the fast, %d on the slow, %v; want %d, %d, %v s",
					served["fast"], served["slow"], took, c.fast, c.slow, c.seconds)
			}
			x.wantEmpty()
		})
	}
}

// pulling is two nodes of the same model, the first twice as fast, with
// pulling on.
func pulling(t *testing.T, slots int) (*fx, *fleet.Node, *fleet.Node) {
	fast, slow := machine("fast", loaded("m", slots)), machine("slow", loaded("m", slots))
	fast.Hardware.BandwidthGBs, slow.Hardware.BandwidthGBs = fleet.Know(2.0), fleet.Know(1.0)
	x := newFx(t, fast, slow)
	x.policy.PullWhenFree = true
	return x, fast, slow
}

func TestIdleSlotTakesTheNextOfTheLongestLane(t *testing.T) {
	x, _, _ := pulling(t, 1)
	for _, n := range names("r", 4) {
		x.submit(n, "m", taking(10))
	}
	x.want("grant r1 fast; grant r2 slow")
	x.use("r1", "r2")
	x.pass(5 * time.Second)
	x.release("r1")
	x.complete("r1")
	x.want("grant r3 fast; done r1 ok")
	x.use("r3")
	x.pass(time.Second)
	x.release("r3")
	x.complete("r3")
	x.want("moved r4 slow>fast; grant r4 fast; done r3 ok") // here 5 s, there 4 + 10
	dec := x.tickets["r4"].decision
	if dec.Chosen.Node != "fast" || dec.Reasons[len(dec.Reasons)-1].Code != ReasonPulled {
		t.Errorf("the decision does not tell of the move: %+v", dec)
	}
}

func TestIdleSlotLeavesWhatIsBoundToItsNode(t *testing.T) {
	x, fast, _ := pulling(t, 1)
	fast.State.Paused = true
	x.report(fast)
	x.submit("r1", "m", taking(10))
	x.submit("bound", "m", taking(10), boundTo("slow"))
	x.submit("sticky", "m", taking(10), func(q *route.Query) { q.Needs.Bound = "node" })
	x.submit("free", "m", taking(10))
	x.use("r1")
	fast.State.Paused = false
	x.report(fast)
	x.want("grant r1 slow; moved free slow>fast; grant free fast")
}

func TestIdleSlotPullsOnlyWhatFinishesSoonerThere(t *testing.T) {
	fast, slow := machine("fast", loaded("m", 1)), machine("slow", loaded("m", 1))
	fast.Hardware.BandwidthGBs, slow.Hardware.BandwidthGBs = fleet.Know(10.0), fleet.Know(1.0)
	slow.State.Paused = true
	x := newFx(t, fast, slow)
	x.policy.PullWhenFree = true
	x.submit("r1", "m", taking(10))
	x.submit("r2", "m", taking(10))
	x.use("r1")
	slow.State.Paused = false
	x.report(slow) // resumed and idle: 10 s there, 1 + 1 here
	x.want("grant r1 fast")
	x.submit("r3", "m", taking(300)) // 30 s here
	x.use("r3")
	x.submit("r4", "m", taking(10), boundTo("fast"))
	x.want("grant r3 slow")
}

func TestResumedNodePullsAtOnce(t *testing.T) {
	x, _, slow := pulling(t, 1)
	slow.State.Paused = true
	x.report(slow)
	for _, n := range names("r", 4) {
		x.submit(n, "m", taking(10))
	}
	x.use("r1")
	x.want("grant r1 fast")
	slow.State.Paused = false
	x.report(slow)
	x.want("") // 10 s there, 5 + 5 here: not sooner
	x.submit("r5", "m", taking(30), boundTo("fast"))
	slow.Hardware.BandwidthGBs = fleet.Know(1.9)
	x.report(slow)
	x.want("moved r2 fast>slow; grant r2 slow")
}

func TestPulledRequestsKeepTheirLanesOrder(t *testing.T) {
	x, fast, _ := pulling(t, 1)
	fast.State.Paused = true
	x.report(fast)
	x.submit("first", "m", taking(10))
	x.use("first")
	x.submit("batch", "m", taking(10), batch)
	x.submit("a1", "m", taking(10), fromApp("a"))
	x.submit("a2", "m", taking(10), fromApp("a"))
	x.submit("b1", "m", taking(10), fromApp("b"))
	x.want("grant first slow")
	fast.State.Paused = false
	x.report(fast)
	var order []string
	for range 4 {
		for _, n := range []string{"batch", "a1", "a2", "b1"} {
			if x.tickets[n].state == granted {
				order = append(order, n)
				x.done(n)
			}
		}
	}
	if got := fmt.Sprint(order); got != "[a1 b1 a2 batch]" {
		t.Errorf("order %v", got)
	}
}

func TestPullNeverLoadsAModel(t *testing.T) {
	busy, idle := machine("busy", loaded("m", 1)), machine("idle", onDisk("m", 1))
	x := newFx(t, busy, idle)
	x.policy.PullWhenFree = true
	for _, n := range names("r", 3) {
		x.submit(n, "m", taking(10))
	}
	x.want("grant r1 busy")
}

// a warm node does not get all traffic while an idle one could serve.
func TestWarmNodeDoesNotHogWhatAnIdlePeerCouldServe(t *testing.T) {
	warm, peer := machine("warm", loaded("m", 1)), machine("peer", loaded("m", 1))
	x := newFx(t, warm, peer)
	x.policy.PullWhenFree = true
	for _, n := range names("r", 6) {
		x.submit(n, "m", taking(10), session("s"))
	}
	served, took := x.serve(map[string]time.Duration{"warm": 10 * time.Second, "peer": 10 * time.Second})
	if served["warm"] != 3 || served["peer"] != 3 || took != 30*time.Second {
		t.Errorf("served %v in %v", served, took)
	}
}
