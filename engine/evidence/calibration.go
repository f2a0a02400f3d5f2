package evidence

import "bellwether/engine/fleet"

// What a count can teach of estimates, and how far one is believed without any.
const (
	minEstimate      = 50 // tokens; shorter prompts measure the template
	leastCalibration = 0.25
	mostCalibration  = 4.0
	fewCounts        = 5   // counts of a kind of text are too few to bound the next one
	estimateError    = 0.5 // of an estimate, what a text may take in truth: indentation and long words are cheap
)

// Ratio is what a model made of estimates: counted tokens over estimated ones.
// Texts differ (base64 takes three times the tokens of prose of its length), so
// ratios are kept by kind of text.
type Ratio struct {
	V     float64 `json:"v"`     // the median: one odd text moves it little
	Least float64 `json:"least"` // the smallest
	N     int     `json:"n"`     // counts behind them, 0 = nothing is known
}

// Factor is what estimates are multiplied by; 1 while nothing is known.
func (r Ratio) Factor() float64 {
	if r.N == 0 {
		return 1
	}
	return r.V
}

// RatioOf returns the ratio of a kind of text, else that of all texts.
func (h *Habits) RatioOf(kind string) Ratio { return forTask(h.Calibration, kind) }

// LeastFactor is the smallest factor that is not ruled out for a text of that
// kind: a request is refused for its length only by this one, since what is
// refused is never counted, and a wrong factor would stay for ever.
//
//  1. What the counts of its kind have shown, once there are a few.
//  2. Else the error of an estimate, or less where any text took less.
//  3. Never more than the estimate itself: counts of odd texts, all of one kind,
//     say nothing against the next one.
func (h *Habits) LeastFactor(kind string) float64 {
	if own := h.Calibration[kind]; own.N >= fewCounts { // 1, 3
		return min(1, own.Least)
	}
	if all := h.Calibration[""]; all.N > 0 { // 2
		return min(estimateError, all.Least)
	}
	return estimateError
}

// Calibration returns the factor from our estimate of a prompt to the tokens
// the model counts, over all kinds of text; 1 while nothing was measured.
func (b *Book) Calibration(d *fleet.Deployment) float64 {
	if h := b.Habits(d); h != nil {
		return h.RatioOf("").Factor()
	}
	return 1
}

// ObserveCount learns from a prompt that its runtime counted and refused, which
// is as good a count as that of an answer.
func (l *Ledger) ObserveCount(d *fleet.Deployment, kind string, estimate, counted int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	ha, grown := l.habit(ModelKeyOf(d))
	ha.count(kind, estimate, counted)
	l.publish(nil, ha, grown)
}

// count takes in what a model counted for an estimate.
func (h *habitState) count(kind string, estimate, counted int) {
	if estimate < minEstimate || counted <= 0 {
		return
	}
	ratio := min(max(float64(counted)/float64(estimate), leastCalibration), mostCalibration)
	for _, kind := range tasksOf(kind) {
		if w := taskWindow(h.ratios, kind, keepTokens); w != nil {
			w.add(ratio)
		}
	}
}

func ratios(m map[string]*window) map[string]Ratio {
	if len(m) == 0 {
		return nil
	}
	out := make(map[string]Ratio, len(m))
	for kind, w := range m {
		median := w.quantile(0.5)
		out[kind] = Ratio{median.V, w.quantile(0).V, median.N}
	}
	return out
}
