package engine

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// What two patterns may leave open is told before a model shows it.
func TestPatternsThatMayContradictAreNoted(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []string // of the one note; none = there is none
	}{
		"declarations": {"deployments:\n  - {match: 'house*', context: 4096}\n  - {match: '*se:1b', context: 8192}",
			[]string{"deployments[0] (config.yaml:2)", "deployments[1] (config.yaml:3)", "another context", "house:1b", "neither counts"}},
		"that say the same":        {"deployments: [{match: 'house*', context: 4096}, {match: '*se:1b', context: 4096}]", nil},
		"that say other things":    {"deployments: [{match: 'house*', context: 4096}, {match: '*se:1b', enabled: false}]", nil},
		"of which one names more":  {"deployments: [{match: 'house*', context: 4096}, {match: '*ouse:1b', context: 8192}]", nil},
		"that have no common name": {"deployments: [{match: 'house*', context: 4096}, {match: 'mouse*', context: 8192}]", nil},
		"aliases": {"aliases:\n  gpt-*: {models: [a]}\n  '*mini': {models: [b]}",
			[]string{"*mini (config.yaml:3) and gpt-* (config.yaml:2)", "gpt-mini", "*mini counts there"}},
		"a pool no machine has":            {"pools:\n- {name: tiny, memory_gb: 1, margin_gb: 0.2}", []string{"pools[0] (config.yaml:2) is for a pool tiny", "unified, ram, gpu0, gpus", "leave the name out"}},
		"pools there are":                  {"pools: [{name: ram, memory_gb: 1, margin_gb: 0.2}, {memory_gb: 4}]", nil},
		"aliases that are the same":        {"aliases: {gpt-*: {models: [a]}, '*mini': {models: [a]}}", nil},
		"aliases of which one names more":  {"aliases: {gpt-*: {models: [a]}, '*-mini': {models: [b]}}", nil},
		"aliases beside the built-in ones": {"aliases: {'claude-*4-5': {models: [a]}}", nil},
		"an alias against a built-in one":  {"aliases: {'claude-*opus': {models: [a]}}", nil},
		"an alias as long as a built-in":   {"aliases: {'claude-*opus4': {models: [a]}}", []string{"claude-*opus* and claude-*opus4 (config.yaml:1)", "claude-opus4"}},
		"a member that a pattern covers":   {"aliases:\n  GPT-*: {models: [a]}\n  x: {models: [b, gpt-4o-mini]}", []string{"aliases.x (config.yaml:3)", "its member gpt-4o-mini", "served by gpt-*"}},
		"a member that has its own alias":  {"aliases: {gpt-*: {models: [a]}, gpt-4o-mini: {models: [a]}, x: {models: [gpt-4o-mini]}}", nil},
		"members no pattern covers":        {"aliases: {gpt-*: {models: [a]}, x: {models: [b]}}", nil},
	} {
		got := mustLoad(t, c.text).Warnings
		if len(got) != min(1, len(c.want)) {
			t.Errorf("%s: notes %q", name, got)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(got[0], want) {
				t.Errorf("%s: no %q in %q", name, want, got[0])
			}
		}
	}
}

// A settings file of thousands of patterns is read as fast as any.
func TestManyPatternsAreReadInAMoment(t *testing.T) {
	var b strings.Builder
	b.WriteString("aliases:\n")
	for i := range 4000 {
		fmt.Fprintf(&b, "  'a*b*c*%05d*d*e': {models: [m%d]}\n", i, i)
	}
	b.WriteString("deployments:\n")
	for i := range 4000 {
		fmt.Fprintf(&b, "  - {match: 'a*b*c*%05d*d*e', context: %d}\n", i, 4096+i)
	}
	began := time.Now()
	c := mustLoad(t, b.String())
	_ = c.overlaps()
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("took %s", took)
	}
	if n := len(c.Warnings); n > 2*mostNotes {
		t.Errorf("%d notes; nobody reads them", n)
	}
}
