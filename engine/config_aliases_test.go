package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"bellwether/engine/route"
)

func TestWrongAliasIsToldWithItsLine(t *testing.T) {
	for name, c := range map[string]struct{ text, line, says string }{
		"a loop":              {"aliases:\n  a: {models: [b]}\n  b: {models: [c]}\n  c: {models: [a]}\n", "config.yaml:2", "aliases.a: is its own member: a -> b -> c -> a"},
		"a loop of two":       {"log_level: info\naliases:\n  x: {models: [qwen3, Y]}\n  y: {models: [x]}\n", "config.yaml:3", "is its own member: x -> y -> x"},
		"no such profile":     {"aliases:\n  ok: {models: [m]}\n  bad: {models: [m], profile: swift}\n", "config.yaml:3", `aliases.bad: there is no profile "swift"; known: balanced, fast, quality`},
		"a space in it":       {"aliases:\n  my coder: {models: [m]}\n", "config.yaml:2", "aliases.my coder: no request can ask for that name"},
		"no Latin letters":    {"aliases:\n  模型: {models: [m]}\n", "config.yaml:2", "no request can ask for that name"},
		"too long":            {"aliases:\n  " + strings.Repeat("x", 257) + ": {models: [m]}\n", "config.yaml:2", "at most 256 bytes"},
		"nothing said":        {"aliases:\n  empty: {}\n", "config.yaml:2", "names neither models, tags nor a profile"},
		"auto within":         {"aliases:\n  mine: {models: [qwen3, auto]}\n", "config.yaml:2", "its member auto chooses among all models"},
		"claude within":       {"aliases:\n  mine: {models: [claude-sonnet-4-5]}\n", "config.yaml:2", "chooses among all models"},
		"no such temper":      {"aliases:\n  mine: {models: ['auto:turbo']}\n", "config.yaml:2", "auto:turbo does not exist"},
		"open alias within":   {"aliases:\n  gpu: {tags: [gpu]}\n  mine: {models: [gpu]}\n", "config.yaml:3", "its member gpu chooses among all models"},
		"a pattern as member": {"aliases:\n  mine: {models: ['qwen*']}\n", "config.yaml:2", "is a pattern"},
		"order of nothing":    {"aliases:\n  mine: {tags: [gpu], pinned_order: true}\n", "config.yaml:2", "lists none"},
		"twice":               {"aliases:\n  Mine: {models: [m]}\n  mine: {models: [n]}\n", "config.yaml:3", "differs from \"Mine\" by case only"},
	} {
		_, err := loadText(t, c.text)
		var wrong *SettingError
		if !errors.As(err, &wrong) || wrong.Where != c.line || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v\nwant %s ... %s", name, err, c.line, c.says)
		}
	}
}

func TestProfilesOfOnesOwnStandBesideTheUsualOnes(t *testing.T) {
	const mine = "routing: {profiles: {mine: {quality: 1, latency: 0.2}}}\n"
	c, err := loadText(t, mine+"aliases: {a: {profile: fast}, b: {profile: mine}}\n")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"balanced", "fast", "mine", "quality"} {
		if _, ok := c.Policy().Profiles[name]; !ok {
			t.Errorf("there is no profile %s", name)
		}
	}
	if _, err := loadText(t, mine+"aliases: {a: {profile: swift}}\n"); err == nil || !strings.Contains(err.Error(), "known: balanced, fast, mine, quality") {
		t.Errorf("%v, want all profiles listed", err)
	}
}

func TestAliasesOfAliasesComeDownToModels(t *testing.T) {
	c, err := loadText(t, `
aliases:
  small: {models: [qwen3:4b, llama3.2:3b]}
  work: {models: [qwen3:32b, Small, qwen3:4b]}
  qwen3:8b: {models: [qwen3:8b, qwen3:4b], pinned_order: true}
  vision: {require_vision: true}
  gpt-*: {models: [qwen3:32b]}
`)
	if err != nil {
		t.Fatal(err)
	}
	p := c.Policy()
	for name, want := range map[string][]string{
		"work": {"qwen3:32b", "qwen3:4b", "llama3.2:3b"}, "WORK": {"qwen3:32b", "qwen3:4b", "llama3.2:3b"},
		"qwen3:8b": {"qwen3:8b", "qwen3:4b"}, "vision": nil, "gpt-4o-mini": {"qwen3:32b"}, "auto": nil,
	} {
		a, _ := p.AliasFor(name)
		if a == nil || !slices.Equal(a.Models, want) {
			t.Errorf("%s stands for %+v, want %v", name, a, want)
		}
	}
}

// A weight left out would be 0, and a profile "cheap: {overhead: 1}" would not
// look at quality at all.
func TestWeightsLeftOutOfAProfileAreTheUsualOnes(t *testing.T) {
	c := mustLoad(t, "routing:\n  profiles:\n    cheap: {overhead: 1}\n    fast: {residency: 2}\n    blind: {quality: 0}\n    same: {}\n")
	usual := route.DefaultPolicy().Profiles
	balanced, fast := usual["balanced"], usual["fast"]
	for name, want := range map[string]route.Weights{
		"cheap":    {Quality: balanced.Quality, Latency: balanced.Latency, Residency: balanced.Residency, Overhead: 1},
		"fast":     {Quality: fast.Quality, Latency: fast.Latency, Residency: 2, Overhead: fast.Overhead},
		"blind":    {Quality: 0, Latency: balanced.Latency, Residency: balanced.Residency, Overhead: balanced.Overhead},
		"same":     balanced,
		"balanced": balanced,
	} {
		if got := c.Policy().Profiles[name]; got != want {
			t.Errorf("%s is %+v, want %+v", name, got, want)
		}
	}
	// What is shown reads back as the same.
	s, _ := settingOf("routing.profiles")
	shown, err := json.Marshal(s.kind.show(c.Routing.Profiles))
	if err != nil {
		t.Fatal(err)
	}
	again := mustLoad(t, "routing: {profiles: "+string(shown)+"}\n")
	if !reflect.DeepEqual(again.Routing.Profiles, c.Routing.Profiles) {
		t.Errorf("shown as %s, it reads back as %+v", shown, again.Routing.Profiles)
	}
}

// Each of these lists the two before it: there are more ways down than anybody
// could walk, and one look at each is enough.
func TestAliasesAreLookedThroughOnceHoweverManyWaysLeadToThem(t *testing.T) {
	var text strings.Builder
	text.WriteString("aliases:\n  a0: {models: [tiny]}\n  a1: {models: [a0, small]}\n")
	for n := 2; n < 400; n++ {
		fmt.Fprintf(&text, "  a%d: {models: [a%d, a%d]}\n", n, n-1, n-2)
	}
	c, err := loadText(t, text.String())
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Policy().Aliases["a399"].Models; !slices.Equal(got, []string{"tiny", "small"}) {
		t.Errorf("a399 comes down to %q", got)
	}
	if _, err := loadText(t, strings.Replace(text.String(), "[tiny]", "[tiny, a399]", 1)); err == nil || !strings.Contains(err.Error(), "is its own member: a0 -> a399 -> ") {
		t.Errorf("a loop through all of them: %.200v", err)
	}
}
