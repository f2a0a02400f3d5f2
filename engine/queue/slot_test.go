package queue

import (
	"testing"
	"time"

	"bellwether/engine/fleet"
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
