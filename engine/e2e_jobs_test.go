package engine

import (
	"net/http"
	"strings"
	"testing"

	"bellwether/engine/admin"
	"bellwether/engine/runtime/runtimetest"
)

// A pull and an eval that end with the process are told by the next one, once,
// with how to go on; killed or stopped, they were on the disk while they ran.
func TestWhatARestartBreaksOffIsToldOnce(t *testing.T) {
	dir, s := t.TempDir(), spec{config: quick, fakes: map[string]runtimetest.FakeConfig{"ollama": {
		Models: []runtimetest.FakeModel{{Name: "chat:1b"}}, PullBytesPerSecond: 1000, Registry: []runtimetest.FakeModel{{Name: "small:1b", Size: 1}, {Name: "huge:70b", Size: 40e9}}}}}
	run := func() *rig {
		t.Helper()
		r, err := s.start(dir)
		must(t, err)
		return r
	}
	r := run()
	order := func(what string, body map[string]any) (j admin.JobView) {
		t.Helper()
		body["background"] = true
		if code := r.owner(t, "POST", "/admin/"+what, body, &j); code != http.StatusAccepted {
			t.Fatalf("%s: %d", what, code)
		}
		return j
	}
	kept := func() string {
		text, err := r.store.LoadJobs()
		must(t, err)
		return string(text)
	}
	small := order("models/pull", map[string]any{"model": "small:1b"})
	r.await(t, "the end of the small pull", func() bool { return r.jobs()[0].State == "done" })
	r.inject(runtimetest.Fault{Path: "/api/chat", Break: runtimetest.BreakHang})
	eval := order("eval", map[string]any{"models": []string{"chat:1b"}, "live": true})
	pull := order("models/pull", map[string]any{"model": "huge:70b"})
	r.await(t, "both to be on the disk, and no more", func() bool {
		return strings.Contains(kept(), eval.ID) && strings.Contains(kept(), pull.ID) && !strings.Contains(kept(), small.ID)
	})
	must(t, r.end())

	r = run()
	told := map[string]string{}
	for _, j := range r.jobs() {
		if j.State != "failed" || j.EndedAt == nil || j.Cancellable {
			t.Errorf("%+v", j)
		}
		told[j.ID] = j.Kind + " " + j.Model + ": " + j.Error
	}
	for id, want := range map[string]string{
		pull.ID: "pull huge:70b: Bellwether ended while it ran. Pull it again: it goes on where it broke off.",
		eval.ID: "eval chat:1b: Bellwether ended while it ran. Measure it again: it goes on where it broke off.",
	} {
		if told[id] != want {
			t.Errorf("told %q, want %q", told[id], want)
		}
	}
	if code := r.owner(t, "POST", "/admin/jobs/"+pull.ID+"/dismiss", nil, nil); code != 200 || len(r.jobs()) != 1 {
		t.Errorf("dismissing it: %d", code)
	}
	r.await(t, "them to be told for once", func() bool { return !strings.Contains(kept(), eval.ID) })
	must(t, r.end())

	r = run()
	if left := r.jobs(); len(left) > 0 {
		t.Errorf("told again: %+v", left)
	}
	must(t, r.end())
}
