package main

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"bellwether/engine/fleet"
	"bellwether/engine/route"
)

// printRecord tells one decision from request to end.
func (e *environ) printRecord(r *route.Record, called names) {
	e.printf("%s asked for %s at %s", dash(r.App), r.RequestedModel, clock(r.At))
	if r.Protocol != "" { // not told of one under way
		e.printf(" (%s)", r.Protocol)
	}
	e.printf("\n  %s", outcome(r))
	if r.Chosen != "" {
		e.printf(" on %s", servedBy(r))
	}
	if r.Status != 0 {
		e.printf(", HTTP %d", r.Status)
	}
	e.printf("\n")
	if r.Problem != "" {
		e.printf("  %s\n", r.Problem)
	}
	t := r.Timing
	e.printf("  queue %s, load %s, first content %s, in all %s; tokens in > out %s\n",
		millis(t.QueueMs), millis(t.LoadMs), millis(t.TTFTMs), millis(t.TotalMs), tokens(r.Usage))
	n := r.Requirements
	e.printf("  needs about %d tokens in, %d out%s\n", n.Tokens.Input, n.Tokens.Output, needs(&n))
	if about := tasks(&n); about != "" {
		e.printf("  is about %s\n", about)
	}
	if r.Alias != "" {
		e.printf("  chosen by the alias %s, profile %s\n", r.Alias, r.Profile)
	}
	for i, c := range r.Candidates {
		if i == mostShown {
			e.printf("\n  and %d more that could serve\n", len(r.Candidates)-i)
			break
		}
		e.printf("\n  %6.1f  %s\n          %s\n", c.NodeScore, called.of(c.Deployment), signals(&c.Signals))
		if words := c.RankWords(); words != "" {
			e.printf("          %s (%s)\n", words, route.EvidenceWords(c.Evidence))
		}
		if c.Tokens.Input != n.Tokens.Input { // learnt, or counted
			e.printf("          needs about %d tokens in%s\n", c.Tokens.Input, c.FactorWords())
		}
		for _, note := range c.Notes {
			e.printf("          %s\n", route.NoteWords(note))
		}
	}
	e.printExclusions(r.Exclusions, called)
	e.printList("Why", r.Reasons)
	e.printList("Changed on the way", r.Edits)
	e.printList("Notes", noteWords(r.Notes))
	e.printParts(r.Parts, called)
	for _, f := range r.Failover {
		e.printf("\n  Failed on %s after %s: %s\n", called.of(f.Deployment), millis(f.AfterMs), f.Failure.Message)
	}
	if r.FailoverNote != "" {
		e.printf("  %s\n", r.FailoverNote)
	}
}

// outcome is how a request ended.
func outcome(r *route.Record) string { return cmp.Or(route.OutcomeWords(r.Outcome), "under way") }

func noteWords(notes []string) []string {
	var words []string
	for _, n := range notes {
		words = append(words, route.NoteWords(n))
	}
	return words
}

// printParts tells where the parts of a batch of embeddings were served.
func (e *environ) printParts(parts []route.RecordPart, called names) {
	for i, p := range parts {
		where := dash(p.Deployment)
		if id, ok := fleet.ParseDeploymentID(p.Deployment); ok {
			where = called.of(id)
		}
		e.printf("\n  part %d, inputs %d to %d: %s on %s, queue %s, took %s", i+1, p.First, p.Last, route.OutcomeWords(p.Outcome), where, millis(p.QueueMs), millis(p.TookMs))
		if p.Retries > 0 {
			e.printf(", %d retries", p.Retries)
		}
	}
	if len(parts) > 0 {
		e.printf("\n")
	}
}

// tasks names what a request is about and how sure that is, the likeliest first.
func tasks(n *route.Requirements) string {
	names := slices.SortedFunc(maps.Keys(n.Tasks), func(a, b string) int {
		return cmp.Or(cmp.Compare(n.Tasks[b], n.Tasks[a]), cmp.Compare(a, b))
	})
	var parts []string
	for _, name := range names {
		parts = append(parts, fmt.Sprintf("%s %.0f %%", strings.ReplaceAll(name, "_", " "), 100*n.Tasks[name]))
	}
	if len(parts) > 0 && !n.Clear {
		parts[len(parts)-1] += " (unclear)"
	}
	return strings.Join(parts, ", ")
}

// signals lists the parts of a score that count.
func signals(s *route.Signals) string {
	var parts []string
	for _, p := range []struct {
		name  string
		value float64
	}{
		{"warmth", s.Warmth}, {"memory", s.MemoryFit}, {"queue", s.QueueDepth}, {"wait", s.Wait},
		{"role", s.RoleAffinity}, {"availability", s.Availability}, {"context", s.ContextFit}, {"session", s.SessionAffinity},
	} {
		if math.Abs(p.value) >= 0.05 {
			parts = append(parts, fmt.Sprintf("%s %+.1f", p.name, p.value))
		}
	}
	return strings.Join(parts, ", ")
}

func (e *environ) printExclusions(all map[fleet.DeploymentID][]route.RenderedExclusion, called names) {
	ids, others := route.Nearest(all, mostShown)
	for _, id := range ids {
		for _, x := range all[id] {
			e.printf("\n  out: %s (%s): %s\n       %s\n", called.of(id), route.ExclusionWords(x.Code), x.Reason, x.Remedy)
		}
	}
	if others != "" {
		e.printf("\n  out: %s\n", others)
	}
}

// mostShown is how many of those that could serve, and of those that could not,
// are told one by one; --json tells all.
const mostShown = 20

func (e *environ) printList(title string, lines []string) {
	if len(lines) == 0 {
		return
	}
	e.printf("\n  %s:\n", title)
	for _, l := range lines {
		e.printf("    %s\n", l)
	}
}

// needs lists what a request asks of a model beyond tokens.
func needs(r *route.Requirements) string {
	var list []string
	for _, n := range []struct {
		name string
		is   bool
	}{
		{"tools", r.NeedsTools}, {"a required tool call", r.ToolChoiceRequired}, {"a turn of several calls", r.ParallelTools}, {"one call at a time", r.SingleCall},
		{"JSON", r.JSONObject}, {"a JSON schema", r.JSONSchema}, {"vision", r.Vision}, {"audio", r.AudioIn},
		{"embedding", r.Role == route.RoleEmbedding}, {"continuation", r.Continuation}, {"fill-in", r.Insert},
	} {
		if n.is {
			list = append(list, n.name)
		}
	}
	list = append(list, r.Fields...)
	if len(list) == 0 {
		return ""
	}
	return ", " + strings.Join(list, ", ")
}
