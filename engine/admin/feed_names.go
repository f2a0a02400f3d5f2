package admin

import (
	"bellwether/engine/fleet"
	"bellwether/engine/route"
)

// aliasViews shows every alias and what it may choose among.
func aliasViews(p *route.Policy, snap *fleet.Snapshot) map[string]AliasView {
	out := make(map[string]AliasView, len(p.Aliases))
	for name := range p.Aliases {
		out[name] = ViewAlias(p, snap, name)
	}
	return out
}

// ViewAlias shows one alias, by its key.
func ViewAlias(p *route.Policy, snap *fleet.Snapshot, name string) AliasView {
	a := p.Aliases[name]
	members, absent := p.AliasMembers(name, snap)
	builtin, own := route.BuiltinAliases()[name]
	return AliasView{
		Name: name, Builtin: own && isBuiltin(&a, builtin), Profile: a.Profile, Models: list(a.Models), Tags: list(a.Tags),
		RequireVision: a.RequireVision, Locality: a.Locality, PinnedOrder: a.PinnedOrder,
		Deployments: idTexts(members), Absent: list(absent),
	}
}

// isBuiltin tells a built-in alias from one of the owner's under its name.
func isBuiltin(a *route.Alias, b route.Alias) bool {
	return len(a.Models)+len(a.Tags) == 0 && a.Profile == b.Profile && a.Locality == b.Locality && !a.RequireVision && !a.PinnedOrder
}

func idTexts(ids []fleet.DeploymentID) []string {
	out := make([]string, len(ids))
	for i, id := range ids {
		out[i] = id.String()
	}
	return out
}

// contractViews shows every embedding contract: what it is bound to, and which
// deployments may answer for it.
func contractViews(p *route.Policy, snap *fleet.Snapshot) map[string]ContractView {
	out := make(map[string]ContractView, len(p.Contracts))
	for name, c := range p.Contracts {
		v := ContractView{Name: name, Members: list(c.Members), Anchor: c.Anchor, Replicas: []string{}, Out: []OutsideView{}}
		members, absent := p.MembersOf(name, snap)
		v.Absent = list(absent)
		for _, m := range members {
			id := m.Deployment.String()
			switch {
			case m.Out != nil:
				x := route.Render(*m.Out)
				v.Out = append(v.Out, OutsideView{Deployment: id, Code: string(x.Code), Reason: x.Reason, Remedy: x.Remedy})
			case c.Anchor != nil: // nobody answers before there is an anchor
				v.Replicas = append(v.Replicas, id)
			}
		}
		out[name] = v
	}
	return out
}
