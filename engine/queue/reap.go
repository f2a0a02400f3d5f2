package queue

import (
	"slices"
	"time"

	"bellwether/engine/fleet"
)

// The dispatcher frees a slot on the agent's word only. These are the cases in
// which that word, or the gateway's, cannot come any more; without them one
// lost message would take a slot away for ever.
const (
	reapEvery = 5 * time.Second
	reapAfter = 10 * time.Second // from one side's end to giving the other side up
	reapGrace = time.Minute      // beyond a grant's own deadline
)

func (d *Dispatcher) startReaping() {
	if d.nextReap.IsZero() {
		d.nextReap = d.now.Add(reapEvery)
	}
}

func (d *Dispatcher) reapDue() bool {
	return len(d.grants) > 0 && !d.now.Before(d.nextReap)
}

// onReap ends grants of which one side has gone silent:
//
//  1. closed, and the node is offline, or says that it runs nothing there, in a
//     report that includes the grant;
//  2. over for a minute without a word from the gateway;
//  3. a minute past its own deadline.
func (d *Dispatcher) onReap() {
	d.nextReap = d.now.Add(reapEvery)
	d.circuits.sweep(d.policy.Circuit, d.now)
	all := make([]*grant, 0, len(d.grants))
	for _, g := range d.grants {
		all = append(all, g)
	}
	slices.SortFunc(all, func(a, b *grant) int { return a.issued.Compare(b.issued) })
	for _, g := range all {
		late := g.total > 0 && d.now.Sub(g.issued) > g.total+reapGrace
		switch {
		case !g.over && (late || g.closed && d.now.Sub(g.closedAt) >= reapAfter && d.idleNode(g)): // 1, 3
			d.cfg.Log.Warn("a slot was freed without its node's word", "node", g.dep.Node, "grant", g.id)
			d.freeSlot(g)
		case g.over && !g.closed && (late || d.now.Sub(g.overAt) >= reapGrace): // 2, 3
			d.cfg.Log.Warn("a request was closed without its gateway's word", "node", g.dep.Node, "grant", g.id)
			d.closeRecord(g)
			if t := g.ticket; t.current.Load() == g {
				d.end(t, fleet.OutcomeFailed, "lost")
			}
		}
	}
}

// idleNode reports whether the grant's node says, or must be taken, to run
// nothing on that deployment.
func (d *Dispatcher) idleNode(g *grant) bool {
	src := g.lane.node.src
	if src == nil || src.Liveness == fleet.Offline {
		return true
	}
	return src.LastSeen.After(g.closedAt) && src.IncludesGrant >= g.seq && src.Running[g.dep] == 0
}
