package agent

import (
	"fmt"
	"time"
)

// pace watches the time to first content of one deployment for the sign of a
// wedged runtime: each answer takes longer than the one before while cheap
// probes stay green. It is a note for people and the router, not a verdict.
type pace struct {
	last  [paceWindow]time.Duration // oldest first, 0 = none yet
	wedge bool
}

const (
	paceWindow = 4
	paceFactor = 3                // the newest against the oldest of the window
	paceFloor  = 30 * time.Second // quicker answers are never called slow
)

// add takes one time to first content and reports whether the judgement changed.
func (p *pace) add(d time.Duration) (changed bool) {
	copy(p.last[:], p.last[1:])
	p.last[paceWindow-1] = d
	rising := p.last[0] > 0 && d >= paceFloor && d >= paceFactor*p.last[0]
	for i := 1; i < paceWindow; i++ {
		rising = rising && p.last[i] > p.last[i-1]
	}
	was := p.wedge
	switch {
	case rising:
		p.wedge = true
	case d < paceFloor || 2*d < p.last[paceWindow-2]:
		p.wedge = false
	}
	return was != p.wedge
}

// note is the words for it, "" while all is well.
func (p *pace) note() string {
	if !p.wedge {
		return ""
	}
	return fmt.Sprintf("each answer takes longer to begin than the one before (%s to %s): the runtime may be stuck; restart it",
		p.last[0].Round(time.Second), p.last[paceWindow-1].Round(time.Second))
}
