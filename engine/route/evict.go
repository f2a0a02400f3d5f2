package route

import (
	"slices"

	"bellwether/engine/fleet"
)

// victim is a loaded model that may leave for another.
type victim struct {
	dep   *fleet.Deployment
	used  int64  // number of its last choice
	gives []gain // by its node's pools; nil until first asked for
}

// gain is what a victim's leaving gives back to one pool of its node: as its
// free memory is sensed, and as the ledger counts.
type gain struct{ free, ledger int64 }

// victimsOf lists the node's idle, unpinned models, least recently used first:
// by the router's own count of choices, then by when they were loaded, then by
// id. A model with a request in its lane, a busy slot, a reservation or a call
// that may still run is not idle.
func (j *judge) victimsOf(n *nodeView) []victim {
	if n.looked {
		return n.victims
	}
	n.looked = true
	for i := range n.Deployments {
		d := &n.Deployments[i]
		lane := j.v.Lanes[d.ID]
		if d.Residency != fleet.Loaded || d.Pinned || d.SlotsBusy > 0 || lane.Depth() > 0 || n.Running[d.ID] > 0 ||
			j.isPinned(d) || n.reserved(d.ID) || !n.unloads(d) {
			continue
		}
		n.victims = append(n.victims, victim{dep: d, used: lane.LastUsed})
	}
	slices.SortFunc(n.victims, func(a, b victim) int {
		if a.used != b.used {
			if a.used < b.used {
				return -1
			}
			return 1
		}
		if c := a.dep.LoadedAt.Compare(b.dep.LoadedAt); c != 0 {
			return c
		}
		return a.dep.ID.Compare(b.dep.ID)
	})
	return n.victims
}

func (j *judge) isPinned(d *fleet.Deployment) bool {
	for _, name := range j.p.PinnedModels {
		if fleet.SameModel(name, d.ID.Model) {
			return true
		}
	}
	return false
}

// reserved reports whether work is on its way to a deployment, or may still run.
func (n *nodeView) reserved(id fleet.DeploymentID) bool {
	for i := range n.pools {
		for k := range n.pools[i].Holders {
			h := &n.pools[i].Holders[k]
			if (h.Kind == fleet.HoldReserved || h.Kind == fleet.HoldUncertain) && same(&h.Deployment, &id) {
				return true
			}
		}
	}
	return n.Uncertain[id] > 0
}

// unloads reports whether a deployment's runtime can give a model up: a
// llama-server with one model keeps it as long as it runs.
func (n *nodeView) unloads(d *fleet.Deployment) bool {
	if d.Kind == kindOllama {
		return true
	}
	same := 0
	for i := range n.Deployments {
		if n.Deployments[i].ID.Runtime == d.ID.Runtime {
			same++
		}
	}
	return same > 1
}

// chooseVictims takes victims in order while something is missing that they
// can give, then puts back those that turned out not to be needed. What is
// missing still, when all that could help have gone, is returned.
func (j *judge) chooseVictims(c *cand, shares []share, missing shortage) ([]fleet.DeploymentID, shortage) {
	var taken []*victim
	victims := j.victimsOf(c.node)
	for i := range victims {
		if missing.none() {
			break
		}
		v := &victims[i]
		if v.dep == c.dep || !gives(c, c.node.weighed(v), shares, &missing) {
			continue
		}
		take(c, v, shares, &missing, 1)
		taken = append(taken, v)
	}
	if !missing.none() {
		return nil, missing
	}
	for i := 0; i < len(taken); {
		take(c, taken[i], shares, &missing, -1)
		if missing.none() {
			taken = slices.Delete(taken, i, i+1)
			continue
		}
		take(c, taken[i], shares, &missing, 1)
		i++
	}
	ids := make([]fleet.DeploymentID, len(taken))
	for i, v := range taken {
		ids[i] = v.dep.ID
	}
	return ids, shortage{}
}

// weighed fills in what a victim gives, once for all the candidates that ask.
func (n *nodeView) weighed(v *victim) *victim {
	if v.gives == nil {
		v.gives = make([]gain, len(n.pools))
		for i := range n.pools {
			v.gives[i] = gain{freed(n, v.dep, &n.pools[i]), n.pools[i].heldBy(v.dep.ID)}
		}
	}
	return v
}

// gives reports whether a victim's leaving helps with anything missing.
func gives(c *cand, v *victim, shares []share, missing *shortage) bool {
	if missing.places > 0 && v.dep.ID.Runtime == c.dep.ID.Runtime {
		return true
	}
	for i, s := range shares {
		if g := v.gives[s.pool.at]; missing.free[i] > 0 && g.free > 0 || missing.ledger[i] > 0 && g.ledger > 0 {
			return true
		}
	}
	return false
}

func take(c *cand, v *victim, shares []share, missing *shortage, sign int64) {
	for i, s := range shares {
		missing.free[i] -= sign * v.gives[s.pool.at].free
		missing.ledger[i] -= sign * v.gives[s.pool.at].ledger
	}
	if v.dep.ID.Runtime == c.dep.ID.Runtime {
		missing.places -= int(sign)
	}
}

// freed is what a deployment's leaving gives back to a pool: its claim there,
// else, where the free memory is sensed and nothing is recorded of it, its size
// in its runtime's own pool.
func freed(n *nodeView, d *fleet.Deployment, p *poolView) int64 {
	if held := p.heldBy(d.ID); held > 0 || !p.Free.Known {
		return held
	}
	for i := range n.pools {
		if n.pools[i].heldBy(d.ID) > 0 {
			return 0
		}
	}
	if rt := n.Runtime(d.ID.Runtime); rt != nil && rt.Pool == p.Name {
		return d.Size()
	}
	return 0
}
