package engine

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"bellwether/engine/gateway"
	"bellwether/engine/runtime/runtimetest"
)

// A file's name, and with it what llama-server calls its model, may hold blanks
// and letters of any script.
func TestWhateverIsListedCanBeAskedForAsItIsListed(t *testing.T) {
	names := []string{"My Model Q4", "模型-编码", "İstanbul (v2) [final], 50% & more"}
	r := newRig(t, spec{config: quick + "\nnode: {name: büro}\n", fakes: map[string]runtimetest.FakeConfig{
		"router": {Kind: runtimetest.LlamaServer, Router: true, MaxLoaded: 3, Models: []runtimetest.FakeModel{{Name: names[0]}, {Name: names[1]}, {Name: names[2]}}},
		"ollama": {Models: []runtimetest.FakeModel{{Name: "chat:1b"}}},
	}})
	v := r.get(t, "/v1/models").ok(t)
	listed := map[string]bool{}
	for i := range v.len("data") {
		listed[v.str(fmt.Sprintf("data.%d.id", i))] = true
	}
	asked := []string{"büro/ollama/chat:1b"}
	for _, name := range names {
		if !listed[name] {
			t.Fatalf("%q is not listed: %v", name, listed)
		}
		asked = append(asked, name, "büro/router/"+name)
	}
	for _, name := range asked {
		for _, w := range wires {
			if s, _ := w.say(t, r, name, "hi", false); s.text == "" {
				t.Errorf("%s: %q said nothing", w.name, name)
			}
		}
		if got := r.get(t, "/v1/models/"+url.PathEscape(name)).ok(t).str("id"); got != name {
			t.Errorf("GET of %q gives %q", name, got)
		}
		q, _ := quote(name)
		if a := r.post(t, "/api/show", `{"model":`+q+`}`); a.Status != 200 {
			t.Errorf("show of %q: %d %s", name, a.Status, a.Body)
		}
		if a := r.post(t, "/api/generate", `{"model":`+q+`,"keep_alive":0}`); a.Status != 200 {
			t.Errorf("unload of %q: %d %s", name, a.Status, a.Body)
		}
	}
	if a := r.post(t, "/v1/chat/completions", chatWire.body("My Model Q5", "hi", false)); a.Status != 400 || !strings.Contains(string(a.Body), "GET /v1/models lists") {
		t.Errorf("a name that nobody has: %d %s", a.Status, a.Body)
	}
	if p := gateway.CheckPull(names[0], []string{""}); p == nil {
		t.Error("what is installed under a name that no registry knows may be pulled by it")
	}
}

// W-19, and what Ollama itself answers: a name is asked for with the registry
// and namespace that it has without any, too.
func TestAModelIsAskedForByItsFullName(t *testing.T) {
	r := newRig(t, spec{config: quick, fakes: map[string]runtimetest.FakeConfig{
		"ollama": {Models: []runtimetest.FakeModel{{Name: "tiny"}, {Name: "mine/tiny:1b"}}},
	}})
	for name, model := range map[string]string{
		"library/tiny": "tiny:latest", "registry.ollama.ai/library/tiny:latest": "tiny:latest", "Registry.Ollama.AI/mine/tiny:1b": "mine/tiny:1b",
	} {
		for _, w := range wires {
			s, a := w.say(t, r, name, "hi", false)
			if got := a.Header.Get("X-Fleet-Served-Model"); s.text == "" || got != model || a.json(t).str("model") != name {
				t.Errorf("%s: %q is answered by %q as %s", w.name, name, got, a.Body)
			}
		}
		if a := r.post(t, "/api/show", `{"model":"`+name+`"}`); a.Status != 200 {
			t.Errorf("show of %q: %d %s", name, a.Status, a.Body)
		}
	}
	for _, name := range []string{"hf.co/library/tiny", "other/tiny", "registry.ollama.ai/tiny"} {
		if a := r.post(t, "/api/chat", `{"model":"`+name+`","messages":[{"role":"user","content":"hi"}]}`); a.Status != 404 {
			t.Errorf("%q: %d %s", name, a.Status, a.Body)
		}
	}
}
