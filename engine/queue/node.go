package queue

import (
	"maps"
	"slices"
	"strings"
	"time"

	"bellwether/engine/fleet"
)

// node is what the dispatcher keeps about a machine beside its snapshot.
type node struct {
	id      string
	src     *fleet.Node    // as last reported; nil = not in the fleet
	solo    fleet.Snapshot // of this node alone, a window on view.Fleet
	version uint64         // of all that a plan for it depends on
	seq     uint64         // of the last grant given to it
	stale   bool           // view.Fleet does not show it as it is

	claims    []*claim     // loads granted that its heartbeats do not show yet
	pools     []fleet.Pool // newer than src: came with a refusal
	uncertain map[fleet.DeploymentID]uncertainHold
	foreign   map[fleet.DeploymentID]int // running for others since before our time
}

// uncertainHold is a hold told by Released that a heartbeat may not show yet.
type uncertainHold struct {
	until time.Time
	seq   uint64 // of the heartbeat known when it was told
}

func (d *Dispatcher) nodeOf(id string) *node {
	n := d.nodes[id]
	if n == nil {
		n = &node{id: id}
		d.nodes[id] = n
	}
	return n
}

// changedNode notes that plans for a node must be made anew.
func (d *Dispatcher) changedNode(n *node) {
	n.version++
	if !n.stale {
		n.stale = true
		d.stale = append(d.stale, n)
	}
	d.holds.touch(n.id)
	d.idle = true
}

// FleetChanged says that the registry has published a new snapshot.
func (d *Dispatcher) FleetChanged() { d.desk.Post(fleetChanged{}) }

type fleetChanged struct{}

func (fleetChanged) apply(d *Dispatcher) { d.onSnapshot() }

// onSnapshot takes over what has changed since the last snapshot: node by
// node, and for the whole only when nodes came or went.
func (d *Dispatcher) onSnapshot() {
	s := d.cfg.Fleet()
	if s == nil || s == d.seen {
		return
	}
	old := d.seen
	d.seen = s
	d.view.Fleet = &fleet.Snapshot{Version: s.Version, At: s.At, Settled: s.Settled, Nodes: slices.Clone(s.Nodes)}
	if old == nil || old.Settled != s.Settled {
		d.holds.touchAll()
	}
	var changed []*node
	for i := range s.Nodes {
		n := d.nodeOf(s.Nodes[i].Node)
		before := n.src
		n.src = &s.Nodes[i]
		n.solo = fleet.Snapshot{Version: s.Version, At: s.At, Settled: s.Settled, Nodes: d.view.Fleet.Nodes[i : i+1 : i+1]}
		if before == nil || !sameReport(before, n.src) {
			changed = append(changed, n)
			d.onReport(n, before)
		} else if n.shown() {
			d.markStale(n) // the fresh list shows it without our overlay
		}
	}
	if old != nil {
		d.forgetNodes(old, s)
	}
	for _, n := range changed {
		d.reviewNode(n)
	}
	d.models.stale = true
}

func sameReport(a, b *fleet.Node) bool {
	return a.Boot == b.Boot && a.Sequence == b.Sequence && a.Liveness == b.Liveness
}

// shown reports whether the node's picture differs from its report.
func (n *node) shown() bool {
	return len(n.claims) > 0 || n.pools != nil || len(n.uncertain) > 0
}

func (d *Dispatcher) markStale(n *node) {
	if !n.stale {
		n.stale = true
		d.stale = append(d.stale, n)
	}
}

// onReport takes over one node's new heartbeat, or its changed liveness.
func (d *Dispatcher) onReport(n *node, before *fleet.Node) {
	reported := before == nil || before.Boot != n.src.Boot || before.Sequence != n.src.Sequence
	if reported {
		n.pools = nil
		d.settleClaims(n)
		for id, u := range n.uncertain {
			if n.src.Sequence >= u.seq+2 { // it has had time to say so itself
				delete(n.uncertain, id)
			}
		}
	}
	if before == nil || before.Boot != n.src.Boot {
		d.onBoot(n, before)
	}
	for id, was := range n.foreign {
		if now := min(was, n.src.Running[id]); now > 0 {
			n.foreign[id] = now
		} else {
			delete(n.foreign, id)
		}
	}
	if before == nil || !sameModels(before, n.src) {
		d.holds.joined = d.holds.len() > 0
		d.forgetModels(n)
	}
	d.changedNode(n)
}

// onBoot takes over a node that is new here or has restarted: what ran there
// before is over, and what it runs now is somebody else's.
func (d *Dispatcher) onBoot(n *node, before *fleet.Node) {
	n.seq = max(n.seq, n.src.IncludesGrant)
	if before == nil {
		n.foreign = maps.Clone(n.src.Running)
		return
	}
	n.foreign, n.uncertain = nil, nil
	for _, g := range d.grantsOn(n) {
		if g.boot != n.src.Boot {
			d.lose(g)
		}
	}
}

// lose ends a grant whose agent is no more. An unused one goes back to its
// place; of a used one the gateway will tell.
func (d *Dispatcher) lose(g *grant) {
	if g.use.CompareAndSwap(unusedGrant, returnedGrant) {
		d.onUnused(g)
		return
	}
	d.freeSlot(g)
}

// grantsOn lists a node's grants in order of issue.
func (d *Dispatcher) grantsOn(n *node) []*grant {
	var out []*grant
	for _, g := range d.grants {
		if g.lane.node == n {
			out = append(out, g)
		}
	}
	slices.SortFunc(out, func(a, b *grant) int { return int(int64(a.seq) - int64(b.seq)) })
	return out
}

// forgetNodes lets go of nodes that left the picture, and of deployments' last
// use that nobody has any more.
func (d *Dispatcher) forgetNodes(old, s *fleet.Snapshot) {
	for i := range old.Nodes {
		id := old.Nodes[i].Node
		if s.Node(id) != nil {
			continue
		}
		n := d.nodeOf(id)
		n.src, n.solo, n.claims, n.foreign, n.uncertain = nil, fleet.Snapshot{}, nil, nil, nil
		for _, g := range d.grantsOn(n) {
			d.lose(g)
		}
		for _, l := range d.lanesOn(n) {
			l.shut = false
			d.undelay(l)
			d.touch(l)
			for _, t := range l.order.all() {
				d.move(t)
			}
		}
		delete(d.nodes, id)
		for dep := range d.view.Lanes {
			if dep.Node == id && d.lanes[dep] == nil {
				delete(d.view.Lanes, dep)
			}
		}
		d.circuits.forget(id)
	}
}

// forgetModels drops the last use of deployments that a node has no more.
func (d *Dispatcher) forgetModels(n *node) {
	for dep := range d.view.Lanes {
		if dep.Node == n.id && d.lanes[dep] == nil && n.src.Deployment(dep) == nil {
			delete(d.view.Lanes, dep)
		}
	}
}

// lanesOn lists a node's lanes by id.
func (d *Dispatcher) lanesOn(n *node) []*lane {
	var out []*lane
	for _, l := range d.lanes {
		if l.node == n {
			out = append(out, l)
		}
	}
	slices.SortFunc(out, func(a, b *lane) int { return a.id.Compare(b.id) })
	return out
}

// reviewNode looks at a changed node's lanes: those kept shut may open, those
// with requests waiting may have to let them go elsewhere.
func (d *Dispatcher) reviewNode(n *node) {
	if n.src == nil {
		return
	}
	for _, l := range d.lanesOn(n) {
		d.reopen(l)
		d.show(l)
		if l.order.n > 0 && l.terms() != l.reviewed {
			d.review(l)
		}
		l.reviewed = l.terms()
		d.touch(l)
	}
}

// terms is what decides whether a lane's node serves it at all. While it stays
// the same, waiting requests need not be judged before their turn comes.
type terms struct {
	liveness fleet.Liveness
	state    fleet.NodeState
	up       bool
	present  bool
	disabled bool
	ill      string
	leaving  bool
}

func (l *lane) terms() terms {
	src := l.node.src
	if src == nil {
		return terms{}
	}
	t := terms{liveness: src.Liveness, state: src.State}
	t.state.Availability = 0 // its thresholds show in Mode
	if rt := src.Runtime(l.id.Runtime); rt != nil {
		t.up = rt.Up
	}
	if dep := src.Deployment(l.id); dep != nil {
		t.present, t.disabled, t.ill = true, dep.Disabled, dep.Unhealthy
		t.leaving = dep.Residency == fleet.Leaving
	}
	return t
}

// sameModels reports whether a node still has the same models.
func sameModels(a, b *fleet.Node) bool {
	return slices.EqualFunc(a.Deployments, b.Deployments, func(x, y fleet.Deployment) bool {
		return x.ID == y.ID && x.Digest == y.Digest
	})
}

// modelIndex finds the deployments of a model by its canonical name. It is
// made anew when it is first asked after a snapshot.
type modelIndex struct {
	stale bool
	by    map[string][]fleet.DeploymentID
}

func (d *Dispatcher) sameModel(name string) []fleet.DeploymentID {
	if d.models.stale || d.models.by == nil {
		d.models.by = map[string][]fleet.DeploymentID{}
		for i := range d.view.Fleet.Nodes {
			for k := range d.view.Fleet.Nodes[i].Deployments {
				id := d.view.Fleet.Nodes[i].Deployments[k].ID
				key := fleet.CanonicalModel(id.Model)
				d.models.by[key] = append(d.models.by[key], id)
			}
		}
		for _, ids := range d.models.by {
			slices.SortFunc(ids, fleet.DeploymentID.Compare)
		}
		d.models.stale = false
	}
	return d.models.by[fleet.CanonicalModel(strings.TrimSpace(name))]
}
