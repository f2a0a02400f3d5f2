package agent

// capLearner infers how many models a runtime keeps at once from evictions
// that nobody ordered: a setting of the runtime's own environment that cannot
// be read, and that silently falls back to its default when it is malformed.
type capLearner struct {
	most int // 0 = not known
	hint int // seen once
}

// see takes an observation: how many models are in memory, and whether one was
// evicted by the runtime while another came in. One such eviction may have
// been for memory; the second at the same count is taken for the cap.
func (c *capLearner) see(loaded int, evicted bool) {
	if loaded > c.most && c.most > 0 {
		c.most, c.hint = 0, 0 // it keeps more than we thought
	}
	if !evicted || loaded == 0 {
		return
	}
	if loaded == c.hint {
		c.most = loaded
	}
	c.hint = loaded
}
