package queue

import (
	"testing"
	"time"

	"bellwether/engine/fleet"
	"bellwether/engine/route"
)

func TestSessionReturnsToItsNodeAfterSuccessOnly(t *testing.T) {
	x := newFx(t, machine("studio", loaded("qwen3", 1)), machine("tower", loaded("qwen3", 1)))
	x.submit("a", "qwen3", session("s"))
	x.use("a")
	x.release("a")
	g := x.grants["a"]
	x.do(&completed{fleet.Completed{Grant: g.ID, Outcome: fleet.OutcomeTruncated, Validated: true}})
	x.submit("b", "qwen3", session("s"))
	x.want("grant a studio; done a truncated; grant b tower") // no pin: equal nodes take turns
	x.done("b")
	x.submit("c", "qwen3", session("s"))
	x.want("done b ok; grant c tower")
	x.done("c")
	x.pass(15 * time.Minute)
	x.submit("d", "qwen3", session("s"))
	x.want("done c ok; grant d studio") // idled out after 900 s
}

func TestPinsAreBounded(t *testing.T) {
	x := newFx(t, machine("studio", loaded("qwen3", 1)))
	x.policy.PinMax = 3
	x.d.pins.limit(x.policy)
	for i, n := range names("r", 5) {
		x.submit(n, "qwen3", session(names("s", 5)[i]))
		x.done(n)
		x.submit(n+" again", "qwen3", session("s1")) // the one in use is not the one to go
		x.done(n + " again")
	}
	if _, kept := x.d.view.Pins["s1"]; len(x.d.view.Pins) != 3 || !kept || x.d.pins.order.Len() != 3 {
		t.Errorf("pins %v", x.d.view.Pins)
	}
}

func TestFirstTurnReadsAPinAndSetsNone(t *testing.T) {
	x := newFx(t, machine("studio", loaded("qwen3", 1)))
	x.submit("a", "qwen3", session("s"), func(q *route.Query) { q.Needs.SessionPins = false })
	x.done("a")
	if len(x.d.pins.byKey) != 0 {
		t.Error("a first turn set a pin")
	}
}
