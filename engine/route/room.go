package route

import "bellwether/engine/fleet"

// Room is memory to decide in: what one decision looks at is several hundred
// bytes a deployment, and is needed for microseconds. Its owner makes one
// decision at a time in it; the zero Room is ready.
type Room struct{ judge judge }

// Decide is the function of that name, in room there is already.
func (r *Room) Decide(v *View, p *Policy, q *Query) *Decision {
	d := &Decision{ConfigHash: p.Hash, RegistryVersion: v.Fleet.Version, Profile: q.Needs.Profile}
	j := &r.judge
	if j.d != nil {
		j.forget() // the last one did not come to its end
	}
	j.v, j.p, j.q, j.d = v, p, q, d
	j.resolve()
	j.look()
	j.choose()
	j.finish()
	j.forget()
	return d
}

// candidate adds a deployment to be judged for a want.
func (j *judge) candidate(want int, n *nodeView, d *fleet.Deployment, lane Lane) *cand {
	if j.used == len(j.made) {
		j.made = append(j.made, new(cand))
	}
	c := j.made[j.used]
	j.used++
	c.Candidate = Candidate{Deployment: d.ID, Depth: lane.Depth()}
	c.want, c.node, c.dep, c.lane = want, n, d, lane
	j.cands = append(j.cands, c)
	return c
}

// most is how much room is kept: of a fleet larger than that, some is made anew.
const (
	mostNodesKept      = 64
	mostCandidatesKept = 1024
)

// forget empties the judge of all but its room. Nothing of it is in the
// decision, and it must not keep a fleet or a request alive.
func (j *judge) forget() {
	for _, c := range j.made[:j.used] {
		*c = cand{}
	}
	if len(j.made) > mostCandidatesKept {
		clear(j.made[mostCandidatesKept:])
		j.made = j.made[:mostCandidatesKept]
	}
	nodes := j.nodes[:cap(j.nodes)]
	if len(nodes) > mostNodesKept {
		nodes = nil
	}
	for i := range nodes {
		n := &nodes[i]
		clear(n.pools)
		*n = nodeView{pools: n.pools[:0], asked: n.asked[:0]}
	}
	clear(j.wants)
	clear(j.cands[:cap(j.cands)])
	*j = judge{wants: j.wants[:0], nodes: nodes[:0], cands: j.cands[:0], made: j.made}
}
