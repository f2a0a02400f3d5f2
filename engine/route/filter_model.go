package route

import (
	"slices"
	"time"

	"bellwether/engine/fleet"
)

// checkModel runs the checks that look at the model alone (routing.md 3).
// Every failed one is listed, so that a person sees all that is in the way.
func (j *judge) checkModel(c *cand) {
	n, d := &j.q.Needs, c.dep
	if d.Disabled {
		c.exclude(fleet.CodeDisabled, false, d.ID.Model)
	}
	if d.Unhealthy != "" {
		c.exclude(fleet.CodeUnhealthy, true, d.ID.Model, d.Unhealthy)
	}
	wrongRole := d.Can(roleCapability(n.Role)).Support == fleet.No
	if wrongRole {
		c.exclude(fleet.CodeRole, false, d.ID.Model, string(n.Role), d.Can(fleet.CapEmbedding).Support.String())
	}
	if who := j.keptLocal(); who != "" && d.ID.Node != j.q.Origin {
		c.exclude(fleet.CodeLocality, false, c.node.Name, who, j.d.Alias)
	}
	if w := &j.wants[c.want]; w.alias != nil {
		checkAlias(c, w.alias, w.called)
	}
	j.checkIdentity(c)
	for _, name := range j.missing(d) {
		if wrongRole {
			break // what an embedding model lacks for chat goes without saying
		}
		claim := d.Can(name)
		c.exclude(fleet.CodeCapability, false, d.ID.Model, string(name), claim.Support.String(), claim.Source.String())
	}
	if n.RemoteImage && !j.p.RemoteImages {
		c.exclude(fleet.CodeRemoteImage, false)
	}
	j.checkContext(c)
	if c.ctx.offers == 0 && n.Role == RoleChat {
		c.note("context_unknown")
	}
	for _, f := range n.Fields {
		switch w := d.EmbeddingWidth; {
		case n.honoured(f, d):
		case f == "dimensions" && w > 0 && n.Dimensions > w:
			c.exclude(fleet.CodeFieldNotHonoured, false, f, d.Kind, d.ID.Model, w, n.Dimensions)
		default:
			c.exclude(fleet.CodeFieldNotHonoured, false, f, d.Kind)
		}
	}
	if c.state == fleet.Leaving {
		c.exclude(fleet.CodeAdmission, true, admitLeaving, d.ID.Model, c.node.Name)
	}
}

// honoured reports whether a field has its meaning there. Of vectors nothing is to
// be honoured where they have the length asked for, and they never have more.
func (n *Requirements) honoured(f string, d *fleet.Deployment) bool {
	if w := d.EmbeddingWidth; f == "dimensions" && w > 0 && n.Dimensions >= w {
		return n.Dimensions == w
	}
	return d.Honour(f)
}

// checkContext: what the runtime itself cuts need not fit, and what may fit is
// for it to find out.
func (j *judge) checkContext(c *cand) {
	n, p := &j.q.Needs, &c.ctx
	if p.offers == 0 || p.need <= p.offers {
		return
	}
	if n.cuts(c.dep) {
		p.doubt = false
		if c.Tokens.Input > p.offers {
			c.note("input_cut")
		}
		return
	}
	if p.doubt {
		c.note("context_doubtful")
		return
	}
	j.tooSmall(c)
}

// tellDoubts says of those whose context may be too small what kept them out:
// others surely hold the request.
func (j *judge) tellDoubts() {
	for _, c := range j.cands {
		if c.ctx.doubt && len(c.out) == 0 {
			j.tooSmall(c)
		}
	}
}

// tooSmall says what a request takes at least; where its prompt fits, with all
// that it may think and answer.
func (j *judge) tooSmall(c *cand) {
	n, p, over := &j.q.Needs, &c.ctx, c.overlong()
	need, estimate := p.need, n.Tokens.Input
	if over > 0 {
		need = p.offers + over
	}
	if c.counted {
		estimate = -1
	}
	c.exclude(fleet.CodeContext, false, need, p.offers, c.node.Name, c.dep.Kind, c.dep.MaxContext, c.Tokens.Input, over, estimate, c.Factor)
}

// Kinds of the admission exclusion: its first operand.
const (
	admitLeaving  = "leaving"
	admitUnknown  = "unknown_size"
	admitDeadline = "deadline"
)

func roleCapability(r Role) fleet.Capability {
	if r == RoleEmbedding {
		return fleet.CapEmbedding
	}
	return fleet.CapChat
}

func (j *judge) localOnly() bool { return j.keptLocal() != "" }

// Who keeps a request on its own machine: the second operand of the locality
// exclusion.
const (
	localByRequest = "request"
	localByAlias   = "alias"
	localByFleet   = "fleet"
)

// keptLocal says who keeps the request on its own machine, "" when nobody does.
// What the fleet says is told first: it is in the way whatever the others say.
func (j *judge) keptLocal() string {
	const here = "this_node"
	switch {
	case j.p.Locality == here:
		return localByFleet
	case j.alias != nil && j.alias.Locality == here:
		return localByAlias
	case j.q.Needs.Locality == here:
		return localByRequest
	default:
		return ""
	}
}

// constraintVision is what the alias constraint says of require_vision; a tag is
// "tag " and its name.
const constraintVision = "vision"

func checkAlias(c *cand, a *Alias, called string) {
	for _, tag := range a.Tags {
		if !slices.Contains(c.dep.Tags, tag) {
			c.exclude(fleet.CodeAliasConstraint, false, c.dep.ID.Model, "tag "+tag, called)
		}
	}
	if claim := c.dep.Can(fleet.CapVision); a.RequireVision && claim.Support != fleet.Yes {
		c.exclude(fleet.CodeAliasConstraint, false, c.dep.ID.Model, constraintVision, called, claim.Support.String())
	}
}

// missing lists the capabilities the request needs and the deployment is not
// known to have. A role that is not known is one of them; one known to be
// wrong has its own code.
func (j *judge) missing(d *fleet.Deployment) (out []fleet.Capability) {
	j.demands(d, func(name fleet.Capability) bool {
		if j.stands(d.Can(name)) {
			out = append(out, name)
		}
		return true
	})
	return out
}

// stands reports whether what is known of a needed capability is in the way. A
// probe asks to find out, so only its operator's no is in the way of one.
func (j *judge) stands(c fleet.Claim) bool {
	if j.q.Probing {
		return c.Support == fleet.No && c.Source == fleet.SourceOperator
	}
	return c.Support != fleet.Yes
}

// lacks reports whether any is missing.
func (j *judge) lacks(d *fleet.Deployment) (lacks bool) {
	j.demands(d, func(name fleet.Capability) bool {
		lacks = j.stands(d.Can(name))
		return !lacks
	})
	return lacks
}

// demands yields the capabilities the request needs of a deployment.
func (j *judge) demands(d *fleet.Deployment, yield func(fleet.Capability) bool) {
	n := &j.q.Needs
	more := true
	need := func(needed bool, name fleet.Capability) {
		if needed && more {
			more = yield(name)
		}
	}
	role := roleCapability(n.Role)
	need(d.Can(role).Support == fleet.Unknown, role)
	need(n.NeedsTools, fleet.CapTools)
	need(n.ToolChoiceRequired, fleet.CapToolChoiceRequired)
	// Some model on some runtime made the earlier calls: only a template known to
	// hold no more than one of a turn is in the way.
	need(n.ParallelTools && d.Can(fleet.CapParallelTools).Support == fleet.No, fleet.CapParallelTools)
	need(n.JSONSchema, fleet.CapJSONSchema)
	need(n.JSONObject, fleet.CapJSONObject)
	need(n.Vision, fleet.CapVision)
	need(n.AudioIn, fleet.CapAudio)
	need(n.ThinkStrict, fleet.CapThinking)
	need(n.Insert, fleet.CapInsert)
	need(n.Continuation, fleet.CapContinuation)
	need(n.Streaming && n.Role == RoleChat, fleet.CapStreaming)
}

// checkDeadline refuses what has no time left, and before loading what cannot
// begin in time: the client's leaving would only kill the load (routing.md 12).
func (j *judge) checkDeadline(c *cand) {
	left := j.timeLeft()
	first := seconds(j.loadSeconds(c) + c.prefillSeconds())
	if left <= 0 || c.mem.load && first > left {
		c.exclude(fleet.CodeAdmission, false, admitDeadline, c.dep.ID.Model, first.Seconds(), left.Seconds(), j.q.Needs.Timeout > 0 && j.q.Needs.Timeout < j.p.Total)
	}
}

// timeLeft is what remains of the request's time.
func (j *judge) timeLeft() time.Duration {
	total := j.total()
	if j.q.Arrived.IsZero() || j.v.Now.Before(j.q.Arrived) {
		return total
	}
	return total - j.v.Now.Sub(j.q.Arrived)
}

// total is the tightest of what the request allows and what we allow any.
func (j *judge) total() time.Duration {
	if t := j.q.Needs.Timeout; t > 0 && t < j.p.Total {
		return t
	}
	return j.p.Total
}
