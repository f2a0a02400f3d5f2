package main

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"bellwether/engine/evidence"
	"bellwether/engine/fleet"
)

// How published scores become priors. Each metric has its own scale, so a
// score means nothing by itself; what all models have in common is a size, and
// what size is worth on a metric can be fitted. A model's ability is therefore
// said as a size: an ability of log2(1+32) is what an average model of 32
// billion parameters can do.
//
//	score of model m on metric k = a_k + b_k * ability_m + noise of sd s_k
//	ability_m = expected_m + deviation of sd t
//
// Abilities, lines and t are estimated together (expectation maximisation) from
// all metrics of a task, which the models they share link. At first over all
// tasks, where a model's size says what to expect; then task by task, where its
// ability over all tasks does. So a model with many results goes where they put
// it, and one with a single result stays near what is expected of it. Outliers
// weigh little (Student's t, 4 degrees). What a metric of few models leaves
// open about its line is filled by what is usual: usualSlope and usualNoise,
// weighing as much as usualWeight models.

const (
	leastModels   = 5   // a metric of fewer models cannot be placed
	leastCorrel   = 0.3 // a metric that does not rise with ability says nothing of it
	rounds        = 300
	outlierDegree = 4.0
	usualSlope    = 0.35 // on the even scale, a doubling of size
	usualNoise    = 0.35
	usualWeight   = 6
	leastDeviates = 1.0 // t, in doublings of size
	mostDeviates  = 1.3
)

// metricFit is one metric's line.
type metricFit struct {
	name        string
	scores      []score // one a model
	a, b, s     float64 // the line, and the sd of what is off it
	correlation float64
	dropped     string // why it does not count
}

// taskFit is a task's metrics and models.
type taskFit struct {
	metrics  []*metricFit
	expected map[string]float64
	ability  map[string]float64
	variance map[string]float64
	deviates float64
}

// sizeOf is log2(1 + parameters in billions). What a mixture of experts can do
// lies between what its active and its total parameters could: their geometric
// mean is taken.
func sizeOf(e *evidence.Entry) float64 {
	size := e.Parameters
	if e.Active > 0 {
		size = math.Sqrt(e.Active * e.Parameters)
	}
	return math.Log2(1 + size/1e9)
}

// onLine turns a score into one that grows evenly with ability: shares near 0
// or 1 are stretched, ratings and signed scores are even already. One step is
// about as much on each.
func onLine(metric string, v float64) float64 {
	switch {
	case strings.Contains(metric, "Elo"):
		return v / 100
	case strings.Contains(metric, "WB_score"):
		return v / 30
	}
	share := min(max(v/100, 0.01), 0.99)
	return math.Log(share / (1 - share))
}

// qualityOf maps an ability to the scale of the guess by size, 0.5 + 0.08 x
// ability, which stops at 0.75: above that it bends towards 0.95, since what is
// known to be better than an average 8B model is not to be cut off.
func qualityOf(ability float64) float64 {
	const guess, per, most, least = 0.5, 0.08, 0.95, 0.2
	const knee = 0.75
	q := guess + per*ability
	if q > knee {
		q = knee + (most-knee)*(1-math.Exp(-(q-knee)/(most-knee)))
	}
	return math.Round(100*max(q, least)) / 100
}

// fitTask estimates a task's abilities. expected gives what is expected of
// models that it knows, instead of their size; it may be nil.
func fitTask(scores []score, expected map[string]float64) *taskFit {
	f := &taskFit{expected: map[string]float64{}, ability: map[string]float64{}, variance: map[string]float64{}, deviates: mostDeviates}
	f.metrics = metricsOf(scores)
	for again := true; again; {
		f.reset(expected)
		for range rounds {
			for _, m := range f.metrics {
				f.place(m)
			}
			f.estimate()
		}
		again = f.dropWorst()
	}
	return f
}

// metricsOf gathers the scores by metric, one a model: the median where one
// was measured more than once.
func metricsOf(scores []score) []*metricFit {
	by := map[string]map[string][]score{}
	for _, s := range scores {
		if by[s.metric] == nil {
			by[s.metric] = map[string][]score{}
		}
		by[s.metric][s.model] = append(by[s.metric][s.model], s)
	}
	var out []*metricFit
	for _, name := range slices.Sorted(maps.Keys(by)) {
		m := &metricFit{name: name}
		for _, model := range slices.Sorted(maps.Keys(by[name])) {
			m.scores = append(m.scores, middle(by[name][model]))
		}
		if len(m.scores) < leastModels {
			m.dropped = fmt.Sprintf("%d models only", len(m.scores))
		}
		out = append(out, m)
	}
	return out
}

func middle(of []score) score {
	slices.SortFunc(of, func(a, b score) int {
		switch {
		case a.value < b.value:
			return -1
		case a.value > b.value:
			return 1
		}
		return strings.Compare(a.date, b.date)
	})
	m := of[len(of)/2]
	m.value = (of[(len(of)-1)/2].value + m.value) / 2
	return m
}

// reset begins with what is expected.
func (f *taskFit) reset(expected map[string]float64) {
	clear(f.expected)
	clear(f.ability)
	clear(f.variance)
	for _, m := range f.metrics {
		m.b, m.s = 0, usualNoise
		for _, s := range m.scores {
			if m.dropped != "" {
				continue
			}
			at, ok := expected[s.model]
			if !ok {
				at = s.size
			}
			f.expected[s.model], f.ability[s.model] = at, at
		}
	}
}

// weight is how much an outlying score still counts.
func (f *taskFit) weight(m *metricFit, s *score) float64 {
	if m.b == 0 {
		return 1
	}
	off := s.value - m.a - m.b*f.ability[s.model]
	return (outlierDegree + 1) / (outlierDegree + (off*off+m.b*m.b*f.variance[s.model])/(m.s*m.s))
}

// place fits a metric's line to the abilities.
func (f *taskFit) place(m *metricFit) {
	if m.dropped != "" {
		return
	}
	var n, sx, sy, sv float64
	weights := make([]float64, len(m.scores))
	for i := range m.scores {
		s := &m.scores[i]
		w := f.weight(m, s)
		weights[i] = w
		n, sx, sy, sv = n+w, sx+w*f.ability[s.model], sy+w*s.value, sv+w*f.variance[s.model]
	}
	mx, my := sx/n, sy/n
	var xx, xy, yy float64
	for i := range m.scores {
		s := &m.scores[i]
		dx, dy, w := f.ability[s.model]-mx, s.value-my, weights[i]
		xx, xy, yy = xx+w*dx*dx, xy+w*dx*dy, yy+w*dy*dy
	}
	const usual = usualWeight * 2.0 // as if by models of an ordinary spread of sizes
	m.b = (xy + usual*usualSlope) / (xx + sv + usual)
	m.a = my - m.b*mx
	var rest float64
	for i := range m.scores {
		s := &m.scores[i]
		off := s.value - m.a - m.b*f.ability[s.model]
		rest += weights[i] * (off*off + m.b*m.b*f.variance[s.model])
	}
	m.s = math.Sqrt((rest + usualWeight*usualNoise*usualNoise) / (n + usualWeight))
	m.correlation = xy / math.Sqrt(max(xx*yy, 1e-12))
}

// estimate finds each model's ability given the lines.
func (f *taskFit) estimate() {
	type sum struct{ precision, pull float64 }
	sums := map[string]sum{}
	for _, m := range f.metrics {
		if m.dropped != "" {
			continue
		}
		for i := range m.scores {
			s := &m.scores[i]
			w := f.weight(m, s) * m.b / (m.s * m.s)
			at := sums[s.model]
			sums[s.model] = sum{at.precision + w*m.b, at.pull + w*(s.value-m.a)}
		}
	}
	var square float64
	t := 1 / (f.deviates * f.deviates)
	for _, model := range slices.Sorted(maps.Keys(sums)) {
		at := sums[model]
		f.variance[model] = 1 / (t + at.precision)
		f.ability[model] = (t*f.expected[model] + at.pull) * f.variance[model]
		off := f.ability[model] - f.expected[model]
		square += off*off + f.variance[model]
	}
	if len(sums) > 0 {
		f.deviates = min(max(math.Sqrt(square/float64(len(sums))), leastDeviates), mostDeviates)
	}
}

// dropWorst leaves out the metric that agrees least with the others, if it does
// not agree enough, and reports whether it did.
func (f *taskFit) dropWorst() bool {
	var worst *metricFit
	for _, m := range f.metrics {
		if m.dropped == "" && m.correlation < leastCorrel && (worst == nil || m.correlation < worst.correlation) {
			worst = m
		}
	}
	if worst == nil {
		return false
	}
	worst.dropped = fmt.Sprintf("correlation %.2f", worst.correlation)
	return true
}

// priors returns each model's quality and where it comes from.
func (f *taskFit) priors() map[string]fleet.Prior {
	sources, latest := map[string]map[string]bool{}, map[string]string{}
	for _, m := range f.metrics {
		if m.dropped != "" {
			continue
		}
		for _, s := range m.scores {
			if sources[s.model] == nil {
				sources[s.model] = map[string]bool{}
			}
			sources[s.model][s.source] = true
			latest[s.model] = max(latest[s.model], s.date)
		}
	}
	out := map[string]fleet.Prior{}
	for model, from := range sources {
		out[model] = fleet.Prior{
			Value:      qualityOf(f.ability[model]),
			Provenance: strings.Join(slices.Sorted(maps.Keys(from)), ",") + " " + latest[model],
		}
	}
	return out
}

// report says which metrics counted.
func (f *taskFit) report(w io.Writer, task string) {
	if len(f.metrics) == 0 {
		return
	}
	fmt.Fprintf(w, "%s: %d models, deviating from what is expected by %.2f doublings\n", task, len(f.expected), f.deviates)
	for _, m := range f.metrics {
		if m.dropped != "" {
			fmt.Fprintf(w, "  left out  %s: %s\n", m.name, m.dropped)
			continue
		}
		fmt.Fprintf(w, "  %8d  %s: correlation %.2f, slope %.2f, noise %.2f\n", len(m.scores), m.name, m.correlation, m.b, m.s)
	}
}
