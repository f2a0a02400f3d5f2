package engine

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"bellwether/engine/runtime/runtimetest"
)

// Machines start their programs in any order: what a runtime had is waited for,
// and nobody is told that it is gone or to fetch it, whatever comes up first.
func TestAModelWhoseRuntimeIsNotUpYetIsWaitedFor(t *testing.T) {
	f, err := runtimetest.NewFake(runtimetest.FakeConfig{Models: []runtimetest.FakeModel{{Name: "chat:1b"}}})
	if err == nil {
		err = f.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s := spec{config: quick, runtimes: fmt.Sprintf("  - {name: ollama, kind: ollama, url: %q}\n", f.URL()), want: 1}
	dir := t.TempDir()
	r, err := s.start(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.end(); err != nil {
		t.Fatal(err)
	}
	f.Kill()
	s.want = 0
	if r, err = s.start(dir); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.end() }()
	for what, a := range map[string]*answer{
		"show": r.post(t, "/api/show", `{"model":"chat:1b"}`), "model": r.get(t, "/v1/models/chat:1b"),
	} {
		if a.Status != 503 || a.Header.Get("Retry-After") == "" || !strings.Contains(string(a.Body), "Start ollama on studio.") {
			t.Errorf("%s: %d %s, want 503 and what to start", what, a.Status, a.Body)
		}
	}
	if a := r.post(t, "/api/show", `{"model":"nope"}`); a.Status != 404 {
		t.Errorf("show of what nobody had: %d %s", a.Status, a.Body)
	}
	names := []string{"chat:1b", "auto"}
	held := make(chan *answer, len(names))
	for _, name := range names {
		go func() { held <- r.post(t, chatWire.path, chatWire.body(name, "go", false)) }()
	}
	r.await(t, "both to be held", func() bool { return len(r.queue.Status().Held) == len(names) })
	if a := r.post(t, chatWire.path, chatWire.body("nope", "go", false)); a.Status != 404 {
		t.Errorf("what nobody had: %d %s", a.Status, a.Body)
	}
	if err := f.Start(); err != nil {
		t.Fatal(err)
	}
	for range names {
		a := <-held
		if a.Status != 200 {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		if why := r.decision(t, a.Header).Reasons; !slices.ContainsFunc(why, func(s string) bool {
			return strings.HasPrefix(s, "it waited ") && strings.Contains(s, "runtime ollama on studio does not answer")
		}) {
			t.Errorf("the record says %q, and not what it waited for", why)
		}
	}
}
