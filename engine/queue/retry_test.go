package queue

import (
	"testing"
	"time"

	"bellwether/engine/fleet"
)

func TestRefusedByTheAgentKeepsPlaceAndClosesTheLane(t *testing.T) {
	studio := machine("studio", loaded("qwen3", 1))
	x := newFx(t, studio)
	x.submit("a", "qwen3")
	x.submit("b", "qwen3")
	x.use("a")
	x.refuse("a", fleet.CodeMemory, studio.Sequence)
	x.submit("c", "qwen3")
	x.want("grant a studio; refused a")
	x.pass(10 * time.Second)
	x.want("") // closed until the node has reported something newer
	x.report(studio)
	x.want("grant a studio")
	if g := x.grants["a"]; g.Attempt != 1 {
		t.Errorf("attempt %d after a refusal, want 1: it uses no retry", g.Attempt)
	}
}

func TestRefusalOlderThanWhatIsKnownDoesNotClose(t *testing.T) {
	studio := machine("studio", loaded("qwen3", 1))
	x := newFx(t, studio)
	x.submit("a", "qwen3")
	x.use("a")
	old := studio.Sequence
	x.report(studio)
	x.refuse("a", fleet.CodeMemory, old)
	x.want("grant a studio; refused a; grant a studio")
	x.use("a")
	x.refuse("a", fleet.CodeMemory, old) // again: now it waits a little
	x.want("refused a")
	x.pass(100 * time.Millisecond)
	x.want("grant a studio")
}

func TestRefusedForTheWholeHoldTimeIsHeldOut(t *testing.T) {
	studio := machine("studio", loaded("qwen3", 1))
	x := newFx(t, studio)
	x.submit("a", "qwen3")
	a := x.tickets["a"]
	for range 7 {
		x.use("a")
		x.refuse("a", fleet.CodeMemory, studio.Sequence)
		x.pass(5 * time.Second)
		x.report(studio)
	}
	if x.log[len(x.log)-1] != "done a held_out" || a.decision.Refused == nil || a.decision.Refused.Code != fleet.CodeMemory {
		t.Errorf("effects: %v; the last refusal is %v", x.log, a.decision.Refused)
	}
}

func TestRetryGoesElsewhereAndNeverBack(t *testing.T) {
	x := newFx(t, machine("studio", loaded("qwen3", 1)), machine("tower", loaded("qwen3", 1)))
	x.submit("a", "qwen3")
	x.use("a")
	x.retry("a", fleet.FailBeforeOpen)
	x.want("grant a studio; grant a tower")
	if g := x.grants["a"]; g.Attempt != 2 {
		t.Errorf("attempt %d, want 2", g.Attempt)
	}
	x.use("a")
	x.retry("a", fleet.FailBeforeOpen)
	x.want("done a refused") // both have failed it
}

func TestRetriesEndAtTwo(t *testing.T) {
	x := newFx(t, machine("a", loaded("m", 1)), machine("b", loaded("m", 1)), machine("c", loaded("m", 1)), machine("d", loaded("m", 1)))
	x.submit("r", "m")
	for range 3 {
		x.use("r")
		x.retry("r", fleet.FailBeforeOpen)
	}
	x.want("grant r a; grant r b; grant r c; done r refused retries_exhausted")
}

// A runtime that died: nothing was sent, so the next in line waits with the
// others for it to come back, whether or not the node has noticed yet.
func TestRequestThatReachedNoRuntimeWaitsWithTheOthers(t *testing.T) {
	for _, noticed := range []bool{false, true} {
		studio := machine("studio", loaded("qwen3", 1))
		x := newFx(t, studio)
		for _, name := range []string{"a", "b", "c"} {
			x.submit(name, "qwen3")
		}
		x.use("a")
		studio.State.Paused = true // stands for the runtime that is down: holdable
		if noticed {
			x.report(studio)
		}
		x.retry("a", fleet.FailConnect)
		if !noticed {
			x.want("grant a studio; refused a")
			x.report(studio)
			x.want("held a; held b; held c")
		} else {
			x.want("grant a studio; held b; held c; refused a; held a")
		}
		x.pass(20 * time.Second)
		studio.State.Paused = false
		x.report(studio)
		x.want("grant a studio")
		if g := x.grants["a"]; g.Attempt != 1 {
			t.Errorf("attempt %d, want 1: no retry was used", g.Attempt)
		}
	}
}

// One that is reached nowhere is refused when its time is over, like the others.
func TestRequestThatReachesNoRuntimeIsHeldOut(t *testing.T) {
	studio := machine("studio", loaded("qwen3", 1))
	x := newFx(t, studio)
	x.submit("a", "qwen3")
	x.use("a")
	x.retry("a", fleet.FailConnect)
	studio.State.Paused = true
	x.report(studio)
	x.want("grant a studio; refused a; held a")
	x.pass(30 * time.Second)
	x.want("done a held_out")
	x.wantEmpty()
}

func TestRetryTakesASlotOnlyWhereOneIsFree(t *testing.T) {
	x := newFx(t, machine("studio", loaded("qwen3", 1)), machine("tower", loaded("qwen3", 1)))
	x.submit("a", "qwen3")
	x.submit("b", "qwen3")
	x.use("a", "b")
	x.retry("a", fleet.FailTimeout)
	x.submit("c", "qwen3")
	x.want("grant a studio; grant b tower") // a failed on studio, whose slot is not released; tower is busy
	x.release("b")
	x.want("grant a tower")
	x.release("a") // of the grant on tower
	x.want("")
}

func TestCompletedWithRetryMayComeBeforeOrAfterRetry(t *testing.T) {
	for _, first := range []string{"completed", "retry"} {
		x := newFx(t, machine("studio", loaded("qwen3", 1)), machine("tower", loaded("qwen3", 1)))
		x.submit("a", "qwen3")
		x.use("a")
		g := x.grants["a"]
		say := func() {
			x.do(&completed{fleet.Completed{Grant: g.ID, Outcome: fleet.OutcomeFailed, Retry: true,
				Failure: &fleet.Failure{Class: fleet.FailConnect}}})
		}
		if first == "completed" {
			say()
		}
		x.retry("a", fleet.FailConnect)
		if first == "retry" {
			say()
		}
		x.want("grant a studio; grant a tower")
		x.do(&released{fleet.Released{Grant: g.ID, Deployment: g.Deployment}})
		x.done("a")
		x.want("done a ok")
		x.wantEmpty()
		if k := x.d.circuits.by[g.Deployment]; k == nil || len(k.ends) != 1 {
			t.Errorf("%s first: the failure was counted %v", first, k)
		}
	}
}

func TestBackPressureGoesBackToItsPlaceOnceThen429(t *testing.T) {
	x := newFx(t, machine("studio", loaded("qwen3", 2)))
	x.submit("a", "qwen3")
	x.submit("b", "qwen3")
	x.submit("c", "qwen3")
	x.use("a", "b")
	x.release("a")
	x.retry("a", fleet.FailBackPressure)
	x.want("grant a studio; grant b studio; grant c studio") // c took the slot before the news
	x.release("b")
	x.want("grant a studio") // before anything else, and at once: a place is free
	x.use("a")
	x.retry("a", fleet.FailBackPressure)
	x.want("done a refused back_pressure")
	if len(x.d.circuits.by) != 0 {
		t.Error("back-pressure left a mark against the node")
	}
}

func TestBackPressureWithNothingElseRunningWaitsALittle(t *testing.T) {
	x := newFx(t, machine("studio", loaded("qwen3", 1)))
	x.submit("a", "qwen3")
	x.use("a")
	x.retry("a", fleet.FailBackPressure)
	x.release("a") // of the grant that was pressed back: no place is free there
	x.want("grant a studio")
	x.pass(1999 * time.Millisecond)
	x.want("")
	x.pass(time.Millisecond)
	x.want("grant a studio")
}

// A prompt that the runtime counted as too long for the context in force comes
// back with that count. Its deployment has not failed where the count says all:
// a larger context can be loaded there, or none is large enough.
func TestAPromptTooLongForItsContextComesBackWithItsCount(t *testing.T) {
	for name, c := range map[string]struct {
		kind         string
		loaded, most int
		failed       int
	}{
		"can grow":           {"ollama", 4096, 32768, 0},
		"holds no more":      {"ollama", 4096, 8192, 0},
		"started as it is":   {"llama-server", 4096, 32768, 0},
		"should have fitted": {"llama-server", 16384, 32768, 1},
	} {
		dep := loaded("qwen3", 1)
		dep.Kind, dep.LoadedContext, dep.MaxContext = c.kind, c.loaded, c.most
		x := newFx(t, machine("studio", dep))
		x.submit("a", "qwen3")
		x.use("a")
		x.do(&retried{x.tickets["a"], x.grants["a"].ID, fleet.Failure{Class: fleet.FailStatus, Status: 400, Caller: true, Tokens: 9000, Context: 4096}, false})
		if q := x.tickets["a"].q; q.Counted != 9000 || q.CountedBy != "qwen3:latest" || len(q.Failed) != c.failed || q.Attempt != 2 {
			t.Errorf("%s: counted %d by %s, attempt %d, failed %v", name, q.Counted, q.CountedBy, q.Attempt, q.Failed)
		}
		if len(x.d.circuits.by) != 0 {
			t.Errorf("%s: it counts against the runtime", name)
		}
	}
}
