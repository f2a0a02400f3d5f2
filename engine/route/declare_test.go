package route

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"bellwether/engine/fleet"
)

var coder = fleet.DeploymentID{Node: "studio", Runtime: "ollama", Model: "qwen2.5-coder:7b"}

func TestDeclaredQualityIsThePriorThatCounts(t *testing.T) {
	published := map[string]fleet.Prior{"coding": {Value: 0.84, Provenance: "bigcodebench 2024-09"}, "math": {Value: 0.7, Provenance: "openllm 2025-05"}, "": {Value: 0.77, Provenance: "openllm 2025-05"}}
	for _, tt := range []struct {
		name    string
		quality map[string]float64
		want    map[string]fleet.Prior
	}{
		{"of one task", map[string]float64{"coding": 0.9},
			map[string]fleet.Prior{"coding": {Value: 0.9, Provenance: "operator"}, "math": published["math"], "": published[""]}},
		{"of any task, it counts for all", map[string]float64{"any": 0.6, "coding": 0.9},
			map[string]fleet.Prior{"coding": {Value: 0.9, Provenance: "operator"}, "": {Value: 0.6, Provenance: "operator"}}},
		{"of nothing", nil, published},
	} {
		p := DefaultPolicy()
		p.Declarations = []Declaration{{Match: "qwen*", Quality: tt.quality}}
		before := maps.Clone(published)
		d := fleet.Deployment{ID: coder, Priors: published}
		Declare(p, &d)
		if !maps.Equal(d.Priors, tt.want) {
			t.Errorf("%s: got %v, want %v", tt.name, d.Priors, tt.want)
		}
		if !maps.Equal(published, before) {
			t.Fatalf("%s: a published map was changed", tt.name)
		}
	}
}

func TestTheMostSpecificDeclarationCounts(t *testing.T) {
	off := false
	p := DefaultPolicy()
	p.Declarations = []Declaration{
		{Match: "studio/ollama/qwen2.5-coder:7b", Context: 4096},
		{Match: "*", Context: 8192, Quality: map[string]float64{"coding": 0.1, "math": 0.2}, Tags: []string{"all"}, Enabled: &off},
		{Match: "qwen2.5-coder*", Quality: map[string]float64{"coding": 0.9}, Tags: []string{"house"}},
	}
	for range len(p.Declarations) {
		d := fleet.Deployment{ID: coder}
		Declare(p, &d)
		if d.MaxContext != 4096 || d.Priors["coding"].Value != 0.9 || d.Priors["math"].Value != 0.2 || !d.Disabled {
			t.Errorf("got context %d, priors %v, disabled %v", d.MaxContext, d.Priors, d.Disabled)
		}
		if tags := slices.Sorted(slices.Values(d.Tags)); !slices.Equal(tags, []string{"all", "house"}) {
			t.Errorf("got tags %v", tags)
		}
		if c := Clashes(p, coder); len(c) != 0 {
			t.Errorf("got clashes %v", c)
		}
		p.Declarations = append(p.Declarations[1:], p.Declarations[0]) // whatever the order
	}
}

func TestEquallySpecificDeclarationsThatDisagreeSettleNothing(t *testing.T) {
	on, off := true, false
	p := DefaultPolicy()
	p.Declarations = []Declaration{
		{Match: "qwen2.5-*", Context: 8192, Enabled: &on, Quality: map[string]float64{"coding": 0.9, "math": 0.5}, Capabilities: map[fleet.Capability]fleet.Tri{fleet.CapTools: fleet.Yes}},
		{Match: "*coder:7b", Context: 4096, Enabled: &off, Quality: map[string]float64{"coding": 0.8, "math": 0.5}, Capabilities: map[fleet.Capability]fleet.Tri{fleet.CapTools: fleet.No}},
	}
	d := fleet.Deployment{ID: coder, MaxContext: 32768, Priors: map[string]fleet.Prior{"coding": {Value: 0.84, Provenance: "x 2025"}}}
	Declare(p, &d)
	if d.MaxContext != 32768 || d.Disabled || d.Can(fleet.CapTools).Support != fleet.Unknown || d.Priors["coding"].Value != 0.84 || d.Priors["math"].Value != 0.5 {
		t.Errorf("got %+v", d)
	}
	var what []string
	for _, c := range Clashes(p, coder) {
		what = append(what, c.What)
		if c.Match != [2]string{"qwen2.5-*", "*coder:7b"} {
			t.Errorf("%s: got %v", c.What, c.Match)
		}
	}
	if want := []string{"context", "enabled", "capabilities.tools", "quality.coding"}; !slices.Equal(what, want) {
		t.Errorf("got clashes %v, want %v", what, want)
	}
}

func TestTheOrderOfDeclarationsNeverMatters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		said := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Declaration {
			return Declaration{
				Match:   rapid.SampledFrom([]string{"*", "qwen*", "*:7b", "studio/*", "*coder*"}).Draw(t, "match"),
				Context: rapid.SampledFrom([]int{0, 1000, 2000}).Draw(t, "context"),
				Quality: map[string]float64{"coding": rapid.SampledFrom([]float64{0.1, 0.2}).Draw(t, "quality")},
			}
		}), 0, 5).Draw(t, "said")
		p, q := DefaultPolicy(), DefaultPolicy()
		p.Declarations, q.Declarations = said, rapid.Permutation(said).Draw(t, "order")
		a, b := fleet.Deployment{ID: coder}, fleet.Deployment{ID: coder}
		Declare(p, &a)
		Declare(q, &b)
		if a.MaxContext != b.MaxContext || !maps.Equal(a.Priors, b.Priors) {
			t.Fatalf("got %d %v and %d %v", a.MaxContext, a.Priors, b.MaxContext, b.Priors)
		}
	})
}
