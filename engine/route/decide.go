package route

import (
	"cmp"
	"slices"

	"bellwether/engine/fleet"
)

// Decide finds the place for one request. It looks at nothing but its
// arguments, changes none of them, and gives the same decision for the same
// input, whatever the order of nodes and deployments in it (routing.md 1 to 8).
func Decide(v *View, p *Policy, q *Query) *Decision { return new(Room).Decide(v, p, q) }

// choose picks the model, then the node (routing.md 7):
//
//  0. A retry stays with its model while another of its deployments can serve,
//     and moves to another listed model at most once.
//  1. The first listed model that is loaded somewhere wins: a loaded fallback
//     beats loading the first choice. For an alias stands its best ranked
//     member; in pinned order, the first that some node can serve.
//  2. Else the first that some node can load; and where there is none, the same
//     with those that may be too small by our estimate alone.
//  3. With model_fallback on, any other model in memory that can serve.
//  4. Else the request waits, if waiting may cure what is in the way of one.
//  5. Else the model is pulled, or its owner is asked, or the request fails.
func (j *judge) choose() {
	if j.contract != nil {
		j.chooseReplica()
		return
	}
	if j.mixedSpaces() {
		return
	}
	if j.settle() || j.doubt() && j.settle() {
		return
	}
	if c := j.otherModel(); c != nil { // 3
		j.serve(c, "model_fallback")
		return
	}
	if j.waitingCures() { // 4
		j.d.Verdict = Hold
		return
	}
	j.giveUp() // 5
}

// doubt lets those serve whose context may be too small, if there are any: the
// runtime counts the prompt, and says so if it is.
func (j *judge) doubt() bool {
	j.doubts = slices.ContainsFunc(j.cands, func(c *cand) bool { return c.ctx.doubt && len(c.out) == 0 })
	return j.doubts
}

// settle is steps 0 to 2; false where no listed model can serve.
func (j *judge) settle() bool {
	if c := j.retryPlace(); c != nil { // 0
		j.serve(c, "same_model")
		return true
	}
	c, why := j.firstChoice() // 1, 2
	if c != nil {
		j.serve(c, why)
	}
	return c != nil
}

// retryPlace is where a retry goes before any other model is thought of.
func (j *judge) retryPlace() *cand {
	if len(j.q.Failed) == 0 {
		return nil
	}
	i := j.lastModel()
	if i < 0 {
		return nil
	}
	return j.best(i)
}

// lastModel is the want the last attempt was for, -1 if it is listed no more.
func (j *judge) lastModel() int {
	if len(j.q.Failed) == 0 {
		return -1
	}
	last := j.q.Failed[len(j.q.Failed)-1]
	for _, c := range j.cands {
		if c.Deployment == last {
			return c.want
		}
	}
	for i := range j.wants { // it is gone
		if j.wants[i].only == last || j.wants[i].only == (fleet.DeploymentID{}) && j.wants[i].matches(last.Model) {
			return i
		}
	}
	return -1
}

// best is the survivor of a wanted model with the highest node score.
func (j *judge) best(want int) *cand {
	var best *cand
	for _, c := range j.of(want) {
		if j.serves(c) && (best == nil || j.before(c, best)) {
			best = c
		}
	}
	return best
}

// before ranks survivors of one model: score, then lower load (of the lane,
// then of the whole node), then least recently chosen, which rotates equal
// nodes, then id.
func (j *judge) before(a, b *cand) bool {
	if j.q.Part > 0 && a.free() != b.free() {
		return a.free() // a batch was cut for the free places there are
	}
	if a.points != b.points {
		return a.points > b.points
	}
	if a.Depth != b.Depth {
		return a.Depth < b.Depth
	}
	if x, y := j.nodeDepth(a.node), j.nodeDepth(b.node); x != y {
		return x < y
	}
	if a.lane.LastUsed != b.lane.LastUsed {
		return a.lane.LastUsed < b.lane.LastUsed
	}
	return a.Deployment.Compare(b.Deployment) < 0
}

// nodeDepth is all that runs or waits on a node. It is asked for ties only.
func (j *judge) nodeDepth(n *nodeView) int {
	if !n.summed {
		n.summed = true
		for i := range n.Deployments {
			n.depth += j.v.Lanes[n.Deployments[i].ID].Depth()
		}
	}
	return n.depth
}

// serve settles the decision on a candidate.
func (j *judge) serve(c *cand, why string) {
	d, w := j.d, &j.wants[c.want]
	d.Verdict = Serve
	d.Chosen = c.Deployment
	d.Model = w.name
	d.Fallback = w.fallback
	var limited string
	d.Plan, limited = j.plan(c)
	d.Evidence = c.Evidence
	j.reason(why, w.name, c.node.Name)
	if d.Fallback && why != "model_fallback" {
		j.reason("fallback", j.q.Model, w.name)
	}
	j.explainPlan(c, limited)
	d.FailoverAllowed, d.FailoverNote = j.failover()
}

func (j *judge) explainPlan(c *cand, limited string) {
	p := &j.d.Plan
	switch {
	case p.Reload:
		j.reason("reload", c.dep.LoadedContext, p.Context)
	case p.Load && p.Context > 0:
		j.reason("load_with", p.Context)
	case p.Load:
		j.reason("load")
	}
	for _, id := range p.Evict {
		j.reason("evict", id.Model)
	}
	if p.Output > 0 {
		j.reason(limited, j.q.Needs.OutputAsked, p.Output)
	}
}

// failover says whether the request may be tried elsewhere, and why not.
func (j *judge) failover() (allowed bool, note string) {
	n := &j.q.Needs
	switch {
	case j.contract != nil && n.Bound != "node":
		return true, "replicas of " + j.d.Contract + " only"
	case n.Bound == "node":
		return false, "bound to its node: " + n.BoundWhy
	case len(j.wants) == 1 && j.wants[0].only != (fleet.DeploymentID{}):
		return false, "bound to its node: the request names this deployment"
	case j.bound:
		return true, "bound to its model, other nodes with the same one only: " + n.BoundWhy
	case n.IssuedBy != "":
		return true, "the model that made the tool calls it answers is gone, so nothing binds it"
	case n.NoFallback:
		return true, "other nodes of the same model only: the request forbids fallback"
	default:
		return true, ""
	}
}

// waitingCures reports whether all that is in the way of some candidate may
// pass by itself, or the picture of the fleet is not whole yet.
func (j *judge) waitingCures() bool {
	if !j.v.Fleet.Settled {
		j.reason("settling")
		return true
	}
	for _, c := range j.cands {
		if len(c.out) > 0 && !slices.ContainsFunc(c.out, func(x Exclusion) bool { return !x.Hold }) {
			j.reason("hold", c.dep.ID.Model, c.node.Name)
			return true
		}
	}
	if x, found := unseen(j.v.Fleet); found && !j.anyKnown() {
		j.reason("unseen", x.Operands...)
		return true
	}
	return false
}

// otherModel is the best model in memory that the request did not list, for
// owners who turned model_fallback on. It passes the same checks.
func (j *judge) otherModel() *cand {
	n := &j.q.Needs
	if !j.p.ModelFallback || n.NoFallback || n.Role != RoleChat || j.bound || j.q.Changed || !j.anyKnown() {
		return nil
	}
	if len(j.wants) > 0 && j.wants[0].only != (fleet.DeploymentID{}) {
		return nil
	}
	listed := len(j.cands)
	j.wants = append(j.wants, want{fallback: true})
	for i := range j.nodes {
		node := &j.nodes[i]
		for k := range node.Deployments {
			d := &node.Deployments[k]
			lane := j.v.Lanes[d.ID]
			if state := stateOf(d, lane); state == fleet.Loaded && j.wantOf(d) < 0 {
				j.candidate(len(j.wants)-1, node, d, lane).state = state
			}
		}
	}
	for _, c := range j.cands[listed:] {
		j.judge(c)
	}
	best := j.best(len(j.wants) - 1)
	if best == nil {
		j.cands = j.cands[:listed]
		j.wants = j.wants[:len(j.wants)-1]
		return nil
	}
	j.wants[best.want].name = best.dep.ID.Model
	// Those that did not survive were never asked for: only their number counts.
	j.cands = slices.DeleteFunc(j.cands, func(c *cand) bool { return c.want == best.want && !j.serves(c) })
	return best
}

func (j *judge) anyKnown() bool {
	return slices.ContainsFunc(j.wants, func(w want) bool { return w.known })
}

func (j *judge) reason(code string, operands ...any) {
	j.d.Reasons = append(j.d.Reasons, Reason{Code: code, Operands: operands})
}

// finish writes down who survived, best first within each listed model, and
// what kept the others out. Of the models an alias ranked and did not choose,
// only the node each was judged through is told.
func (j *judge) finish() {
	if j.d.Verdict == Serve && !j.doubts {
		j.tellDoubts()
	}
	won := slices.IndexFunc(j.cands, func(c *cand) bool { return c.Deployment == j.d.Chosen })
	j.cands = slices.DeleteFunc(j.cands, func(c *cand) bool {
		a := j.wants[c.want].alias
		return a != nil && !a.PinnedOrder && len(c.out) == 0 && !c.ranked() && (won < 0 || c.want != j.cands[won].want)
	})
	slices.SortStableFunc(j.cands, func(a, b *cand) int {
		switch x, y := &j.wants[a.want], &j.wants[b.want]; {
		case a.want != b.want:
			return cmp.Or(cmp.Compare(x.listed, y.listed), cmp.Compare(x.order, y.order), cmp.Compare(a.want, b.want))
		case j.before(a, b):
			return -1
		default:
			return 1
		}
	})
	out := 0
	for _, c := range j.cands {
		if len(c.out) > 0 {
			j.exclusions()[c.Deployment] = c.out
			out++
		}
	}
	j.d.Candidates = make([]Candidate, 0, len(j.cands)-out)
	for _, c := range j.cands {
		if len(c.out) == 0 {
			j.d.Candidates = append(j.d.Candidates, c.Candidate)
		}
	}
}
