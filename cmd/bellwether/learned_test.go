package main

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"bellwether/engine/route"
)

// eight at once are sent to a runtime that runs two and says nothing of
// it. That is seen from how long it works and how long its requests wait.
func TestUndeclaredParallelismIsLearnedFromTraffic(t *testing.T) {
	t.Parallel()
	f := fakeRuntime(t, "ollama", "-m", "tiny,ctx=4096,tokens=15", "--parallel", "2", "--decode", "100")
	h := newHome(t, "", map[string]*fake{"ollama": f})
	h.serve(t, anywhere)
	crowd := func(rounds int, stream bool) {
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				for range rounds {
					if status, body := post(t, h.address+"/v1/chat/completions", chat("tiny", stream)); status != http.StatusOK {
						t.Errorf("%d %s", status, body)
					}
				}
			})
		}
		all.Wait()
	}
	h.runWith(t, chat("tiny", false), "explain", "--live", "-").says(t, "slots 8").lacks(t, "learnt from waits")
	// How soon it is sure depends on how evenly this machine lets them run.
	for round := range 60 {
		crowd(1, round%2 == 1)
		if out := h.runWith(t, chat("tiny", false), "explain", "--live", "-").out; strings.Contains(out, "slots 2,") {
			break
		}
	}
	h.runWith(t, chat("tiny", false), "explain", "--live", "-").says(t, "slots 2", "of 2", "its slots are learnt from waits: ")

	// From now on the others wait here, where they could still go elsewhere.
	crowded := make(chan struct{})
	go func() { defer close(crowded); crowd(2, true) }()
	most, waited := 0, 0
	until(t, "the crowd is served", func() bool {
		for _, q := range h.status(t).Queues {
			most, waited = max(most, q.Running), max(waited, q.Waiting)
		}
		select {
		case <-crowded:
			return true
		default:
			return false
		}
	})
	if most != 2 || waited < 4 {
		t.Errorf("%d ran at once and %d waited, want 2 and the others", most, waited)
	}
	rec := decode[route.Record](t, firstLine(h.run(t, "decisions", "--limit", "1", "--json").out))
	if !strings.Contains(strings.Join(rec.Candidates[0].Notes, " "), "slots_learned:") {
		t.Errorf("the record does not tell: %v", rec.Candidates[0].Notes)
	}
	stop(t, h.engine)
	h.runWith(t, chat("tiny", false), "explain", "-").says(t, "slots 2")
	h.serve(t, anywhere)
	h.ask(t, "tiny") // as before, so that it is loaded
	h.runWith(t, chat("tiny", false), "explain", "--live", "-").says(t, "slots 2")
}

// M-02: a runtime that keeps two models drops one for every third. After that
// was seen, the one to leave is chosen here, and named.
func TestMostLoadedIsLearnedFromWhatTheRuntimeDrops(t *testing.T) {
	t.Parallel()
	f := fakeRuntime(t, "ollama", "-m", "one", "-m", "two", "-m", "three", "--max-loaded", "2")
	h := newHome(t, "", map[string]*fake{"ollama": f})
	h.serve(t, anywhere)
	loaded := func(model string) {
		if status, body := h.ask(t, model); status != http.StatusOK {
			t.Fatalf("%s: %d %s", model, status, body)
		}
		until(t, model+" is seen in memory", func() bool { s := h.status(t); return s.residency("ollama", model) == "loaded" })
	}
	mostLoaded := func() int {
		return decode[struct {
			Runtimes []struct {
				MaxLoaded int `json:"max_loaded"`
			}
		}](t, h.run(t, "status", "--json").out).Runtimes[0].MaxLoaded
	}
	for _, model := range []string{"one", "two", "three", "one"} {
		loaded(model)
	}
	until(t, "the runtime is known to keep two", func() bool { return mostLoaded() == 2 })
	h.runWith(t, chat("two", false), "explain", "--live", "-").says(t, "evict three")
	loaded("two")
	if s := h.status(t); s.residency("ollama", "three") != "on_disk" {
		t.Errorf("three is %s", s.residency("ollama", "three"))
	}
}
