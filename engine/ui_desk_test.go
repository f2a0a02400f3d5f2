package engine

import (
	"strings"
	"testing"

	"bellwether/engine/fleet"
	"bellwether/engine/route"
)

// planScene is a machine whose runtime keeps three models and has three.
func planScene() (*fleet.Node, *fleet.Deployment) {
	id := func(model string) fleet.DeploymentID {
		return fleet.DeploymentID{Node: "n1", Runtime: "ollama", Model: model}
	}
	n := &fleet.Node{Heartbeat: fleet.Heartbeat{Node: "n1", Name: "studio",
		Runtimes: []fleet.RuntimeState{{Name: "ollama", Up: true, MaxLoaded: 3}},
		Pools: []fleet.Pool{{Name: "ram", Limit: 20 << 30, Margin: 2 << 30, Free: fleet.Reading[int64]{V: 18 << 30, Known: true},
			Holders: []fleet.Holder{{Deployment: id("a"), Kind: fleet.HoldResident, Bytes: fleet.Reading[int64]{V: 2 << 30, Known: true}}}}},
		Deployments: []fleet.Deployment{{ID: id("a"), Residency: fleet.Loaded}, {ID: id("new"), Residency: fleet.OnDisk}},
	}}
	return n, &n.Deployments[1]
}

func TestAPlanSaysWhyAModelHasToLeave(t *testing.T) {
	for name, c := range map[string]struct {
		need int64
		says string
	}{
		"the runtime keeps no more models": {1 << 30, "There is room for new, but ollama keeps at most 3 models in memory: a would be unloaded for it."},
		"there is too little room":         {17 << 30, "Loading new takes 17 GB, and there is too little room: a would be unloaded for it."},
	} {
		t.Run(name, func(t *testing.T) {
			n, dep := planScene()
			d := &route.Decision{Verdict: route.Serve, Plan: route.Plan{Load: true, Need: c.need, Evict: []fleet.DeploymentID{n.Deployments[0].ID}}}
			p := planView(nil, d, n, dep, "ram")
			if p.Verdict != "evict" || p.Text != c.says {
				t.Errorf("%s: %q", p.Verdict, p.Text)
			}
			if p.FreeBytes == nil || *p.FreeBytes != 16<<30 { // the limit without margin and holders
				t.Errorf("room %v", p.FreeBytes)
			}
			if strings.Contains(p.Text, "  ") {
				t.Error(p.Text)
			}
		})
	}
}
