package engine

import "testing"

// Ollama's clients bring a model in by asking it for nothing. That works on
// every runtime, and the answers are those a real Ollama gave.
func TestRequestsWithoutTextLoadAndAnswerAsOllamaDoes(t *testing.T) {
	r := both.of(t)
	for _, c := range []struct{ path, body, field, want string }{
		{"/api/generate", `{"model":"plain"}`, "done_reason", "load"},
		{"/api/chat", `{"model":"plain","messages":[]}`, "done_reason", "load"},
		{"/api/generate", `{"model":"gguf-1b"}`, "done_reason", "load"},
		{"/api/chat", `{"model":"gguf-1b","messages":[],"stream":true}`, "done_reason", "load"},
		{"/api/embed", `{"model":"embed:1b"}`, "embeddings", "[]"},
		{"/api/embed", `{"model":"embed:1b","input":[]}`, "embeddings", "[]"},
		{"/api/embed", `{"model":"embed:1b","input":""}`, "embeddings", "[]"},
		{"/api/embeddings", `{"model":"embed:1b"}`, "embedding", "[]"},
		{"/api/embeddings", `{"model":"embed:1b","prompt":""}`, "embedding", "[]"},
	} {
		a := r.post(t, c.path, c.body).ok(t)
		if list, ok := a.at(c.field).([]any); a.str(c.field) != c.want && (!ok || c.want != "[]" || len(list) > 0) {
			t.Errorf("%s %s: got %s", c.path, c.body, a)
		}
	}
}
