package queue

import (
	"cmp"
	"slices"
	"time"
)

// promoteAfter is the age from which a batch request counts as interactive.
const promoteAfter = 60 * time.Second

// rank is a ticket's standing in a lane, lowest first: interactive before
// batch, and within a class those that waited before (held, returned, retried)
// before new arrivals.
type rank uint8

const (
	interactiveBefore rank = iota
	interactiveNew
	batchBefore
	batchNew
	ranks
)

// before reports whether the ticket waited elsewhere before.
func (r rank) before() bool { return r%2 == 0 }

func rankOf(t *Ticket, before bool) rank {
	r := interactiveBefore
	if t.q.Needs.Batch {
		r = batchBefore
	}
	if !before {
		r++
	}
	return r
}

// order is who is next in a lane: by rank, then deficit round-robin over apps
// (unit: predicted seconds), then age. Pure: now is an argument.
type order struct {
	rings  [ranks]ring
	n      int
	queued float64 // predicted seconds of all waiting
}

// next returns the ticket whose turn it is, nil if none waits. Asking again
// without a change returns the same one.
func (o *order) next(now time.Time) *Ticket {
	if o.n == 0 {
		return nil
	}
	o.promote(now)
	for i := range o.rings {
		if t := o.rings[i].next(); t != nil {
			return t
		}
	}
	return nil
}

// add puts a ticket in by its rank, app and age.
func (o *order) add(t *Ticket) {
	t.cost = max(leastCost, t.decision.Plan.PredictedSeconds)
	o.rings[t.rank].add(t)
	o.n++
	o.queued += t.cost
}

// remove takes a ticket out; its app pays nothing.
func (o *order) remove(t *Ticket) {
	o.queued -= t.cost
	o.rings[t.rank].remove(t)
	if o.n--; o.n == 0 {
		o.queued = 0
	}
}

// take takes a ticket out to be served; its app pays for it, if others wait.
func (o *order) take(t *Ticket) {
	t.paid = 0
	if r := &o.rings[t.rank]; len(r.apps) > 1 {
		t.paid = t.cost
		r.pay(t.q.Needs.App, t.paid)
	}
	o.remove(t)
}

// refund gives a waiting ticket's app back what take took.
func (o *order) refund(t *Ticket) {
	if a := o.rings[t.rank].app(t.q.Needs.App); a != nil {
		a.deficit += t.paid
	}
}

// all returns every waiting ticket, by rank and age.
func (o *order) all() []*Ticket {
	out := make([]*Ticket, 0, o.n)
	for i := range o.rings {
		for _, a := range o.rings[i].apps {
			out = append(out, a.waiting...)
		}
	}
	slices.SortFunc(out, func(a, b *Ticket) int { return cmp.Or(cmp.Compare(a.rank, b.rank), byAge(a, b)) })
	return out
}

// promote makes batch requests that have waited long interactive ones.
func (o *order) promote(now time.Time) {
	for r := batchBefore; r < ranks; r++ {
		for i := 0; i < len(o.rings[r].apps); {
			a := o.rings[r].apps[i]
			t := a.waiting[0]
			if now.Sub(t.arrived) < promoteAfter {
				i++
				continue
			}
			o.rings[r].remove(t) // drops the app when it was its last
			t.rank = r - batchBefore
			o.rings[t.rank].add(t)
		}
	}
}

// ring is deficit round-robin over apps.
type ring struct {
	apps []*appQueue // who was served longest ago comes first
}

// appQueue is what one app has waiting, oldest first, and its credit of
// predicted seconds. It goes, credit and all, when empty.
type appQueue struct {
	app     string
	deficit float64
	waiting []*Ticket
}

// next returns the first ticket of the app whose turn it is: the first in the
// ring that can afford it. When none can, all get the same credit, as little
// as lets one. So over any time in which two apps have work, their served
// seconds differ by no more than their two dearest requests.
func (r *ring) next() *Ticket {
	if len(r.apps) == 0 {
		return nil
	}
	if len(r.apps) == 1 { // alone an app neither pays nor saves up
		return r.apps[0].waiting[0]
	}
	turn, least := 0, r.apps[0].short()
	for i, a := range r.apps {
		short := a.short()
		if short <= 0 {
			return a.waiting[0]
		}
		if short < least {
			turn, least = i, short
		}
	}
	for _, a := range r.apps {
		a.deficit += least
	}
	first := r.apps[turn]
	first.deficit = first.waiting[0].cost // exactly: no rounding may keep it waiting
	copy(r.apps[1:turn+1], r.apps[:turn]) // asked again, the answer is the same
	r.apps[0] = first
	return first.waiting[0]
}

// short is the credit an app lacks for its first ticket.
func (a *appQueue) short() float64 { return a.waiting[0].cost - a.deficit }

// pay charges an app for its first ticket and gives the next app the turn.
func (r *ring) pay(app string, seconds float64) {
	for i, a := range r.apps {
		if a.app == app {
			a.deficit -= seconds
			copy(r.apps[i:], r.apps[i+1:])
			r.apps[len(r.apps)-1] = a
			return
		}
	}
}

func (r *ring) app(name string) *appQueue {
	for _, a := range r.apps {
		if a.app == name {
			return a
		}
	}
	return nil
}

func (r *ring) add(t *Ticket) {
	a := r.app(t.q.Needs.App)
	if a == nil {
		a = &appQueue{app: t.q.Needs.App}
		r.apps = append(r.apps, a)
	}
	i, _ := slices.BinarySearchFunc(a.waiting, t, byAge)
	a.waiting = slices.Insert(a.waiting, i, t)
}

func (r *ring) remove(t *Ticket) {
	a := r.app(t.q.Needs.App)
	if a == nil {
		return
	}
	i, found := slices.BinarySearchFunc(a.waiting, t, byAge)
	if !found {
		return
	}
	if i == 0 {
		a.waiting[0] = nil
		a.waiting = a.waiting[1:]
	} else {
		a.waiting = slices.Delete(a.waiting, i, i+1)
	}
	if len(a.waiting) == 0 {
		r.apps = slices.DeleteFunc(r.apps, func(o *appQueue) bool { return o == a })
	}
}

// byAge orders by arrival, then by submission.
func byAge(a, b *Ticket) int {
	return cmp.Or(a.arrived.Compare(b.arrived), cmp.Compare(a.seq, b.seq))
}

// leastCost keeps a request without a prediction from being free.
const leastCost = 0.001
