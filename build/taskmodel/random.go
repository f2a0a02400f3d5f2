package taskmodel

import "math/rand/v2"

// dice draws with a fixed seed.
type dice struct{ *rand.Rand }

func newDice(seed uint64) dice { return dice{rand.New(rand.NewPCG(seed, 0x6265_6c6c))} }

func pick[T any](d dice, of []T) (v T) {
	if len(of) == 0 {
		return v
	}
	return of[d.IntN(len(of))]
}

// chance is true p of the time.
func (d dice) chance(p float64) bool { return d.Float64() < p }
