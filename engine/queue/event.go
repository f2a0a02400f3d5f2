package queue

import (
	"time"

	"bellwether/engine/fleet"
)

// Event is something that happened to a request here, for the live feed.
// Queued, granted (sent to) and running are different things: the last one is
// told by who reads the answer, see Ticket.Began.
type Event struct {
	At         time.Time          `json:"at"`
	Arrived    time.Time          `json:"arrived"` // of the request, as its record says
	Kind       EventKind          `json:"kind"`
	Request    string             `json:"request"`
	App        string             `json:"app,omitempty"`
	Model      string             `json:"model"` // as asked
	Deployment fleet.DeploymentID `json:"deployment,omitzero"`
	From       fleet.DeploymentID `json:"from,omitzero"` // EventMoved: the lane it waited in
	Attempt    int                `json:"attempt,omitempty"`
	Queued     time.Duration      `json:"queued,omitempty"`
	First      time.Duration      `json:"first,omitempty"`   // EventRunning: from the attempt's start to first content
	Outcome    fleet.Outcome      `json:"outcome,omitempty"` // EventDone
	Reason     string             `json:"reason,omitempty"`
}

// EventKind is the sort of an event.
type EventKind string

// Kinds of event.
const (
	EventQueued   EventKind = "queued"   // chose a deployment, waits in its lane
	EventHeld     EventKind = "held"     // nobody may serve it now; waits for a change
	EventMoved    EventKind = "moved"    // an idle slot took it over
	EventGranted  EventKind = "granted"  // may be sent to the node
	EventRunning  EventKind = "running"  // the node has begun to answer
	EventReturned EventKind = "returned" // the grant was not used in time
	EventRefused  EventKind = "refused"  // the node said no; back to its place
	EventDone     EventKind = "done"
)

func (d *Dispatcher) note(t *Ticket, kind EventKind) {
	if !d.cfg.Events.Watched() {
		return
	}
	e := d.event(t, kind)
	switch kind {
	case EventGranted:
		e.Queued = d.now.Sub(t.roundAt)
		e.Deployment = t.current.Load().dep
	case EventQueued, EventReturned:
		e.Deployment = t.decision.Chosen
	}
	d.cfg.Events.Publish(e)
}

// Began says that the node has begun to answer with a grant: its first content
// came, first after the attempt's start. It never blocks, and changes nothing
// but what is shown.
func (t *Ticket) Began(g fleet.Grant, at time.Time, first time.Duration) {
	cur := t.current.Load()
	if cur == nil || cur.id != g.ID {
		return
	}
	cur.first.Store(int64(max(1, first)))
	if !t.d.cfg.Events.Watched() {
		return
	}
	t.d.cfg.Events.Publish(Event{At: at, Kind: EventRunning, Request: t.q.Request, App: t.q.Needs.App, Model: t.q.Model,
		Deployment: cur.dep, First: first})
}

func (d *Dispatcher) noteMove(t *Ticket, from fleet.DeploymentID) {
	if !d.cfg.Events.Watched() {
		return
	}
	e := d.event(t, EventMoved)
	e.Deployment, e.From = t.decision.Chosen, from
	d.cfg.Events.Publish(e)
}

func (d *Dispatcher) noteRefusal(t *Ticket, why *fleet.Refusal) {
	if !d.cfg.Events.Watched() {
		return
	}
	e := d.event(t, EventRefused)
	e.Deployment = t.decision.Chosen
	if why != nil {
		e.Reason = string(why.Code)
	}
	d.cfg.Events.Publish(e)
}

func (d *Dispatcher) noteEnd(t *Ticket, outcome fleet.Outcome, reason string) {
	if !d.cfg.Events.Watched() {
		return
	}
	e := d.event(t, EventDone)
	e.Outcome, e.Reason = outcome, reason
	d.cfg.Events.Publish(e)
}

func (d *Dispatcher) event(t *Ticket, kind EventKind) Event {
	return Event{
		At: d.now, Arrived: t.arrived, Kind: kind, Request: t.q.Request, App: t.q.Needs.App,
		Model: t.q.Model, Attempt: t.q.Attempt,
	}
}
