package queue

import (
	"context"
	"log/slog"
	"time"

	"bellwether/engine/event"
	"bellwether/engine/evidence"
	"bellwether/engine/fleet"
	"bellwether/engine/route"
)

// Config is what a Dispatcher is made from. Its functions are called by the
// loop and must return at once.
type Config struct {
	Policy func() *route.Policy
	Fleet  func() *fleet.Snapshot
	Book   func() *evidence.Book // nil = nothing is known
	Now    func() time.Time      // nil = time.Now
	Epoch  func() uint64         // of the router's claim; nil = always 0
	Log    *slog.Logger          // nil = none
	Events *event.Hub[Event]     // nil = none

	// Pull asks the engine to fetch a model (auto_pull: on), once for each
	// model while requests wait for it. nil = nothing is pulled.
	Pull func(model string)

	// Decide replaces route.Decide in tests; nil = route.Decide.
	Decide func(*route.View, *route.Policy, *route.Query) *route.Decision
}

// Dispatcher is the router's owner of lanes, holds, pins, circuits and grants.
type Dispatcher struct{}

// New returns a dispatcher; it does nothing until Run.
func New(c Config) *Dispatcher { return &Dispatcher{} }

// Run is the dispatcher until ctx ends.
func (d *Dispatcher) Run(ctx context.Context) error { return nil }

// Submit asks for a place. It never blocks; the answer comes on the ticket.
func (d *Dispatcher) Submit(q route.Query) *Ticket { return &Ticket{} }

// Released takes the agent's word that a grant's work is over.
func (d *Dispatcher) Released(r fleet.Released) {}

// Completed takes the gateway's word how a grant ended.
func (d *Dispatcher) Completed(c fleet.Completed) {}

// FleetChanged says that the registry has published a new snapshot.
func (d *Dispatcher) FleetChanged() {}

// View returns a copy of what Decide looks at now, for explain.
func (d *Dispatcher) View() *route.View { return nil }

// Status returns a copy of the queues, for status and admin.
func (d *Dispatcher) Status() Status { return Status{} }

// Status is the queues at one instant.
type Status struct{}

// Event is something that happened to a request here.
type Event struct{}

// Answer ends one round of a ticket.
type Answer struct {
	Grant    *fleet.Grant    // nil: refused, see Decision
	Decision *route.Decision // never nil
	HeldOut  bool            // the request waited its time in the holding list
	Queued   time.Duration   // time this round took
}

// Ticket is one request in the dispatcher's hands.
type Ticket struct{}

// C gets one Answer a round: a grant, or the final refusal.
func (t *Ticket) C() <-chan Answer { return nil }

// Used says that the grant is about to be presented to the agent. False: it
// came back unused meanwhile and must not be presented; the next Answer comes on C.
func (t *Ticket) Used(g fleet.Grant) bool { return false }

// Refused says that the agent refused the grant.
func (t *Ticket) Refused(g fleet.Grant, r *fleet.Refusal) {}

// Retry says that the attempt failed before content and asks again.
func (t *Ticket) Retry(g fleet.Grant, f fleet.Failure, changedModel bool) {}

// Abandon ends the ticket.
func (t *Ticket) Abandon(reason string) {}
