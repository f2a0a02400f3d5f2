package budget

import (
	"slices"

	"bellwether/engine/fleet"
)

// Labels of a size: how it is known.
const (
	Measured = "measured" // as the runtime reported it while loaded
	Estimate = "estimate" // weights x 1.15
	Unknown  = "unknown"  // neither is known; see Ledger's policy
)

// Share is what a deployment takes of one pool.
type Share struct {
	Pool  string               `json:"pool"`
	Bytes fleet.Reading[int64] `json:"bytes"`
}

// Need is the memory a deployment takes when loaded, split over pools, and how
// its size is known. A Need is never changed once made.
type Need struct {
	Shares []Share `json:"shares"`
	Label  string  `json:"label"`
}

// Size is the ledger's idea of a deployment's size (routing.md 10): measured
// where it was ever seen loaded, else weights x 1.15, else unknown.
func Size(d *fleet.Deployment) (bytes fleet.Reading[int64], label string) {
	switch {
	case d.ResidentBytes > 0:
		return fleet.Know(d.ResidentBytes), Measured
	case d.WeightsBytes > 0:
		return fleet.Know(estimate(d.WeightsBytes)), Estimate
	default:
		return fleet.Reading[int64]{}, Unknown
	}
}

// estimate is weights x 1.15, rounded up, in whole numbers: 1.15 in floating
// point would make equal sizes differ in their last byte.
func estimate(weights int64) int64 { return weights + (weights*15+99)/100 }

// NeedOf splits a deployment's size over its node's pools: the part the
// runtime reports as VRAM goes to the runtime's main pool and the rest to
// system RAM, where those are two pools; else all of it to the main pool.
func NeedOf(d *fleet.Deployment, rt *fleet.RuntimeState, pools []fleet.Pool) Need {
	bytes, label := Size(d)
	home := ""
	if rt != nil {
		home = rt.Pool
	}
	if home == "" && len(pools) > 0 {
		home = pools[0].Name
	}
	rest := spillPool(home, pools)
	if label != Measured || rest == "" || d.ResidentVRAM <= 0 || d.ResidentVRAM >= d.ResidentBytes {
		return Need{Shares: []Share{{home, bytes}}, Label: label}
	}
	return Need{Label: label, Shares: []Share{
		{home, fleet.Know(d.ResidentVRAM)},
		{rest, fleet.Know(d.ResidentBytes - d.ResidentVRAM)},
	}}
}

// spillPool names the system memory beside a main pool of discrete VRAM, ""
// when there is none.
func spillPool(home string, pools []fleet.Pool) string {
	i := slices.IndexFunc(pools, func(p fleet.Pool) bool { return p.Name == home })
	if i < 0 || pools[i].Kind != fleet.PoolVRAM {
		return ""
	}
	for _, p := range pools {
		if p.Kind == fleet.PoolRAM {
			return p.Name
		}
	}
	return ""
}

// Resized returns the need with another known total, split in the same
// proportions: a load with another context takes another size.
func (n Need) Resized(total int64) Need {
	if total <= 0 || len(n.Shares) == 0 {
		return n
	}
	old, known := n.Total()
	out := Need{Shares: slices.Clone(n.Shares), Label: n.Label}
	if !known || old <= 0 {
		for i := range out.Shares {
			out.Shares[i].Bytes = fleet.Know[int64](0)
		}
		out.Shares[0].Bytes = fleet.Know(total)
		out.Label = Estimate
		return out
	}
	if total != old {
		out.Label = Estimate
	}
	left := total
	for i := len(out.Shares) - 1; i > 0; i-- {
		part := int64(float64(total) * float64(n.Shares[i].Bytes.V) / float64(old))
		out.Shares[i].Bytes = fleet.Know(part)
		left -= part
	}
	out.Shares[0].Bytes = fleet.Know(left)
	return out
}

// Total sums the shares; known is false when one of them is unknown.
func (n Need) Total() (bytes int64, known bool) {
	known = true
	for _, s := range n.Shares {
		bytes += s.Bytes.V
		known = known && s.Bytes.Known
	}
	return bytes, known
}

// in returns the need's share of a pool; ok is false when it takes none of it.
func (n Need) in(pool string) (bytes fleet.Reading[int64], ok bool) {
	for _, s := range n.Shares {
		if s.Pool == pool {
			return s.Bytes, true
		}
	}
	return bytes, false
}

func (n Need) none() bool { return len(n.Shares) == 0 }
