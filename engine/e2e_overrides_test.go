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
		{"X-Fleet-No-Fallback", " Off", 200, ""},
		{"X-Fleet-No-Fallback", "maybe", 400, "X-Fleet-No-Fallback says maybe"},
		{"X-Fleet-No-Fallback", "t", 400, "true, false, 1, 0, yes, no, on, off"},
		{"X-Fleet-Local", "2", 400, "X-Fleet-Local says 2"},
	} {
		a := r.post(t, "/v1/chat/completions", body, c.name, c.value)
		if a.Status != c.status || !strings.Contains(string(a.Body), c.says) {
			t.Errorf("%s: %s gave %d %s, want %d with %q", c.name, c.value, a.Status, a.Body, c.status, c.says)
		}
	}
	if a := r.get(t, "/api/tags", "X-Fleet-Local", "here"); a.Status != 400 || !strings.Contains(string(a.Body), "X-Fleet-Local") {
		t.Errorf("metadata: %d %s", a.Status, a.Body)
	}
}
