package measure

import (
	"math"
	"slices"

	"bellwether/engine/fleet"
)

// TaskResult is what an eval found of one model at one task.
type TaskResult struct {
	Deployment fleet.DeploymentID `json:"deployment"`
	Name       string             `json:"name"`
	Task       string             `json:"task"`
	Right      int                `json:"right"`
	Of         int                `json:"of"` // items answered
	// Unanswered items got no answer that could be judged: their model was not
	// reached or failed. They count for neither side, and such a grade is not kept.
	Unanswered int `json:"unanswered,omitempty"`
	Cut        int `json:"cut,omitempty"` // answers that their output limit cut
	// Low and High bound the true share of right answers with 95 % confidence.
	Low     float64      `json:"low"`
	High    float64      `json:"high"`
	Seconds float64      `json:"seconds"`         // median of an answer
	TTFT    float64      `json:"ttft,omitempty"`  // median seconds to first content
	Rate    float64      `json:"rate,omitempty"`  // median output tokens a second
	Prior   *fleet.Prior `json:"prior,omitempty"` // what was thought of it before
	Saved   bool         `json:"saved"`
	Why     string       `json:"why,omitempty"` // why items are unanswered
}

// resultOf sums up the outcomes of a task.
func resultOf(t *Target, task string, outcomes []Outcome, unanswered int, why string) TaskResult {
	r := TaskResult{Deployment: t.Deployment.ID, Name: t.Name(), Task: task, Of: len(outcomes), Unanswered: unanswered, Why: why}
	var took, ttft, rate []float64
	for _, o := range outcomes {
		if o.Right {
			r.Right++
		}
		if o.Cut {
			r.Cut++
		}
		took = append(took, o.Took)
		if o.TTFT > 0 {
			ttft = append(ttft, o.TTFT)
		}
		if o.Rate > 0 {
			rate = append(rate, o.Rate)
		}
	}
	r.Low, r.High = wilson(r.Right, r.Of)
	r.Seconds, r.TTFT, r.Rate = median(took), median(ttft), median(rate)
	for _, key := range []string{task, ""} {
		if p, ok := t.Deployment.Priors[key]; ok {
			r.Prior = &p
			break
		}
	}
	return r
}

// wilson is the 95 % score interval of a share: unlike the usual one it says
// something true of few items and of none or all right.
func wilson(right, of int) (low, high float64) {
	if of == 0 {
		return 0, 1
	}
	const z = 1.959964
	n, p := float64(of), float64(right)/float64(of)
	middle := p + z*z/(2*n)
	half := z * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	scale := 1 + z*z/n
	return max(0, (middle-half)/scale), min(1, (middle+half)/scale)
}

// median of values, 0 of none.
func median(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	v = slices.Sorted(slices.Values(v))
	if n := len(v); n%2 == 0 {
		return (v[n/2-1] + v[n/2]) / 2
	}
	return v[len(v)/2]
}
