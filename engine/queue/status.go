package queue

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"bellwether/engine/fleet"
	"bellwether/engine/route"
)

// Status is the queues at one instant, for status, admin and metrics.
type Status struct {
	Lanes    []LaneStatus    `json:"lanes"` // by deployment
	Held     []HeldStatus    `json:"held"`  // oldest first
	Circuits []CircuitStatus `json:"circuits"`
	Tickets  int             `json:"tickets"`
	Grants   int             `json:"grants"`
	Pins     int             `json:"pins"`
	Apps     map[string]int  `json:"apps"` // live requests by app
}

// LaneStatus is one lane.
type LaneStatus struct {
	Deployment  fleet.DeploymentID `json:"deployment"`
	Running     int                `json:"running"`
	Waiting     int                `json:"waiting"`
	Slots       int                `json:"slots"`
	Closed      bool               `json:"closed,omitempty"`      // shut until the node reports
	Wait        float64            `json:"wait"`                  // seconds a new request would wait
	WaitingApps map[string]int     `json:"waiting_apps,omitzero"` // by app
	Oldest      time.Duration      `json:"oldest,omitempty"`      // age of the oldest waiting
}

// HeldStatus is one held request.
type HeldStatus struct {
	Request string        `json:"request"`
	App     string        `json:"app"`
	Model   string        `json:"model"`
	Age     time.Duration `json:"age"`
	Left    time.Duration `json:"left"` // until it is refused
}

// CircuitStatus is one circuit that is open.
type CircuitStatus struct {
	Deployment fleet.DeploymentID `json:"deployment"`
	App        string             `json:"app,omitempty"` // whose requests alone are kept out, "" = everyone's
	RetryIn    time.Duration      `json:"retry_in"`
}

// View returns a copy of what Decide looks at now, for explain. The copy is
// the caller's. It waits for its turn; after the end it returns nil.
func (d *Dispatcher) View() *route.View {
	return ask(d, func() *route.View {
		d.refreshView()
		v := d.view
		f := *v.Fleet
		f.Nodes = slices.Clone(f.Nodes)
		v.Fleet = &f
		v.Lanes, v.Pins, v.Open = maps.Clone(v.Lanes), maps.Clone(v.Pins), maps.Clone(v.Open)
		return &v
	})
}

// Status returns a copy of the queues. It waits for its turn; after the end it
// returns the zero Status.
func (d *Dispatcher) Status() Status { return ask(d, d.status) }

// question is a message that carries what to do and is answered on the loop.
type question func()

func (q question) apply(*Dispatcher) { q() }

// ask runs f on the loop and returns its answer, the zero value when the loop
// has ended.
func ask[T any](d *Dispatcher, f func() T) (answer T) {
	c := make(chan T, 1) // so that the loop does not wait for a reader
	if !d.desk.Post(question(func() { c <- f() })) {
		return answer
	}
	select {
	case answer = <-c:
	case <-d.stopped:
	}
	return answer
}

func (d *Dispatcher) status() Status {
	s := Status{
		Lanes: []LaneStatus{}, Held: []HeldStatus{}, Circuits: []CircuitStatus{},
		Tickets: len(d.tickets), Grants: len(d.grants), Pins: len(d.pins.byKey), Apps: maps.Clone(d.apps),
	}
	for _, l := range d.lanes {
		s.Lanes = append(s.Lanes, d.laneStatus(l))
	}
	slices.SortFunc(s.Lanes, func(a, b LaneStatus) int { return a.Deployment.Compare(b.Deployment) })
	for _, class := range d.holds.classes {
		for _, t := range class {
			s.Held = append(s.Held, HeldStatus{t.q.Request, t.q.Needs.App, t.q.Model, d.now.Sub(t.arrived), t.holdUntil.Sub(d.now)})
		}
	}
	slices.SortStableFunc(s.Held, func(a, b HeldStatus) int { return cmp.Compare(b.Age, a.Age) })
	for id, c := range d.view.Open {
		s.Circuits = append(s.Circuits, CircuitStatus{id, c.App, max(0, c.RetryAt.Sub(d.now))})
	}
	slices.SortFunc(s.Circuits, func(a, b CircuitStatus) int { return a.Deployment.Compare(b.Deployment) })
	return s
}

func (d *Dispatcher) laneStatus(l *lane) LaneStatus {
	s := LaneStatus{
		Deployment: l.id, Running: l.running(), Waiting: l.order.n, Slots: l.slots,
		Closed: !l.open(d.now), Wait: d.expectedWait(l), WaitingApps: map[string]int{},
	}
	for _, t := range l.order.all() {
		s.WaitingApps[t.q.Needs.App]++
		s.Oldest = max(s.Oldest, d.now.Sub(t.arrived))
	}
	return s
}
