package queue

import (
	"slices"
	"testing"
	"time"

	"bellwether/engine/fleet"
	"bellwether/engine/route"
)

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

func TestARecordSaysWhatARequestWaitedForLongest(t *testing.T) {
	studio := machine("studio", loaded("qwen3", 1))
	studio.State.Paused = true
	x := newFx(t, studio)
	x.submit("a", "qwen3")
	x.pass(9 * time.Second)
	studio.State.Paused, studio.Deployments[0].Residency = false, fleet.Leaving
	x.report(studio)
	x.pass(3 * time.Second)
	studio.Deployments[0].Residency = fleet.Loaded
	x.report(studio)
	x.want("held a; grant a studio")
	x.submit("b", "qwen3")
	a := x.tickets["a"]
	if w := a.decision.Waited; w == nil || w.For != " is paused" || w.Took != 9*time.Second {
		t.Errorf("a waited %+v, want 9 s for a pause", w)
	}
	if why := route.ToRecord(a.decision, a.q).Reasons; !slices.Contains(why, "it waited 9 s:  is paused") {
		t.Errorf("the record says %q", why)
	}
	x.done("a")
	x.want("grant b studio; done a ok")
	if w := x.tickets["b"].decision.Waited; w != nil {
		t.Errorf("b waited for a slot only, not for %+v", w)
	}
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
