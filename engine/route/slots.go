package route

import "strconv"

// slots is how many requests the deployment runs at once (routing.md 9):
//
//  1. Where the runtime preallocates the KV cache, its own parallelism.
//  2. Else as many as the headroom holds KV caches for, from 1 to 8.
//  3. Never more than the runtime runs, declared or else learned.
//  4. One less for a call that timed out and may still run there.
func (j *judge) slots(c *cand) int {
	d := c.dep
	n := j.p.MaxSlots
	switch {
	case d.Preallocated && d.Slots > 0: // 1
		n = d.Slots
	default: // 2
		if room, known := j.headroom(c); known {
			n = int(room / j.kvPerRequest(c))
		}
	}
	n = min(max(n, 1), j.p.MaxSlots)
	if d.Slots > 0 { // 3
		n = min(n, d.Slots)
	} else if seen := c.speeds.Slots; seen.Known() && int(seen.V) < n {
		n = max(1, int(seen.V))
		c.note("slots_learned:" + strconv.Itoa(seen.N)) // times a request waited there for a slot
	}
	if c.node.Uncertain[d.ID] > 0 { // 4
		n = max(1, n-1)
	}
	return n
}

// headroom is the memory left for KV caches in the tightest of the
// deployment's pools, bytes. Its own size is taken off only while it is not in
// memory; what the plan evicts is added.
func (j *judge) headroom(c *cand) (room int64, known bool) {
	for _, s := range sharesOf(c, c.dep.Size()) {
		free := s.pool.available
		if !c.inMemory() {
			free -= s.size
		}
		for _, id := range c.mem.evict {
			if v := c.node.Deployment(id); v != nil {
				free += freed(c.node, v, s.pool)
			}
		}
		if !known || free < room {
			room = free
		}
		known = true
	}
	return max(0, room), known
}

// kvPerRequest is what one request's window costs, from the model's geometry,
// else the setting.
func (j *judge) kvPerRequest(c *cand) int64 {
	window := c.ctx.size
	if window == 0 {
		window = usualContext
	}
	if kv := c.dep.KVBytesToken * int64(window); kv > 0 {
		return kv
	}
	return max(1, int64(j.p.KVPerRequestGB*gb))
}
