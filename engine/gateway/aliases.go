package gateway

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"

	"bellwether/engine/fleet"
	"bellwether/engine/route"
)

// aliasListings lists the aliases that mean something on this fleet as models
// one can choose: with whatever one of their members can do, since the request
// goes to one that can.
func (g *Gateway) aliasListings(thisNode bool) []listing {
	p, snap := g.Policy(), g.Fleet()
	var out []listing
	for _, name := range p.Choosable() {
		if l, ok := aliasListing(p, snap, name, thisNode); ok {
			out = append(out, l)
		}
	}
	return out
}

// findAlias returns the listing of an alias, or of an embedding contract, by any
// name that stands for it.
func (g *Gateway) findAlias(name string, thisNode bool) (listing, bool) {
	if l, ok := contractListing(g.Policy(), g.Fleet(), name, thisNode); ok {
		return l, true
	}
	return aliasListing(g.Policy(), g.Fleet(), name, thisNode)
}

// findAny looks for a model, then for an alias.
func (g *Gateway) findAny(name string, thisNode bool) (listing, bool) {
	if l, ok := g.find(name, thisNode); ok {
		return l, true
	}
	return g.findAlias(name, thisNode)
}

func aliasListing(p *route.Policy, snap *fleet.Snapshot, name string, thisNode bool) (listing, bool) {
	alias, _ := p.AliasFor(name)
	if alias == nil {
		return listing{}, false
	}
	sum := sha256.Sum256([]byte("alias " + name)) // some lists are keyed by digest
	l := listing{name: name, alias: true, best: fleet.Deployment{
		ID: fleet.DeploymentID{Model: name}, Digest: hex.EncodeToString(sum[:]), Capabilities: fleet.Capabilities{},
	}}
	for _, d := range alias.Members(snap) {
		if n := snap.Node(d.ID.Node); n == nil || n.Liveness == fleet.Offline || thisNode && !n.Local || d.Disabled {
			continue
		}
		l.deployments = append(l.deployments, *d)
		for c, claim := range d.Capabilities {
			if claim.Support == fleet.Yes {
				l.best.Capabilities[c] = claim
			}
		}
		if d.ModifiedAt.After(l.best.ModifiedAt) {
			l.best.ModifiedAt = d.ModifiedAt
		}
		l.best.MaxContext = max(l.best.MaxContext, cmp.Or(d.LoadedContext, d.MaxContext))
	}
	return l, len(l.deployments) > 0
}
