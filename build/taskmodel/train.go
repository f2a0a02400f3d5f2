package taskmodel

import (
	"math"
	"strings"
	"sync"

	"bellwether/engine/task"
)

// example is a row as features.
type example struct {
	buckets []uint16
	parts   []part // runs of buckets with one weight
	label   task.Task
	any     bool
	weight  float32
	row     int
	logits  task.Scores // of held-out rows, by the weights that do not know them
}

type part struct {
	n      int
	weight float32
}

func examplesOf(rows []Row) []example {
	out := make([]example, len(rows))
	var f task.Features
	for i := range rows {
		e := example{label: rows[i].Label, any: rows[i].Any, weight: 1, row: i}
		f.Extract(&rows[i].Input)
		f.Groups(func(buckets []uint16, weight float32) {
			e.buckets = append(e.buckets, buckets...)
			e.parts = append(e.parts, part{len(buckets), weight})
		})
		out[i] = e
	}
	return out
}

// labelledWeight is how much more a row counts that people agreed on.
const labelledWeight = 1.8

// weigh makes neither a big set nor a language with many rows drown the rest:
// the weight of a row falls with the number of its set's rows of its task and
// language.
func weigh(es []example, rows []Row) {
	type key struct {
		source, lang string
		label        task.Task
	}
	n := map[key]float64{}
	for i := range es {
		r := &rows[es[i].row]
		n[key{r.Source, r.Lang, r.Label}]++
	}
	perTask := [task.Count]float64{}
	for i := range es {
		r := &rows[es[i].row]
		w := 1 / math.Pow(n[key{r.Source, r.Lang, r.Label}], 0.4)
		if strings.HasPrefix(r.Source, "labelled-") {
			w *= labelledWeight
		}
		es[i].weight = float32(w)
		perTask[r.Label] += w
	}
	total := 0.0
	for _, w := range perTask {
		total += w
	}
	for i := range es {
		es[i].weight *= float32(float64(len(es)) / total * math.Pow(total/float64(task.Count)/perTask[es[i].label], 0.5))
	}
}

// Weights are what training finds.
type Weights struct {
	Bias [task.Count]float32
	W    []float32 // [bucket*task.Count+task]
}

// Training's knobs: passes over the rows, the last of them whose weights are
// averaged, step of AdaGrad, how strongly weights are pulled to zero, and the
// share of features left out of each look at a row.
const (
	passes   = 9
	averaged = 5
	step     = 0.3
	decay    = 2e-6
	leftOut  = 0.2
	rounds   = 3 // trainings with other orders, whose weights are averaged
)

// Train fits a multinomial logistic regression by AdaGrad, some rounds of it:
// what depends on the order of the rows is averaged away.
func Train(rows []Row) *Weights {
	es := examplesOf(rows)
	weigh(es, rows)
	var found [rounds]*Weights
	var wg sync.WaitGroup
	for round := range rounds {
		wg.Go(func() { found[round] = train(es, uint64(2+round)) })
	}
	wg.Wait()
	mean := &Weights{W: make([]float32, task.Buckets*task.Count)}
	for _, w := range found {
		mean.add(w, 1/float32(rounds))
	}
	return mean
}

func train(es []example, seed uint64) *Weights {
	w := &Weights{W: make([]float32, task.Buckets*task.Count)}
	sums := make([]float32, len(w.W))
	var biasSum [task.Count]float32
	d := newDice(seed)
	order := d.Perm(len(es))
	var thin example
	mean := &Weights{W: make([]float32, len(w.W))}
	for pass := range passes {
		d.Shuffle(len(order), func(i, k int) { order[i], order[k] = order[k], order[i] })
		for _, i := range order {
			e := thinned(d, &es[i], &thin)
			p := w.scores(e)
			for k := range p {
				g := p[k]
				switch {
				case e.any:
					g -= 1 / float32(task.Count)
				case task.Task(k) == e.label:
					g--
				}
				p[k] = g * e.weight
				biasSum[k] += p[k] * p[k]
				w.Bias[k] -= 0.1 * step * p[k] / float32(math.Sqrt(float64(biasSum[k])+1e-3))
			}
			w.move(e, &p, sums)
		}
		if pass >= passes-averaged {
			mean.add(w, 1/float32(averaged))
		}
	}
	return mean
}

// add adds a share of other weights.
func (w *Weights) add(other *Weights, share float32) {
	for i, v := range other.W {
		w.W[i] += share * v
	}
	for k, v := range other.Bias {
		w.Bias[k] += share * v
	}
}

// thinned leaves some features of an example out, others each time, so that no
// few words of a template carry it alone. It fills and returns to.
func thinned(d dice, e, to *example) *example {
	to.buckets, to.parts = to.buckets[:0], to.parts[:0]
	to.label, to.any, to.weight = e.label, e.any, e.weight
	at := 0
	for _, p := range e.parts {
		kept := len(to.buckets)
		for _, b := range e.buckets[at : at+p.n] {
			if !d.chance(leftOut) {
				to.buckets = append(to.buckets, b)
			}
		}
		to.parts = append(to.parts, part{len(to.buckets) - kept, p.weight})
		at += p.n
	}
	return to
}

func (w *Weights) move(e *example, p *task.Scores, sums []float32) {
	at := 0
	for _, part := range e.parts {
		for _, b := range e.buckets[at : at+part.n] {
			row, sum := w.W[int(b)*task.Count:][:task.Count], sums[int(b)*task.Count:][:task.Count]
			for k := range row {
				g := p[k]*part.weight + decay*row[k]
				sum[k] += g * g
				row[k] -= step * g / float32(math.Sqrt(float64(sum[k])+1e-4))
			}
		}
		at += part.n
	}
}

// scores are the confidences of the tasks, at temperature 1.
func (w *Weights) scores(e *example) task.Scores {
	s := w.logits(e)
	soften(&s, 1)
	return s
}

// logits are the sums behind the confidences.
func (w *Weights) logits(e *example) (s task.Scores) {
	at := 0
	for _, part := range e.parts {
		var sum task.Scores
		for _, b := range e.buckets[at : at+part.n] {
			row := w.W[int(b)*task.Count:][:task.Count]
			for k := range row {
				sum[k] += row[k]
			}
		}
		for k := range s {
			s[k] += part.weight * sum[k]
		}
		at += part.n
	}
	for k := range s {
		s[k] += w.Bias[k]
	}
	return s
}

func soften(s *task.Scores, sharpness float32) {
	top, total := float32(math.Inf(-1)), float32(0)
	for k := range s {
		s[k] *= sharpness
		top = max(top, s[k])
	}
	for k := range s {
		s[k] = float32(math.Exp(float64(s[k] - top)))
		total += s[k]
	}
	for k := range s {
		s[k] /= total
	}
}

// temperature is the one at which the confidences of rows that were left out
// are nearest to how often they are right.
func temperature(held []example) float32 {
	best, at := math.Inf(1), float32(1)
	for t := float32(0.5); t <= 6; t *= 1.03 {
		loss := 0.0
		for i := range held {
			s := held[i].logits
			soften(&s, 1/t)
			loss -= math.Log(float64(max(s[held[i].label], 1e-6)))
		}
		if loss < best {
			best, at = loss, t
		}
	}
	return at
}
