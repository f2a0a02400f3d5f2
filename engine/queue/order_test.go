package queue

import (
	"testing"
	"time"

	"bellwether/engine/route"
)

func TestBatchWaitsForInteractiveUntilItIsAMinuteOld(t *testing.T) {
	x := newFx(t, machine("studio", loaded("qwen3", 1)))
	x.submit("first", "qwen3")
	x.use("first")
	x.submit("batch", "qwen3", batch)
	x.pass(30 * time.Second)
	x.submit("a", "qwen3")
	x.release("first")
	x.want("grant first studio; grant a studio")
	x.use("a")
	x.pass(31 * time.Second)
	x.submit("b", "qwen3")
	x.release("a")
	x.want("grant batch studio")
}

func TestAppsShareALaneByPredictedSeconds(t *testing.T) {
	x := newFx(t, machine("studio", loaded("qwen3", 1)))
	x.submit("first", "qwen3", fromApp("other"))
	for _, n := range names("long", 4) {
		x.submit(n, "qwen3", fromApp("agent"), taking(30))
	}
	for _, n := range names("short", 8) {
		x.submit(n, "qwen3", fromApp("chat"), taking(10))
	}
	var order []string
	next := "first"
	for next != "" {
		x.log = nil
		x.done(next)
		next = ""
		for name, tk := range x.tickets {
			if tk.state == granted {
				next = name
			}
		}
		if next != "" {
			order = append(order, next)
		}
	}
	seconds := map[byte]float64{'l': 0, 's': 0}
	for _, n := range order[:8] { // both have work during these
		seconds[n[0]] += map[byte]float64{'l': 30, 's': 10}[n[0]]
	}
	if diff := seconds['l'] - seconds['s']; diff > 30 || diff < -30 {
		t.Errorf("order %v: %v s for the agent, %v s for the chat", order, seconds['l'], seconds['s'])
	}
	if len(order) != 12 {
		t.Errorf("%d served of 12: %v", len(order), order)
	}
}

func TestAppOverItsCapIsToldToComeBackLater(t *testing.T) {
	x := newFx(t, machine("studio", loaded("qwen3", 1)))
	x.policy.MaxInFlight = 2
	x.submit("a", "qwen3", fromApp("greedy"))
	x.submit("b", "qwen3", fromApp("greedy"))
	x.submit("c", "qwen3", fromApp("greedy"))
	x.submit("d", "qwen3", fromApp("modest"))
	x.want("grant a studio; done c refused app_limit")
	x.done("a")
	x.submit("e", "qwen3", fromApp("greedy"))
	x.want("grant b studio; done a ok")
	if got := len(x.d.tickets); got != 3 {
		t.Errorf("%d live, want b, d, e", got)
	}
}

// A batch of embeddings that is served in parts is one request to its app's cap.
func TestPartsOfABatchCountOnceForTheirApp(t *testing.T) {
	part := func(n int) func(*route.Query) { return func(q *route.Query) { q.Part = n } }
	x := newFx(t, machine("studio", loaded("qwen3", 4)))
	x.policy.MaxInFlight = 2
	x.submit("a1", "qwen3", fromApp("greedy"), part(1))
	x.submit("a2", "qwen3", fromApp("greedy"), part(2))
	x.submit("a3", "qwen3", fromApp("greedy"), part(3))
	x.submit("b", "qwen3", fromApp("greedy"))
	x.submit("c", "qwen3", fromApp("greedy"))
	x.want("grant a1 studio; grant a2 studio; grant a3 studio; grant b studio; done c refused app_limit")
	for _, name := range []string{"a2", "a1", "a3", "b"} {
		x.done(name)
	}
	if len(x.d.apps) != 0 {
		t.Errorf("left are %v", x.d.apps)
	}
}

// equal nodes take turns.
func TestEqualNodesTakeTurns(t *testing.T) {
	x := newFx(t, machine("a", loaded("m", 1)), machine("b", loaded("m", 1)), machine("c", loaded("m", 1)))
	for _, n := range names("r", 6) {
		x.submit(n, "m")
		x.done(n)
	}
	x.want("grant r1 a; done r1 ok; grant r2 b; done r2 ok; grant r3 c; done r3 ok; " +
		"grant r4 a; done r4 ok; grant r5 b; done r5 ok; grant r6 c; done r6 ok")
	x.wantEmpty()
}
