package route

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"bellwether/engine/fleet"
)

// Explain returns the decision as scenarios expect it: the verdict, why, the
// candidates with their signals, and what kept the others out, with codes.
//
//	serve studio/ollama/qwen3:8b
//	  because qwen3:8b is in memory
//	  plan: slots 4, first content within 60 s, idle 120 s, total 1 h
//	studio/ollama/qwen3:8b 94.5 = warmth 50 + fit 20 + role 9 + context 15 + ...
//	out laptop/ollama/qwen3:8b
//	  paused H: laptop is paused. resume it with `bellwether resume`
//	others: 3 role, 1 context
func (d *Decision) Explain() string { return d.told(coded{}) }

// Tell is Explain for people: words in the place of codes.
func (d *Decision) Tell() string { return d.told(worded{}) }

// teller names what an explanation has codes for.
type teller interface {
	refusal(status int, code string) string
	exclusion(x Exclusion) string
	counts(of map[fleet.Code]int) string
	evidence(labels string) string
	note(note string) string
}

type coded struct{}

func (coded) refusal(status int, code string) string {
	return fmt.Sprintf("refuse %d %s", status, code)
}
func (coded) exclusion(x Exclusion) string {
	if x.Hold {
		return string(x.Code) + " H"
	}
	return string(x.Code)
}
func (coded) counts(of map[fleet.Code]int) string {
	var parts []string
	for _, code := range slices.Sorted(maps.Keys(of)) {
		parts = append(parts, fmt.Sprintf("%s %s", comma(int64(of[code])), code))
	}
	return strings.Join(parts, ", ")
}
func (coded) evidence(labels string) string { return labels }
func (coded) note(note string) string       { return note }

type worded struct{}

func (worded) refusal(status int, _ string) string {
	return fmt.Sprintf("refuse with status %d", status)
}
func (worded) exclusion(x Exclusion) string {
	if x.Hold {
		return ExclusionWords(x.Code) + ", which may pass"
	}
	return ExclusionWords(x.Code)
}
func (worded) counts(of map[fleet.Code]int) string { return countWords(of) }
func (worded) evidence(labels string) string       { return EvidenceWords(labels) }
func (worded) note(note string) string             { return NoteWords(note) }

func (d *Decision) told(t teller) string {
	var b strings.Builder
	d.explainVerdict(&b, t)
	for i := range d.Candidates {
		if i == mostTold {
			fmt.Fprintf(&b, "and %s more that could serve\n", comma(int64(len(d.Candidates)-i)))
			break
		}
		d.explainCandidate(&b, &d.Candidates[i], t)
	}
	nearest, left := nearestOf(d.Exclusions, mostTold)
	for _, id := range nearest {
		fmt.Fprintf(&b, "out %s\n", d.called(id))
		for _, x := range d.Exclusions[id] {
			r := Render(x)
			fmt.Fprintf(&b, "  %s: %s; %s\n", t.exclusion(x), r.Reason, r.Remedy)
		}
	}
	if len(left) > 0 {
		fmt.Fprintf(&b, "out %s more: %s\n", comma(int64(len(d.Exclusions)-len(nearest))), t.counts(left))
	}
	if len(d.OtherCodes) > 0 {
		fmt.Fprintf(&b, "others: %s\n", t.counts(d.OtherCodes))
	}
	return b.String()
}

func (d *Decision) explainVerdict(b *strings.Builder, t teller) {
	switch d.Verdict {
	case Serve, Pull:
		fmt.Fprintf(b, "%s %s\n", d.Verdict, d.called(d.Chosen))
	case Refuse:
		fmt.Fprintf(b, "%s\n", t.refusal(d.Status, d.RefuseCode))
	default:
		fmt.Fprintf(b, "%s\n", d.Verdict)
	}
	if d.Contract != "" {
		fmt.Fprintf(b, "  contract %s\n", d.Contract)
	} else if d.Alias != "" {
		fmt.Fprintf(b, "  alias %s, profile %s\n", d.Alias, d.Profile)
	}
	for _, r := range d.Reasons {
		fmt.Fprintf(b, "  because %s\n", RenderReason(r))
	}
	if d.Verdict == Serve {
		fmt.Fprintf(b, "  plan: %s\n", d.Plan.words())
	}
	if d.FailoverNote != "" {
		fmt.Fprintf(b, "  failover: %s\n", d.FailoverNote)
	}
}

func (p *Plan) words() string {
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	if p.Load && p.Need > 0 {
		add("load %s", fleet.Bytes(p.Need))
	} else if p.Load {
		add("load what is of unknown size")
	}
	for _, id := range p.Evict {
		add("evict %s", id.Model)
	}
	if p.Context > 0 {
		add("context %s", comma(int64(p.Context)))
	}
	if p.Output > 0 {
		add("output limit %s", comma(int64(p.Output)))
	}
	add("slots %d", p.Slots)
	add("first content within %s", span(p.FirstContent.Seconds()))
	add("idle %s", span(p.Idle.Seconds()))
	add("total %s", span(p.Total.Seconds()))
	return strings.Join(parts, ", ")
}

func (d *Decision) explainCandidate(b *strings.Builder, c *Candidate, t teller) {
	fmt.Fprintf(b, "%s %s = %s\n", d.called(c.Deployment), points(c.NodeScore), c.Signals.words())
	if words := c.RankWords(); words != "" {
		fmt.Fprintf(b, "  %s\n", words)
	}
	fmt.Fprintf(b, "  depth %d of %d, needs %s + %s", c.Depth, c.Slots, comma(int64(c.Tokens.Input)), comma(int64(c.Tokens.Output)))
	if c.Tokens.Reasoning > 0 {
		fmt.Fprintf(b, " + %s", comma(int64(c.Tokens.Reasoning)))
	}
	fmt.Fprintf(b, " tokens%s, %s", c.FactorWords(), t.evidence(c.Evidence))
	for _, n := range c.Notes {
		fmt.Fprintf(b, ", %s", t.note(n))
	}
	b.WriteString("\n")
}

// FactorWords says in brackets by what the estimate of the prompt was multiplied,
// "" where it was not.
func (c *Candidate) FactorWords() string {
	if c.Factor == 0 || c.Factor == 1 {
		return ""
	}
	return " (the prompt's estimate times " + points(c.Factor) + " by what this model counted before)"
}

// ranked reports whether the candidate stood for its model in a ranking: what
// is so judged always has some quality.
func (c *Candidate) ranked() bool { return c.Quality > 0 || c.Score != 0 }

// RankWords is the model's score in a ranking with its terms, "" where the
// candidate was not ranked.
func (c *Candidate) RankWords() string {
	if !c.ranked() {
		return ""
	}
	return "score " + points(c.Score) + " = quality " + points(c.Quality) + c.costWords()
}

// costWords lists the costs that count, unweighted, and the affinity.
func (c *Candidate) costWords() string {
	var b strings.Builder
	for _, t := range []struct {
		name  string
		value float64
	}{{"latency", c.LatencyCost}, {"residency", c.ResidencyCost}, {"overhead", c.OverheadCost}} {
		if s := points(t.value); s != "0" {
			fmt.Fprintf(&b, ", %s cost %s", t.name, s)
		}
	}
	if c.AffinityAdjust != 0 {
		fmt.Fprintf(&b, ", affinity %s", points(c.AffinityAdjust))
	}
	return b.String()
}

// words lists the signals that count, in their order.
func (s *Signals) words() string {
	var parts []string
	for _, t := range []struct {
		name  string
		value float64
	}{
		{"warmth", s.Warmth}, {"fit", s.MemoryFit}, {"queue", s.QueueDepth}, {"wait", s.Wait},
		{"role", s.RoleAffinity}, {"availability", s.Availability}, {"context", s.ContextFit}, {"session", s.SessionAffinity},
	} {
		if points(t.value) != "0" {
			parts = append(parts, t.name+" "+points(t.value))
		}
	}
	if len(parts) == 0 {
		return "0"
	}
	return strings.Join(parts, ", ")
}

// points writes a score with at most two digits, and no zeros behind.
func points(f float64) string {
	s := strings.TrimRight(strings.TrimRight(fmt.Sprintf("%.2f", f), "0"), ".")
	if s == "-0" {
		return "0"
	}
	return s
}

// called writes a deployment's id with its node's name for the node's id.
func (d *Decision) called(id fleet.DeploymentID) string {
	id.Node = d.nodeName(id.Node)
	return id.String()
}

func (d *Decision) nodeName(id string) string {
	for _, n := range d.Nodes {
		if n.ID == id && n.Name != "" {
			return n.Name
		}
	}
	return id
}

// RenderReason returns a reason in words.
func RenderReason(r Reason) string {
	t := func(i int) string { return textOf(operandAt(r.Operands, i)) }
	n := func(i int) string { return comma(int64(numberOf(operandAt(r.Operands, i)))) }
	switch r.Code {
	case "loaded":
		return t(0) + " is the first listed model in memory; " + t(1) + " has the best score for it"
	case "loading":
		return t(0) + " is the first listed model on its way into memory; " + t(1) + " has the best score for it"
	case "loads":
		return t(0) + " is in no machine's memory; " + t(1) + " can load it best"
	case "pinned_order":
		return t(0) + " is the first of its alias's order that can serve; " + t(1) + " has the best score for it"
	case "ranked":
		return t(1) + " has the best score for " + t(0)
	case "rank":
		return rankWords(r.Operands)
	case "tolerance":
		return t(0) + " is as good as " + t(1) + " as far as is known (within " + points(numberOf(operandAt(r.Operands, 2))) + ") and takes less memory"
	case "affinity":
		return t(0) + " is the model of this conversation"
	case "same_model":
		return "a retry stays with " + t(0) + " while another deployment has it; " + t(1) + " has the best score"
	case "fallback":
		return t(0) + " gives way to " + t(1) + ", which the request lists"
	case "model_fallback":
		return "model_fallback is on and " + t(0) + " is in memory on " + t(1)
	case "reload":
		return "the loaded context of " + n(0) + " tokens is too small: loaded again with " + n(1)
	case "load":
		return "it must be loaded first"
	case "load_with":
		return "it must be loaded first, with a context of " + n(0) + " tokens"
	case "evict":
		return t(0) + " is idle and leaves for it"
	case "output_clamped":
		return "of the " + n(0) + " tokens of output asked for, the context leaves " + n(1)
	case "thinking_room":
		return "the model thinks: its output limit of " + n(0) + " tokens becomes " + n(1)
	case "issuer_gone":
		return "the model that made the tool calls is no longer here: the binding is dropped"
	case "hold":
		return "waiting may cure what is in the way of " + t(0) + " on " + t(1)
	case "warm":
		return t(0) + " is in memory, as good as " + t(1) + " as far as is known and hardly slower or larger: loading that one would gain nothing"
	case "unseen":
		return "what " + t(0) + " on " + t(1) + " has is not known yet"
	case "settling":
		return "not every machine of the fleet has reported yet"
	case "pull":
		return t(0) + " is fetched to " + t(1)
	case "pulled_when_free":
		return "an idle slot took it over from the queue of " + t(0)
	case "ask_pull":
		return "no machine has a model called " + t(0) + ": its owner is asked whether to fetch it" + nearWords(t(1), t(2))
	default:
		if words, ok := contractReason(r, t); ok {
			return words
		}
		return unknownWords(r, t)
	}
}

// rankWords tell the outcome of a ranking: model, score, task, label of its
// quality, the quality, and among how many.
func rankWords(operands []any) string {
	t := func(i int) string { return textOf(operandAt(operands, i)) }
	words := t(0) + " wins"
	if of := numberOf(operandAt(operands, 5)); of > 1 {
		words += " among " + comma(int64(of))
	} else {
		words = t(0) + " is the only one that can serve"
	}
	if task := t(2); task != "" {
		words += " for " + strings.ReplaceAll(task, "_", " ")
	}
	return words + ", score " + t(1) + ": quality " + points(numberOf(operandAt(operands, 4))) + " (" + qualityWords(t(3)) + ")"
}

// qualityWords says where a quality comes from, for people; its label stands in
// the record.
func qualityWords(label string) string {
	kind, of, _ := strings.Cut(label, ":")
	switch {
	case kind == "measured" && of == "1":
		return "measured on 1 task"
	case kind == "measured":
		return "measured on " + of + " tasks"
	case label == "prior:operator":
		return "as its operator says"
	case kind == "prior":
		return "published: " + strings.ReplaceAll(of, ",", ", ")
	case label == "uncalibrated:size-heuristic":
		return "guessed from its size"
	case kind == "uncalibrated":
		return "guessed"
	}
	return label
}

// nearWords go on with the models whose names are near, else with those there are.
func nearWords(near, installed string) string {
	switch {
	case near != "":
		return "; near in name: " + near
	case installed != "":
		return "; there are " + installed
	default:
		return ""
	}
}

// unknownWords are for names that nothing serves.
func unknownWords(r Reason, t func(int) string) string {
	switch r.Code {
	case "unknown_model":
		return "no machine has a model called " + t(0) + nearWords(t(1), t(2))
	case "fleet_empty":
		return "no machine has any model"
	case "alias_empty":
		if tags := t(1); tags != "" {
			return "no machine has a chat model with the tags of " + t(0) + ": " + tags
		}
		return "no machine has a chat model for " + t(0) + " to choose"
	case "absent_deployment":
		return t(0) + " has no " + t(1)
	case "unknown_temper":
		return t(0) + " is no way of choosing there is; there are " + t(1)
	case "alias_absent":
		return "none of the models of the alias " + t(0) + " is installed: " + t(1)
	case "unknown_node":
		return "no node is called " + t(0)
	case "absent_there":
		return t(0) + " does not have the model, " + t(1) + " does"
	case RefuseAppLimit:
		return "the app " + t(0) + " may have " + t(1) + " requests under way, and has"
	case RefuseBackPressure:
		return "the runtime of " + t(0) + " takes no more into its own queue"
	case RefuseRetries:
		return "it failed before its answer began, and " + t(0) + " retries are all there are"
	default:
		return r.Code
	}
}
