package route

import (
	"slices"

	"bellwether/engine/budget"
	"bellwether/engine/fleet"
)

// poolView is a pool with what is held of it, summed once.
type poolView struct {
	*fleet.Pool
	at        int   // its place among the node's pools
	held      int64 // each deployment once, by its largest claim
	available int64 // free for models now
	unknown   bool  // a holder's size is unknown
	measured  bool  // something is known of the pool at all
}

func poolViews(room []poolView, n *fleet.Node) []poolView {
	views := slices.Grow(room[:0], len(n.Pools))[:len(n.Pools)]
	for i := range n.Pools {
		p := &n.Pools[i]
		v := poolView{Pool: p, at: i, held: p.Held(), measured: p.Free.Known || p.Limit > 0}
		for _, h := range p.Holders {
			v.unknown = v.unknown || !h.Bytes.Known
		}
		v.available = max(0, p.Limit-p.Margin-v.held)
		if p.Free.Known {
			v.available = max(0, p.Free.V)
			if p.Limit > 0 {
				v.available = min(v.available, p.Limit)
			}
		}
		views[i] = v
	}
	return views
}

// heldBy is a deployment's largest known claim on the pool.
func (p *poolView) heldBy(id fleet.DeploymentID) (bytes int64) {
	for i := range p.Holders {
		if h := &p.Holders[i]; same(&h.Deployment, &id) {
			bytes = max(bytes, h.Bytes.V)
		}
	}
	return bytes
}

// same compares ids by what differs most within a node first.
func same(a, b *fleet.DeploymentID) bool {
	return a.Model == b.Model && a.Runtime == b.Runtime && a.Node == b.Node
}

// memoryPlan is what bringing a deployment into memory takes.
type memoryPlan struct {
	load    bool
	need    int64 // bytes to reserve, the ledger's idea of its size
	evict   []fleet.DeploymentID
	ratio   float64 // available / size, of the tightest pool; 0 = unknown
	unknown bool    // its size or its pool is unknown
}

// share is what a deployment takes of one pool: size as signal 2 counts it,
// need as the ledger does.
type share struct {
	pool       *poolView
	size, need int64
}

// planMemory finds out whether the deployment can be brought into memory, and
// what must leave for it (routing.md 3 memory, 10).
func (j *judge) planMemory(c *cand) {
	if c.inMemory() && !c.ctx.reload {
		return
	}
	c.mem.load = true
	size := c.dep.Size()
	c.mem.need = j.ledgerNeed(c, c.ctx.send)
	if size == 0 {
		c.mem.unknown = true
		c.note("size_unknown")
		if j.p.UnknownMemory == "reject" {
			c.exclude(fleet.CodeAdmission, false, admitUnknown, c.dep.ID.Model)
		}
	}
	shares := sharesOf(c, size)
	if len(shares) == 0 {
		c.mem.unknown = true
		c.note("memory_unknown")
	}
	for _, s := range shares {
		if s.pool.unknown && j.p.UnknownMemory == "reject" {
			c.exclude(fleet.CodeAdmission, true, admitUnknown, "another model on "+c.node.Name)
		}
	}
	j.findRoom(c, shares)
}

// ledgerNeed is the measured size, else weights x 1.15, and what a window
// larger than the one it was measured with adds.
func (j *judge) ledgerNeed(c *cand, window int) int64 {
	size, _ := budget.Size(c.dep)
	if !size.Known {
		return 0
	}
	with := usualContext
	if c.dep.LoadedContext > 0 {
		with = c.dep.LoadedContext
	}
	more := int64(max(0, window-with))
	return size.V + more*c.dep.KVBytesToken*int64(max(1, c.dep.Slots))
}

// sharesOf splits a deployment over its node's pools as its runtime reports it
// (the part in VRAM, the rest in system memory), else all in the main pool. It
// leaves out pools of which nothing is known.
func sharesOf(c *cand, size int64) []share {
	rt := c.node.Runtime(c.dep.ID.Runtime)
	if len(c.node.pools) == 0 {
		return nil
	}
	home := &c.node.pools[0]
	if rt != nil && rt.Pool != "" {
		if home = c.node.pool(rt.Pool); home == nil {
			return nil
		}
	}
	d, need := c.dep, c.mem.need
	if rest := c.node.spill(home); rest != nil && d.ResidentVRAM > 0 && d.ResidentVRAM < d.ResidentBytes {
		part := float64(d.ResidentBytes-d.ResidentVRAM) / float64(d.ResidentBytes)
		below, lower := int64(float64(size)*part), int64(float64(need)*part)
		return measuredShares(share{home, size - below, need - lower}, share{rest, below, lower})
	}
	return measuredShares(share{home, size, need})
}

func measuredShares(all ...share) []share {
	return slices.DeleteFunc(all, func(s share) bool { return !s.pool.measured })
}

func (n *nodeView) pool(name string) *poolView {
	for i := range n.pools {
		if n.pools[i].Name == name {
			return &n.pools[i]
		}
	}
	return nil
}

// spill is the system memory beside a main pool of discrete VRAM.
func (n *nodeView) spill(home *poolView) *poolView {
	if home.Kind != fleet.PoolVRAM {
		return nil
	}
	for i := range n.pools {
		if n.pools[i].Kind == fleet.PoolRAM {
			return &n.pools[i]
		}
	}
	return nil
}

// shortage is what is missing: bytes in each share's pool, as sensed and as the
// ledger counts, and places in the runtime's own count of models.
type shortage struct {
	free, ledger []int64
	places       int
}

func newShortage(shares int) shortage {
	both := make([]int64, 2*shares)
	return shortage{free: both[:shares], ledger: both[shares:]}
}

func (s *shortage) none() bool {
	for i := range s.free {
		if s.bytes(i) > 0 {
			return false
		}
	}
	return s.places <= 0
}

// bytes is what is missing in a share's pool by either count.
func (s *shortage) bytes(i int) int64 { return max(s.free[i], s.ledger[i]) }

// findRoom makes the plan, or excludes the candidate:
//
//  1. r >= 1: the size fits what is free, its own bytes counted as free when
//     it is loaded again.
//  2. The ledger admits it: others + need + margin <= limit.
//  3. The runtime keeps as many models.
//  4. What is missing may come from victims, least recently used first and
//     then no more of them than needed.
func (j *judge) findRoom(c *cand, shares []share) {
	short := newShortage(len(shares))
	for i, s := range shares {
		own := s.pool.heldBy(c.dep.ID)
		free := s.pool.available
		if c.inMemory() {
			free += own
		}
		c.mem.ratio = tighter(c.mem.ratio, free, s.size) // 1
		short.free[i] = s.size - free
		if s.pool.Limit > 0 { // 2
			short.ledger[i] = s.pool.held - own + max(s.need, own) + s.pool.Margin - s.pool.Limit
		}
	}
	limit, count := j.maxLoaded(c)
	if limit > 0 {
		short.places = count + 1 - limit // 3
	}
	if short.none() {
		return
	}
	evict, missing := j.chooseVictims(c, shares, short) // 4
	if !missing.none() {
		j.excludeMemory(c, shares, &missing, limit, count)
		return
	}
	c.mem.evict = evict
	c.note("evicts")
}

func tighter(ratio float64, free, size int64) float64 {
	if size <= 0 {
		return ratio
	}
	r := float64(free) / float64(size)
	if ratio == 0 || r < ratio {
		return r
	}
	return ratio
}

// maxLoaded is the most models the candidate's runtime keeps (declared, else
// learned by its agent; 0 = unknown), and how many others it has or is about to have.
func (j *judge) maxLoaded(c *cand) (limit, count int) {
	rt := c.node.Runtime(c.dep.ID.Runtime)
	if rt == nil {
		return 0, 0
	}
	if limit = rt.MaxLoaded; limit == 0 {
		return 0, 0
	}
	for i := range c.node.Deployments {
		d := &c.node.Deployments[i]
		if d.ID.Runtime == rt.Name && d.ID != c.dep.ID && (d.Residency != fleet.OnDisk || c.node.reserved(d.ID)) {
			count++
		}
	}
	return limit, count
}

// Kinds of the memory exclusion: its first operand.
const (
	memoryNow   = "now"   // others hold it
	memoryNever = "never" // no pool of the node could ever hold it
	memoryCount = "count" // the runtime keeps no more models
)

// excludeMemory says what is missing: after what it needs comes what there is.
// Waiting cures it unless even an empty pool could not hold the model.
func (j *judge) excludeMemory(c *cand, shares []share, short *shortage, limit, count int) {
	for i, s := range shares {
		if short.bytes(i) <= 0 {
			continue
		}
		if never(c, shares) {
			c.exclude(fleet.CodeMemory, false, memoryNever, c.dep.ID.Model, max(s.need, s.size), largestLimit(c.node), c.node.Name, largestTotal(c.node))
			return
		}
		c.exclude(fleet.CodeMemory, true, memoryNow, c.dep.ID.Model, max(s.need, s.size), max(0, max(s.need, s.size)-short.bytes(i)), c.node.Name, s.pool.Name, s.pool.Limit > 0 && short.ledger[i] <= 0, keptBy(c, s.pool))
		return
	}
	c.exclude(fleet.CodeMemory, true, memoryCount, c.dep.ID.Runtime, int64(count), int64(limit), c.node.Name, c.dep.Kind)
}

// keptBy names the runtime that keeps what is held of a pool until it ends; ""
// where some of it can be unloaded, or nothing is held.
func keptBy(c *cand, p *poolView) (runtime string) {
	for i := range c.node.Deployments {
		d := &c.node.Deployments[i]
		if d.ID == c.dep.ID || p.heldBy(d.ID) == 0 {
			continue
		}
		if c.node.unloads(d) {
			return ""
		}
		runtime = d.ID.Runtime
	}
	return runtime
}

func never(c *cand, shares []share) bool {
	fits := true
	var whole int64
	for _, s := range shares {
		bytes := max(s.need, s.size)
		whole += bytes
		fits = fits && bytes <= capOf(c.node, s.pool)
	}
	return !fits && whole > largestLimit(c.node)
}

func largestLimit(n *nodeView) (most int64) {
	for i := range n.pools {
		most = max(most, capOf(n, &n.pools[i]))
	}
	return most
}

// largestTotal is what a pool could give if its owner let models have all of it.
func largestTotal(n *nodeView) (most int64) {
	for i := range n.pools {
		most = max(most, n.pools[i].Total-n.pools[i].Margin)
	}
	return most
}

// capOf is the most a pool could ever give: a learned ceiling moves, so where
// learning is on it is the whole pool.
func capOf(n *nodeView, p *poolView) int64 {
	limit := p.Limit
	if n.State.Learning {
		limit = max(limit, p.Total)
	}
	return limit - p.Margin
}
