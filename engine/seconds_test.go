package engine

import (
	"math/rand/v2"
	"testing"
	"time"

	"bellwether/engine/admin"
)

// Ticks come late when a machine is busy, and some do not come at all: every
// step of the history that has a tick has one sample, and what is learned is
// kept once in sixty ticks.
func TestEveryStepOfTheHistoryIsSampledOnceHoweverLateTicksCome(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var s seconds
	start := time.Unix(1_800_000_003, 0)
	samples, kept := map[time.Time]int{}, 0
	ticks := 0
	for i := 0; i < 3600; i++ {
		if r.IntN(10) == 0 {
			continue // missed
		}
		ticks++
		now := start.Add(time.Duration(i)*time.Second + time.Duration(r.IntN(900))*time.Millisecond)
		sample, keep := s.tick(now)
		if sample {
			samples[now.Truncate(admin.HistoryStep)]++
		}
		if keep {
			kept++
		}
	}
	if len(samples) < 360 {
		t.Errorf("%d of 360 steps have a sample", len(samples))
	}
	for at, n := range samples {
		if n != 1 {
			t.Errorf("the step at %v has %d samples", at, n)
		}
	}
	if want := (ticks + 55) / 60; kept != want {
		t.Errorf("kept %d times in %d ticks, want %d", kept, ticks, want)
	}
}
