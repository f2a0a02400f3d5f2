package queue

import (
	"testing"

	"bellwether/engine/fleet"
)

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
