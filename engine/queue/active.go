package queue

import (
	"slices"
	"time"

	"bellwether/engine/route"
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

// UnderWay is what is decided of a request that has not ended.
type UnderWay struct {
	Decision *route.Decision // the latest; where it waits, what keeps it waiting
	Query    route.Query
	Queued   time.Duration // until its grant, else so far
}

// UnderWay tells of one request in the dispatcher's hands, the first part of a
// batch; nil = it is not here, or not any more. It looks through all that are:
// whoever opens a request under way asks, never the request itself. It waits for
// its turn; after the end it returns nil.
func (d *Dispatcher) UnderWay(request string) *UnderWay {
	return ask(d, func() *UnderWay { return d.underWay(request) })
}

func (d *Dispatcher) underWay(request string) *UnderWay {
	var found *Ticket
	for t := range d.tickets {
		if t.q.Request == request && t.state != ended && t.decision != nil && (found == nil || t.seq < found.seq) {
			found = t
		}
	}
	if found == nil {
		return nil
	}
	u := &UnderWay{Decision: found.decision, Query: *found.q, Queued: d.now.Sub(found.roundAt)}
	if g := found.current.Load(); found.state == granted && g != nil {
		u.Queued = g.issued.Sub(found.roundAt)
	}
	return u
}
