package route

import (
	"slices"
	"strings"
	"time"

	"bellwether/engine/fleet"
)

// leastAvailability is where capacity learning pauses a node.
const leastAvailability = 0.20

const critical = "critical"

// checkNode runs the checks that hold for everything on a node (routing.md 3,
// stage 1). A request made on the node itself is exempt from those that keep
// others off a machine in use: its owner is asking.
func (j *judge) checkNode(n *nodeView) {
	s := &n.State
	own := n.Node.Node == j.q.Origin && s.OwnRequests == "serve"
	n.exempt = own
	out := func(code fleet.Code, hold bool, operands ...any) {
		n.out = append(n.out, Exclusion{Code: code, Operands: operands, Hold: hold})
	}
	if n.Liveness == fleet.Offline {
		out(fleet.CodeOffline, true, n.Name, ago(j.v.Now, n.LastSeen))
	}
	if s.Draining {
		out(fleet.CodeDraining, true, n.Name)
	}
	if s.Pressure == critical {
		out(fleet.CodePressure, true, n.Name)
	}
	if s.Paused {
		out(fleet.CodePaused, true, n.Name, s.PauseReason, until(j.v.Now, s.PausedUntil))
	}
	if s.OnBattery == fleet.Yes && batteryKeepsOut(s.Battery, own) {
		out(fleet.CodeBattery, true, n.Name, s.Battery)
	}
	if s.Meeting == fleet.Yes && !own {
		out(fleet.CodeMeeting, true, n.Name, s.MeetingWhy)
	}
	if s.Learning && !own {
		if s.Observing {
			out(fleet.CodeObserving, false, n.Name)
		}
		if s.Busy {
			out(fleet.CodeBusy, true, n.Name)
		}
		if learnedAway(s) {
			out(fleet.CodeAvailability, true, n.Name, s.Availability)
		}
	}
	if j.q.Needs.Node != "" && !n.isCalled(j.q.Needs.Node) {
		out(fleet.CodeBound, false, boundNode, j.q.Needs.Node)
	}
}

// Kinds of the bound exclusion: its first operand.
const (
	boundNode  = "node"
	boundModel = "model"
)

func (n *nodeView) isCalled(name string) bool {
	return n.Node.Node == name || strings.EqualFold(n.Name, name)
}

// batteryKeepsOut: with "own" (the default) a machine on battery serves its
// owner only, with "none" nobody.
func batteryKeepsOut(setting string, own bool) bool {
	switch setting {
	case "serve":
		return false
	case "none":
		return true
	default:
		return !own
	}
}

// learnedAway: the mode has the hysteresis; the score decides where no mode is told.
func learnedAway(s *fleet.NodeState) bool {
	if s.Mode != "" {
		return s.Mode == "paused"
	}
	return s.Availability < leastAvailability
}

// ago is how long something is past, in whole seconds; -1 when it is not known.
func ago(now, then time.Time) int {
	if then.IsZero() {
		return -1
	}
	return int(now.Sub(then).Seconds())
}

// until is how long something lasts yet, in whole seconds; -1 without an end.
func until(now, then time.Time) int {
	if then.IsZero() {
		return -1
	}
	return max(0, int(then.Sub(now).Seconds()))
}

// checkPlace runs the checks of one deployment in its place: its runtime and
// what happened there before.
func (j *judge) checkPlace(c *cand) {
	n, d := c.node, c.dep
	if rt := n.Runtime(d.ID.Runtime); rt == nil || !rt.Up {
		c.out = append(c.out, runtimeDown(n.Node, d.ID.Runtime))
	}
	if n.State.Pressure != critical && j.poolPressed(c) {
		c.exclude(fleet.CodePressure, true, n.Name)
	}
	if slices.Contains(j.q.Failed, d.ID) {
		c.exclude(fleet.CodeFailedBefore, false, n.Name)
	}
	if open := j.v.Open[d.ID]; open.KeepsOut(j.q.Needs.App) && (open.RetryAt.IsZero() || j.v.Now.Before(open.RetryAt)) {
		c.exclude(fleet.CodeCircuitOpen, true, d.ID.Model, n.Name, until(j.v.Now, open.RetryAt), open.App)
	}
	if j.bound && c.tag != j.q.Needs.IssuedBy {
		c.exclude(fleet.CodeBound, false, boundModel, d.ID.Model)
	}
	j.checkUncertain(c)
}

// checkUncertain: a call whose end was not seen may still run there. A retry must not
// run the same request beside it; a new one waits only where it would find no
// slot of its own.
func (j *judge) checkUncertain(c *cand) {
	left, held := c.node.Uncertain[c.dep.ID]
	if !held || left <= 0 {
		return
	}
	if j.q.Attempt > 1 || c.Slots <= 1 {
		c.exclude(fleet.CodeUncertainHold, true, c.dep.ID.Model, c.node.Name, int(left.Seconds()))
		return
	}
	c.note("uncertain_hold")
}

func (j *judge) poolPressed(c *cand) bool {
	for i := range c.node.pools {
		if p := &c.node.pools[i]; p.Pressure == critical && c.uses(p.Name) {
			return true
		}
	}
	return false
}

// uses reports whether the deployment's runtime takes memory from a pool.
func (c *cand) uses(pool string) bool {
	rt := c.node.Runtime(c.dep.ID.Runtime)
	return rt != nil && rt.Pool == pool
}

// bindToIssuer finds the candidates whose model made the tool calls this
// request answers. Where none has that identity any more (deleted, pulled
// again, another model asked by name), the binding can hold nobody: it is
// dropped and noted, for a refusal would end the conversation for good.
func (j *judge) bindToIssuer() {
	tag := j.q.Needs.IssuedBy
	if tag == "" || len(j.p.ToolKey) == 0 {
		return
	}
	tags := map[string]string{} // sealing costs more than all else here, and nodes share identities
	for _, c := range j.cands {
		who := c.dep.Identity()
		if _, known := tags[who]; !known {
			tags[who] = IdentityTag(j.p.ToolKey, who)
		}
		c.tag = tags[who]
		j.bound = j.bound || c.tag == tag
	}
	if !j.bound {
		j.reason("issuer_gone")
	}
}
