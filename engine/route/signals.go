package route

import (
	"math"
	"slices"
	"strconv"

	"bellwether/engine/fleet"
)

// score fills in the eight signals of a survivor (routing.md 4). This is the
// scoring "signals", the only one so far; "predicted" takes its place here, with
// terms of its own that sum the same way.
func (j *judge) score(c *cand) {
	s := &c.Signals
	s.Warmth = j.warmth(c)
	s.MemoryFit = j.memoryFit(c)
	s.QueueDepth = j.queueDepth(c)
	s.Wait = 0 - min(j.p.Score.WaitMaxPenalty, j.waitSeconds(c)/10) // no negative zero
	s.RoleAffinity = j.roleAffinity(c)
	if c.node.State.Learning {
		s.Availability = c.node.State.Availability * j.p.Score.AvailabilityMax
	}
	s.ContextFit = j.contextFit(c)
	s.SessionAffinity = j.sessionAffinity(c)
	c.NodeScore = s.Total()
	c.points = int64(math.Round(c.NodeScore * 1e6))
	c.Evidence = "p75:heuristic"
	if c.speed.samples >= enoughSamples {
		c.Evidence = "p75:measured:" + strconv.Itoa(c.speed.samples)
	}
	if c.node.Liveness == fleet.Late {
		c.note("late")
	}
	if c.ctx.reload {
		c.note("reload")
	}
	if c.state == fleet.Loading {
		c.note("loading")
	}
	if c.dep.Degraded != "" {
		c.note("degraded")
	}
}

// warmth is signal 1.
func (j *judge) warmth(c *cand) float64 {
	w := &j.p.Score
	switch {
	case c.state == fleet.Loaded:
		return w.ModelHot
	case c.state == fleet.Loading:
		return w.ModelLoading
	case !c.dep.UnloadedAt.IsZero() && j.v.Now.Sub(c.dep.UnloadedAt) <= w.WarmWindow:
		return w.ModelWarm
	default:
		return w.ModelCold
	}
}

// memoryFit is signal 2. A plan that evicts fits just so, whatever leaves:
// else less free memory could score more.
func (j *judge) memoryFit(c *cand) float64 {
	w := &j.p.Score
	tiers := w.FitTiers
	switch {
	case c.inMemory():
		return w.MemoryFitMax
	case len(tiers) == 0:
		return 0
	case c.mem.unknown || len(c.mem.evict) > 0:
		return min(tiers[len(tiers)-1].Points, w.MemoryFitMax)
	}
	last := len(tiers) - 1
	for _, t := range tiers[:last] {
		if c.mem.ratio > t.Ratio {
			return min(t.Points, w.MemoryFitMax)
		}
	}
	if c.mem.ratio >= tiers[last].Ratio {
		return min(tiers[last].Points, w.MemoryFitMax)
	}
	return 0
}

// queueDepth is signal 3.
func (j *judge) queueDepth(c *cand) float64 {
	w := &j.p.Score
	depth := float64(c.Depth)
	if bw := c.node.Hardware.BandwidthGBs; w.BandwidthNormalize && j.median > 0 && bw.Known {
		depth /= min(max(bw.V/j.median, 0.25), 4)
	}
	return 0 - min(w.QueueDepthMaxPenalty, w.QueueDepthPer*depth)
}

// waitSeconds is how long the request is expected to wait there.
func (j *judge) waitSeconds(c *cand) float64 {
	wait := float64(c.Depth) * c.speed.p75
	if c.state == fleet.Loading {
		wait += c.lane.LoadRemaining.Seconds()
	}
	return wait
}

// roleAffinity is signal 5: big models belong on machines with bandwidth, and
// small ones leave those free. A machine's brand never enters.
func (j *judge) roleAffinity(c *cand) float64 {
	w := &j.p.Score
	weights := float64(c.dep.WeightsBytes) / gb
	if c.dep.WeightsBytes == 0 {
		weights = float64(c.dep.Size()) / gb
	}
	large := weights > w.LargeGB
	small := weights < w.SmallGB && weights > 0 // unknown is neither
	if bw := c.node.Hardware.BandwidthGBs; bw.Known && bw.V > 0 {
		b := min(w.RoleAffinityMax, 5+bw.V/40)
		switch {
		case large:
			return b
		case small:
			return max(3, 18-0.6*b)
		default:
			return 0.6 * b
		}
	}
	machine := float64(c.node.Hardware.MemoryBytes) / gb
	switch {
	case large && machine >= 128:
		return 15
	case large && machine >= 32:
		return 5
	case large:
		return 0
	case small && machine <= 32:
		return 15
	case small && machine <= 128:
		return 8
	case small:
		return 3
	default:
		return 5
	}
}

// contextFit is signal 7, for a loaded model whose window per slot is known. A
// window that must be changed is one that is too small.
func (j *judge) contextFit(c *cand) float64 {
	most := j.p.Score.ContextFitMax
	if c.state != fleet.Loaded || c.dep.LoadedContext <= 0 {
		return 0
	}
	if c.ctx.reload {
		return -most
	}
	need := c.Tokens.Input + c.Tokens.Output
	if need <= 0 {
		return most
	}
	switch room := float64(c.dep.LoadedContext) / float64(need); {
	case room < 1:
		return -most
	case room < 1.5:
		return 0.2 * most
	case room < 3:
		return 0.5 * most
	case room < 8:
		return 0.8 * most
	default:
		return most
	}
}

// sessionAffinity is signal 8: where the conversation's prefix is in the cache,
// unless that node has fallen behind. Another runtime of that node has another
// cache.
func (j *judge) sessionAffinity(c *cand) float64 {
	key := j.q.Needs.Session
	if key == "" {
		return 0
	}
	pin, ok := j.v.Pins[key]
	if !ok || pin.Deployment.Node != c.dep.ID.Node || pin.Deployment.Runtime != c.dep.ID.Runtime || j.v.Now.Sub(pin.At) > j.p.PinTTL {
		return 0
	}
	return j.p.Score.SessionMax / (1 + float64(c.Depth)/2)
}

// medianBandwidth is the middle of the known bandwidths, the mean of the two
// middle ones of an even number; 0 = none is known.
func medianBandwidth(f *fleet.Snapshot) float64 {
	var all []float64
	for i := range f.Nodes {
		if bw := f.Nodes[i].Hardware.BandwidthGBs; bw.Known && bw.V > 0 {
			all = append(all, bw.V)
		}
	}
	slices.Sort(all)
	n := len(all)
	switch {
	case n == 0:
		return 0
	case n%2 == 1:
		return all[n/2]
	default:
		return (all[n/2-1] + all[n/2]) / 2
	}
}
