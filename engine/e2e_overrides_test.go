package engine

import (
	"strings"
	"testing"

	"bellwether/engine/runtime/runtimetest"
)

// What a header asks for and does not exist is refused with what does.
func TestHeadersThatMeanNothingAreRefused(t *testing.T) {
	r := newRig(t, spec{config: quick, fakes: map[string]runtimetest.FakeConfig{"ollama": {Models: []runtimetest.FakeModel{{Name: "chat:1b"}}}}})
	body := `{"model":"auto","messages":[{"role":"user","content":"hi"}]}`
	for _, c := range []struct {
		name, value string
		status      int
		says        string
	}{
		{"X-Fleet-Profile", "wat", 400, "balanced, fast, quality"},
		{"X-Fleet-Profile", "Quality", 200, ""},
		{"X-Fleet-Priority", "wat", 400, "interactive, batch"},
		{"X-Fleet-Priority", "batch", 200, ""},
		{"X-Fleet-Locality", "moon", 400, "fleet, this_node"},
		{"X-Fleet-Locality", "this_node", 200, ""},
		{"X-Fleet-Node", "attic", 400, "studio"},
		{"X-Fleet-Node", "studio", 200, ""},
		{"X-Fleet-No-Fallback", "true", 200, ""},
	} {
		a := r.post(t, "/v1/chat/completions", body, c.name, c.value)
		if a.Status != c.status || !strings.Contains(string(a.Body), c.says) {
			t.Errorf("%s: %s gave %d %s, want %d with %q", c.name, c.value, a.Status, a.Body, c.status, c.says)
		}
	}
}
