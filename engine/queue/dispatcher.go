package queue

import (
	"context"
	"log/slog"
	"time"

	"bellwether/engine/desk"
	"bellwether/engine/event"
	"bellwether/engine/evidence"
	"bellwether/engine/fleet"
	"bellwether/engine/route"
)

// Config is what a Dispatcher is made from. Its functions are called by who has
// the dispatcher's turn and must return at once.
type Config struct {
	Policy func() *route.Policy
	Fleet  func() *fleet.Snapshot
	Book   func() *evidence.Book // nil = nothing is known
	Now    func() time.Time      // nil = time.Now
	Epoch  func() uint64         // of the router's claim; nil = always 0
	Log    *slog.Logger          // nil = none
	Events *event.Hub[Event]     // nil = none

	// Pull asks the engine to fetch a model (auto_pull: on), once while
	// requests wait for it. nil = nothing is fetched; they wait their time.
	Pull func(model string)

	// Decide replaces route.Decide in tests; nil = it, in the dispatcher's own room.
	Decide func(*route.View, *route.Policy, *route.Query) *route.Decision
}

// Dispatcher is the router's owner of lanes, holds, pins, circuits, grants and
// the memory mirror. Every field but cfg, desk and stopped is the desk's: of
// whoever has its turn.
type Dispatcher struct {
	cfg     Config
	desk    *desk.Desk[message]
	stopped chan struct{} // closed when Run has ended

	now     time.Time // of the message being handled
	policy  *route.Policy
	view    route.View // kept current, never rebuilt for a Submit
	seen    *fleet.Snapshot
	nodes   map[string]*node
	stale   []*node // whose picture in view.Fleet is out of date
	models  modelIndex
	loading []*claim

	tickets map[*Ticket]struct{}
	apps    map[string]int // live tickets by app
	lanes   map[fleet.DeploymentID]*lane
	dirty   []*lane // may have something to grant
	delayed []*lane // with a time before which they do not grant
	waiting int     // tickets in lanes
	idle    bool    // a slot may have become free for work from elsewhere
	holds   holds
	grants  map[string]*grant
	unused  grantList

	circuits circuits
	pins     pins
	tape     tape

	troubleTape tape // of decisions that did not just serve

	submitted, chosen, granted uint64 // rising numbers: age, last use, grant ids
	nextReap                   time.Time
}

// New returns a dispatcher. Messages are kept, and answered once Run runs.
func New(c Config) *Dispatcher {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Book == nil {
		c.Book = func() *evidence.Book { return nil }
	}
	if c.Epoch == nil {
		c.Epoch = func() uint64 { return 0 }
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Decide == nil {
		c.Decide = new(route.Room).Decide // the loop makes one decision at a time
	}
	d := &Dispatcher{
		cfg: c, stopped: make(chan struct{}),
		nodes:   map[string]*node{},
		tickets: map[*Ticket]struct{}{}, apps: map[string]int{},
		lanes: map[fleet.DeploymentID]*lane{}, grants: map[string]*grant{},
	}
	d.desk = desk.New[message](owner{d}, c.Now)
	d.circuits.init()
	d.pins.init()
	d.view = route.View{
		Fleet: &fleet.Snapshot{}, Lanes: map[fleet.DeploymentID]route.Lane{},
		Pins: d.pins.byKey, Open: d.circuits.open,
	}
	return d
}

// Run is the dispatcher until ctx ends; then every ticket still waiting gets a
// refusal, and so does every later one.
func (d *Dispatcher) Run(ctx context.Context) error {
	defer close(d.stopped)
	d.step(fleetChanged{})
	d.desk.Run(ctx, nil)
	d.onStop()
	return nil
}

// message is something that happened, for the dispatcher.
type message interface{ apply(d *Dispatcher) }

// owner is the dispatcher as its desk knows it.
type owner struct{ *Dispatcher }

func (o owner) Handle(m message) { o.step(m) }
func (o owner) Tick()            { o.step(tick{}) }
func (o owner) Due() time.Time   { return o.nextDue() }

// tick is the message that only time has passed.
type tick struct{}

func (tick) apply(*Dispatcher) {}

// step handles one message and all that follows from it. What time alone has
// changed comes first: a hold whose turn has come is older than an arrival.
func (d *Dispatcher) step(m message) {
	d.now = d.cfg.Now()
	d.refreshPolicy()
	if due := d.nextDue(); !due.IsZero() && !due.After(d.now) {
		d.onTime()
		d.settle()
	}
	m.apply(d)
	d.settle()
}

// settle acts until nothing more can be done at this instant.
func (d *Dispatcher) settle() {
	for d.pumpDirty() || d.rescoreChanged() || d.pullWhenFree() {
	}
}

// onTime does what is due by now.
func (d *Dispatcher) onTime() {
	d.expireUnused()
	d.reopenByTime()
	d.holdsDue()
	if d.reapDue() {
		d.onReap()
	}
}

// nextDue is when onTime must run next; zero = not before something happens.
func (d *Dispatcher) nextDue() time.Time {
	var due time.Time
	sooner := func(t time.Time) {
		if !t.IsZero() && (due.IsZero() || t.Before(due)) {
			due = t
		}
	}
	if g := d.unused.first; g != nil {
		sooner(g.issued.Add(fleet.GrantTTL))
	}
	sooner(d.nextReopen())
	sooner(d.holds.due())
	if d.holds.len() > 0 {
		sooner(d.circuits.nextTry())
	}
	if len(d.grants) > 0 {
		sooner(d.nextReap)
	}
	return due
}

// refreshPolicy notices a new policy: every plan made under the old one is
// made again before it is granted.
func (d *Dispatcher) refreshPolicy() {
	p := d.cfg.Policy()
	if p == d.policy {
		return
	}
	d.policy = p
	d.pins.limit(p)
	for _, n := range d.nodes {
		n.version++
	}
	d.holds.touchAll()
}

// onStop refuses whatever still waits, and what comes later.
func (d *Dispatcher) onStop() {
	for _, m := range d.desk.Close() {
		if s, ok := m.(submitted); ok {
			s.t.c <- Answer{Decision: stopping()}
		}
	}
	for t := range d.tickets {
		if t.state == waiting || t.state == held {
			d.leave(t)
			d.refuse(t, stopping(), false)
		}
	}
}

// stopping is the refusal of a dispatcher that has ended.
func stopping() *route.Decision {
	return refusal(503, route.RefuseStopping)
}
