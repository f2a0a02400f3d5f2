package queue

import (
	"testing"
	"time"

	"bellwether/engine/fleet"
	"bellwether/engine/route"
)

func TestASlotServesOneRequestAfterTheOther(t *testing.T) {
	x := newFx(t, machine("studio", loaded("qwen3", 1)))
	x.submit("a", "qwen3")
	x.submit("b", "qwen3")
	x.want("grant a studio")
	x.done("a")
	x.want("grant b studio; done a ok")
	x.done("b")
	x.want("done b ok")
	x.wantEmpty()
}

func TestReleasedAndCompletedComeInAnyOrderAndCountOnce(t *testing.T) {
	x := newFx(t, machine("studio", loaded("qwen3", 1)))
	x.submit("a", "qwen3")
	x.submit("b", "qwen3")
	x.use("a")
	x.complete("a")
	x.want("grant a studio; done a ok") // the slot is the agent's to free
	x.complete("a")
	x.release("a")
	x.want("grant b studio")
	x.release("a")
	x.complete("a")
	x.want("")
	x.done("b")
	x.want("done b ok")
	x.wantEmpty()
}

func TestUnusedGrantComesBackAfterTwoSecondsAndKeepsItsPlace(t *testing.T) {
	x := newFx(t, machine("studio", loaded("qwen3", 1)))
	x.submit("a", "qwen3")
	x.submit("b", "qwen3")
	x.want("grant a studio")
	stale := x.grants["a"]
	x.pass(1999 * time.Millisecond)
	x.want("")
	x.pass(time.Millisecond)
	x.want("returned a; grant a studio")
	if x.tickets["a"].Used(stale) {
		t.Error("a grant that came back was still good")
	}
	if !x.tickets["a"].Used(x.grants["a"]) {
		t.Error("the new grant is not good")
	}
	x.pass(time.Minute) // used: it does not come back
	x.want("")
}

func TestGrantUnusedTwiceEndsTheTicket(t *testing.T) {
	x := newFx(t, machine("studio", loaded("qwen3", 1)))
	x.submit("a", "qwen3")
	x.submit("b", "qwen3")
	x.pass(4 * time.Second)
	x.want("grant a studio; returned a; grant a studio; returned a; done a refused grant_unused; grant b studio")
}

// W-25: who leaves while queued is dropped there and then.
func TestAbandonFreesAtOnce(t *testing.T) {
	x := newFx(t, machine("studio", loaded("qwen3", 1)))
	for _, n := range []string{"a", "b", "c"} {
		x.submit(n, "qwen3")
	}
	x.abandon("b") // waiting
	x.abandon("a") // granted, unused
	x.want("grant a studio; done b client_disconnected client gone; done a client_disconnected client gone; grant c studio")
	x.abandon("a")
	x.abandon("b")
	x.want("")
	x.use("c")
	x.abandon("c") // running: the agent's word frees the slot
	x.submit("d", "qwen3")
	x.want("done c client_disconnected client gone")
	x.release("c")
	x.want("grant d studio")
	x.complete("c")
	x.done("d")
	x.want("done d ok")
	x.wantEmpty()
}

func TestHeldRequestIsServedAtOnceWhenItsNodeComesBack(t *testing.T) {
	studio := machine("studio", loaded("qwen3", 1))
	studio.State.Paused = true
	x := newFx(t, studio)
	x.submit("a", "qwen3")
	x.want("held a")
	x.pass(9 * time.Second)
	x.want("")
	studio.State.Paused = false
	x.report(studio)
	x.want("grant a studio")
}

func TestHoldEndsAt30SecondsOfAge(t *testing.T) {
	studio := machine("studio", loaded("qwen3", 1))
	studio.State.Paused = true
	x := newFx(t, studio)
	x.submit("a", "qwen3")
	x.pass(29999 * time.Millisecond)
	x.want("held a")
	x.pass(time.Millisecond)
	x.want("done a held_out")
	if x.tickets["a"].state != ended {
		t.Error("the ticket has not ended")
	}
	x.wantEmpty()
}

func TestHoldKeepsOneArrivalAgeThroughReholds(t *testing.T) {
	studio := machine("studio", loaded("qwen3", 1))
	studio.State.Paused = true
	x := newFx(t, studio)
	x.submit("a", "qwen3")
	x.pass(20 * time.Second)
	studio.State.Paused = false
	x.report(studio)
	x.want("held a; grant a studio")
	studio.State.Paused = true
	x.report(studio)
	x.refuse("a", fleet.CodePaused, studio.Sequence-1)
	x.want("refused a; held a")
	x.pass(10 * time.Second)
	x.want("done a held_out")
}

func TestHeldRequestsGoBeforeNewArrivalsOfEqualClass(t *testing.T) {
	studio := machine("studio", loaded("qwen3", 1))
	x := newFx(t, studio)
	x.submit("running", "qwen3")
	studio.State.Paused = true
	x.report(studio)
	x.submit("batch", "qwen3", batch)
	x.pass(time.Second)
	x.submit("held", "qwen3", fromApp("one"))
	studio.State.Paused = false
	x.report(studio)
	x.submit("new", "qwen3", fromApp("two"))
	x.want("grant running studio; held batch; held held")
	x.done("running")
	x.done("held")
	x.done("new")
	x.done("batch")
	x.want("grant held studio; done running ok; grant new studio; done held ok; grant batch studio; done new ok; done batch ok")
}

func TestUnknownModelIsRefusedAtOnce(t *testing.T) {
	x := newFx(t, machine("studio", loaded("qwen3", 1)))
	x.submit("a", "nonesuch")
	x.want("done a refused")
	x.wantEmpty()
}

func TestNothingIsRefusedFromAnUnsettledPicture(t *testing.T) {
	x := newFx(t)
	x.snap.Settled = false
	x.report()
	x.submit("a", "qwen3")
	x.want("held a")
	x.snap.Settled = true
	x.report(machine("studio", loaded("qwen3", 1)))
	x.want("grant a studio")
}

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
	for range 7 {
		x.use("a")
		x.refuse("a", fleet.CodeMemory, studio.Sequence)
		x.pass(5 * time.Second)
		x.report(studio)
	}
	if x.log[len(x.log)-1] != "done a held_out" {
		t.Errorf("effects: %v", x.log)
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
		x.retry("r", fleet.FailConnect)
	}
	x.want("grant r a; grant r b; grant r c; done r refused retries_exhausted")
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

func TestSlotsFollowTheNodesReport(t *testing.T) {
	studio := machine("studio", loaded("qwen3", 1))
	x := newFx(t, studio)
	for _, n := range names("r", 4) {
		x.submit(n, "qwen3")
	}
	x.want("grant r1 studio")
	studio.Deployments = []fleet.Deployment{loaded("qwen3", 3)}
	studio.Deployments[0].ID = x.grants["r1"].Deployment
	x.report(studio)
	x.want("grant r2 studio; grant r3 studio")
	studio.Deployments = []fleet.Deployment{studio.Deployments[0]}
	studio.Deployments[0].Slots = 1
	x.report(studio)
	x.done("r1")
	x.done("r2")
	x.want("done r1 ok; done r2 ok") // r3 alone fills the one slot now
	x.done("r3")
	x.want("grant r4 studio; done r3 ok")
}

func TestWaitingRequestsLeaveANodeThatIsPaused(t *testing.T) {
	studio, tower := machine("studio", loaded("qwen3", 1)), machine("tower", onDisk("qwen3", 4))
	x := newFx(t, studio, tower)
	x.submit("a", "qwen3")
	x.use("a")
	x.submit("b", "qwen3")
	x.want("grant a studio")
	studio.State.Paused = true
	x.report(studio)
	x.want("grant b tower")
	if !x.grants["b"].Load {
		t.Error("the grant on tower does not say that the model must be loaded")
	}
}

func TestWaitingRequestsLeaveANodeThatVanishes(t *testing.T) {
	studio := machine("studio", loaded("qwen3", 1))
	x := newFx(t, studio, machine("tower", onDisk("qwen3", 4)))
	x.submit("a", "qwen3")
	x.use("a")
	x.submit("b", "qwen3")
	x.remove("studio")
	x.want("grant a studio; grant b tower")
	x.complete("a")
	x.done("b")
	x.want("done a ok; done b ok")
	if len(x.d.nodes) != 1 {
		t.Errorf("%d nodes remembered, want tower", len(x.d.nodes))
	}
}

// decide and reserve in one step.
func TestTwoGrantsInARowNeverTakeTheSameMemory(t *testing.T) {
	x := newFx(t, machine("studio", onDisk("a", 1), onDisk("b", 1), onDisk("c", 1)))
	x.submit("a", "a")
	x.submit("b", "b")
	x.submit("c", "c") // 11.5 GB each, 30 GB to take: two fit
	x.want("grant a studio; grant b studio; held c")
	x.use("a", "b")
	x.pass(10 * time.Second)
	x.want("")
	pools := x.d.view.Fleet.Nodes[0].Pools
	if held := pools[0].Held(); held <= 22*gb {
		t.Errorf("the mirror shows %d held", held)
	}
	if free := pools[0].Free.V; free > 8*gb {
		t.Errorf("the mirror shows %d free", free)
	}
}

func TestALateHeartbeatErasesNoGrant(t *testing.T) {
	studio := machine("studio", onDisk("a", 1), onDisk("b", 1), onDisk("c", 1))
	x := newFx(t, studio)
	x.submit("a", "a")
	x.submit("b", "b")
	x.use("a", "b")
	x.report(studio) // sent before the grants arrived: includes none
	x.submit("c", "c")
	x.want("grant a studio; grant b studio; held c")
	studio.IncludesGrant = 2
	studio.Pools[0].Holders = []fleet.Holder{{Deployment: x.grants["a"].Deployment, Kind: fleet.HoldReserved, Bytes: fleet.Know(9 * gb)}}
	x.report(studio) // includes b's sequence, but b is nowhere: the claim stands
	if n := len(x.d.nodes["studio"].claims); n != 1 {
		t.Errorf("%d claims, want b's", n)
	}
}

func TestClaimEndsWithTheReportThatShowsIt(t *testing.T) {
	studio := machine("studio", onDisk("a", 1), onDisk("b", 1))
	x := newFx(t, studio)
	x.submit("a", "a")
	x.use("a")
	studio.IncludesGrant = 1
	studio.Pools[0].Holders = []fleet.Holder{{Deployment: x.grants["a"].Deployment, Kind: fleet.HoldReserved, Bytes: fleet.Know(11 * gb)}}
	x.report(studio)
	if n := len(x.d.nodes["studio"].claims); n != 0 {
		t.Errorf("%d claims left though the node shows it", n)
	}
	x.done2(t, "a")
}

func (x *fx) done2(t *testing.T, name string) {
	t.Helper()
	x.release(name)
	x.complete(name)
	if x.tickets[name].state != ended {
		t.Errorf("%s has not ended", name)
	}
}

func TestModelBeingLoadedIsNotLoadedTwice(t *testing.T) {
	x := newFx(t, machine("studio", onDisk("a", 2)))
	x.submit("a1", "a")
	x.submit("a2", "a")
	x.submit("a3", "a")
	x.want("grant a1 studio; grant a2 studio")
	if !x.grants["a1"].Load || x.grants["a2"].Load {
		t.Errorf("load: first %v, second %v; want the first only", x.grants["a1"].Load, x.grants["a2"].Load)
	}
	if left := x.d.view.Lanes[x.grants["a1"].Deployment].LoadRemaining; left <= 0 {
		t.Errorf("the view shows %v left of the load", left)
	}
	x.pass(time.Second)
	x.d.refreshView()
	if left := x.d.view.Lanes[x.grants["a1"].Deployment].LoadRemaining; left <= 5*time.Second || left >= 6*time.Second { // 11.5 GB at 2 GB/s
		t.Errorf("a second later the view shows %v left", left)
	}
}

func TestAbandonedLoadGivesItsMemoryBack(t *testing.T) {
	x := newFx(t, machine("studio", onDisk("a", 1), onDisk("b", 1), onDisk("c", 1)))
	x.submit("a", "a")
	x.submit("b", "b")
	x.submit("c", "c")
	x.abandon("a")
	x.want("grant a studio; grant b studio; held c; done a client_disconnected client gone; grant c studio")
}

// a model that answers is not evicted for another one.
func TestHeldForMemoryRunsWhenTheVictimFallsIdle(t *testing.T) {
	studio := machine("studio", loaded("a", 1), loaded("b", 1), loaded("c", 1), onDisk("d", 1))
	x := newFx(t, studio)
	for _, n := range []string{"a", "b", "c"} {
		x.submit(n, n)
		x.use(n)
	}
	x.submit("d", "d")
	x.want("grant a studio; grant b studio; grant c studio; held d")
	x.release("b")
	x.complete("b")
	x.want("grant d studio; done b ok")
	g := x.grants["d"]
	if !g.Load || len(g.Evict) == 0 {
		t.Fatalf("grant %+v, want a load with victims", g)
	}
	for _, victim := range g.Evict {
		if victim.Model == "a" {
			t.Error("the busy model is a victim")
		}
	}
	x.submit("victim", g.Evict[0].Model)
	x.want("held victim") // it leaves: nothing more is given to it
}

func TestUncertainHoldKeepsOthersAway(t *testing.T) {
	studio := machine("studio", loaded("qwen3", 2))
	x := newFx(t, studio)
	x.submit("a", "qwen3")
	x.use("a")
	g := x.grants["a"]
	x.do(&released{fleet.Released{Grant: g.ID, Deployment: g.Deployment, Uncertain: 10 * time.Second}})
	x.submit("b", "qwen3")
	x.want("grant a studio; held b")
	x.pass(9 * time.Second)
	x.want("")
	x.pass(time.Second)
	x.want("grant b studio")
}

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

// who is offline gets nothing, and what waits for it goes elsewhere.
func TestOfflineNodeIsLeftAtOnce(t *testing.T) {
	studio := machine("studio", loaded("qwen3", 1))
	x := newFx(t, studio, machine("tower", onDisk("qwen3", 4)))
	x.submit("a", "qwen3")
	x.use("a")
	x.submit("b", "qwen3")
	studio.Liveness = fleet.Offline
	x.report(studio)
	x.submit("c", "qwen3")
	x.want("grant a studio; grant b tower; grant c tower")
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

func TestOnlyRuntimeFaultsCountForTheCircuit(t *testing.T) {
	for _, f := range []fleet.Failure{
		{Class: fleet.FailStatus, Status: 400, Caller: true}, {Class: fleet.FailStatus, Status: 404},
		{Class: fleet.FailBackPressure, Status: 503}, {Class: fleet.FailRefused}, {Class: fleet.FailCancelled},
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

func TestAgentRestartFreesWhatItRan(t *testing.T) {
	studio := machine("studio", loaded("qwen3", 1))
	x := newFx(t, studio)
	x.submit("a", "qwen3")
	x.use("a")
	x.submit("b", "qwen3")
	x.want("grant a studio")
	studio.Boot, studio.Sequence = "studio-2", 0
	x.report(studio)
	x.want("grant b studio")
	if x.grants["b"].Boot != "studio-2" {
		t.Errorf("the grant names boot %q", x.grants["b"].Boot)
	}
	x.retry("a", fleet.FailBeforeOpen)
	x.done("b")
	x.want("done a refused; done b ok")
	x.wantEmpty()
}

func TestUnusedGrantOfARestartedAgentIsGivenAnew(t *testing.T) {
	studio := machine("studio", loaded("qwen3", 1))
	x := newFx(t, studio)
	x.submit("a", "qwen3")
	old := x.grants["a"]
	studio.Boot, studio.Sequence = "studio-2", 0
	x.report(studio)
	x.want("grant a studio; returned a; grant a studio")
	if x.tickets["a"].Used(old) || !x.tickets["a"].Used(x.grants["a"]) {
		t.Error("the old grant must not be good, the new one must")
	}
}

func TestRunningForOthersSinceBeforeOurTimeTakesSlots(t *testing.T) {
	studio := machine("studio", loaded("qwen3", 2))
	id := studio.Deployments[0].ID
	studio.Running = map[fleet.DeploymentID]int{id: 1}
	x := newFx(t, studio)
	for _, n := range []string{"a", "b"} {
		x.submit(n, "qwen3")
	}
	x.want("grant a studio")
	x.use("a")
	studio.Running = map[fleet.DeploymentID]int{id: 1} // ours, or the other's: the lower is taken
	x.report(studio)
	x.want("")
	studio.Running = nil
	x.report(studio)
	x.want("grant b studio")
}

// a slot is not lost with its client.
func TestSlotOfAVanishedClientIsReaped(t *testing.T) {
	studio := machine("studio", loaded("qwen3", 1))
	x := newFx(t, studio)
	x.submit("a", "qwen3")
	x.use("a")
	x.complete("a") // and no Released ever comes
	x.submit("b", "qwen3")
	x.want("grant a studio; done a ok")
	studio.IncludesGrant = 1
	x.pass(5 * time.Second)
	x.report(studio)
	x.pass(5 * time.Second)
	x.want("grant b studio")
}

func TestRecordOfAVanishedGatewayIsReaped(t *testing.T) {
	x := newFx(t, machine("studio", loaded("qwen3", 1)))
	x.submit("a", "qwen3")
	x.use("a")
	x.release("a") // and no Completed ever comes
	x.pass(2 * time.Minute)
	x.want("grant a studio; done a failed lost")
	x.wantEmpty()
}

func TestPolicyThatChangesIsAppliedToWhatWaits(t *testing.T) {
	studio := machine("studio", loaded("qwen3", 1))
	studio.State.Paused = true
	x := newFx(t, studio)
	x.submit("a", "qwen3")
	p := *x.policy
	p.HoldMax = time.Minute
	x.policy = &p
	x.submit("b", "qwen3")
	x.pass(31 * time.Second)
	x.want("held a; held b; done a held_out")
}

func TestPullIsAskedForOnceWhileRequestsWaitForAModel(t *testing.T) {
	studio := machine("studio")
	x := newFx(t, studio)
	var asked []string
	x.d.cfg.Pull = func(m string) { asked = append(asked, m) }
	x.d.cfg.Decide = func(v *route.View, p *route.Policy, q *route.Query) *route.Decision {
		dec := decideSimply(v, p, q)
		if dec.Verdict == route.Refuse {
			dec.Verdict, dec.Model = route.Pull, q.Model
		}
		return dec
	}
	x.submit("a", "new")
	x.submit("b", "new")
	x.pass(time.Minute)
	if len(asked) != 1 || asked[0] != "new" {
		t.Errorf("asked for %v", asked)
	}
	x.submit("other", "absent")
	x.do(pullFailed("absent"))
	x.want("held a; held b; held other; done other held_out")
	if len(asked) != 2 {
		t.Errorf("asked for %v", asked)
	}
	x.pass(time.Second)
	x.want("") // auto_pull_timeout is 300 s, not the hold's 30
	studio.Deployments = machine("studio", onDisk("new", 1)).Deployments
	x.report(studio)
	x.want("grant a studio")
	x.abandon("b")
	x.done("a")
	if len(x.d.holds.pulls) != 0 {
		t.Errorf("still waiting for %v", x.d.holds.pulls)
	}
}

func TestStatusTellsTheQueues(t *testing.T) {
	studio := machine("studio", loaded("qwen3", 1), onDisk("big", 1))
	studio.Pools[0].Limit = 12 * gb
	x := newFx(t, studio)
	x.submit("a", "qwen3", fromApp("one"))
	x.submit("b", "qwen3", fromApp("two"))
	x.submit("c", "big", fromApp("two"))
	x.pass(time.Second)
	s := x.d.status()
	if len(s.Lanes) != 1 || s.Lanes[0].Running != 1 || s.Lanes[0].Waiting != 1 || s.Lanes[0].Oldest != time.Second || s.Lanes[0].WaitingApps["two"] != 1 {
		t.Errorf("lanes %+v", s.Lanes)
	}
	if len(s.Held) != 1 || s.Held[0].Request != "c" || s.Held[0].Left != 29*time.Second {
		t.Errorf("held %+v", s.Held)
	}
	if s.Tickets != 3 || s.Grants != 1 || s.Apps["two"] != 2 {
		t.Errorf("%+v", s)
	}
}
