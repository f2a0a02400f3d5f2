package agent

import (
	"context"
	"time"

	"bellwether/engine/budget"
	"bellwether/engine/fleet"
	"bellwether/engine/pulse"
	"bellwether/platform/hardware"
	"bellwether/platform/sense"
)

// state is everything the loop owns. Its methods run in the loop only.
type state struct {
	a    *Agent
	work context.Context // of the goroutines it starts; ends after the last request
	set  Settings

	facts    hardware.Facts
	readings sense.Readings
	sensing  pulse.Round

	ledger  *budget.Ledger
	pools   []fleet.Pool // without holders
	servers map[string]*server
	lanes   map[fleet.DeploymentID]*lane
	grants  grantBook

	pause    pause
	draining bool
	stopping bool
	admitted int // leases not ended

	sequence uint64
	dirty    bool      // something changed that others must know at once
	refused  bool      // a refusal was given since the last report
	hello    bool      // the first report went out
	lastTick time.Time // by the monotonic clock, which stops while the machine sleeps
	lastWall time.Time // by the wall clock, which does not

	// Moments at which something is due; zero = not.
	helloBy, beatDue, senseDue, discoverDue, retryDue, saveDue time.Time

	discovering pulse.Round
	loads       uint64               // numbers loads
	caps        map[string]int       // learned most models of a runtime, by name
	known       map[string]lastKnown // what runtimes had when last looked at, by name
	saver
}

// lane is what the agent knows of one deployment beside what its runtime says.
type lane struct {
	id      fleet.DeploymentID
	leases  map[*lease]struct{} // admitted, not ended
	orders  int                 // of leases: the owner's own orders to load
	holds   []time.Time         // ends of uncertain calls
	asked   bool                // its runtime is being asked whether they run
	load    *load               // under way
	leaving int                 // unloads and deletes under way

	// The agent's own knowledge of residency, newer than the last observation
	// where it is later than that one's start.
	loadedAt, unloadedAt time.Time
	// usedAt is when something of ours ran there last: a request's end, an order.
	usedAt  time.Time
	context int // tokens our last load asked for, 0 = the runtime's own
	size    measure
	pace    pace
	work    parallel
}

// measure is a deployment's size as last seen in memory.
type measure struct {
	Digest  string `json:"digest,omitempty"`
	Bytes   int64  `json:"bytes"`
	VRAM    int64  `json:"vram,omitempty"`
	Context int    `json:"context,omitempty"`
}

func newState(a *Agent, work context.Context, facts hardware.Facts) *state {
	now := a.cfg.Now()
	return &state{
		a: a, work: work, facts: facts,
		ledger:      budget.New(budget.Options{}),
		servers:     map[string]*server{},
		lanes:       map[fleet.DeploymentID]*lane{},
		grants:      newGrantBook(),
		caps:        map[string]int{},
		known:       map[string]lastKnown{},
		sensing:     pulse.Round{Bound: senseBound},
		discovering: pulse.Round{Bound: discoverTimeout + hangSlack},
		helloBy:     now.Add(helloPatience),
		beatDue:     now.Add(heartbeatEvery),
		senseDue:    now.Add(heartbeatEvery),
		lastTick:    now,
		lastWall:    now.Round(0),
	}
}

func (s *state) now() time.Time { return s.a.cfg.Now() }

// lane returns the deployment's lane, made if there is none.
func (s *state) lane(id fleet.DeploymentID) *lane {
	l := s.lanes[id]
	if l == nil {
		l = &lane{id: id, leases: map[*lease]struct{}{}}
		s.lanes[id] = l
	}
	return l
}

// running counts the requests that hold a slot; the owner's own orders to load
// hold none.
func (l *lane) running() int { return len(l.leases) - l.orders }

func (l *lane) add(le *lease) {
	l.leases[le] = struct{}{}
	if le.own {
		l.orders++
	}
}

func (l *lane) remove(le *lease) {
	delete(l.leases, le)
	if le.own {
		l.orders--
	}
}

// idle reports whether nothing of ours uses or may use the deployment.
func (l *lane) idle() bool {
	return l == nil || len(l.leases) == 0 && len(l.holds) == 0 && l.load == nil
}

// onConfigure takes new settings over: rules, pools, declared runtimes.
func (s *state) onConfigure(set Settings) {
	s.set = set
	s.ledger.Configure(budget.Options{RejectUnknown: set.RejectUnknown, AssumedTTL: set.AssumedTTL})
	s.layPools()
	s.declare(set.Runtimes)
	s.dirty = true
}

// onTick does what is due.
func (s *state) onTick() {
	now := s.now()
	s.noticeWake(now)
	if s.pause.over(now) {
		s.onResume()
	}
	if s.expireHolds(now) {
		s.dirty = true
		s.saveSoon()
	}
	if !s.hello && !now.Before(s.helloBy) {
		s.dirty = true
	}
	if !now.Before(s.senseDue) {
		s.senseDue = now.Add(heartbeatEvery)
		s.startSensing()
	}
	if due(s.discoverDue, now) || due(s.discovering.Due(), now) {
		s.startDiscovery()
	}
	for _, srv := range s.servers {
		if due(srv.pollDue, now) || due(srv.polling.Due(), now) {
			s.poll(srv)
		}
	}
	s.pause.cutDue(s, now)
	if due(s.saveDue, now) {
		s.save()
	}
	if !now.Before(s.beatDue) || due(s.retryDue, now) {
		s.dirty = true
	}
}

func due(at, now time.Time) bool { return !at.IsZero() && !now.Before(at) }

// settle runs after every message: what became dirty is reported.
func (s *state) settle() {
	if s.dirty && s.mayReport() {
		s.report()
	}
}

// nextDue is when onTick must run next.
func (s *state) nextDue() time.Time {
	next := s.beatDue
	earlier := func(t time.Time) {
		if !t.IsZero() && t.Before(next) {
			next = t
		}
	}
	for _, t := range []time.Time{s.senseDue, s.discoverDue, s.retryDue, s.pause.Until, s.pause.cutAt} {
		earlier(t)
	}
	if !s.stopping {
		earlier(s.discovering.Due())
	}
	if !s.saving {
		earlier(s.saveDue)
	}
	if !s.hello {
		earlier(s.helloBy)
	}
	for _, srv := range s.servers {
		if s.stopping {
			break // nothing is looked at any more, and what hangs is left
		}
		if srv.polling.Under() {
			earlier(srv.polling.Due())
		} else {
			earlier(srv.pollDue)
		}
	}
	for _, l := range s.lanes {
		for _, h := range l.holds {
			earlier(h)
		}
	}
	return next
}

// sleepSign is how much further the wall clock must have gone than the
// monotonic one for the machine to have slept.
const sleepSign = 10 * time.Second

// noticeWake looks at everything anew after the machine slept: runtimes lose
// their GPU then, and readings are old (routing.md 12 is about calls that
// outlive such a gap; their deadlines see to those).
func (s *state) noticeWake(now time.Time) {
	wall, mono := now.Round(0).Sub(s.lastWall), now.Sub(s.lastTick)
	s.lastTick, s.lastWall = now, now.Round(0)
	if wall-mono < sleepSign {
		return
	}
	s.a.log.Info("machine woke", "slept", (wall - mono).Round(time.Second))
	s.senseDue, s.discoverDue = now, now
	s.observeAll()
}

// startSensing reads the machine beside the loop.
func (s *state) startSensing() {
	if s.stopping {
		return
	}
	ticket, ok := s.begin(&s.sensing, "the senses")
	if !ok {
		return
	}
	s.a.work.Go(func() {
		s.a.post(sensed{s.a.cfg.Sense(s.work), ticket})
	})
}

// senseFirst reads the machine before the first report. Where that hangs the
// node goes on without, and takes the readings when they come.
func (s *state) senseFirst() {
	ticket, _ := s.sensing.Begin(s.now())
	first, late := make(chan sense.Readings), make(chan struct{})
	s.a.work.Go(func() {
		r := s.a.cfg.Sense(s.work)
		select {
		case first <- r:
		case <-late:
			s.a.post(sensed{r, ticket})
		}
	})
	patience := time.NewTimer(helloPatience)
	defer patience.Stop()
	select {
	case s.readings = <-first:
		s.sensing.End(ticket)
	case <-patience.C:
		close(late)
		s.a.log.Warn("the senses do not answer; the node starts without readings of the machine")
	}
}

// begin begins a round of what, and logs when one before it was given up.
func (s *state) begin(r *pulse.Round, what string) (ticket uint64, ok bool) {
	now := s.now()
	hung := r.Under()
	if ticket, ok = r.Begin(now); ok && hung {
		s.a.log.Warn(what+" hang; a look was given up and the next is begun", "since", r.Hung(now).Format(time.RFC3339))
		s.dirty = true
	}
	return ticket, ok
}

type sensed struct {
	sense.Readings
	ticket uint64
}

func (m sensed) on(s *state) {
	if !s.sensing.End(m.ticket) {
		return
	}
	before := s.readings
	s.readings = m.Readings
	s.layPools()
	if before.Pressure != m.Pressure || before.OnBattery != m.OnBattery || before.Meeting != m.Meeting {
		s.dirty = true
	}
}

// cutAll ends leases with a cause; nil keep takes all.
func (s *state) cutAll(cause *fleet.Failure, which func(*lease) bool) {
	for _, l := range s.lanes {
		for le := range l.leases {
			if which == nil || which(le) {
				le.cut(cause)
			}
		}
	}
}

// onStop refuses from now on and ends what runs.
func (s *state) onStop() {
	s.stopping, s.draining = true, true
	s.cutAll(&fleet.Failure{Class: fleet.FailCancelled, Message: "the node is shutting down"}, nil)
}
