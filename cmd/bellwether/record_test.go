package main

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"bellwether/engine/fleet"
	"bellwether/engine/route"
)

// Codes are for programs: a record that people read has words for them all.
func TestARecordIsToldInWords(t *testing.T) {
	t.Parallel()
	out := fleet.DeploymentID{Node: "n", Runtime: "ollama", Model: "small"}
	r := &route.Record{
		RequestID: "01", At: time.Now(), App: "curl", RequestedModel: "auto", Outcome: fleet.OutcomeStreamInvalidAfterCommit, Chosen: "n/ollama/big",
		Requirements: route.Requirements{Tasks: map[string]float64{"creative_writing": 1}, Clear: true},
		Candidates: []route.Candidate{{
			Deployment: fleet.DeploymentID{Node: "n", Runtime: "ollama", Model: "big"}, Quality: 0.5, Score: 0.4,
			Evidence: "prior:operator p75:measured:12", Notes: []string{"num_ctx_reload", "same_weights_as:larger", "slots_learned:3"},
		}},
		Exclusions:   map[fleet.DeploymentID][]route.RenderedExclusion{out: {{Code: fleet.CodeCircuitOpen, Reason: "it failed", Remedy: "wait"}}},
		Notes:        []string{"only_thought: the answer is reasoning and nothing else", "task_asked: gemma says data_analysis"},
		Parts:        []route.RecordPart{{First: 1, Last: 2, Deployment: "n/ollama/big", Outcome: fleet.OutcomeHeldOut}},
		FailoverNote: "replicas of docs only",
	}
	var b strings.Builder
	e := &environ{out: &b, cli: &cli{}}
	e.printRecord(r, names{"n": "studio"})
	if err := e.printDecisions([]*route.Record{r}, true); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	if codes := regexp.MustCompile(`[a-z]+_[a-z_]+|p75:`).FindAllString(text, -1); len(codes) > 0 {
		t.Errorf("codes are left: %v\n%s", codes, text)
	}
	for _, want := range []string{
		"broke off", "creative writing", "as its operator says", "speed measured on 12 answers", "would be loaded again for the context asked for",
		"has the same weights as larger", "(failed too often)", "    the answer is reasoning and nothing else", "gemma says data analysis", "held too long",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing\n%s", want, text)
		}
	}
}
