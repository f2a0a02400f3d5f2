package engine

import (
	"time"

	"bellwether/engine/admin"
)

// seconds tells what is due as seconds go by. Only ticks of the clock count:
// how often the fleet changes says nothing of time.
type seconds struct {
	n       int
	sampled time.Time // the step of the history that has its sample
}

// tick takes one second in. sample: the step of the history that now lies in
// has no sample yet, also when the tick is late. keep: what was learned is to be
// kept, soon after the start and then once a minute.
func (s *seconds) tick(now time.Time) (sample, keep bool) {
	s.n++
	if step := now.Truncate(admin.HistoryStep); !step.Equal(s.sampled) {
		s.sampled, sample = step, true
	}
	return sample, s.n%60 == 5
}
