package main

import (
	"maps"
	"slices"
	"strings"

	"bellwether/engine/fleet"
	"bellwether/engine/route"
)

// printRecord tells one decision from request to end.
func (e *environ) printRecord(r *route.Record) {
	e.printf("%s asked for %s at %s (%s)\n", dash(r.App), r.RequestedModel, clock(r.At), r.Protocol)
	e.printf("  %s", r.Outcome)
	if r.Chosen != "" {
		e.printf(" on %s", r.Chosen)
	}
	e.printf(", HTTP %d\n", r.Status)
	if r.Problem != "" {
		e.printf("  %s\n", r.Problem)
	}
	t := r.Timing
	e.printf("  queue %s, load %s, first content %s, in all %s; tokens in > out %s\n",
		millis(t.QueueMs), millis(t.LoadMs), millis(t.TTFTMs), millis(t.TotalMs), tokens(r.Usage))
	n := r.Requirements
	e.printf("  needs about %d tokens in, %d out%s\n", n.Tokens.Input, n.Tokens.Output, needs(&n))
	for _, c := range r.Candidates {
		s := c.Signals
		e.printf("\n  %6.1f  %s\n", c.NodeScore, c.Deployment)
		e.printf("          warmth %+.1f, memory %+.1f, depth %+.1f, wait %+.1f, role %+.1f, availability %+.1f, context %+.1f, session %+.1f\n",
			s.Warmth, s.MemoryFit, s.QueueDepth, s.Wait, s.RoleAffinity, s.Availability, s.ContextFit, s.SessionAffinity)
		for _, note := range c.Notes {
			e.printf("          %s\n", note)
		}
	}
	e.printExclusions(r.Exclusions)
	e.printList("Why", r.Reasons)
	e.printList("Changed on the way", r.Edits)
	e.printList("Notes", r.Notes)
	for _, f := range r.Failover {
		e.printf("\n  Failed on %s after %s: %s\n", f.Deployment, millis(f.AfterMs), f.Failure.Message)
	}
	if r.FailoverNote != "" {
		e.printf("  %s\n", r.FailoverNote)
	}
}

func (e *environ) printExclusions(all map[fleet.DeploymentID][]route.RenderedExclusion) {
	ids := slices.SortedFunc(maps.Keys(all), fleet.DeploymentID.Compare)
	for _, id := range ids {
		for _, x := range all[id] {
			e.printf("\n  out: %s (%s): %s\n       %s\n", id, x.Code, x.Reason, x.Remedy)
		}
	}
}

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
		{"tools", r.NeedsTools}, {"a required tool call", r.ToolChoiceRequired}, {"parallel tools", r.ParallelTools},
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
