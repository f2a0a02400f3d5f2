package admin

import (
	"bellwether/engine/fleet"
	"bellwether/engine/route"
)

// aliasViews shows every alias and what it may choose among.
func aliasViews(p *route.Policy, snap *fleet.Snapshot) map[string]AliasView {
	builtin := route.BuiltinAliases()
	out := make(map[string]AliasView, len(p.Aliases))
	for name, a := range p.Aliases {
		members, absent := p.AliasMembers(name, snap)
		_, own := builtin[name]
		out[name] = AliasView{
			Name: name, Builtin: own && isBuiltin(&a, builtin[name]), Profile: a.Profile, Models: list(a.Models), Tags: list(a.Tags),
			RequireVision: a.RequireVision, Locality: a.Locality, PinnedOrder: a.PinnedOrder,
			Deployments: idTexts(members), Absent: list(absent),
		}
	}
	return out
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
