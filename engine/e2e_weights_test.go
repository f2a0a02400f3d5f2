package engine

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bellwether/engine/runtime/runtimetest"
)

// A llama-server that serves a file of Ollama's store is a second deployment of
// that model: asked by Ollama's name, the one in memory answers, and the record
// says why.
func TestOneFileServedByTwoRuntimesIsOneModel(t *testing.T) {
	digest := strings.Repeat("5e", 32)
	blob := filepath.Join(t.TempDir(), "sha256-"+digest)
	if err := os.WriteFile(blob, []byte("weights"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := newRig(t, spec{config: quick, fakes: map[string]runtimetest.FakeConfig{
		"ollama": {GPU: 1, KeepAlive: -1, Models: []runtimetest.FakeModel{{Name: "qwen3:8b", Path: blob}, {Name: "other:1b"}}},
		"llama":  {Kind: runtimetest.LlamaServer, Models: []runtimetest.FakeModel{{Name: "Qwen3-8B-Q4_K_M", Path: blob}}},
	}})
	names := func() []string {
		n := r.registry.Snapshot().Nodes[0]
		for i := range n.Deployments {
			if d := &n.Deployments[i]; d.ID.Model == "qwen3:8b" {
				return d.AlsoNamed
			}
		}
		return nil
	}
	r.await(t, "the file to be recognised", func() bool { return slices.Equal(names(), []string{"Qwen3-8B-Q4_K_M"}) })
	a := r.post(t, "/api/chat", `{"model":"qwen3:8b","messages":[{"role":"user","content":"hi"}],"stream":false}`)
	if got := a.ok(t).str("model"); got != "qwen3:8b" || a.Header.Get("X-Fleet-Served-Model") != "Qwen3-8B-Q4_K_M" {
		t.Errorf("answered as %s by %s, want the one in memory under the name asked for", got, a.Header.Get("X-Fleet-Served-Model"))
	}
	d := r.decision(t, a.Header)
	if len(d.Candidates) != 2 || !strings.Contains(strings.Join(d.Notes, " "), "same_weights_as:qwen3:8b") {
		t.Errorf("%d candidates, notes %v: want both deployments, and why the other name", len(d.Candidates), d.Notes)
	}
	if b := r.post(t, "/api/chat", `{"model":"other:1b","messages":[{"role":"user","content":"hi"}],"stream":false}`); b.Header.Get("X-Fleet-Served-Model") != "other:1b" {
		t.Error("a model of another file is served by it too")
	}
	for _, path := range []string{"/api/tags", "/v1/models", "/fleet/status", "/api/show"} {
		body := r.get(t, path).Body
		if path == "/api/show" {
			body = nil // Ollama's own modelfile names it
		}
		if strings.Contains(string(body), blob) {
			t.Errorf("%s tells a path of this machine", path)
		}
	}
}
