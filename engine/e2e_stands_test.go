package engine

import (
	"strings"
	"testing"

	"bellwether/engine/runtime/runtimetest"
)

// What is listed is never said not to be there.
func TestWhatNeedsAModelOfANameThatStandsForSomeSaysSo(t *testing.T) {
	r := newRig(t, spec{
		config: "\nsecurity: {api_keys: [{key: " + secretManage + ", name: boss, rights: [manage]}]}\naliases:\n  mine: {models: [chat:1b]}\nembeddings:\n  wiki: {members: [nomic]}\n",
		fakes:  map[string]runtimetest.FakeConfig{"ollama": {Models: []runtimetest.FakeModel{{Name: "chat:1b"}, embedder("nomic", oldWeights)}}},
	})
	if a := r.post(t, "/api/generate", `{"model":"chat:1b","stream":false}`); a.Status != 200 {
		t.Fatalf("load: %d %s", a.Status, a.Body)
	}
	for _, c := range []struct {
		method, path, body string
		says               []string
	}{
		{"POST", "/api/generate", `{"model":"auto","keep_alive":0}`, []string{"auto is an alias", "nothing to unload", "Name a model: chat:1b."}},
		{"POST", "/api/chat", `{"model":"mine","messages":[],"keep_alive":"0s"}`, []string{"mine is an alias", "chat:1b"}},
		{"POST", "/api/embed", `{"model":"wiki","input":"","keep_alive":0}`, []string{"wiki is an embedding contract", "nothing to unload", "Name a model: nomic"}},
		{"DELETE", "/api/delete", `{"model":"auto"}`, []string{"auto is an alias", "nothing to delete"}},
		{"POST", "/api/copy", `{"source":"wiki","destination":"other"}`, []string{"wiki is an embedding contract", "nothing to copy"}},
	} {
		a := ask(t, r.client, c.method, r.base+c.path, c.body, "x-api-key", secretManage)
		for _, says := range c.says {
			if a.Status != 400 || !strings.Contains(string(a.Body), says) {
				t.Errorf("%s: %d %s, want %q", c.path, a.Status, a.Body, says)
			}
		}
	}
	if a := r.post(t, "/api/generate", `{"model":"absent","keep_alive":0}`); a.Status != 404 || !strings.Contains(string(a.Body), "model 'absent' not found") {
		t.Errorf("what nobody has: %d %s", a.Status, a.Body)
	}
}
