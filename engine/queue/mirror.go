package queue

import (
	"slices"
	"time"

	"bellwether/engine/budget"
	"bellwether/engine/fleet"
	"bellwether/engine/route"
)

// claim is a load that was granted: memory that is taken on its node though no
// heartbeat shows it yet, and victims that are leaving for it. It lives from
// the grant until a heartbeat has taken that grant into account.
type claim struct {
	node  *node
	dep   fleet.DeploymentID
	need  int64 // bytes, 0 = as the deployment's size says
	evict []fleet.DeploymentID
	seq   uint64 // of the grant
	boot  string
	since time.Time
	takes time.Duration // predicted
	over  bool          // the grant's work is over
	after uint64        // heartbeat known when it was over
}

// claimLoad enters a load into the node's mirror, in the same step as the
// grant: so two grants in a row never take the same memory.
func (d *Dispatcher) claimLoad(n *node, g *grant, plan *route.Plan) {
	c := &claim{
		node: n, dep: g.dep, need: plan.Need, evict: plan.Evict, seq: g.seq, boot: g.boot,
		since: d.now, takes: d.loadTakes(n, g.dep, plan.Need),
	}
	g.claim = c
	n.claims = append(n.claims, c)
	d.loading = append(d.loading, c)
	d.changedNode(n)
}

// diskRate is how fast weights are read where nothing was measured, bytes/s.
const diskRate = 2e9

// loadTakes predicts a load: as measured, else size over a common disk's rate.
func (d *Dispatcher) loadTakes(n *node, id fleet.DeploymentID, need int64) time.Duration {
	if n.src == nil {
		return 0
	}
	dep := n.src.Deployment(id)
	if dep == nil {
		return 0
	}
	if f := d.cfg.Book().Load(dep); f.Known() {
		return time.Duration(f.V * float64(time.Second))
	}
	return time.Duration(float64(max(need, dep.Size())) / diskRate * float64(time.Second))
}

// loadOver notes that the grant that carried a load has ended: the model is
// loaded or the load failed; the next heartbeats will tell.
func (d *Dispatcher) loadOver(c *claim) {
	c.over = true
	if c.node.src != nil {
		c.after = c.node.src.Sequence
	}
	d.notLoading(c)
}

// dropClaim takes a claim out of the mirror: its load never began.
func (d *Dispatcher) dropClaim(n *node, c *claim) {
	n.claims = slices.DeleteFunc(n.claims, func(o *claim) bool { return o == c })
	d.notLoading(c)
	d.changedNode(n)
}

func (d *Dispatcher) notLoading(c *claim) {
	d.loading = slices.DeleteFunc(d.loading, func(o *claim) bool { return o == c })
	if shown, ok := d.view.Lanes[c.dep]; ok && shown.LoadRemaining != 0 {
		shown.LoadRemaining = 0
		d.view.Lanes[c.dep] = shown
	}
}

// settleClaims drops the claims that a new heartbeat speaks for, and the
// waiting for loads that it shows as done.
func (d *Dispatcher) settleClaims(n *node) {
	n.claims = slices.DeleteFunc(n.claims, n.settles)
	for _, c := range slices.Clone(d.loading) {
		dep := n.src.Deployment(c.dep)
		if c.node == n && (c.boot != n.src.Boot || dep == nil || dep.Residency == fleet.Loaded) {
			d.notLoading(c)
		}
	}
}

// settles reports whether the node's report speaks for a claim:
//
//  1. of another boot: it is void;
//  2. it includes the grant, and its pools show the deployment or the work is
//     over. (Sequences may be presented out of order: a higher one included
//     does not prove that this one is, the pools do.)
//  3. two reports after the work was over, for agents that never got the grant.
func (n *node) settles(c *claim) bool {
	src := n.src
	if src.Boot != c.boot { // 1
		return true
	}
	if src.IncludesGrant >= c.seq && (c.over || holdsAny(src.Pools, c.dep)) { // 2
		return true
	}
	return c.over && src.Sequence >= c.after+2 // 3
}

func holdsAny(pools []fleet.Pool, id fleet.DeploymentID) bool {
	for i := range pools {
		for k := range pools[i].Holders {
			if pools[i].Holders[k].Deployment == id {
				return true
			}
		}
	}
	return false
}

// correct takes the ledger that came with a refusal as the newer truth.
func (n *node) correct(why *fleet.Refusal) {
	if n.src != nil && len(why.Pools) > 0 && why.Sequence >= n.src.Sequence {
		n.pools = why.Pools
	}
}

// holdUncertain notes that a deployment may still run a call.
func (n *node) holdUncertain(id fleet.DeploymentID, until time.Time) {
	if n.uncertain == nil {
		n.uncertain = map[fleet.DeploymentID]uncertainHold{}
	}
	u := uncertainHold{until: until}
	if n.src != nil {
		u.seq = n.src.Sequence
	}
	n.uncertain[id] = u
}

// refreshUncertain lets the holds' remaining times be computed anew.
func (d *Dispatcher) refreshUncertain() {
	for _, n := range d.nodes {
		if len(n.uncertain) > 0 || n.src != nil && len(n.src.Uncertain) > 0 {
			d.changedNode(n)
		}
	}
}

// refreshView brings the view up to this instant.
func (d *Dispatcher) refreshView() {
	d.view.Now = d.now
	d.view.Evidence = d.cfg.Book()
	d.pins.expire(d.now)
	for _, n := range d.stale {
		n.stale = false
		d.overlay(n)
	}
	d.stale = d.stale[:0]
	for _, c := range d.loading {
		if shown, ok := d.view.Lanes[c.dep]; ok {
			shown.LoadRemaining = max(0, c.takes-d.now.Sub(c.since))
			d.view.Lanes[c.dep] = shown
		}
	}
}

// overlay writes a node into the view: as it reported, with the claims,
// uncertain holds and corrections that it has not reported yet. What was shown
// before is left untouched, since copies of the view may live on.
func (d *Dispatcher) overlay(n *node) {
	if n.src == nil || len(n.solo.Nodes) == 0 {
		return
	}
	shown := *n.src
	if n.pools != nil {
		shown.Pools = n.pools
	}
	shown.Uncertain = n.uncertainAt(d.now)
	if len(n.claims) > 0 {
		n.overlayClaims(&shown, d.now)
	}
	n.solo.Nodes[0] = shown
}

func (n *node) overlayClaims(shown *fleet.Node, now time.Time) {
	ledger := budget.Mirror(shown.Pools, budget.Options{}, now)
	shown.Deployments = slices.Clone(shown.Deployments)
	for _, c := range n.claims {
		for _, victim := range c.evict {
			ledger.Depart(victim)
			if dep := shown.Deployment(victim); dep != nil {
				dep.Residency = fleet.Leaving
			}
		}
		dep := shown.Deployment(c.dep)
		if dep == nil {
			continue
		}
		need := budget.NeedOf(dep, shown.Runtime(c.dep.Runtime), shown.Pools).Resized(c.need)
		ledger.Claim("claim "+c.dep.String(), budget.Candidate{Deployment: c.dep, Need: need})
		if dep.Residency != fleet.Loaded {
			dep.Residency = fleet.Loading
		}
	}
	pools := ledger.Pools(now)
	for i := range pools {
		if more := pools[i].Held() - shown.Pools[i].Held(); pools[i].Free.Known {
			pools[i].Free.V = min(pools[i].Total, max(0, pools[i].Free.V-more))
		}
	}
	shown.Pools = pools
}

// uncertainAt merges the node's reported holds with those it may not have
// reported yet; durations are what is left at now.
func (n *node) uncertainAt(now time.Time) map[fleet.DeploymentID]time.Duration {
	if len(n.uncertain) == 0 && len(n.src.Uncertain) == 0 {
		return nil
	}
	out := map[fleet.DeploymentID]time.Duration{}
	for id, left := range n.src.Uncertain {
		if left -= now.Sub(n.src.LastSeen); left > 0 {
			out[id] = left
		}
	}
	for id, u := range n.uncertain {
		if left := u.until.Sub(now); left > out[id] {
			out[id] = left
		}
	}
	return out
}
