package route

import (
	"fmt"
	"slices"
	"time"

	"bellwether/engine/dialect"
	"bellwether/engine/fleet"
)

// Refuse codes of embedding contracts.
const (
	RefuseUnbound        = "contract_unbound"     // no anchor yet
	RefuseSpace          = "contract_unavailable" // no member has the anchor's identity
	RefuseContractOption = dialect.CodeContractOption
)

// retryUnbound is when a client asks again for a contract without an anchor.
const retryUnbound = 5 * time.Second

// resolveContract expands a contract's name into its members. Nothing else may
// answer for it, so what the request lists behind it is left out.
func (j *judge) resolveContract() bool {
	c, key := j.p.ContractFor(j.q.Model)
	if c == nil {
		return false
	}
	j.contract = c
	j.d.Alias, j.d.Contract, j.d.Profile = key, key, ""
	j.listed++
	for _, m := range c.Members {
		w := want{name: m}
		if d := j.deploymentNamed(m); d != nil {
			w.name, w.only = d.ID.Model, d.ID
		}
		j.add(w)
	}
	if len(j.q.Fallbacks) > 0 {
		j.reason("one_space")
	}
	if c.Anchor != nil {
		j.reason("anchor", key, fleet.ShortIdentity(c.Anchor.Identity), string(c.Anchor.Source), c.Anchor.From)
	}
	return true
}

// spaceOf is the identity that must answer: that of the batch the request is a
// part of; without a contract, whose anchor sees to it, also that of where it
// was tried before. "" = any: the first answer to a plain name may come from
// wherever it is.
func (j *judge) spaceOf() string {
	n := &j.q.Needs
	if n.Role != RoleEmbedding || n.Space != "" || j.contract != nil || len(j.q.Failed) == 0 {
		return n.Space
	}
	last := j.q.Failed[len(j.q.Failed)-1]
	if node := j.v.Fleet.Node(last.Node); node != nil {
		if d := node.Deployment(last); d != nil {
			return SpaceOf(d)
		}
	}
	return fleet.CanonicalModel(last.Model)
}

// SpaceOf names the space of a deployment's vectors: its identity where one is
// known, else its model's name, as for all else that is asked for by name.
func SpaceOf(d *fleet.Deployment) string {
	if identity, ok := d.KnownIdentity(); ok {
		return identity
	}
	return d.Identity()
}

// checkIdentity keeps deployments out whose vectors are, or may be, of another
// space than the request's.
func (j *judge) checkIdentity(c *cand) {
	if j.contract != nil {
		if x, out := j.contract.outside(j.d.Contract, c.node.Name, c.dep); out {
			c.out = append(c.out, x)
			return
		}
	}
	if j.space != "" && !c.dep.HasIdentity(j.space) && SpaceOf(c.dep) != j.space {
		c.exclude(fleet.CodeIdentityDiffers, false, differsSpace, c.dep.ID.Model, c.node.Name)
	}
}

// chooseReplica picks the place for a request to a contract:
//
//  1. What the contract is not for is refused: chat, other dimensions.
//  2. Without an anchor it waits while it is being bound, and is refused while
//     there is nothing to bind it to.
//  3. Its replicas are one model: the best node wins, whichever member it has.
//  4. Else it waits, if waiting may cure what is in the way of one.
//  5. Else it is refused. No other model ever answers, and none is fetched.
func (j *judge) chooseReplica() {
	if j.notForContract() { // 1
		return
	}
	if j.contract.Anchor == nil && j.unbound() { // 2
		return
	}
	c := j.bestReplica()
	if c == nil {
		j.doubts = true
		c = j.bestReplica()
	}
	if c != nil { // 3
		why := "replica"
		if j.q.Part > 0 && c.free() {
			why = "free_replica"
		}
		j.serve(c, why)
		j.d.Model = j.d.Contract
		return
	}
	switch {
	case j.waitingCures(): // 4
		j.d.Verdict = Hold
	case j.anyKnown(): // 5
		j.giveUp()
	default:
		j.absentContract()
	}
}

// mixedSpaces refuses embeddings by an alias whose members' vectors would not
// fit each other: which of them answers may change with every request.
func (j *judge) mixedSpaces() bool {
	if j.alias == nil || j.q.Needs.Role != RoleEmbedding {
		return false
	}
	var models []string
	var first *cand
	mixed := false
	for _, c := range j.cands {
		if c.dep.Can(fleet.CapEmbedding).Support == fleet.No {
			continue
		}
		if first == nil {
			first = c
		}
		if SpaceOf(c.dep) != SpaceOf(first.dep) {
			mixed = true
		}
		if !slices.ContainsFunc(models, func(m string) bool { return fleet.SameModel(m, c.dep.ID.Model) }) {
			models = append(models, c.dep.ID.Model)
		}
	}
	if !mixed || len(models) < 2 {
		return false
	}
	j.d.Verdict, j.d.Status, j.d.RefuseCode = Refuse, 400, RefuseCapability
	j.reason("alias_spaces", j.d.Alias, fewOf(models))
	return true
}

func (j *judge) notForContract() bool {
	d, n := j.d, &j.q.Needs
	switch {
	case n.Role != RoleEmbedding:
		d.Verdict = Refuse
		d.Decisive = &Exclusion{Code: fleet.CodeRole, Operands: []any{d.Contract, string(n.Role), fleet.Yes.String()}}
		d.Status, d.RefuseCode = statusOf(*d.Decisive)
		return true
	case n.Dimensions > 0:
		width := j.contractWidth()
		if width == 0 || n.Dimensions == width {
			return false
		}
		d.Verdict, d.Status, d.RefuseCode = Refuse, 400, RefuseContractOption
		j.reason("contract_dimensions", d.Contract, width, n.Dimensions)
		return true
	default:
		return false
	}
}

// contractWidth is how many dimensions the contract's vectors have: as declared,
// else those of the model it is bound to, 0 while neither is known. Shortened
// ones would be of another space than what the index has.
func (j *judge) contractWidth() int {
	if j.contract.Dimensions > 0 || j.contract.Anchor == nil {
		return j.contract.Dimensions
	}
	for _, c := range j.cands {
		if _, outside := j.contract.outside(j.d.Contract, c.node.Name, c.dep); !outside && c.dep.EmbeddingWidth > 0 {
			return c.dep.EmbeddingWidth
		}
	}
	return 0
}

// unbound deals with a contract that has no anchor. It reports whether that
// settled the request.
func (j *judge) unbound() bool {
	d := j.d
	if !j.v.Fleet.Settled {
		d.Verdict = Hold
		j.reason("settling")
		return true
	}
	if !j.anyKnown() {
		j.absentContract()
		return true
	}
	d.RefuseCode = RefuseUnbound
	b := j.contract.Bind(j.v.Fleet)
	if b.Anchor != nil {
		d.Verdict = Hold
		j.reason("contract_binding", d.Contract, fleet.ShortIdentity(b.Anchor.Identity), b.Anchor.From)
		return true
	}
	d.Verdict, d.Status, d.RetryAfter = Refuse, 503, retryUnbound
	if len(b.Several) > 0 {
		j.reason("contract_several", d.Contract, fewOf(b.Several))
		return true
	}
	j.reason("contract_unbound", d.Contract)
	return true
}

func (j *judge) absentContract() {
	j.d.Verdict, j.d.Status, j.d.RefuseCode = Refuse, 404, RefuseUnknownModel
	j.reason("contract_absent", j.d.Contract, fewOf(j.contract.Members))
}

// bestReplica is the survivor with the best place, whichever member it is of;
// among equals contract order counts before ids.
func (j *judge) bestReplica() *cand {
	var best *cand
	for _, c := range j.cands {
		if j.serves(c) && (best == nil || j.betterReplica(c, best)) {
			best = c
		}
	}
	return best
}

func (j *judge) betterReplica(a, b *cand) bool {
	if j.q.Part > 0 && a.free() != b.free() {
		return a.free()
	}
	equal := a.points == b.points && a.Depth == b.Depth && j.nodeDepth(a.node) == j.nodeDepth(b.node) && a.lane.LastUsed == b.lane.LastUsed
	if equal && a.want != b.want {
		return a.want < b.want
	}
	return j.before(a, b)
}

// contractReason words the reasons of embedding contracts; ok is false for others.
func contractReason(r Reason, t func(int) string) (words string, ok bool) {
	switch r.Code {
	case "anchor":
		words = t(0) + " is bound to " + t(1)
		switch from := t(3); {
		case from != "":
			words += ", of " + from
		default:
			words += ", as " + t(2)
		}
	case "replica":
		words = "of the replicas, " + t(0) + " on " + t(1) + " has the best score"
	case "free_replica":
		words = "of the replicas with a free place for a part, " + t(0) + " on " + t(1) + " has the best score"
	case "contract_binding":
		words = t(0) + " is being bound to " + t(1) + ", of " + t(2)
	case "contract_unbound":
		words = t(0) + " is bound to no model yet: nobody knows what the weights of its members are"
	case "contract_several":
		words = t(0) + " is bound to no model yet: its members declare several identities (" + t(1) + ")"
	case "contract_absent":
		words = "none of the members of " + t(0) + " is installed: " + t(1)
	case "contract_dimensions":
		words = fmt.Sprintf("the vectors of %s have %s dimensions, %s were asked for", t(0), t(1), t(2))
	case "alias_spaces":
		words = t(0) + " stands for several embedding models (" + t(1) + "), whose vectors do not fit each other"
	case "one_space":
		words = "fallback models are left out: the vectors of another model would not fit"
	default:
		return "", false
	}
	return words, true
}

// byContract is the problem of a request that its contract is in the way of; ok
// is false where the decision has no such reason.
func (d *Decision) byContract(p *dialect.Problem, q *Query) (ok bool) {
	if len(d.Reasons) == 0 {
		return false
	}
	last := d.Reasons[len(d.Reasons)-1]
	t := func(i int) string { return textOf(operandAt(last.Operands, i)) }
	words, _ := contractReason(last, t)
	switch last.Code {
	case "contract_dimensions":
		p.Param, p.Retry = "dimensions", no()
		p.Remedy = "Leave dimensions out, or make a contract for vectors of that length."
	case "alias_spaces":
		p.Param, p.Retry = "model", no()
		p.Remedy = "Ask for one of them by its name, or make an embedding contract of those with the same weights: embeddings: {" + d.Alias + ": {members: [...]}}, instead of the alias."
	case "contract_absent":
		p.Param, p.Retry = "model", no()
		words = fmt.Sprintf("model '%s' not found: %s", q.Model, words)
		p.Remedy = "Pull one of them, or change the members of embeddings." + d.Contract + "."
	case "contract_binding":
		p.Status, p.RetryAfter, p.Retry = 503, retryUnbound, yes()
		p.Remedy = "Try again in a moment."
	case "contract_unbound":
		p.RetryAfter, p.Retry = retryUnbound, yes()
		p.Remedy = "Say what they are with deployments[].identity, or set embeddings." + d.Contract + ".identity."
	case "contract_several":
		p.RetryAfter, p.Retry = retryUnbound, yes()
		p.Remedy = "Set embeddings." + d.Contract + ".identity to the one that the index was made with."
	default:
		return false
	}
	p.Message = words + "."
	return true
}
