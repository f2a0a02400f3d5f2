package evidence

import (
	"math"
	"slices"
)

// window keeps the last samples of a figure, oldest first, and beside them
// the same values in order, so that a quantile costs one look-up and a new
// sample one binary search and a move of at most 4 KB.
type window struct {
	size   int
	values []float64 // oldest first
	sorted []float64
}

func newWindow(size int) *window { return &window{size: size} }

// add takes a sample in and lets the oldest go when the window is full.
func (w *window) add(v float64) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return
	}
	if len(w.values) == w.size {
		oldest := w.values[0]
		copy(w.values, w.values[1:])
		w.values = w.values[:w.size-1]
		i, _ := slices.BinarySearch(w.sorted, oldest)
		w.sorted = slices.Delete(w.sorted, i, i+1)
	}
	w.values = append(w.values, v)
	i, _ := slices.BinarySearch(w.sorted, v)
	w.sorted = slices.Insert(w.sorted, i, v)
}

// quantile returns the nearest-rank quantile: the smallest sample that at
// least q of the samples do not exceed.
func (w *window) quantile(q float64) Figure {
	n := len(w.sorted)
	if n == 0 {
		return Figure{}
	}
	rank := int(math.Ceil(q*float64(n))) - 1
	return Figure{V: w.sorted[min(max(rank, 0), n-1)], N: n}
}

// mean is a running mean that forgets: the first samples count alike, later
// ones by a fixed share, so that it settles fast and then follows slowly.
type mean struct {
	V float64 `json:"v"`
	N int     `json:"n"`
}

const (
	meanShare = 0.1     // of a new sample, once meanShare x N >= 1
	meanCount = 1 << 20 // N stops here: it is shown to people, not used
)

func (m *mean) add(v float64) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return
	}
	m.N = min(m.N+1, meanCount)
	m.V += (v - m.V) * max(meanShare, 1/float64(m.N))
}

// lower makes of a mean one of no more than v that new samples move soon;
// 0 says nothing.
func (m *mean) lower(v float64) {
	switch {
	case v <= 0:
	case m.N == 0 || v < m.V:
		m.V, m.N = v, EnoughSpeeds
	default:
		m.N = max(m.N, EnoughSpeeds)
	}
}

func (m mean) figure() Figure { return Figure(m) }
