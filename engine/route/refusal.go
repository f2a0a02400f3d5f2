package route

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"bellwether/engine/dialect"
	"bellwether/engine/fleet"
)

// When a client should come back.
const (
	retryBusy    = 2 * time.Second  // a place may be free in a moment
	retryHeldOut = 5 * time.Second  // after the holding list: something may have passed
	retryAsk     = 30 * time.Second // a person has to answer
)

// RefusalDetails is what a refusal's body says beside its text.
type RefusalDetails struct {
	// Exclusions lists what is in the way, by deployment as people call it.
	Exclusions map[string][]RenderedExclusion `json:"exclusions,omitempty"`
	// More counts, by what is in their way, those that are left out of a long list.
	More map[fleet.Code]int `json:"more,omitempty"`
	// Others counts deployments that were not asked for, by what is in their way.
	Others map[fleet.Code]int `json:"others,omitempty"`
}

// RefusalProblem returns what the client is told when no place was found: what
// and why, what to do, and whether asking again can help. held is set when the
// request waited its time in the holding list.
func RefusalProblem(d *Decision, q *Query, held bool) *dialect.Problem {
	p := &dialect.Problem{Status: d.Status, Code: d.RefuseCode, Details: d.refusalDetails()}
	switch {
	case d.byDispatcher(p, q):
	case d.byContract(p, q):
	case held || d.Verdict == Hold:
		d.heldOut(p, q)
	case d.RefuseCode == RefuseUnknownModel, d.RefuseCode == RefuseUnknownNode, d.RefuseCode == RefuseAskPull:
		d.byReason(p, q)
	case d.Decisive != nil:
		d.byExclusion(p, q)
	default:
		p.Message = "no deployment can serve this request"
		p.Remedy = "See the decision record for every reason."
		p.Retry = no()
	}
	if p.Status == 0 {
		p.Status = 503
	}
	if p.Code == "" {
		p.Code = RefuseUnavailable
	}
	return p
}

func yes() *bool { b := true; return &b }
func no() *bool  { b := false; return &b }

// heldOut: everything in the way may pass, it only did not in time. The code is
// that of the nearest deployment's first reason, so that a client can tell a
// paused machine from a full one.
func (d *Decision) heldOut(p *dialect.Problem, q *Query) {
	p.Status, p.Code = 503, RefuseHeldOut
	p.RetryAfter, p.Retry = retryHeldOut, yes()
	if d.RefuseCode == RefuseAskPull {
		d.byReason(p, q)
		return
	}
	x, ok := d.nearestHold()
	if !ok || d.Verdict == Serve {
		p.Remedy = "Try again in a moment."
		switch {
		case d.Refused != nil: // it had a place, and the node refused it until the time was up
			p.Code = string(d.Refused.Code)
			p.Message = fmt.Sprintf("no machine could serve %s in time: %s refused it: %s.", d.asked(q), d.nodeName(d.Chosen.Node), d.Refused.Reason)
			_, remedy := RefusalWords(d.Refused, d.nodeName(d.Chosen.Node))
			p.Remedy = cmp.Or(remedy, p.Remedy)
		case d.because("settling"):
			p.Message = fmt.Sprintf("no machine could serve %s in time: not every machine has said yet what it holds, which takes a few seconds after a start.", d.asked(q))
		default:
			p.Message = fmt.Sprintf("no machine could serve %s in time.", d.asked(q))
		}
		return
	}
	p.Code = string(x.Code)
	p.Message = fmt.Sprintf("no machine could serve %s in time: %s.", d.asked(q), Render(x).Reason)
	_, p.Remedy = Sentences(x)
}

// asked is what was asked for as people call it: of a deployment, its machine's
// name in the place of the id.
func (d *Decision) asked(q *Query) string {
	if id, ok := fleet.ParseDeploymentID(q.Model); ok {
		return d.called(id)
	}
	return q.Model
}

// because reports whether a reason of that code stands in the decision.
func (d *Decision) because(code string) bool {
	return slices.ContainsFunc(d.Reasons, func(r Reason) bool { return r.Code == code })
}

// nearestHold is the first exclusion of the deployment with the fewest; where
// there is none at all, that nobody could look at a runtime yet.
func (d *Decision) nearestHold() (x Exclusion, ok bool) {
	if i := slices.IndexFunc(d.Reasons, func(r Reason) bool { return r.Code == "unseen" }); i >= 0 {
		return Exclusion{Code: fleet.CodeNoRuntime, Operands: d.Reasons[i].Operands, Hold: true}, true
	}
	least := 0
	for _, id := range slices.SortedFunc(maps.Keys(d.Exclusions), fleet.DeploymentID.Compare) {
		all := d.Exclusions[id]
		if slices.ContainsFunc(all, func(x Exclusion) bool { return !x.Hold }) || len(all) == 0 {
			continue
		}
		if !ok || len(all) < least {
			x, ok, least = all[0], true, len(all)
		}
	}
	return x, ok
}

// byExclusion: one check settled it.
func (d *Decision) byExclusion(p *dialect.Problem, q *Query) {
	x := *d.Decisive
	p.Message, p.Remedy = Sentences(x)
	p.Retry = no()
	switch x.Code {
	case fleet.CodeContext:
		need, most, nearest := d.contextNumbers()
		p.Tokens, p.MaxTokens = need, most
		p.Param = "messages"
		p.Counted = strings.Trim(nearest.howCounted(), " ()")
		_, p.Remedy = Sentences(nearest)
		p.Message = fmt.Sprintf("this request needs %s tokens%s, and the largest context of %s is %s.", comma(int64(need)), nearest.howCounted(), d.asked(q), comma(int64(most)))
	case fleet.CodeFieldNotHonoured:
		p.Param = x.text(0)
	case fleet.CodeCapability:
		p.Param = capabilityParams[fleet.Capability(x.text(1))]
	}
	d.byManyModels(p, q, x)
}

// capabilityParams names the request's field behind a capability.
var capabilityParams = map[fleet.Capability]string{
	fleet.CapTools: "tools", fleet.CapToolChoiceRequired: "tool_choice", fleet.CapParallelTools: "messages",
	fleet.CapJSONObject: "response_format", fleet.CapJSONSchema: "response_format", fleet.CapVision: "messages",
	fleet.CapAudio: "messages", fleet.CapThinking: "think", fleet.CapInsert: "suffix", fleet.CapContinuation: "messages",
}

// contextNumbers are the need and the window of the deployment that comes
// nearest: what a client must get below. nearest is the check to tell the remedy
// of: its own, unless another's window can be made large enough.
func (d *Decision) contextNumbers() (need, most int, nearest Exclusion) {
	helps := false
	for _, id := range slices.SortedFunc(maps.Keys(d.Exclusions), fleet.DeploymentID.Compare) {
		for _, x := range d.Exclusions[id] {
			if x.Code != fleet.CodeContext {
				continue
			}
			n, m := int(x.number(0)), int(x.number(1))
			nearer := m > most || m == most && n < need
			if nearer {
				need, most = n, m
			}
			if can := x.restartHelps(); nearer && can == helps || can && !helps {
				nearest, helps = x, can
			}
		}
	}
	return need, most, nearest
}

// InputTokens is how long the prompt is for the model that would be asked: the
// chosen one, else the one that comes nearest.
func (d *Decision) InputTokens(q *Query) int {
	for i := range d.Candidates {
		if c := &d.Candidates[i]; c.Deployment == d.Chosen {
			return c.Tokens.Input
		}
	}
	if len(d.Candidates) > 0 {
		return d.Candidates[0].Tokens.Input
	}
	if _, _, nearest := d.contextNumbers(); nearest.Code != "" {
		return int(nearest.number(5))
	}
	return q.Needs.Tokens.Input
}

// byReason: the name itself is the matter.
func (d *Decision) byReason(p *dialect.Problem, q *Query) {
	p.Retry = no()
	var r Reason
	if len(d.Reasons) > 0 {
		r = d.Reasons[len(d.Reasons)-1]
	}
	t := func(i int) string { return textOf(operandAt(r.Operands, i)) }
	switch r.Code {
	case "ask_pull":
		p.Status, p.Code = 503, RefuseAskPull
		p.RetryAfter = retryAsk
		p.Message = fmt.Sprintf("model '%s' is not installed: waiting for approval to fetch it.", q.Model)
		p.Remedy = fmt.Sprintf("Its owner fetches it with `bellwether models pull %s`; or ask for %s.%s",
			q.Model, otherWords(t(3)), cmp.Or(similarWords(t(1)), installedWords(t(2))))
	case "unknown_node":
		p.Param = "X-Fleet-Node"
		p.Message = fmt.Sprintf("no node of the fleet is called %s.", t(0))
		p.Remedy = "Known nodes: " + t(1) + "."
	case "absent_there":
		p.Param = "model"
		p.Message = fmt.Sprintf("model '%s' not found on node %s.", q.Model, t(0))
		p.Remedy = "It is installed on " + t(1) + ": name that node, or pull the model there."
	default:
		d.notFound(p, q, r, t)
	}
}

// notFound begins as Ollama's own message does: its clients look for it.
func (d *Decision) notFound(p *dialect.Problem, q *Query, r Reason, t func(int) string) {
	p.Param = "model"
	p.Message = fmt.Sprintf("model '%s' not found.", q.Model)
	switch r.Code {
	case "alias_empty":
		p.Message = fmt.Sprintf("model '%s' not found: %s.", q.Model, RenderReason(r))
		p.Remedy = "Fetch one with `bellwether models pull NAME`, and see that a runtime is up with `bellwether doctor`."
		if lacking := t(2); lacking != "" { // there are models to choose, and none is marked so
			p.Remedy = "Give a model the tags in the settings (deployments: [{match: NAME, tags: [" + lacking + "]}]), or change aliases." + t(0) + ".tags."
		}
	case "unknown_temper":
		p.Remedy = "Ask for one of: " + t(1) + ". Other weights are asked for by the header X-Fleet-Profile: " + t(2) + "."
	case "alias_absent":
		p.Message = fmt.Sprintf("model '%s' not found: none of its alias's models is installed (%s).", q.Model, t(1))
		p.Remedy = "Fetch one with `bellwether models pull NAME`, or change aliases." + t(0) + ".models."
	case "absent_deployment":
		p.Message = fmt.Sprintf("model '%s' not found: %s.", q.Model, RenderReason(r))
		p.Remedy = "Nothing is installed there; see bellwether doctor."
		if there := t(2); there != "" {
			p.Remedy = "On " + t(0) + " there are: " + there + "."
		}
	case "fleet_empty":
		p.Remedy = fmt.Sprintf("No machine has any model yet. Fetch one with `bellwether models pull %s`, and see that a runtime is up with `bellwether doctor`.", q.Model)
	default:
		if able, known := operandAt(r.Operands, 4).(bool); known && !able { // nothing here fetches models
			p.Remedy = "Ask for " + otherWords(t(5)) + ", or serve this one with a runtime." + cmp.Or(similarWords(t(1)), installedWords(t(2)))
			return
		}
		p.Remedy = fmt.Sprintf("Fetch it with `bellwether models pull %s`, or ask for %s.%s", q.Model, otherWords(t(5)), cmp.Or(similarWords(t(1)), installedWords(t(2))))
	}
}

// otherWords say what to ask for instead; auto is the name that chooses, "" where
// there is nothing to choose.
func otherWords(auto string) string {
	if auto == "" {
		return "an installed model"
	}
	return "an installed model, or for " + auto + ", which chooses one"
}

func similarWords(names string) string {
	if names == "" {
		return ""
	}
	return " Similar: " + names + "."
}

func installedWords(names string) string {
	if names == "" {
		return ""
	}
	return " Installed: " + names + "."
}

func (d *Decision) refusalDetails() any {
	if len(d.Exclusions) == 0 && len(d.OtherCodes) == 0 {
		return nil
	}
	out := RefusalDetails{Others: d.OtherCodes}
	if len(d.Exclusions) > 0 {
		nearest, left := nearestOf(d.Exclusions, mostInAll)
		out.More = left
		out.Exclusions = make(map[string][]RenderedExclusion, len(nearest))
		for _, id := range nearest {
			out.Exclusions[d.called(id)] = RenderAll(d.Exclusions[id])
		}
	}
	return out
}

// byDispatcher: the request had or could have had a place, and the dispatcher
// ended it. ok is false for other codes.
func (d *Decision) byDispatcher(p *dialect.Problem, q *Query) (ok bool) {
	p.Retry = yes()
	switch d.RefuseCode {
	case RefuseAppLimit:
		p.Message = fmt.Sprintf("the app %s has as many requests under way as it may.", q.Needs.App)
		p.Remedy = "Wait for one to end, or raise clients.max_in_flight."
		p.RetryAfter = retryBusy
	case RefuseBackPressure:
		p.Message = fmt.Sprintf("the runtime that serves %s is full: its own queue takes no more.", d.asked(q))
		p.Remedy = "Try again in a moment."
		p.RetryAfter = retryBusy
	case RefuseRetries:
		p.Retry = no()
		p.Message = fmt.Sprintf("%s failed wherever it was tried.", d.asked(q))
		p.Remedy = "See the failed attempts in the decision record."
	case RefuseUnused:
		p.Message = "a place was granted twice and not used in time."
		p.Remedy = "Try again; if it happens often, this machine is overloaded."
		p.RetryAfter = retryBusy
	case RefuseStopping:
		p.Message = "this machine is shutting its service down."
		p.Remedy = "Try again in a moment."
		p.RetryAfter = retryHeldOut
	default:
		p.Retry = nil
		return false
	}
	return true
}

// Sentences returns an exclusion in whole sentences. A name that one begins with
// stays as it is written: the contract wiki is not called Wiki.
func Sentences(x Exclusion) (reason, remedy string) {
	r := Render(x)
	return x.sentence(r.Reason), x.sentence(r.Remedy)
}

func (x *Exclusion) sentence(s string) string {
	if s == "" {
		return ""
	}
	named := slices.ContainsFunc(x.Operands, func(o any) bool {
		name, ok := o.(string)
		return ok && name != "" && (s == name || strings.HasPrefix(s, name+" "))
	})
	if c := s[0]; c >= 'a' && c <= 'z' && !named {
		s = string(c-'a'+'A') + s[1:]
	}
	return strings.TrimRight(s, ".") + "."
}
