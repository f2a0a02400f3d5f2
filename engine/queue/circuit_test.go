package queue

import (
	"testing"
	"time"

	"bellwether/engine/fleet"
	"bellwether/engine/route"
)

// only a validated completion is a success, and only a fault is a failure.
func TestDisconnectIsNeitherSuccessNorFailure(t *testing.T) {
	x := newFx(t, machine("studio", loaded("qwen3", 1)))
	for _, n := range names("r", 6) {
		x.submit(n, "qwen3", session("s"))
		x.use(n)
		x.release(n)
		x.do(&completed{fleet.Completed{Grant: x.grants[n].ID, Outcome: fleet.OutcomeClientDisconnected,
			Failure: &fleet.Failure{Class: fleet.FailCancelled, MayRun: true}}})
	}
	if len(x.d.pins.byKey) != 0 || len(x.d.circuits.by) != 0 {
		t.Errorf("pins %v, circuits %v", x.d.pins.byKey, x.d.circuits.by)
	}
	x.wantEmpty()
}

func TestCircuitOpensAfterFiveFailuresAndHealsByOneTry(t *testing.T) {
	x := newFx(t, machine("studio", loaded("qwen3", 4)))
	fail := func(name string) {
		x.submit(name, "qwen3")
		x.use(name)
		g := x.grants[name]
		x.do(&released{fleet.Released{Grant: g.ID, Deployment: g.Deployment}})
		x.do(&completed{fleet.Completed{Grant: g.ID, Outcome: fleet.OutcomeFailed, Failure: &fleet.Failure{Class: fleet.FailStatus, Status: 500}}})
	}
	for _, n := range names("f", 5) {
		fail(n)
	}
	x.log = nil
	x.submit("a", "qwen3")
	x.submit("b", "qwen3")
	x.want("held a; held b")
	x.pass(14 * time.Second)
	x.want("")
	x.pass(time.Second)
	x.want("grant a studio") // the one try; b stays held
	x.use("a")
	g := x.grants["a"]
	x.do(&released{fleet.Released{Grant: g.ID, Deployment: g.Deployment}})
	x.do(&completed{fleet.Completed{Grant: g.ID, Outcome: fleet.OutcomeFailed, Failure: &fleet.Failure{Class: fleet.FailInvalid}}})
	x.want("done a failed")
	x.pass(15 * time.Second)
	x.want("done b held_out") // 30 s old; the wait has doubled
	x.submit("c", "qwen3")
	x.pass(15 * time.Second)
	x.want("held c; grant c studio")
	x.done("c")
	x.submit("d", "qwen3")
	x.submit("e", "qwen3")
	x.want("done c ok; grant d studio; grant e studio")
}

// What a caller asks wrongly may look like a fault of the runtime, and may even
// make it fall over. Others must not pay for it.
func TestFailuresOfOneAppKeepOutThatAppAlone(t *testing.T) {
	x := newFx(t, machine("studio", loaded("qwen3", 4)))
	of := func(app string) func(*route.Query) { return func(q *route.Query) { q.Needs.App = app } }
	fail := func(name, app string) {
		x.submit(name, "qwen3", of(app))
		x.use(name)
		g := x.grants[name]
		x.do(&released{fleet.Released{Grant: g.ID, Deployment: g.Deployment}})
		x.do(&completed{fleet.Completed{Grant: g.ID, Outcome: fleet.OutcomeFailed, Failure: &fleet.Failure{Class: fleet.FailStatus, Status: 500}}})
	}
	x.submit("before", "qwen3", of("well"))
	x.done("before")
	for _, n := range names("f", 5) {
		fail(n, "wrong")
	}
	x.log = nil
	x.submit("a", "qwen3", of("wrong"))
	x.submit("b", "qwen3", of("well"))
	x.want("held a; grant b studio")
	x.done("b")
	fail("c", "well")
	x.want("done b ok; grant c studio; done c failed")
	x.submit("d", "qwen3", of("third"))
	x.want("grant d studio") // one failure beside one success says nothing yet
	x.done("d")
	fail("e", "well")
	fail("f", "third")
	x.log = nil
	x.submit("g", "qwen3", of("fourth"))
	x.want("held g") // others fail more often than not: it is the runtime
	x.pass(15 * time.Second)
	x.want("grant a studio")
	x.done("a")
	x.want("done a ok; grant g studio")
}

func TestATimeTheClientGaveIsNotTheRuntimesFault(t *testing.T) {
	for given, want := range map[time.Duration]int{time.Second: 0, 10 * time.Minute: 1} {
		x := newFx(t, machine("studio", loaded("qwen3", 4)))
		x.submit("a", "qwen3", func(q *route.Query) { q.Needs.Timeout = given })
		x.use("a")
		x.pass(time.Minute)
		g := x.grants["a"]
		x.do(&released{fleet.Released{Grant: g.ID, Deployment: g.Deployment}})
		x.do(&completed{fleet.Completed{Grant: g.ID, Outcome: fleet.OutcomeFailed, Failure: &fleet.Failure{Class: fleet.FailTimeout}}})
		if got := len(x.d.circuits.by); got != want {
			t.Errorf("given %v: %d circuits count it, want %d", given, got, want)
		}
	}
}

func TestFailuresOfSeveralAppsKeepEveryoneOut(t *testing.T) {
	x := newFx(t, machine("studio", loaded("qwen3", 4)))
	for i, n := range names("f", 5) {
		x.submit(n, "qwen3", func(q *route.Query) { q.Needs.App = []string{"one", "two"}[i%2] })
		x.use(n)
		g := x.grants[n]
		x.do(&released{fleet.Released{Grant: g.ID, Deployment: g.Deployment}})
		x.do(&completed{fleet.Completed{Grant: g.ID, Outcome: fleet.OutcomeFailed, Failure: &fleet.Failure{Class: fleet.FailTimeout}}})
	}
	x.log = nil
	x.submit("a", "qwen3", func(q *route.Query) { q.Needs.App = "three" })
	x.want("held a")
}

func TestOnlyRuntimeFaultsCountForTheCircuit(t *testing.T) {
	for _, f := range []fleet.Failure{
		{Class: fleet.FailStatus, Status: 400, Caller: true}, {Class: fleet.FailStatus, Status: 404},
		{Class: fleet.FailBackPressure, Status: 503}, {Class: fleet.FailRefused}, {Class: fleet.FailCancelled},
		{Class: fleet.FailContract},
	} {
		if runtimeFault(&f) {
			t.Errorf("%v counts", f)
		}
	}
	for _, f := range []fleet.Failure{
		{Class: fleet.FailConnect}, {Class: fleet.FailBeforeOpen}, {Class: fleet.FailStatus, Status: 500},
		{Class: fleet.FailMidStream}, {Class: fleet.FailInvalid}, {Class: fleet.FailTimeout}, {Class: fleet.FailLoad},
	} {
		if !runtimeFault(&f) {
			t.Errorf("%v does not count", f)
		}
	}
}

func TestWaitingRequestsLeaveWhenTheCircuitOpens(t *testing.T) {
	x := newFx(t, machine("studio", loaded("qwen3", 5)), machine("tower", onDisk("qwen3", 8)))
	for _, n := range names("f", 5) {
		x.submit(n, "qwen3")
		x.use(n)
	}
	x.submit("w", "qwen3")
	x.log = nil
	for _, n := range names("f", 5) {
		g := x.grants[n]
		x.do(&completed{fleet.Completed{Grant: g.ID, Outcome: fleet.OutcomeFailed, Failure: &fleet.Failure{Class: fleet.FailTimeout}}})
	}
	x.want("done f1 failed; done f2 failed; done f3 failed; done f4 failed; grant w tower; done f5 failed")
}
