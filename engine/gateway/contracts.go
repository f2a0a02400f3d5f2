package gateway

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"

	"bellwether/engine/fleet"
	"bellwether/engine/route"
)

// contractListings lists the embedding contracts that some member is there for
// as models one can choose.
func (g *Gateway) contractListings(thisNode bool) []listing {
	p, snap := g.Policy(), g.Fleet()
	var out []listing
	for _, name := range slices.Sorted(maps.Keys(p.Contracts)) {
		if l, ok := contractListing(p, snap, name, thisNode); ok {
			out = append(out, l)
		}
	}
	return out
}

// contractListing shows a contract as its replicas are: one that has none at
// present is listed too, since clients learn the reason by asking.
func contractListing(p *route.Policy, snap *fleet.Snapshot, name string, thisNode bool) (listing, bool) {
	c, key := p.ContractFor(name)
	if c == nil {
		return listing{}, false
	}
	space := ""
	if c.Anchor != nil {
		space = c.Anchor.Identity
	}
	sum := sha256.Sum256([]byte("contract " + key + " " + space)) // some lists are keyed by digest
	l := listing{name: key, alias: true, best: fleet.Deployment{
		ID: fleet.DeploymentID{Model: key}, Digest: hex.EncodeToString(sum[:]), EmbeddingWidth: c.Dimensions,
		Capabilities: fleet.Capabilities{fleet.CapEmbedding: {Support: fleet.Yes, Source: fleet.SourceOperator}},
	}}
	members, _ := p.MembersOf(key, snap)
	installed := 0
	for _, m := range members {
		n := snap.Node(m.Deployment.Node)
		if n.Liveness == fleet.Offline || thisNode && !n.Local {
			continue
		}
		installed++
		d := n.Deployment(m.Deployment)
		if m.Out != nil || d == nil {
			continue
		}
		l.deployments = append(l.deployments, *d)
		if d.ModifiedAt.After(l.best.ModifiedAt) {
			l.best.ModifiedAt = d.ModifiedAt
		}
		if l.best.EmbeddingWidth == 0 {
			l.best.EmbeddingWidth = d.EmbeddingWidth
		}
	}
	l.best.MaxContext = l.advertisedContext()
	return l, installed > 0
}
