package queue

import (
	"slices"
	"time"
)

// Active lists the requests in the dispatcher's hands, oldest first, each as
// the event that tells where it is now; At is when it arrived. It is what who
// begins to watch the events has missed. It waits for its turn; after the end
// it returns nil.
func (d *Dispatcher) Active() []Event { return ask(d, d.active) }

func (d *Dispatcher) active() []Event {
	all := make([]*Ticket, 0, len(d.tickets))
	for t := range d.tickets {
		all = append(all, t)
	}
	slices.SortFunc(all, func(a, b *Ticket) int { return int(a.seq) - int(b.seq) })
	out := make([]Event, 0, len(all))
	for _, t := range all {
		e := d.event(t, EventHeld)
		e.At = t.arrived
		switch t.state {
		case waiting:
			e.Kind, e.Deployment = EventQueued, t.decision.Chosen
		case granted:
			e.Kind = EventGranted
			if g := t.current.Load(); g != nil {
				e.Deployment, e.Queued = g.dep, g.issued.Sub(t.roundAt)
				if first := g.first.Load(); first > 0 {
					e.Kind, e.First = EventRunning, time.Duration(first)
				}
			}
		case ended:
			continue
		}
		out = append(out, e)
	}
	return out
}
