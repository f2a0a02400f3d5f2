package route

import (
	"bellwether/engine/evidence"
	"bellwether/engine/fleet"
)

// tokensFor is what the request needs of one deployment, and what its answers
// usually take where that is known (routing.md 2).
func (j *judge) tokensFor(c *cand) Tokens {
	n, d, habits := &j.q.Needs, c.dep, c.habits
	t := n.Tokens
	t.Input = j.inputFor(c)
	if n.Role == RoleEmbedding || n.LoadOnly {
		return Tokens{Input: t.Input}
	}
	if f := habits.OutputAt(n.PrimaryTask); f.N >= fewAnswers {
		t.Output = atMost(n.OutputAsked, int(f.V))
	}
	if n.ThinkOff || d.Can(fleet.CapThinking).Support != fleet.Yes {
		t.Reasoning = 0
		return t
	}
	if f := habits.ReasoningAt(n.PrimaryTask); f.N >= fewAnswers {
		t.Reasoning = int(f.V)
	}
	t.Reasoning = under(n.OutputAsked, t.Output, t.Reasoning)
	return t
}

// inputFor is how long the prompt is for the candidate's model:
//
//  1. As its runtime counted it, if it has.
//  2. Else our estimate times what the model was seen to make of such estimates.
//     That may be wrong: sure is only what no count has ruled out (least).
func (j *judge) inputFor(c *cand) int {
	q := j.q
	if q.Counted > 0 && q.CountedBy == c.dep.Identity() { // 1
		c.least, c.counted = q.Counted, true
		return q.Counted
	}
	estimate := float64(q.Needs.Tokens.Input) // 2
	c.least = ceil(estimate * c.habits.LeastFactor(q.Needs.Text))
	r := c.habits.RatioOf(q.Needs.Text)
	if r.N == 0 {
		return q.Needs.Tokens.Input
	}
	c.Factor = r.V
	return ceil(estimate * r.V)
}

// fewAnswers is how many answers are too few to speak of a habit.
const fewAnswers = 5

func atMost(asked, n int) int {
	if asked > 0 {
		return min(asked, n)
	}
	return n
}

// speed is how fast a deployment is, measured or guessed. Tokens a second and
// seconds.
type speed struct {
	prefill, decode float64
	load            float64
	p75             float64
	samples         int // behind p75; below enoughSamples it is guessed
}

// Guesses while nothing is measured.
const (
	enoughSamples  = 20         // validated durations before their p75 is believed
	usualTokens    = 100        // of an answer, for the guessed p75
	diskRate       = 2e9        // bytes a second a load reads at
	weightShare    = 0.85       // of the memory bandwidth that reading weights reaches
	tokenOverhead  = 0.003      // seconds a token beside reading weights
	prefillPerRate = 5          // prompts are read at least so much faster than answers are written
	slowest        = 1.0        // tokens a second, at least
	longestLoad    = 600.0      // seconds, at most
	unknownWeights = int64(4e9) // bytes, for loads and rates of models of unknown size
)

func speedOf(n *fleet.Node, d *fleet.Deployment, known *evidence.Speeds) speed {
	s := speed{decode: coldDecode(n, d), samples: known.Seconds.N}
	if known.Decode.N >= evidence.EnoughSpeeds {
		s.decode = known.Decode.V
	}
	s.prefill = max(slowest, s.decode*prefillPerRate)
	if known.Prefill.N >= evidence.EnoughSpeeds {
		s.prefill = known.Prefill.V
	}
	s.load = float64(sizeOr(d, unknownWeights)) / diskRate
	if known.Load.Known() {
		s.load = known.Load.V
	}
	s.p75 = coldSeconds(n, d)
	if s.samples >= enoughSamples {
		s.p75 = known.Seconds.V
	}
	return s
}

// learn looks up what was measured of the candidate, once: each lookup hashes
// the whole fingerprint.
func (c *cand) learn(b *evidence.Book) {
	if c.speeds = b.Speeds(c.dep); c.speeds == nil {
		c.speeds = &noSpeeds
	}
	if c.habits = b.Habits(c.dep); c.habits == nil {
		c.habits = &noHabits
	}
}

var (
	noSpeeds evidence.Speeds
	noHabits evidence.Habits
)

// coldDecode guesses tokens a second from reading the active weights once a
// token, without a known bandwidth from their size alone.
func coldDecode(n *fleet.Node, d *fleet.Deployment) float64 {
	active := float64(d.WeightsBytes)
	if active == 0 {
		active = float64(unknownWeights)
	}
	if d.ActiveParams > 0 && d.Parameters > d.ActiveParams {
		active *= d.ActiveParams / d.Parameters
	}
	bw := n.Hardware.BandwidthGBs
	if !bw.Known || bw.V <= 0 {
		return max(slowest, usualTokens/max(1, active/gb))
	}
	return max(slowest, 1/(active/1e9/(weightShare*bw.V)+tokenOverhead))
}

// coldSeconds guesses the p75 of an answer (routing.md 4, signal 4).
func coldSeconds(n *fleet.Node, d *fleet.Deployment) float64 {
	weights := float64(d.WeightsBytes) / gb
	tps := max(1, usualTokens/max(1, weights))
	if bw := n.Hardware.BandwidthGBs; bw.Known && bw.V > 0 {
		tps = max(10, bw.V*1.2/max(1, weights/10))
	}
	return usualTokens / tps
}

func sizeOr(d *fleet.Deployment, other int64) int64 {
	if s := d.Size(); s > 0 {
		return s
	}
	return other
}
