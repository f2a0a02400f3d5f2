package engine

import (
	"net/http"
	"os"
	"strings"
	"testing"

	"bellwether/engine/admin"
	"bellwether/engine/fleet"
	"bellwether/engine/runtime/runtimetest"
)

func TestAPinIsWrittenIntoTheSettingsAndCountsAtOnce(t *testing.T) {
	r := newRig(t, spec{config: quick + "\n# This comment stays.\n", fakes: map[string]runtimetest.FakeConfig{"ollama": {Models: []runtimetest.FakeModel{{Name: "chat:1b"}, {Name: "other:1b"}}}}})
	pinned := func(model string) bool {
		for _, d := range r.agent.Heartbeat().Deployments {
			if d.ID.Model == model {
				return d.Pinned
			}
		}
		t.Fatalf("no %s", model)
		return false
	}
	order := func(action string, body map[string]any, want int, says string) {
		t.Helper()
		var out struct{ Error admin.Refusal }
		if code := r.owner(t, "POST", "/admin/models/"+action, body, &out); code != want || !strings.Contains(out.Error.Message+out.Error.Remedy, says) {
			t.Errorf("%s %v: %d %+v", action, body, code, out)
		}
	}
	file := func() string {
		text, err := os.ReadFile(r.conf().file)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	before := file()
	order("pin", map[string]any{"model": "CHAT:1b"}, 200, "")
	if !pinned("chat:1b") || pinned("other:1b") || !strings.Contains(file(), "# This comment stays.") {
		t.Errorf("pinned %v, %v; the file:\n%s", pinned("chat:1b"), pinned("other:1b"), file())
	}
	id := fleet.DeploymentID{Node: r.nodeID, Runtime: "ollama", Model: "other:1b"}
	order("pin", map[string]any{"deployment": id}, 200, "")
	order("pin", map[string]any{"deployment": id}, 200, "") // so already
	if got := r.conf().Routing.PinnedModels; strings.Join(got, " ") != "chat:1b other:1b" {
		t.Errorf("the list is %v", got)
	}
	order("pin", map[string]any{"model": "nobody:1b"}, http.StatusNotFound, "Pull it first")

	// Edited on the disk meanwhile, and not looked at yet: nothing of it is lost.
	if err := os.WriteFile(r.conf().file, []byte(strings.Replace(file(), "log_level: debug", "log_level: info", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	order("unpin", map[string]any{"model": "chat:1b"}, 200, "")
	if got := file(); !strings.Contains(got, "log_level: info") || strings.Contains(got, "chat:1b") || pinned("chat:1b") {
		t.Errorf("after unpin: %v\n%s", pinned("chat:1b"), got)
	}
	order("unpin", map[string]any{"model": "other:1b"}, 200, "")
	order("unpin", map[string]any{"model": "other:1b"}, 200, "") // so already
	if got := strings.Replace(file(), "log_level: info", "log_level: debug", 1); strings.Contains(got, "pinned_models") || !strings.HasPrefix(got, strings.TrimSpace(before)[:40]) {
		t.Errorf("what was written is still there:\n%s", got)
	}

	if err := os.WriteFile(r.conf().file, []byte(file()+"\nnonsense: 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	order("pin", map[string]any{"model": "chat:1b"}, http.StatusConflict, "Correct it")
}
