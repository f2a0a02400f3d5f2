package agent

import (
	"cmp"
	"context"
	"errors"
	"time"

	"bellwether/engine/budget"
	"bellwether/engine/fleet"
	"bellwether/engine/pulse"
	"bellwether/engine/runtime"
)

// server is one runtime as the agent sees it. The loop owns it; goroutines get
// copies of what they need.
type server struct {
	name     string
	target   runtime.Target
	declared bool // by the owner; else discovered
	recalled bool // found by an earlier process, not yet by this one
	removed  bool // no longer wanted; late results are dropped

	adapter runtime.Adapter // nil until connected
	up      bool
	reason  string    // why it is not up
	cure    string    // what helps where it is not up, "" = to start it
	fails   int       // failed observations in a row
	downAt  time.Time // or when it was first looked for
	version string
	leads   string // runtime.Inventory.Server
	oneWith string // the runtime that is used in place of this one, see standsBack
	unlike  int    // observations in a row that differ from that one's

	observedAt time.Time                    // start of the last good observation
	reports    bool                         // it says what is in memory
	told       int                          // the most models it says it keeps, 0 = it does not say
	models     map[string]*fleet.Deployment // by canonical name; published values, never changed
	leftovers  []fleet.Deployment           // see runtime.Inventory

	othersAt time.Time // when work that is not ours was seen there last

	weights map[string]weights // of those models whose file is known; never changed

	tried   bool        // at least one observation came back, good or not
	polling pulse.Round // at most one observation at a time
	again   bool        // another one is wanted right after
	pollDue time.Time
	// lookAgain is when an observation is wanted that began then: one sooner
	// would not settle what was broken off.
	lookAgain time.Time
	waits     []pollWait
	absent    []*absence
	cap       capLearner

	locked string // why it refused our key to the newest call, "" = it did not
}

// pollWait is someone who waits for an observation begun at since or later.
type pollWait struct {
	since time.Time
	done  chan struct{}
}

// absence is someone who waits until a deployment was seen to be gone.
type absence struct {
	id    fleet.DeploymentID
	since time.Time
	seen  chan struct{}
}

// find returns the deployment of a model by any spelling, nil if there is none.
func (srv *server) find(model string) *fleet.Deployment {
	return srv.models[fleet.CanonicalModel(model)]
}

// maxLoaded is the most models the runtime keeps: declared, else as it says
// itself, else learned from its own evictions; 0 = unknown.
func (srv *server) maxLoaded() int {
	return cmp.Or(srv.target.MaxLoaded, srv.told, srv.cap.most)
}

// residency is where a deployment's weights are, by the newest knowledge.
func (s *state) residency(srv *server, d *fleet.Deployment) fleet.Residency {
	l := s.lanes[d.ID]
	switch {
	case l == nil:
		return d.Residency
	case l.leaving > 0:
		return fleet.Leaving
	case l.load != nil:
		return fleet.Loading
	case !srv.reports:
		return d.Residency
	case l.unloadedAt.After(srv.observedAt) && l.unloadedAt.After(l.loadedAt):
		return fleet.OnDisk
	case l.loadedAt.After(srv.observedAt):
		return fleet.Loaded
	}
	return d.Residency
}

// loadedContext is the window a deployment has, or will have once its load
// ends, by the newest knowledge; 0 = unknown. Between our load and the next
// observation we know only what we ordered, and a request that came in between
// must not undo it with a window of its own.
func (s *state) loadedContext(srv *server, d *fleet.Deployment) int {
	l := s.lanes[d.ID]
	switch {
	case l == nil:
	case l.load != nil:
		return cmp.Or(l.load.options.Context, d.LoadedContext)
	case srv.reports && l.loadedAt.After(srv.observedAt):
		return cmp.Or(l.context, d.LoadedContext)
	}
	return d.LoadedContext
}

// resident reports whether a deployment is in memory or on its way out.
func (s *state) resident(id fleet.DeploymentID) bool {
	srv := s.servers[id.Runtime]
	if srv == nil {
		return false
	}
	d := srv.find(id.Model)
	return d != nil && s.residency(srv, d) != fleet.OnDisk
}

// observe asks for an observation that begins from now on.
func (s *state) observe(srv *server) {
	if srv.removed {
		return
	}
	if srv.polling.Under() {
		srv.again = true
		return
	}
	s.poll(srv)
}

// observeAll observes every runtime and returns what to wait for.
func (s *state) observeAll() []<-chan struct{} {
	now := s.now()
	var out []<-chan struct{}
	for _, srv := range s.servers {
		w := pollWait{now, make(chan struct{})}
		srv.waits = append(srv.waits, w)
		out = append(out, w.done)
		s.observe(srv)
	}
	return out
}

// poll observes a runtime beside the loop. Never two at once: the answers
// could overtake each other.
func (s *state) poll(srv *server) {
	if s.stopping {
		return
	}
	ticket, ok := s.begin(&srv.polling, "the observations of "+srv.name)
	if !ok {
		return
	}
	srv.again = false
	m := &observed{server: srv, adapter: srv.adapter, started: s.now(), ticket: ticket}
	target, connect := srv.target, s.a.cfg.Connect
	s.a.work.Go(func() {
		ctx, cancel := context.WithTimeout(s.work, pollTimeout)
		defer cancel()
		if m.adapter == nil {
			m.adapter, m.err = connect(ctx, target)
		}
		if m.err == nil {
			m.inventory, m.err = m.adapter.Inventory(ctx)
		}
		if m.err == nil {
			m.weights = findWeights(m.inventory.Deployments)
		}
		s.a.post(m)
	})
}

// observed is the result of one observation.
type observed struct {
	server    *server
	adapter   runtime.Adapter
	started   time.Time
	ticket    uint64
	inventory *runtime.Inventory
	weights   map[string]weights // by canonical model name
	err       error
}

func (m *observed) on(s *state) {
	srv, now := m.server, s.now()
	counts := srv.polling.End(m.ticket)
	if !counts || srv.removed {
		if m.adapter != srv.adapter || srv.removed {
			s.closeAdapter(m.adapter)
		}
		return
	}
	srv.tried = true
	if m.adapter != nil {
		srv.adapter = m.adapter
	}
	switch {
	case m.err != nil:
		s.onBlind(srv, m.err)
	case s.standsBack(srv, m.inventory, m.started):
	default:
		srv.weights = m.weights
		s.onSeen(srv, m.inventory, m.started)
	}
	left := srv.waits[:0]
	for _, w := range srv.waits {
		if m.started.Before(w.since) {
			left = append(left, w)
			continue
		}
		s.dirty = true
		defer close(w.done) // after the report, see settle below
	}
	srv.waits = left
	srv.pollDue = now.Add(s.pollPause(srv))
	if srv.lookAgain.After(m.started) && srv.lookAgain.Before(srv.pollDue) {
		srv.pollDue = srv.lookAgain
	}
	s.giveUp(srv)
	if !srv.removed && (srv.again || len(srv.waits) > 0) {
		s.poll(srv)
	}
	s.settle()
}

// pollPause is how long the runtime is left alone: not long while something
// there is about to change.
func (s *state) pollPause(srv *server) time.Duration {
	switch {
	case len(srv.absent) > 0:
		return pollLeaving
	case !srv.up && s.now().Sub(srv.downAt) < restartTime:
		return pollFast // most that go down are being restarted
	}
	for _, d := range srv.models {
		switch l := s.lanes[d.ID]; {
		case d.Residency == fleet.Loading, d.Residency == fleet.Leaving:
			return pollFast
		case l != nil && (l.load != nil || l.leaving > 0):
			return pollFast
		case l != nil && len(l.holds) > 0 && canSayIdle(srv):
			return pollFast
		}
	}
	return pollEvery
}

// restartTime is how long a runtime that went down is looked for more often.
const restartTime = time.Minute

// failsToDown is how many failed observations in a row make a runtime down. A
// refused connection is no lost answer and needs no second one.
const failsToDown = 2

// onBlind takes a failed observation: it says nothing about what is in memory.
func (s *state) onBlind(srv *server, err error) {
	srv.fails++
	var f *fleet.Failure
	refused := errors.As(err, &f) && f.Class == fleet.FailConnect
	if srv.fails < failsToDown && !refused && srv.adapter != nil && srv.up {
		return
	}
	reason := reasonOf(err)
	srv.cure, srv.oneWith = srv.cureOf(err), ""
	if srv.up {
		srv.downAt = s.now()
	}
	if srv.up || srv.reason != reason {
		s.dirty = true
		s.a.log.Info("runtime down", "runtime", srv.name, "reason", reason)
	}
	srv.up, srv.reason = false, reason
	if srv.target.Kind == "" && srv.adapter != nil && s.unused(srv) {
		// Whatever comes back at this address may be another kind.
		s.closeAdapter(srv.adapter)
		srv.adapter = nil
	}
}

func reasonOf(err error) string {
	var f *fleet.Failure
	switch {
	case errors.As(err, &f):
		return f.Message
	case errors.Is(err, context.DeadlineExceeded):
		return "it does not answer in time"
	}
	return err.Error()
}

// cureOf is what helps against a failure of every observation, "" = to start
// the runtime.
func (srv *server) cureOf(err error) string {
	var f *fleet.Failure
	switch {
	case errors.As(err, &f) && f.Code == runtime.CodeUnauthorized:
		return "set api_key of " + srv.name + " under runtimes to the key it was started with"
	case errors.As(err, &f) && f.Code == runtime.CodeOurselves, errors.Is(err, runtime.ErrOurselves):
		return runtime.CureOurselves
	case errors.Is(err, runtime.ErrUnknownRuntime):
		return runtime.CureUnknown
	}
	return ""
}

// unused reports whether no request runs on the runtime.
func (s *state) unused(srv *server) bool {
	for id, l := range s.lanes {
		if id.Runtime == srv.name && (len(l.leases) > 0 || l.load != nil) {
			return false
		}
	}
	return true
}

// onSeen takes a good observation.
func (s *state) onSeen(srv *server, inv *runtime.Inventory, started time.Time) {
	if !inv.StartedAt.IsZero() && inv.StartedAt.Before(started) {
		started = inv.StartedAt
	}
	was := srv.models
	known, before := was, s.loadedOn(srv)
	if !srv.up {
		known = nil // it may be another process: what is gone was not evicted
		s.dirty = true
		s.a.log.Info("runtime up", "runtime", srv.name, "version", inv.Version)
	}
	srv.up, srv.reason, srv.cure, srv.fails = true, "", "", 0
	srv.version, srv.reports, srv.observedAt = inv.Version, inv.ReportsResidency, started
	srv.told, srv.recalled = inv.MaxLoaded, false
	s.know(srv, inv.Deployments)
	srv.models = make(map[string]*fleet.Deployment, len(inv.Deployments))
	for i := range inv.Deployments {
		d := s.adopt(srv, inv.Deployments[i])
		srv.models[fleet.CanonicalModel(d.ID.Model)] = d
	}
	srv.leftovers = inv.Leftovers
	s.noteMoves(srv, known, before, started)
	s.noteOthers(srv, known)
	if inv.ReportsResidency {
		held := s.held()
		s.ledger.Observe(s.observation(srv, started))
		if s.held() != held { // what was assumed was settled, or grew
			s.dirty = true
			s.saveSoon()
		}
	}
	s.caps[srv.name] = srv.cap.most
	s.pinAll()
	s.tellAbsent(srv)
	if changed(was, srv.models) {
		s.dirty = true
		s.saveSoon()
	}
	s.askHolds(srv)
}

// adopt completes a deployment as its runtime reported it: where it is, what
// was measured earlier, what the operator declared, what we noticed.
func (s *state) adopt(srv *server, d fleet.Deployment) *fleet.Deployment {
	d.ID.Node, d.ID.Runtime = s.a.cfg.Node, srv.name
	if d.Kind == "" {
		d.Kind = srv.adapter.Target().Kind
	}
	l := s.lane(d.ID)
	if d.Residency == fleet.Loaded && d.ResidentBytes > 0 {
		l.size = measure{d.Digest, d.ResidentBytes, d.ResidentVRAM, d.LoadedContext}
	} else if d.ResidentBytes == 0 && l.size.Digest == d.Digest {
		d.ResidentBytes, d.ResidentVRAM = l.size.Bytes, l.size.VRAM
	}
	if d.Degraded == "" {
		d.Degraded = s.spilled(&d)
	}
	if s.a.cfg.Declare != nil {
		s.a.cfg.Declare(&d)
	}
	return &d
}

// observation is what the ledger learns.
func (s *state) observation(srv *server, started time.Time) budget.Observation {
	o := budget.Observation{Node: s.a.cfg.Node, Runtime: srv.name, StartedAt: started, Resident: map[fleet.DeploymentID]budget.Need{}}
	for _, d := range srv.models {
		if d.Residency != fleet.OnDisk { // one being loaded takes its memory already
			o.Resident[d.ID] = s.need(d, srv)
		}
	}
	for _, d := range srv.leftovers {
		d.ID.Node, d.ID.Runtime = s.a.cfg.Node, srv.name
		o.Resident[d.ID] = s.need(&d, srv)
	}
	return o
}

func (s *state) pinAll() {
	var ids []fleet.DeploymentID
	for _, srv := range s.servers {
		for _, d := range srv.models {
			if d.Pinned {
				ids = append(ids, d.ID)
			}
		}
	}
	s.ledger.SetPinned(ids)
}

// onAwaitAbsence registers someone who waits for a deployment to be gone.
func (s *state) onAwaitAbsence(w *absence) {
	srv := s.servers[w.id.Runtime]
	if srv == nil || !srv.reports {
		close(w.seen) // nobody can say; the unload's word must do
		return
	}
	srv.absent = append(srv.absent, w)
	s.observe(srv)
}

func (s *state) tellAbsent(srv *server) {
	left := srv.absent[:0]
	for _, w := range srv.absent {
		d := srv.find(w.id.Model)
		if !srv.observedAt.Before(w.since) && (d == nil || d.Residency == fleet.OnDisk) {
			close(w.seen)
			continue
		}
		if s.now().Sub(w.since) < 2*leaveTimeout { // else its waiter has left
			left = append(left, w)
		}
	}
	srv.absent = left
}

func (s *state) closeAdapters() {
	for _, srv := range s.servers {
		s.closeAdapter(srv.adapter)
	}
}

// closeAdapter ends an adapter that can be; it may wait for drained calls.
func (s *state) closeAdapter(ad runtime.Adapter) {
	c, ok := ad.(runtime.Closer)
	if !ok {
		return
	}
	if s.stopping {
		c.Close()
		return
	}
	s.a.work.Go(c.Close)
}
