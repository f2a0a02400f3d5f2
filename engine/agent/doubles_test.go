package agent

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"bellwether/engine/fleet"
	"bellwether/engine/runtime"
	"bellwether/engine/runtime/runtimetest"
)

// twice declares one server under two of its names.
func twice(f *runtimetest.Fake) Settings {
	second := target(f, "second", runtime.KindOllama)
	second.URL = strings.Replace(second.URL, "127.0.0.1", "localhost", 1)
	return Settings{Runtimes: []runtime.Target{target(f, "first", runtime.KindOllama), second}}
}

func TestOneServerUnderTwoNamesIsCountedOnce(t *testing.T) {
	f := fake(t, runtimetest.FakeConfig{Models: []runtimetest.FakeModel{{Name: "small", Size: gib}}})
	r := start(t, twice(f))
	id := ident("first", "small:latest")
	r.must(r.run(t.Context(), r.grant(id)))
	r.awaitResidency(id, fleet.Loaded)
	h := r.Heartbeat()
	first, second := stateOf(h, "first"), stateOf(h, "second")
	if len(h.Deployments) != 1 || h.Deployments[0].ID != id || !first.Up || second.Up || !strings.Contains(second.Reason, "the same server as first") {
		t.Errorf("deployments %v, runtimes %+v", h.Deployments, h.Runtimes)
	}
	if ids := holders(h); len(ids) != 1 || ids[0] != id {
		t.Errorf("memory is held by %v, want it once, by %s", ids, id)
	}
	told := r.finding("runtime.second")
	if told.Severity != Warning || !strings.Contains(told.Text, "the same server as first") || !strings.Contains(told.Remedy, "take second out of runtimes") {
		t.Errorf("the doctor says %+v", told)
	}

	// The one that is left is used.
	left := twice(f)
	left.Runtimes = left.Runtimes[1:]
	r.Configure(left)
	r.await("the second is used", func(h fleet.Heartbeat) bool { return stateOf(h, "second").Up })
}

func TestTwoServersOfTheSameModelsAreTwo(t *testing.T) {
	c := runtimetest.FakeConfig{Models: []runtimetest.FakeModel{{Name: "small"}}}
	r := start(t, Settings{Runtimes: []runtime.Target{target(fake(t, c), "first", runtime.KindOllama), target(fake(t, c), "second", runtime.KindOllama)}})
	r.await("both are used", func(h fleet.Heartbeat) bool { return len(h.Deployments) == 2 })
}

func TestADeclaredBellwetherIsNotToldToBeStarted(t *testing.T) {
	door := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(runtime.HeaderRouter, "bellwether")
		w.WriteHeader(http.StatusLoopDetected)
	}))
	t.Cleanup(door.Close)
	for _, kind := range []string{runtime.KindOllama, runtime.KindLlamaServer, ""} {
		r := start(t, Settings{Runtimes: []runtime.Target{{Name: "other", Kind: kind, URL: door.URL}}})
		got := r.finding("runtime.other")
		if got.Severity != Broken || !strings.Contains(got.Text, "a Bellwether answers") || got.Remedy != runtime.CureOurselves {
			t.Errorf("kind %q: the doctor says %+v", kind, got)
		}
		r.stop()
	}
}

// finding is what the doctor says under an id.
func (r *rig) finding(id string) Finding {
	for _, f := range r.Doctor(r.t.Context()) {
		if f.ID == id {
			return f
		}
	}
	return Finding{}
}

func stateOf(h fleet.Heartbeat, name string) fleet.RuntimeState {
	for _, rt := range h.Runtimes {
		if rt.Name == name {
			return rt
		}
	}
	return fleet.RuntimeState{}
}

// holders are the deployments that hold memory.
func holders(h fleet.Heartbeat) (ids []fleet.DeploymentID) {
	for i := range h.Pools {
		for _, holder := range h.Pools[i].Holders {
			ids = append(ids, holder.Deployment)
		}
	}
	slices.SortFunc(ids, fleet.DeploymentID.Compare)
	return slices.Compact(ids) // each counts once, by however many claims
}
