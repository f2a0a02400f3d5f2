package route

import (
	"fmt"
	"testing"

	"bellwether/engine/fleet"
)

func TestMembersOfAnAliasAreWhatItMayChooseAmong(t *testing.T) {
	dep := func(node, model string, change func(*fleet.Deployment)) fleet.Deployment {
		d := fleet.Deployment{ID: fleet.DeploymentID{Node: node, Runtime: "r", Model: model}, Capabilities: fleet.Capabilities{fleet.CapChat: {Support: fleet.Yes}}}
		if change != nil {
			change(&d)
		}
		return d
	}
	f := &fleet.Snapshot{Nodes: []fleet.Node{
		{Heartbeat: fleet.Heartbeat{Node: "a", Name: "studio", Deployments: []fleet.Deployment{
			dep("a", "qwen3", nil), dep("a", "eyes", func(d *fleet.Deployment) {
				d.Tags, d.Capabilities = []string{"work"}, fleet.Capabilities{fleet.CapVision: {Support: fleet.Yes}}
			}),
			dep("a", "embed", func(d *fleet.Deployment) {
				d.Capabilities = fleet.Capabilities{fleet.CapChat: {Support: fleet.No}}
			}),
			dep("a", "off", func(d *fleet.Deployment) { d.Disabled = true })}}},
		{Heartbeat: fleet.Heartbeat{Node: "b", Name: "tower", Deployments: []fleet.Deployment{dep("b", "qwen3:latest", nil)}}},
	}}
	p := &Policy{Aliases: map[string]Alias{
		"open": {}, "tagged": {Tags: []string{"work"}}, "seeing": {RequireVision: true}, "listed": {Models: []string{"QWEN3", "gone:1b", "off"}}, "one": {Models: []string{"tower/r/qwen3"}},
	}}
	for name, want := range map[string]string{
		"open": "[a/r/eyes a/r/qwen3 b/r/qwen3:latest] []", "tagged": "[a/r/eyes] []", "seeing": "[a/r/eyes] []",
		"listed": "[a/r/qwen3 b/r/qwen3:latest] [gone:1b off]", "one": "[b/r/qwen3:latest] []", "none": "[] []",
	} {
		all, absent := p.AliasMembers(name, f)
		if got := fmt.Sprint(all, absent); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
