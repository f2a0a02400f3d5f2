package engine

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bellwether/engine/admin"
	"bellwether/engine/evidence"
	"bellwether/engine/fleet"
	"bellwether/engine/runtime/runtimetest"
)

// shipped is the catalogue that the program carries.
var shipped = os.DirFS("../assets/catalogue")

var qwen8b = runtimetest.FakeModel{Name: "qwen3:8b", Digest: strings.Repeat("a", 64), Family: "qwen3", Parameters: 8_190_000_000, Capabilities: []string{"completion", "tools"}}

// model returns a deployment as everyone sees it, nil if nobody does.
func (r *rig) model(name string) *fleet.Deployment {
	for _, n := range r.registry.Snapshot().Nodes {
		for i := range n.Deployments {
			if n.Deployments[i].ID.Model == name {
				return &n.Deployments[i]
			}
		}
	}
	return nil
}

// worth returns what the status says a model is worth at a task.
func (r *rig) worth(model, task string) (q admin.QualityStatus) {
	for _, rt := range r.Status().Runtimes {
		for _, m := range rt.Models {
			for _, q := range m.Quality {
				if m.Deployment.Model == model && q.Task == task {
					return q
				}
			}
		}
	}
	return q
}

// What is known of a model's worth outlives a restart, in the real store, and
// begins anew when the model was pulled again.
func TestMeasuredQualityOutlivesARestartAndNotANewPull(t *testing.T) {
	again := qwen8b
	again.Digest = strings.Repeat("b", 64)
	dir, s := t.TempDir(), spec{catalogue: shipped, config: quick, fakes: map[string]runtimetest.FakeConfig{
		"ollama": {Models: []runtimetest.FakeModel{qwen8b}, Registry: []runtimetest.FakeModel{again}}}}
	at := time.Date(2026, 11, 29, 20, 0, 0, 0, time.UTC)

	r, err := s.start(dir)
	if err != nil {
		t.Fatal(err)
	}
	if q := r.worth("qwen3:8b", "tool_use"); !strings.HasPrefix(q.Evidence, "prior:bfcl ") || q.Value == 0 {
		t.Errorf("before it was measured: got %+v", q)
	}
	d := r.model("qwen3:8b")
	r.evidence.SetQuality(d, "coding", evidence.Grade{Right: 24, Of: 30, Suite: "coding/1", At: at})
	r.evidence.SetProbe(d, evidence.Probed{At: at, Results: map[fleet.Capability]fleet.Tri{fleet.CapTools: fleet.No, fleet.CapParallelTools: fleet.Yes}})
	if err := r.agent.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.await(t, "what the probe found to be reported", func() bool {
		return r.model("qwen3:8b").Can(fleet.CapTools) == fleet.Claim{Support: fleet.No, Source: fleet.SourceProbe}
	})
	if err := r.end(); err != nil {
		t.Fatal(err)
	}

	if r, err = s.start(dir); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.end() }()
	want := admin.QualityStatus{Task: "coding", Value: 0.8, Evidence: "measured:30", Suite: "coding/1", At: at}
	if q := r.worth("qwen3:8b", "coding"); q != want {
		t.Errorf("after a restart: got %+v, want %+v", q, want)
	}
	if c := r.model("qwen3:8b").Can(fleet.CapParallelTools); c != (fleet.Claim{Support: fleet.Yes, Source: fleet.SourceProbe}) {
		t.Errorf("after a restart: got %v", c)
	}

	if err := (ownerNode{r.node}).Pull(t.Context(), "qwen3:8b", func(admin.Progress) {}); err != nil {
		t.Fatal(err)
	}
	r.await(t, "the new pull to be seen", func() bool { return r.model("qwen3:8b").Digest == again.Digest })
	if q := r.worth("qwen3:8b", "coding"); strings.HasPrefix(q.Evidence, "measured") {
		t.Errorf("pulled again: got %+v", q)
	}
	if d := r.model("qwen3:8b"); d.Can(fleet.CapTools).Source == fleet.SourceProbe || d.Priors["tool_use"].Value == 0 {
		t.Errorf("pulled again: got %v, priors %v", d.Can(fleet.CapTools), d.Priors)
	}
}

func TestAWrongCatalogueOfOnesOwnStopsTheStart(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "catalogue.yaml"), []byte("models:\n  - name: house:1b\n    priors: {coding: 2 me}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := (spec{catalogue: shipped, config: quick}).start(dir)
	if err == nil || !strings.Contains(err.Error(), `catalogue.yaml:3: house:1b: priors: coding: "2 me"`) {
		t.Errorf("got %v", err)
	}
}

// The owner's own catalogue counts at once when it changes, after the shipped
// one; a wrong one leaves the last good one in force.
func TestAChangedCatalogueCountsAtOnceAndAWrongOneChangesNothing(t *testing.T) {
	r := newRig(t, spec{catalogue: shipped, config: quick + "\ndeployments: [{match: 'other:*', quality: {any: 0.4}}]", fakes: map[string]runtimetest.FakeConfig{
		"ollama": {Models: []runtimetest.FakeModel{qwen8b, {Name: "house:1b"}, {Name: "other:1b"}}}}})
	if q := r.worth("other:1b", "any"); q.Evidence != "prior:operator" || q.Value != 0.4 {
		t.Errorf("declared: got %+v", q)
	}
	if q := r.worth("house:1b", "any"); q.Evidence != "" {
		t.Errorf("a model nobody knows: got %+v", q)
	}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(r.conf().OwnCatalogue(), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("models:\n  - name: house:1b\n    priors: {any: 0.7 my tests 2026-11}\n  - name: other:1b\n    priors: {coding: 0.9 my tests 2026-11}\n")
	r.await(t, "the owner's catalogue to count", func() bool { return r.worth("house:1b", "any").Value == 0.7 })
	if q := r.worth("other:1b", "coding"); q.Evidence != "" {
		t.Errorf("what is declared of any task is over the catalogue: got %+v", q)
	}
	if q := r.worth("qwen3:8b", "tool_use"); q.Value == 0 {
		t.Error("the shipped catalogue is gone")
	}

	write("models:\n  - nam: house:1b\n")
	r.await(t, "the wrong file to be noticed", func() bool { return r.catalogueErr.Load() != nil })
	if told := fmt.Sprint(r.settingsFindings()); !strings.Contains(told, "catalogue.yaml:2: an entry needs a name") {
		t.Errorf("doctor says: %s", told)
	}
	if q := r.worth("house:1b", "any"); q.Value != 0.7 {
		t.Errorf("a wrong file changed what was in force: %+v", q)
	}

	write("models:\n  - name: house:1b\n    priors: {any: 0.6 my tests 2026-11}\n")
	r.await(t, "the corrected file to count", func() bool { return r.worth("house:1b", "any").Value == 0.6 })
	if err := os.Remove(r.conf().OwnCatalogue()); err != nil {
		t.Fatal(err)
	}
	r.await(t, "the removed file to be forgotten", func() bool { return r.worth("house:1b", "any").Evidence == "" })
}

func TestDeclarationsThatClashAreToldByDoctor(t *testing.T) {
	r := newRig(t, spec{config: quick + "\ndeployments: [{match: 'house*', context: 4096}, {match: '*se:1b', context: 8192}]", fakes: map[string]runtimetest.FakeConfig{
		"ollama": {Models: []runtimetest.FakeModel{{Name: "house:1b"}}}}})
	told := fmt.Sprint(r.findings())
	for _, want := range []string{"ollama/house:1b", "context differs between house* and *se:1b", "neither counts"} {
		if !strings.Contains(told, want) {
			t.Errorf("doctor does not say %q: %s", want, told)
		}
	}
	if d := r.model("house:1b"); d.MaxContext == 4096 || d.MaxContext == 8192 {
		t.Errorf("got context %d", d.MaxContext)
	}
}

// Answers teach how long a model takes, for the task they were for, and never
// how good it is.
func TestTrafficTeachesSpeedByTaskAndNoQuality(t *testing.T) {
	r := newRig(t, spec{catalogue: shipped, config: quick, fakes: map[string]runtimetest.FakeConfig{"ollama": {Models: []runtimetest.FakeModel{qwen8b}}}})
	a := r.post(t, "/v1/chat/completions", `{"model":"qwen3:8b","messages":[{"role":"user","content":"Write a Go function that reverses a linked list, with tests."}]}`)
	if a.Status != 200 {
		t.Fatalf("got %d %s", a.Status, a.Body)
	}
	task := r.decision(t, a.Header).Requirements.PrimaryTask
	d := r.model("qwen3:8b")
	r.await(t, "the answer to be learned from", func() bool { return r.evidence.Book().Median(d, task).Known() })
	if g := r.evidence.Book().Grades(d); len(g) != 0 {
		t.Errorf("an answer was taken for a measurement: %v", g)
	}
}
