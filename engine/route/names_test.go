package route

import (
	"slices"
	"testing"

	"bellwether/engine/fleet"

	"pgregory.net/rapid"
)

// W-19: m and m:latest are one model.
func TestNamesMatchByCanonicalForm(t *testing.T) {
	for _, c := range []struct {
		asked, model string
		want         bool
	}{
		{"qwen3", "qwen3:latest", true}, {"qwen3:latest", "qwen3", true}, {"QWEN3", "qwen3:latest", true}, {"qwen3:8b", "Qwen3:8B", true},
		{"qwen3:8b", "qwen3", false}, {"qwen3", "qwen3:8b", false}, {"hf.co/a/b:Q4", "hf.co/a/b:q4", true}, {"b:Q4", "hf.co/a/b:Q4", false},
		{"localhost:5000/m", "localhost:5000/m:latest", true}, {"qwen", "qwen3", false}, {"m:latestlatest", "m:latest", false},
		{"library/qwen3", "qwen3", true}, {"qwen3", "Library/Qwen3:latest", true}, {"registry.ollama.ai/library/qwen3:8b", "qwen3:8b", true},
		{"REGISTRY.ollama.ai/mine/m", "mine/m:latest", true}, {"mine/m", "m", false}, {"hf.co/library/m", "m", false}, {"registry.ollama.ai/m", "m", false},
		{"library/library/m", "library/m", false}, {"library/", "library", false},
	} {
		w := want{canon: fleet.CanonicalModel(c.asked)}
		if got := w.matches(c.model); got != c.want || got != fleet.SameModel(c.asked, c.model) {
			t.Errorf("%s and %s: %v, want %v", c.asked, c.model, got, c.want)
		}
	}
}

func TestMatchingAgreesWithSameModel(t *testing.T) {
	name := rapid.StringMatching(`(|library/|registry\.ollama\.ai/|Registry\.ollama\.ai/LIBRARY/)([aAb]|a/b|x\.y:1/)(a|:latest|:LATEST|:b|)`)
	rapid.Check(t, func(t *rapid.T) {
		a, b := name.Draw(t, "a"), name.Draw(t, "b")
		w := want{canon: fleet.CanonicalModel(a)}
		if w.matches(b) != fleet.SameModel(a, b) {
			t.Fatalf("%q and %q: %v", a, b, w.matches(b))
		}
	})
}

func TestAliasIsFoundBeforeModels(t *testing.T) {
	p := DefaultPolicy()
	p.Aliases = map[string]Alias{
		"auto": {Profile: "a"}, "auto:fast": {Profile: "b"}, "claude-*": {Profile: "c"}, "claude-*-haiku": {Profile: "d"}, "claude-opus": {Profile: "e"}, "m": {Profile: "f"},
	}
	for name, key := range map[string]string{
		"auto": "auto", "AUTO": "auto", "auto:latest": "auto", "auto:balanced": "auto", "auto:fast": "auto:fast", "auto:quality": "",
		"claude-sonnet-4": "claude-*", "claude-3-haiku": "claude-*-haiku", "Claude-Opus": "claude-opus", "m:latest": "m", "m:8b": "", "gpt": "",
	} {
		if _, got := p.AliasFor(name); got != key {
			t.Errorf("%s: %q, want %q", name, got, key)
		}
	}
}

func TestAliasShadowsAModelOfItsName(t *testing.T) {
	d, _ := refused(t, home+"alias m models m2\nask m", false)
	if d.Chosen.Model != "m2" || d.Alias != "m" {
		t.Errorf("got\n%s", d.Explain())
	}
}

func TestModelReallyCalledAutoIsServed(t *testing.T) {
	d, _ := refused(t, home+"node studio\n model ollama/auto:latest weights 1GB loaded 4096 caps llm\nask auto", false)
	if d.Verdict != Serve {
		t.Errorf("got\n%s", d.Explain())
	}
}

func TestGlob(t *testing.T) {
	for _, c := range []struct {
		pattern, s string
		want       bool
	}{
		{"*", "", true}, {"", "", true}, {"a*c", "abc", true}, {"a*c", "ab", false}, {"*qwen*", "studio/ollama/Qwen3:8b", true},
		{"studio/*/qwen3:*", "studio/ollama/qwen3:8b", true}, {"a?c", "abc", true}, {"a?c", "ac", false}, {"*b*b", "bab", true}, {"*b*b", "b", false}, {"a", "aa", false},
	} {
		if got := glob(c.pattern, c.s); got != c.want {
			t.Errorf("%q on %q: %v", c.pattern, c.s, got)
		}
	}
}

func TestNearestNamesAreSuggested(t *testing.T) {
	v, _, _ := parts()
	n := &v.Fleet.Nodes[0]
	for _, m := range []string{"qwen3:8b", "qwen3:30b", "llama3.3:70b", "gemma3:4b", "nomic-embed-text"} {
		n.Deployments = append(n.Deployments, fleet.Deployment{ID: fleet.DeploymentID{Node: "studio", Runtime: "ollama", Model: m}})
	}
	for asked, want := range map[string][]string{
		"qwen3:9b": {"qwen3:30b", "qwen3:8b"}, "quen3:8b": {"qwen3:8b"}, "nomic-embed": {"nomic-embed-text"}, "zzzzzzzzzz": nil,
	} {
		got := nearest(v.Fleet, asked, RoleChat)
		for _, w := range want {
			if !slices.Contains(got, w) {
				t.Errorf("%s: %v, want %v", asked, got, want)
			}
		}
		if want == nil && got != nil {
			t.Errorf("%s: %v, want none", asked, got)
		}
	}
}

func TestRegistryOfAName(t *testing.T) {
	for name, want := range map[string]string{
		"qwen3": "", "qwen3:8b": "", "someone/model": "", "hf.co/a/b:Q4": "hf.co", "HF.co/a/b": "hf.co", "localhost:5000/x": "localhost:5000", "registry.ollama.ai/library/x": "registry.ollama.ai",
	} {
		if got := registryOf(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	for name, want := range map[string]bool{"qwen3:8b": true, "hf.co/a/b:Q4_K_M": true, "../etc/passwd": false, "a b": false, "": false, "a\nb": false, "a@sha256:x": false} {
		if pullable(name) != want {
			t.Errorf("%q: %v", name, !want)
		}
	}
}

func TestDeclarationsOverrideWhatRuntimesReport(t *testing.T) {
	p := DefaultPolicy()
	off := false
	p.PinnedModels = []string{"QWEN3"}
	p.Declarations = []Declaration{
		{Match: "qwen3*", Capabilities: map[fleet.Capability]fleet.Tri{fleet.CapTools: fleet.Yes}, Context: 16384, MemoryGB: 7, Tags: []string{"house"}},
		{Match: "laptop/*", Enabled: &off},
	}
	shared := fleet.Capabilities{fleet.CapTools: {Support: fleet.No, Source: fleet.SourceRuntime}}
	d := fleet.Deployment{ID: fleet.DeploymentID{Node: "studio", Runtime: "ollama", Model: "qwen3:latest"}, MaxContext: 40960, Capabilities: shared}
	Declare(p, &d)
	if !d.Pinned || d.MaxContext != 16384 || d.ResidentBytes != 7*gb || d.Tags[0] != "house" || d.Disabled {
		t.Errorf("got %+v", d)
	}
	if d.Can(fleet.CapTools) != (fleet.Claim{Support: fleet.Yes, Source: fleet.SourceOperator}) {
		t.Errorf("got %v", d.Can(fleet.CapTools))
	}
	if shared[fleet.CapTools].Support != fleet.No {
		t.Error("a published map was changed")
	}
	measured := fleet.Deployment{ID: fleet.DeploymentID{Node: "laptop", Runtime: "ollama", Model: "qwen3:8b"}, ResidentBytes: gb}
	Declare(p, &measured)
	if measured.ResidentBytes != gb || !measured.Disabled || measured.Pinned {
		t.Errorf("got %+v", measured)
	}
}
