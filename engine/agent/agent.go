package agent

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"bellwether/engine/desk"
	"bellwether/engine/fleet"
	"bellwether/engine/pulse"
	"bellwether/platform/hardware"
	"bellwether/platform/sense"
)

// Agent is this machine's node role. Its methods are safe for concurrent use;
// they wait for Run to be running.
type Agent struct {
	cfg  Config
	boot string
	log  *slog.Logger

	desk  *desk.Desk[message]
	owner owner
	done  chan struct{} // closed when Run has ended
	work  sync.WaitGroup
	last  atomic.Pointer[fleet.Heartbeat]
	jobs  jobList

	restored saved // what New read, taken over by Run
	running  atomic.Bool
}

// message is one event for the loop; on runs there: with the turn of the desk.
type message interface{ on(s *state) }

// owner is the loop as its desk knows it. Run makes the state, with the turn.
type owner struct{ s *state }

func (o *owner) Handle(m message) {
	m.on(o.s)
	o.s.settle()
}

func (o *owner) Tick() {
	o.s.onTick()
	o.s.settle()
}

func (o *owner) Due() time.Time { return o.s.nextDue() }

// New checks the configuration and reads the saved state. Nothing runs until
// Run. An unreadable saved state is not fatal: the node starts with none and
// says so in the log, since the runtimes will be observed anyway.
func New(cfg Config) (*Agent, error) {
	switch {
	case cfg.Node == "":
		return nil, errors.New("agent: the node has no id")
	case cfg.Connect == nil:
		return nil, errors.New("agent: no way to connect to runtimes")
	case cfg.Report == nil || cfg.Release == nil:
		return nil, errors.New("agent: nobody takes its reports")
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Sense == nil {
		cfg.Sense = sense.NewReader().Read
	}
	cfg.Settings = cfg.Settings.withDefaults()
	a := &Agent{
		cfg:  cfg,
		boot: rand.Text(),
		log:  cfg.Log.With("part", "agent"),
		done: make(chan struct{}),
	}
	a.desk = desk.New[message](&a.owner, cfg.Now)
	a.jobs.now = cfg.Now
	a.last.Store(&fleet.Heartbeat{Node: cfg.Node, Name: cfg.Name, Boot: a.boot})
	if cfg.Persist != nil {
		data, err := cfg.Persist.LoadLedger()
		if err == nil {
			a.restored, err = parseSaved(data)
		}
		if err != nil {
			a.log.Warn("saved state not readable; starting without it", "err", err)
		}
	}
	return a, nil
}

// Boot is the id of this start; grants must name it.
func (a *Agent) Boot() string { return a.boot }

// Heartbeat returns the state as last reported. It must not be changed.
func (a *Agent) Heartbeat() fleet.Heartbeat { return *a.last.Load() }

// Run is the agent until ctx ends. Then it refuses new work, ends what runs
// (as cancelled), saves, and returns when all it started has ended. It may be
// called once.
func (a *Agent) Run(ctx context.Context) error {
	if !a.running.CompareAndSwap(false, true) {
		return errors.New("agent: Run was called twice")
	}
	// Work outlives ctx by the time it takes to end requests in order.
	work, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer close(a.done)
	s := a.start(work)
	a.owner.s = s
	s.onTick()
	s.settle()
	a.desk.Run(ctx, nil)
	s.onStop()
	a.drain(s)
	cancel(errStopped)
	a.rest()
	a.desk.Close()
	s.saveNow()
	s.closeAdapters()
	return nil
}

var errStopped = errors.New("the node is shutting down")

// start builds the loop's state from the machine and what was saved.
func (a *Agent) start(work context.Context) *state {
	s := newState(a, work, a.facts(work))
	s.senseFirst()
	s.restore(a.restored)
	s.onConfigure(a.cfg.Settings)
	s.recallFound()
	s.startDiscovery()
	return s
}

// facts are those of the machine, unknown where the system does not say in time.
func (a *Agent) facts(ctx context.Context) hardware.Facts {
	if a.cfg.Hardware != nil {
		return *a.cfg.Hardware
	}
	found := make(chan hardware.Facts, 1) // nobody may wait for it any more
	go func() { found <- hardware.Find(ctx) }()
	late := time.NewTimer(factsPatience)
	defer late.Stop()
	select {
	case f := <-found:
		return f
	case <-late.C:
		a.log.Warn("the system does not say what this machine is; it counts as unknown until the next start")
		return hardware.Facts{}
	}
}

// stopPatience is how long Run waits for requests to end after it cut them.
const stopPatience = 5 * time.Second

// drain goes on taking messages until every admitted request has ended.
func (a *Agent) drain(s *state) {
	patience, cancel := context.WithTimeout(context.Background(), stopPatience)
	defer cancel()
	a.desk.Run(patience, func() bool { return s.admitted == 0 })
	if s.admitted > 0 {
		a.log.Warn("requests did not end in time", "count", s.admitted)
	}
}

// rest waits for the goroutines of the agent while taking their last messages.
// What hangs keeps nobody from ending.
func (a *Agent) rest() {
	ended, all := context.WithCancel(context.Background())
	go func() {
		if !pulse.Wait(&a.work, restPatience) {
			a.log.Warn("something that was begun did not come back; it is left behind")
		}
		all()
	}()
	a.desk.Run(ended, nil)
}

// Ping has the loop come round; it returns when it has.
func (a *Agent) Ping() { _ = a.ask(context.Background(), func(*state) {}) }

// post hands a message to the loop; false when the loop has ended.
func (a *Agent) post(m message) bool { return a.desk.Post(m) }

// call is a message that carries a step for the loop and is answered by
// closing done. It serves the rare commands; the hot ones have own types.
type call struct {
	step func(s *state)
	done chan struct{}
}

func (c *call) on(s *state) {
	c.step(s)
	s.settle() // who ordered a change sees it in the next heartbeat it asks for
	close(c.done)
}

// ask runs step in the loop and waits for it.
func (a *Agent) ask(ctx context.Context, step func(s *state)) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	c := &call{step, make(chan struct{})}
	if !a.post(c) {
		return errStopped
	}
	select {
	case <-c.done:
		return nil
	case <-a.done:
		select {
		case <-c.done:
			return nil
		default:
			return errStopped
		}
	}
}

// Configure replaces the owner's settings, live.
func (a *Agent) Configure(set Settings) {
	_ = a.ask(context.Background(), func(s *state) { s.onConfigure(set.withDefaults()) })
}

// Refresh observes every runtime anew and returns when that is in the
// heartbeat. A runtime that does not answer is reported as such, not an error.
func (a *Agent) Refresh(ctx context.Context) error {
	var wait []<-chan struct{}
	if err := a.ask(ctx, func(s *state) { wait = s.observeAll() }); err != nil {
		return fmt.Errorf("refresh: %w", err)
	}
	for _, c := range wait {
		select {
		case <-c:
		case <-ctx.Done():
			return fmt.Errorf("refresh: %w", context.Cause(ctx))
		case <-a.done:
			return errStopped
		}
	}
	return nil
}
