package engine

import (
	"net/http"
	"strings"
	"testing"

	"bellwether/engine/runtime/runtimetest"
)

// auto_pull: on fetches a model nobody has while its first request waits, asks
// for it once however many wait, and tells all of them when it cannot be had.
func TestAModelNobodyHasIsPulledWhileItsRequestsWait(t *testing.T) {
	r := newRig(t, spec{
		config: "routing: {settle: 0, auto_pull: \"on\", auto_pull_timeout: 20}\n",
		fakes: map[string]runtimetest.FakeConfig{"ollama": {
			Models:   []runtimetest.FakeModel{{Name: "here:1b"}},
			Registry: []runtimetest.FakeModel{{Name: "wanted:1b"}},
		}},
	})
	answers := make(chan *answer, 4)
	for range cap(answers) {
		go func() { answers <- r.post(t, "/v1/chat/completions", chatWire.body("wanted:1b", "go", false)) }()
	}
	for range cap(answers) {
		if a := <-answers; a.Status != http.StatusOK {
			t.Errorf("status %d: %s", a.Status, a.Body)
		}
	}
	pulls := 0
	for _, q := range r.fakes["ollama"].Requests() {
		if q.Path == "/api/pull" {
			pulls++
		}
	}
	if pulls != 1 {
		t.Errorf("%d pulls for one model, want 1", pulls)
	}
	a := r.post(t, "/v1/chat/completions", chatWire.body("nobody-has:1b", "go", false))
	if a.Status < 400 || !strings.Contains(string(a.Body), "nobody-has:1b") {
		t.Errorf("a model no registry has: %d %s", a.Status, a.Body)
	}
	a = r.post(t, "/v1/chat/completions", chatWire.body("evil.example/x/y:1b", "go", false))
	if a.Status != http.StatusNotFound {
		t.Errorf("a model of a registry that is not listed: %d %s", a.Status, a.Body)
	}
	r.idle(t)
}
