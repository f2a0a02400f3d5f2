package agent

import (
	"slices"
	"testing"

	"bellwether/engine/fleet"
	"bellwether/engine/runtime"
	"bellwether/engine/runtime/runtimetest"
)

// A llama-server router says how many models it keeps at once, and refuses to
// load beyond that while those are busy: the fleet must plan with it.
func TestWhatARuntimeSaysItKeepsIsItsLimitUnlessDeclared(t *testing.T) {
	f := fake(t, runtimetest.FakeConfig{Kind: runtimetest.LlamaServer, Router: true, MaxLoaded: 2,
		Models: []runtimetest.FakeModel{{Name: "a"}, {Name: "b"}, {Name: "c"}}})
	for declared, want := range map[int]int{0: 2, 5: 5} {
		to := target(f, "router", runtime.KindLlamaServer)
		to.MaxLoaded = declared
		r := start(t, Settings{Runtimes: []runtime.Target{to}})
		r.await("the limit", func(h fleet.Heartbeat) bool {
			return len(h.Runtimes) == 1 && h.Runtimes[0].Up && h.Runtimes[0].MaxLoaded == want
		})
		r.stop()
	}
}

// A router that is full would have let its oldest model go for a new one; so
// the owner's order does, and never one that is in use.
func TestAnOwnersLoadOnAFullRuntimeSendsTheOldestAway(t *testing.T) {
	f := fake(t, runtimetest.FakeConfig{Kind: runtimetest.LlamaServer, Router: true, MaxLoaded: 2,
		Models: []runtimetest.FakeModel{{Name: "a"}, {Name: "b"}, {Name: "c"}}})
	r := start(t, Settings{Runtimes: []runtime.Target{target(f, "router", runtime.KindLlamaServer)}})
	for _, model := range []string{"a", "b", "c"} {
		if err := r.Load(t.Context(), "router", model); err != nil {
			t.Fatal(err)
		}
	}
	if got := f.Loaded(); len(got) != 2 || slices.Contains(got, "a") {
		t.Errorf("in memory are %v", got)
	}
}
