package queue

import (
	"fmt"
	"testing"
	"time"
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
	if e := x.d.active()[1]; e.Kind != EventQueued || e.Deployment.Model != "qwen3" {
		t.Errorf("b waits in its lane: %+v", e)
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
