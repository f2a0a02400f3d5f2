package engine

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"bellwether/engine/route"
	"bellwether/engine/runtime/runtimetest"
)

// Settings that change while it runs count without a restart; a wrong file
// changes nothing and is told with its line.
func TestChangedSettingsCountAtOnceAndWrongOnesChangeNothing(t *testing.T) {
	r := newRig(t, spec{config: quick, fakes: map[string]runtimetest.FakeConfig{
		"ollama": {GPU: 1, KeepAlive: -1, Models: []runtimetest.FakeModel{{Name: "chat:1b"}, {Name: "big:7b"}}}}})
	file := r.conf().file
	original, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	write := func(more string) {
		t.Helper()
		if err := os.WriteFile(file, append([]byte(more+"\n"), original...), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ask := func(model string) *answer {
		return r.post(t, "/v1/chat/completions", `{"model":"`+model+`","messages":[{"role":"user","content":"hi"}]}`)
	}
	if a := ask("work"); a.Status != 404 {
		t.Fatalf("work is asked for before it is set up: %d %s", a.Status, a.Body)
	}
	before := r.policy.Load().Hash

	write("aliases: {work: {models: [chat:1b]}}\ndeployments: [{match: 'big:*', enabled: false}]")
	r.await(t, "the changed settings to be in force", func() bool { return r.policy.Load().Hash != before })
	if a := ask("work"); a.Status != 200 || a.Header.Get("X-Fleet-Served-Model") != "chat:1b" {
		t.Errorf("work after the change: %d by %s", a.Status, a.Header.Get("X-Fleet-Served-Model"))
	}
	r.await(t, "what the settings declare to be reported", func() bool { return ask("big:7b").Status == 503 })

	good := r.policy.Load().Hash
	write("aliases:\n  work: {models: [chat:1b]}\n  a: {models: [b]}\n  b: {models: [a]}")
	r.await(t, "the wrong file to be noticed", func() bool { return r.reloadErr.Load() != nil })
	if a := ask("work"); a.Status != 200 || r.policy.Load().Hash != good {
		t.Errorf("a wrong file changed what was in force: %d", a.Status)
	}
	told := fmt.Sprint(r.settingsFindings())
	for _, want := range []string{"config.yaml:3", "aliases.a", "a -> b -> a", "stay in force"} {
		if !strings.Contains(told, want) {
			t.Errorf("doctor does not say %q: %s", want, told)
		}
	}

	write("aliases: {work: {models: [big:7b]}}\nstore: {retention_days: 3}")
	r.await(t, "the corrected file to be in force", func() bool { return r.reloadErr.Load() == nil && r.policy.Load().Hash != good })
	if told := fmt.Sprint(r.settingsFindings()); !strings.Contains(told, "store.retention_days") {
		t.Errorf("doctor does not say what counts after a restart: %s", told)
	}
	r.await(t, "the model to be enabled again", func() bool { return ask("work").Header.Get("X-Fleet-Served-Model") == "big:7b" })
	if a, _ := r.policy.Load().AliasFor("auto"); a == nil || a.Profile != route.ProfileBalanced {
		t.Error("the built-in aliases are gone")
	}
}

// Keys and limits of the door change without a restart too.
func TestChangedDoorRulesCountAtOnce(t *testing.T) {
	r := newRig(t, spec{config: quick, fakes: map[string]runtimetest.FakeConfig{"ollama": {Models: []runtimetest.FakeModel{{Name: "chat:1b"}}}}})
	file := r.conf().file
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	body := `{"model":"chat:1b","messages":[{"role":"user","content":"` + strings.Repeat("long ", 500) + `"}]}`
	if a := r.post(t, "/v1/chat/completions", body); a.Status != 200 {
		t.Fatalf("before: %d %s", a.Status, a.Body)
	}
	changed := strings.Replace(string(text), "security: {max_body_mb: 1}", "security: {max_body_mb: 0.001}\nresponse_model_field: deployment", 1)
	if err := os.WriteFile(file, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	r.await(t, "the smaller limit", func() bool { return r.post(t, "/v1/chat/completions", body).Status == 413 })
	short := r.post(t, "/v1/chat/completions", `{"model":"Chat:1B","messages":[{"role":"user","content":"hi"}]}`)
	if short.ok(t).str("model") != "chat:1b" {
		t.Errorf("model says %s, want the deployment's", short.json(t).str("model"))
	}
}
