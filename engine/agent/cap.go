package agent

// capLearner infers how many models a runtime keeps at once from evictions
// that nobody ordered: a setting of the runtime's own environment that cannot
// be read, and that silently falls back to its default when it is malformed.
type capLearner struct {
	most  int // 0 = not known
	hint  int // seen once
	seen  int // the most ever in memory
	quiet int // observations since the last eviction
}

// capDoubt is how many observations a cap is believed without an eviction that
// shows it, half a day or more: who keeps to a cap causes none, and so could
// never find out that it is gone. One eviction then suffices to learn it again.
const capDoubt = 10_000

// see takes an observation: how many models are in memory, and whether one was
// evicted by the runtime while another came in. One such eviction may have
// been for memory; the second at the same count is taken for the cap. Where
// more have been in memory, it was for memory.
func (c *capLearner) see(loaded int, evicted bool) {
	c.seen = max(c.seen, loaded)
	if loaded > c.most && c.most > 0 {
		c.most, c.hint = 0, 0 // it keeps more than we thought
	}
	if c.quiet++; c.quiet > capDoubt && c.most > 0 {
		c.most, c.hint = 0, c.most
	}
	if !evicted || loaded == 0 || loaded < c.seen {
		return
	}
	if loaded == c.hint {
		c.most = loaded
	}
	c.hint, c.quiet = loaded, 0
}
