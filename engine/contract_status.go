package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"bellwether/engine/admin"
	"bellwether/engine/fleet"
	"bellwether/engine/route"
)

// contractStatus shows every embedding contract: what it is bound to, and which
// deployments may answer for it.
func (e *Engine) contractStatus() []admin.ContractStatus {
	p, snap := e.policy.Load(), e.registry.Snapshot()
	var out []admin.ContractStatus
	for _, name := range slices.Sorted(maps.Keys(p.Contracts)) {
		out = append(out, contractStatus(p, snap, name))
	}
	return out
}

func contractStatus(p *route.Policy, snap *fleet.Snapshot, name string) admin.ContractStatus {
	c := p.Contracts[name]
	s := admin.ContractStatus{Name: name, Members: c.Members, Replicas: []string{}, Anchor: c.Anchor}
	members, absent := p.MembersOf(name, snap)
	s.Absent = absent
	for _, m := range members {
		id := snap.Called(m.Deployment)
		if m.Out == nil {
			s.Replicas = append(s.Replicas, id)
			continue
		}
		s.Out = append(s.Out, admin.OutsideStatus{Deployment: id, RenderedExclusion: route.Render(*m.Out)})
	}
	if c.Anchor == nil {
		s.Replicas = []string{} // nobody answers before there is an anchor
	}
	return s
}

// named says what a name stands for that is no model's own, nil for any other. As
// for requests, a model that is really called so comes before a pattern.
func named(p *route.Policy, snap *fleet.Snapshot, name string) *admin.NameStatus {
	if _, key := p.ContractFor(name); key != "" {
		c := contractStatus(p, snap, key)
		return &admin.NameStatus{Name: name, Contract: &c}
	}
	_, key := p.AliasNamed(snap, name)
	if key == "" {
		return nil
	}
	a := admin.ViewAlias(p, snap, key)
	for i, text := range a.Deployments {
		if id, ok := fleet.ParseDeploymentID(text); ok {
			a.Deployments[i] = snap.Called(id)
		}
	}
	return &admin.NameStatus{Name: name, Alias: &a}
}

// contractFindings are the doctor's checks of embedding contracts.
func (e *Engine) contractFindings() []admin.Finding {
	var found []admin.Finding
	for _, s := range e.contractStatus() {
		found = append(found, contractFinding(&s))
		for _, m := range s.Absent {
			found = append(found, finding("embeddings", "note", fmt.Sprintf("Pull it, or take it out of embeddings.%s.members.", s.Name),
				"No machine has %s, a member of the embedding contract %s.", m, s.Name))
		}
		for _, o := range s.Out {
			found = append(found, finding("embeddings", "note", sentence(o.Remedy), "%s does not answer for the embedding contract %s: %s.", o.Deployment, s.Name, o.Reason))
		}
	}
	return append(found, spaceFindings(e.registry.Snapshot())...)
}

func contractFinding(s *admin.ContractStatus) admin.Finding {
	switch {
	case s.Anchor == nil && len(s.Absent) == len(s.Members):
		return finding("embeddings", "warning", "Pull a member, or change embeddings."+s.Name+".members.",
			"The embedding contract %s answers nobody: no machine has any of its members.", s.Name)
	case s.Anchor == nil && len(s.Out) < 1:
		return finding("embeddings", "note", "The first request binds it; or set embeddings."+s.Name+".identity.",
			"The embedding contract %s is not bound to a model yet.", s.Name)
	case s.Anchor == nil:
		return finding("embeddings", "warning", "Say what a member's weights are with deployments[].identity, or set embeddings."+s.Name+".identity.",
			"The embedding contract %s is not bound to a model, since nobody knows what the weights of its members are: it answers 503.", s.Name)
	case len(s.Replicas) == 0:
		return finding("embeddings", "warning", "Install those weights again; or re-index, and set embeddings."+s.Name+".identity to what is there.",
			"The embedding contract %s is bound to %s, which no machine has: it answers 503.", s.Name, fleet.ShortIdentity(s.Anchor.Identity))
	default:
		serve := "serve"
		if len(s.Replicas) == 1 {
			serve = "serves"
		}
		return finding("embeddings", "ok", "", "The embedding contract %s is bound to %s, which %s %s.", s.Name, fleet.ShortIdentity(s.Anchor.Identity), bothOf(s.Replicas), serve)
	}
}

// bothOf lists names as people do, the first of many.
func bothOf(names []string) string {
	switch n := len(names); {
	case n <= 1:
		return strings.Join(names, "")
	case n <= 5:
		return strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	default:
		return fewOf(names)
	}
}

// spaceFindings tell of embedding models that several machines have under one
// name and with different weights: who asks by that name gets vectors of now
// one and now the other.
func spaceFindings(snap *fleet.Snapshot) []admin.Finding {
	spaces, names := map[string][]string{}, map[string]string{}
	for i := range snap.Nodes {
		for k := range snap.Nodes[i].Deployments {
			d := &snap.Nodes[i].Deployments[k]
			identity, known := d.KnownIdentity()
			if !known || d.Disabled || d.Can(fleet.CapEmbedding).Support != fleet.Yes {
				continue
			}
			name := fleet.CanonicalModel(d.ID.Model)
			names[name] = d.ID.Model
			if !slices.ContainsFunc(spaces[name], func(o string) bool { return fleet.SameIdentity(o, identity) }) {
				spaces[name] = append(spaces[name], identity)
			}
		}
	}
	var found []admin.Finding
	for _, name := range slices.Sorted(maps.Keys(spaces)) {
		if of := len(spaces[name]); of > 1 {
			found = append(found, finding("embeddings", "warning", "Pull the same one everywhere, or give apps a name under embeddings, which keeps to one.",
				"%s stands for %d different models, so vectors that are asked for by this name do not fit each other.", names[name], of))
		}
	}
	return found
}

// sentence gives a clause a capital and a full stop.
func sentence(s string) string {
	if s == "" {
		return ""
	}
	return strings.ToUpper(s[:1]) + strings.TrimRight(s[1:], ".") + "."
}

// recheck has the runtimes looked at once, since one of them serves other weights
// than it last reported: what is decided next goes by what there is.
func (e *Engine) recheck(fleet.DeploymentID) {
	e.inBackground(func(ctx context.Context) {
		if err := e.agent.Refresh(ctx); err != nil && ctx.Err() == nil {
			e.log.Warn("the runtimes could not be looked at again; the next look is due in seconds", "err", err)
		}
	})
}

// probedWidth is what a probe found of a deployment's vectors, 0 = nothing.
func (e *Engine) probedWidth(d *fleet.Deployment) int {
	if p := e.evidence.Book().Probe(d); p != nil {
		return p.Dimensions
	}
	return 0
}
