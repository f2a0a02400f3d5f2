package route

import (
	"slices"

	"bellwether/engine/budget"
	"bellwether/engine/fleet"
)

// poolView is a pool with what is held of it, summed once.
type poolView struct {
	*fleet.Pool
	held      int64 // each deployment once, by its largest claim
	available int64 // free for models now
	unknown   bool  // a holder's size is unknown
	measured  bool  // something is known of the pool at all
}

func poolViews(n *fleet.Node) []poolView {
	views := make([]poolView, len(n.Pools))
	for i := range n.Pools {
		p := &n.Pools[i]
		v := poolView{Pool: p, held: p.Held(), measured: p.Free.Known || p.Limit > 0}
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
		if h := &p.Holders[i]; h.Deployment == id {
			bytes = max(bytes, h.Bytes.V)
		}
	}
	return bytes
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
	c.mem.need = j.ledgerNeed(c)
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
func (j *judge) ledgerNeed(c *cand) int64 {
	size, _ := budget.Size(c.dep)
	if !size.Known {
		return 0
	}
	with := usualContext
	if c.dep.LoadedContext > 0 {
		with = c.dep.LoadedContext
	}
	more := int64(max(0, c.ctx.send-with))
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

// victim is a loaded model that may leave for another.
type victim struct {
	dep  *fleet.Deployment
	used int64 // number of its last choice
}

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
		n.victims = append(n.victims, victim{d, lane.LastUsed})
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
			if h.Deployment == id && (h.Kind == fleet.HoldReserved || h.Kind == fleet.HoldUncertain) {
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
// learned; 0 = unknown), and how many others it has or is about to have.
func (j *judge) maxLoaded(c *cand) (limit, count int) {
	rt := c.node.Runtime(c.dep.ID.Runtime)
	if rt == nil {
		return 0, 0
	}
	if limit = rt.MaxLoaded; limit == 0 {
		limit = int(j.v.Evidence.MaxLoaded(c.node.Node.Node, rt.Name).V)
	}
	if limit == 0 {
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

// chooseVictims takes victims in order while something is missing that they
// can give, then puts back those that turned out not to be needed. What is
// missing still, when all that could help have gone, is returned.
func (j *judge) chooseVictims(c *cand, shares []share, missing shortage) ([]fleet.DeploymentID, shortage) {
	var taken []*fleet.Deployment
	for _, v := range j.victimsOf(c.node) {
		if missing.none() {
			break
		}
		if v.dep.ID == c.dep.ID || !gives(c, v.dep, shares, &missing) {
			continue
		}
		take(c, v.dep, shares, &missing, 1)
		taken = append(taken, v.dep)
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
	for i, d := range taken {
		ids[i] = d.ID
	}
	return ids, shortage{}
}

// gives reports whether a victim's leaving helps with anything missing.
func gives(c *cand, d *fleet.Deployment, shares []share, missing *shortage) bool {
	if missing.places > 0 && d.ID.Runtime == c.dep.ID.Runtime {
		return true
	}
	for i, s := range shares {
		if missing.free[i] > 0 && freed(c.node, d, s.pool) > 0 || missing.ledger[i] > 0 && s.pool.heldBy(d.ID) > 0 {
			return true
		}
	}
	return false
}

func take(c *cand, d *fleet.Deployment, shares []share, missing *shortage, sign int64) {
	for i, s := range shares {
		missing.free[i] -= sign * freed(c.node, d, s.pool)
		missing.ledger[i] -= sign * s.pool.heldBy(d.ID)
	}
	if d.ID.Runtime == c.dep.ID.Runtime {
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

// Kinds of the memory exclusion: its first operand.
const (
	memoryNow   = "now"   // others hold it
	memoryNever = "never" // no pool of the node could ever hold it
	memoryCount = "count" // the runtime keeps no more models
)

// excludeMemory says what is missing. Waiting cures it unless even an empty
// pool could not hold the model.
func (j *judge) excludeMemory(c *cand, shares []share, short *shortage, limit, count int) {
	for i, s := range shares {
		if short.bytes(i) <= 0 {
			continue
		}
		if never(c, shares) {
			c.exclude(fleet.CodeMemory, false, memoryNever, c.dep.ID.Model, max(s.need, s.size), largestLimit(c.node), c.node.Name)
			return
		}
		c.exclude(fleet.CodeMemory, true, memoryNow, c.dep.ID.Model, max(s.need, s.size), max(0, max(s.need, s.size)-short.bytes(i)), c.node.Name, s.pool.Name)
		return
	}
	c.exclude(fleet.CodeMemory, true, memoryCount, c.dep.ID.Runtime, int64(count), int64(limit), c.node.Name)
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

// capOf is the most a pool could ever give: a learned ceiling moves, so where
// learning is on it is the whole pool.
func capOf(n *nodeView, p *poolView) int64 {
	limit := p.Limit
	if n.State.Learning {
		limit = max(limit, p.Total)
	}
	return limit - p.Margin
}
