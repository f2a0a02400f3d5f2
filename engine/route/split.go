package route

import "bellwether/engine/fleet"

// How batches of embeddings are split. A part costs a round trip and a place in
// a lane, and runtimes work through a batch faster than through its pieces, so
// parts are few and large: no batch of an ordinary request is split, and the
// 2,048 inputs that clients send at most become 16 parts where 16 places are
// free.
const (
	splitAbove = 64 // inputs; fewer stay whole
	leastPart  = 32 // inputs of a part
	mostParts  = 16
)

// Splittable reports whether a batch of so many inputs may be worth splitting.
func Splittable(inputs int) bool { return inputs > splitAbove }

// Split says into how many parts a batch of so many inputs is worth splitting,
// and which space they all must be of. d is the decision on the whole batch.
// 1 = it stays whole:
//
//  1. It is small.
//  2. There are not two free places: replicas in memory count with their slots,
//     less what runs or waits there. A model is loaded for nobody's parts.
//  3. It asks for a plain name that means several spaces, or may: two deployments
//     of which nobody knows what they are must not share a batch.
func Split(v *View, p *Policy, d *Decision, inputs int) (parts int, space string) {
	if d.Verdict != Serve || !Splittable(inputs) { // 1
		return 1, ""
	}
	places := 0
	for i := range d.Candidates {
		c := &d.Candidates[i]
		dep := deploymentOf(v.Fleet, c.Deployment)
		if dep == nil {
			continue
		}
		of := SpaceOf(dep)
		_, known := dep.KnownIdentity()
		if d.Contract == "" && (space != "" && of != space || !known && len(d.Candidates) > 1) { // 3
			return 1, ""
		}
		space = of
		if c.Loaded && dep.Residency == fleet.Loaded {
			places += max(0, c.Slots-c.Depth)
		}
	}
	if c, _ := p.ContractFor(d.Contract); c != nil && c.Anchor != nil {
		space = c.Anchor.Identity
	}
	return max(1, min(places, inputs/leastPart, mostParts)), space // 2
}

// free reports whether the candidate has its model in memory and a free slot.
func (c *cand) free() bool { return c.inMemory() && c.Depth < c.Slots }

func deploymentOf(f *fleet.Snapshot, id fleet.DeploymentID) *fleet.Deployment {
	n := f.Node(id.Node)
	if n == nil {
		return nil
	}
	return n.Deployment(id)
}

// Cuts divides a batch into parts, in order, of about the same length of text
// and at least one input each. sizes are the bytes of the inputs; the result
// holds where each part ends, the last at len(sizes).
func Cuts(sizes []int, parts int) []int {
	const each = 16 // bytes' worth of work that an empty input is
	total := 0
	for _, s := range sizes {
		total += s + each
	}
	ends := make([]int, 0, parts)
	sum := 0
	for i, s := range sizes {
		sum += s + each
		left := parts - len(ends)
		full := sum*parts >= total*(len(ends)+1)
		if left > 1 && (full || len(sizes)-i-1 == left-1) && len(sizes)-i-1 >= left-1 {
			ends = append(ends, i+1)
		}
	}
	return append(ends, len(sizes))
}
