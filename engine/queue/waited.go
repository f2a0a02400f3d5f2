package queue

import (
	"time"

	"bellwether/engine/route"
)

// wait is one thing that a request is held for: from since on, while it stays in
// the way.
type wait struct {
	code  string
	since time.Time
	route.Waited
}

// waitsFor notes what a decision says that a request waits for now.
func (t *Ticket) waitsFor(d *route.Decision, now time.Time) {
	code, words := d.HeldBy()
	if t.waits != nil && t.waits.code == code {
		return
	}
	t.waitOver(now)
	t.waits = &wait{code, now, route.Waited{For: words}}
}

// waitOver keeps of what a request waited for what took longest.
func (t *Ticket) waitOver(now time.Time) {
	w := t.waits
	if t.waits = nil; w == nil {
		return
	}
	if w.Took = now.Sub(w.since); t.waited == nil || w.Took > t.waited.Took {
		t.waited = &w.Waited
	}
}
