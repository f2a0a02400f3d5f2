package engine

import (
	"fmt"
	"slices"
	"testing"

	"bellwether/engine/runtime/runtimetest"
)

// Aliases can be picked from a client's list like models, and tell what any of
// their members can do.
func TestAliasesAreListedAndServe(t *testing.T) {
	r := newRig(t, spec{config: quick + "\naliases:\n  mine: {models: [chat:1b]}\n  gone: {models: [absent]}\n", fakes: map[string]runtimetest.FakeConfig{"ollama": {GPU: 1, KeepAlive: -1, Models: []runtimetest.FakeModel{
		{Name: "chat:1b", Capabilities: []string{"completion", "tools"}}, {Name: "see:4b", Capabilities: []string{"completion", "vision"}}, {Name: "embed:1b", Capabilities: []string{"embedding"}}}}}})
	names := []string{}
	v := r.get(t, "/v1/models").ok(t)
	for i := range v.len("data") {
		names = append(names, v.str(fmt.Sprintf("data.%d.id", i)))
	}
	for _, want := range []string{"auto", "auto:balanced", "auto:fast", "auto:quality", "claude-haiku", "claude-sonnet", "claude-opus", "mine", "chat:1b", "embed:1b"} {
		if !slices.Contains(names, want) {
			t.Errorf("/v1/models does not list %s: %v", want, names)
		}
	}
	if slices.Contains(names, "gone") || slices.Contains(names, "claude-*") {
		t.Errorf("listed what cannot serve: %v", names)
	}
	show := r.post(t, "/api/show", `{"model":"auto"}`).ok(t)
	for _, c := range []string{"completion", "tools", "vision"} {
		found := false
		for i := range show.len("capabilities") {
			found = found || show.str(fmt.Sprintf("capabilities.%d", i)) == c
		}
		if !found {
			t.Errorf("show of auto lacks %s", c)
		}
	}
	if one := r.get(t, "/v1/models/claude-sonnet-4-5-20250929").ok(t); one.str("id") != "claude-sonnet-4-5-20250929" {
		t.Error("a name that an alias stands for is not found by it")
	}
	var last *answer
	for _, model := range []string{"claude-3-5-haiku-20241022", "Auto:Fast", "mine:latest", "auto"} {
		a := r.post(t, "/v1/chat/completions", `{"model":"`+model+`","messages":[{"role":"user","content":"hi"}]}`)
		last = a
		if got := a.ok(t).str("model"); got != model || a.Header.Get("X-Fleet-Served-Model") == "" {
			t.Errorf("%s: answered as %q by %q", model, got, a.Header.Get("X-Fleet-Served-Model"))
		}
	}
	d := r.decision(t, last.Header)
	if d.Alias != "auto" || d.Profile != "balanced" || d.Evidence == "" || len(d.Reasons) == 0 {
		t.Errorf("the record does not say how auto chose: %+v", d)
	}
}
