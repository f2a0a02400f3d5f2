package agent

import (
	"context"
	"fmt"
	"slices"
	"time"

	"bellwether/engine/budget"
	"bellwether/engine/dialect"
	"bellwether/engine/fleet"
	"bellwether/platform/sense"
)

// admission asks the loop to let one grant in. Load-only orders of the owner
// (own) come without a router: no boot, epoch, once, age, slot.
type admission struct {
	grant fleet.Grant
	own   bool
	// unload: the request itself unloads its model, so nothing is loaded for it.
	unload bool
	keep   dialect.Raw // keep_alive for a load, as the client sent it
	at     time.Time
	reply  chan verdict // buffer of one: the loop never waits for it to be read
}

type verdict struct {
	lease   *lease
	refusal *fleet.Refusal
}

func (m *admission) on(s *state) {
	le, refusal := s.admit(m)
	if refusal != nil {
		refusal = s.refuse(refusal)
	}
	m.reply <- verdict{le, refusal}
}

// knock sends an admission and waits for the verdict. It cannot be abandoned
// halfway: a lease that nobody takes would never end.
func (a *Agent) knock(m *admission) verdict {
	m.reply = make(chan verdict, 1)
	if !a.post(m) {
		return verdict{refusal: &fleet.Refusal{Code: fleet.CodeDraining, Reason: errStopped.Error()}}
	}
	select {
	case v := <-m.reply:
		return v
	case <-a.done:
		select {
		case v := <-m.reply:
			return v
		default:
			return verdict{refusal: &fleet.Refusal{Code: fleet.CodeDraining, Reason: errStopped.Error()}}
		}
	}
}

// admit decides and reserves in one step. On a refusal nothing has changed.
//
//  1. the grant itself: this boot, no older epoch, once, not too old
//  2. the owner: draining, paused, memory pressure, battery, meeting
//  3. the deployment: runtime up, model there, enabled, not leaving
//  4. a free slot; calls that may still run fill theirs
//  5. memory, with as few of the plan's victims as it takes
func (s *state) admit(m *admission) (*lease, *fleet.Refusal) {
	now := s.now()
	g := &m.grant
	if !m.own {
		s.grants.take(g, now)
		if r := s.judgeGrant(m, now); r != nil { // 1
			return nil, r
		}
	}
	if r := s.judgeOwner(g); r != nil { // 2
		return nil, r
	}
	srv, d, r := s.judgeDeployment(g.Deployment) // 3
	if r != nil {
		return nil, r
	}
	ln := s.lane(d.ID)
	if !m.own {
		if r := s.judgeSlots(ln, srv, d); r != nil { // 4
			return nil, r
		}
	}
	le := newLease(s.a, srv, d, m)
	if r := s.reserve(le, ln, m); r != nil { // 5
		le.ctx.end(nil)
		return nil, r
	}
	if !m.own {
		s.grants.use(g)
	}
	ln.add(le)
	le.beside = ln.running()
	s.admitted++
	return le, nil
}

func (s *state) judgeGrant(m *admission, now time.Time) *fleet.Refusal {
	g := &m.grant
	switch {
	case g.Boot != s.a.boot:
		return no(fleet.CodeAdmission, "the grant is for an earlier start of this node")
	case g.Epoch < s.grants.epoch:
		return no(fleet.CodeAdmission, fmt.Sprintf("the grant is of router epoch %d, the current one is %d", g.Epoch, s.grants.epoch))
	case s.grants.spent(g):
		return no(fleet.CodeAdmission, "the grant was used already")
	case now.Sub(m.at) > fleet.GrantTTL:
		return no(fleet.CodeAdmission, "the grant lay unused for more than 2 s")
	}
	return nil
}

func (s *state) judgeOwner(g *fleet.Grant) *fleet.Refusal {
	exempt := g.Origin == s.a.cfg.Node && s.set.OwnRequests == "serve" // its owner is asking
	switch p := s.readings.Pressure; {
	case s.draining:
		return no(fleet.CodeDraining, "the node is leaving the fleet")
	case s.pause.On:
		return no(fleet.CodePaused, s.pause.text(s.now()))
	case p.Known && p.V == sense.PressureCritical:
		return no(fleet.CodePressure, "the machine is critically short of memory")
	}
	switch b, meeting := s.readings.OnBattery, s.readings.Meeting; {
	case b.Known && b.V && (s.set.Battery == "none" || s.set.Battery == "own" && !exempt):
		return no(fleet.CodeBattery, "the machine runs on battery")
	case meeting.Known && meeting.V && s.set.Meetings && !exempt:
		return no(fleet.CodeMeeting, "the owner is in a meeting")
	}
	return nil
}

func (s *state) judgeDeployment(id fleet.DeploymentID) (*server, *fleet.Deployment, *fleet.Refusal) {
	srv := s.servers[id.Runtime]
	if id.Node != s.a.cfg.Node || srv == nil {
		return nil, nil, no(fleet.CodeNoRuntime, "there is no runtime "+id.Runtime+" here")
	}
	if !srv.up {
		return nil, nil, no(fleet.CodeNoRuntime, srv.name+" is down: "+srv.reason)
	}
	d := srv.find(id.Model)
	switch {
	case d == nil:
		return nil, nil, no(fleet.CodeModelAbsent, srv.name+" does not have "+id.Model)
	case d.Disabled:
		return nil, nil, no(fleet.CodeDisabled, id.Model+" is switched off")
	case d.Unhealthy != "":
		return nil, nil, no(fleet.CodeUnhealthy, id.Model+": "+d.Unhealthy)
	}
	if l := s.lanes[d.ID]; l != nil && l.leaving > 0 {
		return nil, nil, no(fleet.CodeAdmission, id.Model+" is being unloaded")
	}
	return srv, d, nil
}

// slots is how many requests the deployment runs at once: as declared by its
// owner or its runtime, else the setting's cap.
func (s *state) slots(srv *server, d *fleet.Deployment) int {
	switch {
	case d.Slots > 0 && srv.target.Parallel > 0:
		return min(d.Slots, srv.target.Parallel)
	case d.Slots > 0:
		return d.Slots
	case srv.target.Parallel > 0:
		return srv.target.Parallel
	}
	return s.set.MaxSlots
}

func (s *state) judgeSlots(l *lane, srv *server, d *fleet.Deployment) *fleet.Refusal {
	most := s.slots(srv, d)
	switch running := l.running(); {
	case running >= most:
		return no(fleet.CodeAdmission, fmt.Sprintf("all %d slots of %s are taken", most, d.ID.Model))
	case running+len(l.holds) >= most:
		return no(fleet.CodeUncertainHold, unseenEnd(d.ID.Model))
	}
	return nil
}

// unseenEnd is why a call that is no longer ours keeps its slot.
func unseenEnd(model string) string {
	return "a call to " + model + " whose end was not seen may still be running"
}

// reserve takes the memory, and starts or joins the load where one is needed.
func (s *state) reserve(le *lease, l *lane, m *admission) *fleet.Refusal {
	needsLoad := !m.unload && s.needsLoad(le.server, le.deployment, &m.grant)
	if needsLoad && l.load != nil && l.load.aborted {
		return no(fleet.CodeAdmission, "a load of "+l.id.Model+" that everyone gave up is still ending")
	}
	c := budget.Candidate{Deployment: le.deployment.ID, Need: s.need(le.deployment, le.server)}
	if needsLoad {
		c.Need = c.Need.Resized(m.grant.Need)
		c.MaxLoaded = le.server.maxLoaded()
	}
	denial := s.ledger.Reserve(le.key, c)
	if denial != nil {
		c.Evict, denial = s.leastEviction(c, m.grant.Evict, needsLoad && l.load == nil, denial)
		if denial != nil && denial.Kind == budget.DenyMaxLoaded && m.own && l.load == nil {
			c.Evict, denial = s.leastEviction(c, s.oldestIdle(le.server), true, denial)
		}
		if denial == nil {
			denial = s.ledger.Reserve(le.key, c)
		}
	}
	if denial != nil {
		return denied(denial)
	}
	if needsLoad {
		le.join(s.loadFor(l, le.server, c, m)) // whose order to load is what makes the runtime take memory
		return nil
	}
	var first bool
	if le.saved, first = s.assume(le.key, le.deployment.ID); first {
		le.fresh = true
	} else if !le.confirms {
		s.saveSoon() // so that a restart knows of the call
	}
	return nil
}

// leastEviction finds the shortest head of the plan's victims with which the
// candidate comes in that was denied without: what left by itself meanwhile
// need not be repeated by a neighbour.
func (s *state) leastEviction(c budget.Candidate, plan []fleet.DeploymentID, may bool, denial *budget.Denial) ([]fleet.DeploymentID, *budget.Denial) {
	if !may {
		return nil, denial
	}
	var victims []fleet.DeploymentID
	for _, id := range plan {
		if !s.resident(id) {
			continue
		}
		if v := s.lanes[id]; !v.idle() || v != nil && v.leaving > 0 {
			return nil, &budget.Denial{Kind: budget.DenyVictim, Deployment: id}
		}
		victims = append(victims, id)
		c.Evict = victims
		if denial = s.ledger.Admit(c); denial == nil {
			return victims, nil
		}
	}
	return nil, denial
}

// oldestIdle lists what may leave a full runtime for a load its owner ordered:
// one model less is what the runtime itself would see to, the oldest first.
func (s *state) oldestIdle(srv *server) []fleet.DeploymentID {
	ids := slices.DeleteFunc(s.loadedOn(srv), func(id fleet.DeploymentID) bool {
		d := srv.find(id.Model)
		return d == nil || d.Pinned || !s.lanes[id].idle() || s.residency(srv, d) != fleet.Loaded
	})
	slices.SortStableFunc(ids, func(a, b fleet.DeploymentID) int { return s.lane(a).loadedAt.Compare(s.lane(b).loadedAt) })
	return ids
}

// assume notes that a byte is about to leave for the deployment under the
// given reservation. Where the saved state does not count it yet, first is
// true and the byte must wait for saved: a killed agent forgets nothing.
func (s *state) assume(key string, id fleet.DeploymentID) (saved <-chan struct{}, first bool) {
	s.ledger.Sent(key, s.now())
	if _, counted := s.onFile[id]; counted {
		return nil, false
	}
	if s.a.cfg.Persist == nil {
		s.onFile[id] = struct{}{} // nothing outlives this process; only the first is told
		return nil, true
	}
	return s.saveAtOnce(), true
}

// need is the memory a deployment takes when loaded.
func (s *state) need(d *fleet.Deployment, srv *server) budget.Need {
	rt := fleet.RuntimeState{Name: srv.name, Pool: s.mainPool()}
	return budget.NeedOf(d, &rt, s.pools)
}

func no(code fleet.Code, reason string) *fleet.Refusal {
	return &fleet.Refusal{Code: code, Reason: reason}
}

func denied(d *budget.Denial) *fleet.Refusal {
	switch d.Kind {
	case budget.DenyMemory, budget.DenyUnknown, budget.DenyVictim:
		return no(fleet.CodeMemory, d.Error())
	}
	return no(fleet.CodeAdmission, d.Error())
}

// retryReport is the longest a lane stays closed after a refusal when nothing
// here changes: the refused router needs a newer heartbeat to try again.
const retryReport = 250 * time.Millisecond

// refuse completes a refusal with the ledger it was decided on, and sees to a
// newer report.
func (s *state) refuse(r *fleet.Refusal) *fleet.Refusal {
	now := s.now()
	r.Sequence = s.sequence
	r.Pools = s.ledger.Pools(now)
	s.refused = true
	if s.retryDue.IsZero() {
		s.retryDue = now.Add(retryReport)
	}
	s.a.log.Debug("refused", "code", r.Code, "reason", r.Reason)
	return r
}

// deadlines of a grant that names none.
const (
	defaultFirstContent = 60 * time.Second
	defaultIdle         = 120 * time.Second
	defaultTotal        = time.Hour
)

// clientGone is the cause a request ends with when its caller left.
func clientGone(ctx context.Context) *fleet.Failure {
	return &fleet.Failure{Class: fleet.FailCancelled, Message: "the caller left: " + context.Cause(ctx).Error()}
}
