package agent

import (
	"slices"
	"time"

	"bellwether/engine/dialect"
)

// How runtimes that do not say how many requests they run at once are seen
// through. A finished call's own times (prompt and output) say for how long the
// runtime worked on it; what is left of the call is time it waited there. The
// most spans that lie over each other are what the runtime runs at once; that
// calls wait although more were given to it shows that it runs no more.
const (
	keepSpans  = 32                     // finished calls remembered a deployment
	leastWork  = 100 * time.Millisecond // shorter work drowns in the noise of the clocks
	spanMargin = 25 * time.Millisecond  // taken off both ends: how late an end may be seen
)

// span is when a runtime worked on a call.
type span struct{ from, to time.Time }

// workShown is what a finished call shows of its time at the runtime.
type workShown struct {
	sent, end time.Time
	content   time.Time // of the answer's beginning; zero = it came in one piece
	times     *dialect.Timings
}

// span returns when the runtime worked on the call and whether the call had
// waited there before. ok is false when that cannot be told: no times were
// reported, the work was too short, or its reader was slow.
func (w *workShown) span() (s span, waited, ok bool) {
	if w.times == nil || w.times.Prefill+w.times.Decode < leastWork {
		return span{}, false, false
	}
	busy := w.times.Prefill + w.times.Decode
	wait := w.end.Sub(w.sent) - w.times.Load - busy
	if !w.content.IsZero() {
		// Before content there is the wait only; what comes on top at the end is
		// the reader's time. A runtime may hold first content back while it
		// looks for calls, which makes this the longer of the two.
		before := w.content.Sub(w.sent) - w.times.Load - w.times.Prefill
		if wait-before > spanMargin {
			return span{}, false, false
		}
		wait = min(wait, before)
	}
	s = span{w.end.Add(spanMargin - busy), w.end.Add(-spanMargin)}
	return s, wait > max(busy/4, 2*spanMargin), true
}

// parallel remembers when a runtime worked on the last calls of a deployment.
type parallel struct{ spans []span }

// add takes a finished call's span and returns the most calls the runtime
// worked on at one moment of it, among them those still running.
func (p *parallel) add(s span, running []span) int {
	if len(p.spans) == keepSpans {
		p.spans = slices.Delete(p.spans, 0, 1)
	}
	p.spans = append(p.spans, s)
	all := slices.Concat(p.spans, running)
	most := 0
	for _, o := range all { // a maximum lies where some span begins
		if at := o.from; !at.Before(s.from) && at.Before(s.to) {
			most = max(most, over(all, at))
		}
	}
	return most
}

func over(all []span, at time.Time) (n int) {
	for _, s := range all {
		if !at.Before(s.from) && at.Before(s.to) {
			n++
		}
	}
	return n
}

// learnParallel tells what an ended call shows of its deployment's parallelism.
func (s *state) learnParallel(l *lane, m *ended) {
	le := m.lease
	if s.a.cfg.Parallel == nil || m.failure != nil || !m.sent || len(l.holds) > 0 {
		return // an unfinished call of ours may hold a slot unseen
	}
	if le.deployment.Slots > 0 || le.server.target.Parallel > 0 {
		return // declared
	}
	own, waited, ok := m.work.span()
	if !ok {
		return
	}
	var running []span
	for o := range l.leases {
		sent, content := o.sent.Load(), o.content.Load()
		switch {
		case sent == 0:
		case content > 0:
			running = append(running, span{o.began.Add(time.Duration(content)).Add(spanMargin), m.work.end})
		case o.began.Add(time.Duration(sent)).Before(m.work.sent):
			waited = false // it may hold a slot, and nothing shows whether
		}
	}
	s.a.cfg.Parallel(le.deployment, le.beside, l.work.add(own, running), waited)
}
