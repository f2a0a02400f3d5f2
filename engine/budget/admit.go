package budget

import (
	"cmp"
	"fmt"
	"slices"

	"bellwether/engine/fleet"
)

// Candidate asks to come in.
type Candidate struct {
	Deployment fleet.DeploymentID
	Need       Need
	// Evict names the idle, unpinned victims that leave for it.
	Evict []fleet.DeploymentID
	// MaxLoaded is the most deployments its runtime keeps at once; 0 = unknown.
	MaxLoaded int
}

// Admit says whether the candidate may come in now; nil = yes. Nothing changes.
//
//  1. One that is being unloaded may not; nor with a victim that is busy,
//     pinned or already leaving for another.
//  2. One that adds nothing to any pool is in already: a ceiling that sank
//     below what is loaded does not stop what is loaded.
//  3. Its runtime must have room for one more model.
//  4. In each of its pools: all others + candidate + margin <= limit.
//     Victims of this candidate are not counted; those of others are, as they
//     are still there.
func (l *Ledger) Admit(c Candidate) *Denial {
	if denial := l.admitMarks(c); denial != nil { // 1
		return denial
	}
	if l.addsNothing(c) { // 2
		return nil
	}
	if denial := l.admitCount(c); denial != nil { // 3
		return denial
	}
	for _, s := range c.Need.Shares { // 4
		if denial := l.admitShare(c, s); denial != nil {
			return denial
		}
	}
	return nil
}

func (l *Ledger) admitMarks(c Candidate) *Denial {
	if l.Leaving(c.Deployment) {
		return &Denial{Kind: DenyLeaving, Deployment: c.Deployment}
	}
	for _, id := range c.Evict {
		e := l.entries[id]
		_, pinned := l.pinned[id]
		if pinned || id == c.Deployment || e != nil && (e.busy() || e.leaving) {
			return &Denial{Kind: DenyVictim, Deployment: id}
		}
	}
	return nil
}

func (l *Ledger) addsNothing(c Candidate) bool {
	e := l.entries[c.Deployment]
	if e == nil {
		return false
	}
	for _, s := range c.Need.Shares {
		own, in := e.counted(s.Pool)
		if !in || s.Bytes.V > own.V || l.opts.RejectUnknown && !own.Known {
			return false
		}
	}
	return true
}

func (l *Ledger) admitCount(c Candidate) *Denial {
	if c.MaxLoaded <= 0 || l.entries[c.Deployment] != nil {
		return nil
	}
	n := 0
	for id := range l.entries {
		if id.Runtime == c.Deployment.Runtime && id.Node == c.Deployment.Node && !slices.Contains(c.Evict, id) {
			n++
		}
	}
	if n+1 <= c.MaxLoaded {
		return nil
	}
	return &Denial{Kind: DenyMaxLoaded, Deployment: c.Deployment, Loaded: n, MaxLoaded: c.MaxLoaded}
}

func (l *Ledger) admitShare(c Candidate, s Share) *Denial {
	var own fleet.Reading[int64]
	if e := l.entries[c.Deployment]; e != nil {
		own, _ = e.counted(s.Pool)
	}
	pool := l.pool(s.Pool)
	if pool == nil {
		if l.opts.RejectUnknown {
			return &Denial{Kind: DenyUnknown, Deployment: c.Deployment, Pool: s.Pool}
		}
		return nil
	}
	if !s.Bytes.Known && !own.Known && l.opts.RejectUnknown {
		return &Denial{Kind: DenyUnknown, Deployment: c.Deployment, Pool: s.Pool, Limit: pool.Limit}
	}
	others, unknown := l.othersIn(s.Pool, c)
	if unknown != nil && l.opts.RejectUnknown {
		return &Denial{Kind: DenyUnknown, Deployment: *unknown, Pool: s.Pool, Limit: pool.Limit}
	}
	need := max(own.V, s.Bytes.V)
	if need == own.V && own.Known || others+need+pool.Margin <= pool.Limit {
		return nil
	}
	return &Denial{Kind: DenyMemory, Deployment: c.Deployment, Pool: s.Pool,
		Need: need, Held: others, Margin: pool.Margin, Limit: pool.Limit}
}

// othersIn sums what all but the candidate and its victims hold of a pool, and
// names one (the first by id) whose size is unknown, nil if none is.
func (l *Ledger) othersIn(pool string, c Candidate) (sum int64, unknown *fleet.DeploymentID) {
	for id, e := range l.entries {
		if id == c.Deployment || slices.Contains(c.Evict, id) {
			continue
		}
		bytes, in := e.counted(pool)
		if !in {
			continue
		}
		sum += bytes.V
		if !bytes.Known && (unknown == nil || id.Compare(*unknown) < 0) {
			unknown = &id
		}
	}
	return sum, unknown
}

// counted is what the deployment takes of a pool: its largest claim. It is
// unknown only while no claim knows a size; in is false without any claim.
func (e *entry) counted(pool string) (bytes fleet.Reading[int64], in bool) {
	add := func(n Need) {
		b, ok := n.in(pool)
		if !ok {
			return
		}
		in = true
		if b.Known && (!bytes.Known || b.V > bytes.V) {
			bytes = b
		}
	}
	add(e.resident)
	add(e.assumed.need)
	for _, r := range e.reserved {
		add(r.need)
	}
	for _, h := range e.holds {
		add(h.need)
	}
	return bytes, in
}

func (l *Ledger) pool(name string) *fleet.Pool {
	for i := range l.pools {
		if l.pools[i].Name == name {
			return &l.pools[i]
		}
	}
	return nil
}

// DenialKind is the sort of a denial.
type DenialKind string

// Kinds of denial.
const (
	DenyMemory    DenialKind = "memory"     // would go over the pool's limit
	DenyUnknown   DenialKind = "unknown"    // a counted size is unknown and the policy rejects that
	DenyMaxLoaded DenialKind = "max_loaded" // the runtime keeps no more models at once
	DenyVictim    DenialKind = "victim"     // a named victim is busy, pinned or leaving already
	DenyLeaving   DenialKind = "leaving"    // the candidate itself is being unloaded
)

// Denial says why a candidate may not come in, with its numbers. It is an error.
type Denial struct {
	Kind       DenialKind         `json:"kind"`
	Deployment fleet.DeploymentID `json:"deployment"` // the candidate; the victim; the one of unknown size
	// Of the pool that is too small, bytes: what the candidate takes in all and
	// what the others hold.
	Pool   string `json:"pool,omitempty"`
	Need   int64  `json:"need,omitempty"`
	Held   int64  `json:"held,omitempty"`
	Margin int64  `json:"margin,omitempty"`
	Limit  int64  `json:"limit,omitempty"`

	Loaded    int `json:"loaded,omitempty"`     // deployments the runtime has
	MaxLoaded int `json:"max_loaded,omitempty"` // and the most it keeps
}

// Short is how many bytes are missing, 0 when memory is not the reason.
func (d *Denial) Short() int64 {
	if d.Kind != DenyMemory {
		return 0
	}
	return max(0, d.Held+d.Need+d.Margin-d.Limit)
}

// Hopeless reports whether the candidate could not come in even alone: waiting
// for others to leave cures nothing.
func (d *Denial) Hopeless() bool {
	return d.Kind == DenyMemory && d.Need+d.Margin > d.Limit
}

func (d *Denial) Error() string {
	switch d.Kind {
	case DenyMemory:
		return fmt.Sprintf("%s needs %s of pool %s, where %s of %s are held and %s are kept free: %s short",
			d.Deployment.Model, fleet.Bytes(d.Need), d.Pool, fleet.Bytes(d.Held), fleet.Bytes(d.Limit), fleet.Bytes(d.Margin), fleet.Bytes(d.Short()))
	case DenyUnknown:
		return fmt.Sprintf("the size of %s is unknown and unknown_memory_policy is reject", d.Deployment.Model)
	case DenyMaxLoaded:
		return fmt.Sprintf("runtime %s has %d models in memory and keeps %d at most",
			d.Deployment.Runtime, d.Loaded, d.MaxLoaded)
	case DenyVictim:
		return fmt.Sprintf("%s was to leave for it, but is busy, pinned or leaving for another", d.Deployment.Model)
	case DenyLeaving:
		return d.Deployment.Model + " is being unloaded"
	}
	return cmp.Or(string(d.Kind), "not admitted")
}
