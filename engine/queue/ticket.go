package queue

import (
	"sync/atomic"
	"time"

	"bellwether/engine/fleet"
	"bellwether/engine/route"
)

// Answer ends one round of a ticket.
type Answer struct {
	Grant    *fleet.Grant    // nil: refused for good, see Decision; the ticket has ended
	Decision *route.Decision // never nil
	HeldOut  bool            // it waited its time in the holding list
	Queued   time.Duration   // how long this round took
}

// Ticket is one request in the dispatcher's hands. It ends exactly once: by a
// refusal on C, by Completed, or by Abandon. Its methods never block and may
// be called from any goroutine.
type Ticket struct {
	d       *Dispatcher
	c       chan Answer // buffer 1: there is one answer a round, so the loop never waits
	current atomic.Pointer[grant]

	// The loop's:
	q         *route.Query
	state     state
	seq       uint64 // of submission: the age among equal arrivals
	arrived   time.Time
	roundAt   time.Time // when this round began to wait
	decision  *route.Decision
	model     string  // listed name first chosen
	lane      *lane   // while waiting
	rank      rank    // within the lane
	paid      float64 // what its app paid for the last grant
	cost      float64 // fairness unit: the seconds it was predicted to take when it joined
	planned   uint64  // version of the node its plan was made on
	holdUntil time.Time
	judged    time.Time     // when last rescored
	waits     *wait         // while held
	waited    *route.Waited // of what it was held for, what took longest
	pulls     string        // model it waits for to be fetched
	refusedAt time.Time     // first refusal by an agent without a run since
	pressed   bool          // went back to its place for back-pressure once
	returned  int           // grants that came back unused
	taped     bool          // some decision of it was kept with its input
}

type state uint8

const (
	waiting state = iota // in a lane
	held                 // in the holding list
	granted              // has a grant, unused or running
	ended
)

// Submit asks for a place for a request. It never blocks; answers come on the
// ticket. The caller must end the ticket: Completed, Abandon, or a refusal read.
// Nobody changes q afterwards, but for the dispatcher what its rounds change:
// Arrived (where it was not given), Attempt, Failed, Changed.
func (d *Dispatcher) Submit(q *route.Query) *Ticket {
	t := &Ticket{d: d, c: make(chan Answer, 1), q: q}
	if !d.desk.Post(submitted{t}) {
		t.c <- Answer{Decision: stopping()}
	}
	return t
}

// C gets one Answer a round: a grant, or the final refusal.
func (t *Ticket) C() <-chan Answer { return t.c }

// Used says that the grant is about to be presented to the agent. When it
// returns false the grant has come back unused meanwhile and must not be
// presented any more; the next Answer comes on C.
func (t *Ticket) Used(g fleet.Grant) bool {
	cur := t.current.Load()
	return cur != nil && cur.id == g.ID && cur.use.CompareAndSwap(unusedGrant, usedGrant)
}

// Refused says that the agent refused the grant: no failure, no retry used, no
// exclusion. The request goes back to its place; its lane stays closed until a
// newer heartbeat. The next Answer comes on C.
func (t *Ticket) Refused(g fleet.Grant, r *fleet.Refusal) {
	t.d.desk.Post(refused{t, g.ID, r})
}

// Retry says that the attempt failed before content, and asks for another
// place with that deployment excluded, the age kept. changedModel tells that
// the request has moved to another listed model already. It completes the
// grant as failed; a Completed with Retry set may come besides. Failures of
// class back_pressure go back to their place once instead.
func (t *Ticket) Retry(g fleet.Grant, f fleet.Failure, changedModel bool) {
	t.d.desk.Post(&retried{t, g.ID, f, changedModel})
}

// Abandon ends the ticket: the client is gone while waiting or with an unused
// grant, which frees at once. With a used grant the slot is freed by the
// agent's Released. It may be called again, and after the end, without effect.
func (t *Ticket) Abandon(reason string) {
	t.d.desk.Post(&abandoned{t, reason})
}

type submitted struct{ t *Ticket }

func (m submitted) apply(d *Dispatcher) { d.onSubmit(m.t) }

type refused struct {
	t     *Ticket
	grant string
	why   *fleet.Refusal
}

func (m refused) apply(d *Dispatcher) { d.onRefused(m.t, m.grant, m.why) }

type retried struct {
	t       *Ticket
	grant   string
	failure fleet.Failure
	changed bool
}

func (m *retried) apply(d *Dispatcher) { d.onRetry(m.t, m.grant, m.failure, m.changed) }

type abandoned struct {
	t      *Ticket
	reason string
}

func (m *abandoned) apply(d *Dispatcher) { d.onAbandon(m.t, m.reason) }
