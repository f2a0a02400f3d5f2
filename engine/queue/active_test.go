package queue

import (
	"fmt"
	"testing"
	"time"

	"bellwether/engine/route"
)

// Who begins to watch is told where everything is that began before.
func TestActiveTellsWhereEveryRequestIs(t *testing.T) {
	studio := machine("studio", loaded("qwen3", 1), loaded("gemma", 1))
	x := newFx(t, studio)
	x.submit("a", "qwen3")
	x.use("a")
	x.pass(time.Second)
	x.submit("b", "qwen3")
	x.submit("d", "qwen3")
	if e := x.d.active()[1]; e.Kind != EventQueued || e.Deployment.Model != "qwen3" || !e.Arrived.Equal(t0.Add(time.Second)) {
		t.Errorf("b waits in its lane since it arrived: %+v", e)
	}
	studio.State.Paused = true
	x.report(studio)
	x.submit("c", "gemma")
	var got string
	for _, e := range x.d.active() {
		got += fmt.Sprintf("%s %s %s %v; ", e.Request, e.Kind, e.Deployment.Model, e.At.Sub(t0))
	}
	if want := "a granted qwen3 0s; b held  1s; d held  1s; c held  1s; "; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// Sent to a node and run by it are different things, for who has watched and
// for who begins to.
func TestRequestRunsOnceItsNodeAnswers(t *testing.T) {
	x := newFx(t, machine("studio", loaded("qwen3", 1)))
	sub := x.d.cfg.Events.Subscribe()
	defer sub.Close()
	x.submit("a", "qwen3")
	x.use("a")
	if e := x.d.active()[0]; e.Kind != EventGranted {
		t.Errorf("sent: %+v", e)
	}
	ticket, grant := x.tickets["a"], x.grants["a"]
	stale := grant
	stale.ID = "another"
	ticket.Began(stale, x.d.now, time.Second)
	if e := x.d.active()[0]; e.Kind != EventGranted {
		t.Errorf("another grant's word counted: %+v", e)
	}
	ticket.Began(grant, x.d.now, 300*time.Millisecond)
	if e := x.d.active()[0]; e.Kind != EventRunning || e.First != 300*time.Millisecond || e.Deployment.Model != "qwen3" {
		t.Errorf("running: %+v", e)
	}
	var kinds string
	for len(sub.C) > 0 {
		e := <-sub.C
		kinds += string(e.Kind) + " "
		if e.Kind == EventRunning && (e.Request != "a" || e.Deployment.Model != "qwen3" || e.First != 300*time.Millisecond) {
			t.Errorf("event %+v", e)
		}
	}
	if kinds != "queued granted running " {
		t.Errorf("events %q", kinds)
	}
}

// Whoever opens a request under way sees why it waits, and then where it went.
func TestUnderWayTellsWhatIsDecidedSoFar(t *testing.T) {
	studio := machine("studio", loaded("qwen3", 1))
	x := newFx(t, studio)
	if u := x.d.underWay("a"); u != nil {
		t.Errorf("before it came: %+v", u)
	}
	studio.State.Paused = true
	x.report(studio)
	x.submit("a", "qwen3")
	if u := x.d.underWay("a"); u == nil || u.Decision.Verdict != route.Hold || u.Query.Model != "qwen3" {
		t.Fatalf("held: %+v", u)
	}
	x.pass(time.Second)
	studio.State.Paused = false
	x.report(studio)
	x.use("a")
	x.pass(time.Second)
	u := x.d.underWay("a")
	if u == nil || u.Decision.Verdict != route.Serve || u.Decision.Chosen.Node != "studio" || u.Queued != time.Second {
		t.Fatalf("sent: %+v", u)
	}
	x.release("a")
	x.complete("a")
	if u := x.d.underWay("a"); u != nil {
		t.Errorf("after its end: %+v", u)
	}
}
