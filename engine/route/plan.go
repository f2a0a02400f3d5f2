package route

import (
	"time"

	"bellwether/engine/fleet"
)

// deadlineFactor is how much longer than predicted a step may take.
const deadlineFactor = 3

// plan is what serving the request at the chosen candidate takes; limited
// says why its output limit is not the asked one, "" if it is.
func (j *judge) plan(c *cand) (p Plan, limited string) {
	output, note := j.outputLimit(c)
	if note != "" {
		c.note(note)
	}
	p = Plan{
		Load: c.mem.load, Reload: c.ctx.reload, Evict: c.mem.evict,
		Context: c.ctx.send, Output: output, Slots: c.Slots,
		Idle: j.p.StreamIdle, Total: j.timeLeft(),
		PredictedSeconds: c.prefillSeconds() + c.decodeSeconds(c.Tokens.Output+c.Tokens.Reasoning),
	}
	if c.mem.load {
		p.Need = c.mem.need
	}
	if p.Reload {
		p.Slots = 1 // it cannot be loaded again under a running answer
	}
	p.Pace, p.Expected = j.expect(c, output)
	p.FirstContent = min(max(j.p.FirstContent, seconds(deadlineFactor*p.Expected)), j.timeLeft())
	p.Idle = min(p.Idle, p.Total)
	return p, note
}

// expect is how long the first piece of the answer is expected to take; it may
// take three times that, and never less than the setting. An answer in one piece
// comes when it is whole, so its writing is part of it, up to the output limit:
// it is asked of the runtime as its client asked, which is the cheapest way and
// leaves its bytes as they are.
func (j *judge) expect(c *cand, limit int) (pace fleet.Pace, took float64) {
	took = j.loadSeconds(c) + c.prefillSeconds()
	if c.mem.load {
		pace.Load = c.speed.load
	}
	pace.Prefill = c.speed.prefill
	if n := &j.q.Needs; !n.Streaming && n.Role == RoleChat && !n.LoadOnly {
		pace.Decode = c.speed.decode
		took += c.decodeSeconds(c.mostOutput(n, limit))
	}
	return pace, took
}

// Slower is how fast the deployment is at most, when nothing of the answer came
// within a time; nil where that says nothing. So a machine that is slower than
// anybody guessed is given more time with each deadline it misses. What would
// have to be slower than the slowest is more likely to hang, or busy with what
// others ask of it: that teaches nothing, and nobody is waited for without end.
func (p *Plan) Slower(took time.Duration) *fleet.Pace {
	by := took.Seconds() / p.Expected
	if p.Expected <= 0 || by <= 1 {
		return nil
	}
	slower := fleet.Pace{
		Prefill: atLeast(slowest*prefillPerRate, p.Pace.Prefill/by),
		Decode:  atLeast(slowest, p.Pace.Decode/by),
	}
	if load := p.Pace.Load * by; load <= longestLoad {
		slower.Load = load
	}
	if slower == (fleet.Pace{}) {
		return nil
	}
	return &slower
}

// atLeast is a rate, 0 where it is under the least that is believed.
func atLeast(least, rate float64) float64 {
	if rate < least {
		return 0
	}
	return rate
}

// mostOutput is the longest answer possible: the limit we send, else the asked
// one, else what the window leaves, else the estimate.
func (c *cand) mostOutput(n *Requirements, limit int) int {
	switch {
	case limit > 0:
		return limit
	case n.OutputAsked > 0:
		return n.OutputAsked
	case c.ctx.size > c.Tokens.Input:
		return c.ctx.size - c.Tokens.Input
	default:
		return c.Tokens.Output + c.Tokens.Reasoning
	}
}

// loadSeconds is the rest of a load under way, else the load the plan makes,
// else nothing.
func (j *judge) loadSeconds(c *cand) float64 {
	switch {
	case c.state == fleet.Loading:
		if c.lane.LoadRemaining > 0 {
			return c.lane.LoadRemaining.Seconds()
		}
		return c.speed.load
	case c.mem.load:
		return c.speed.load
	default:
		return 0
	}
}

func (c *cand) prefillSeconds() float64 { return float64(c.Tokens.Input) / c.speed.prefill }

func (c *cand) decodeSeconds(tokens int) float64 { return float64(tokens) / c.speed.decode }

// seconds turns a prediction into a duration; what would not fit one is the
// longest there is.
func seconds(s float64) time.Duration {
	const most = 1e9 // about thirty years
	return time.Duration(min(s, most) * float64(time.Second))
}
