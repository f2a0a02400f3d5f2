package gateway

import (
	"strings"
	"testing"

	"bellwether/engine/dialect"
	"bellwether/engine/fleet"
	"bellwether/engine/route"
)

// Ollama cuts a prompt that is too long, where its client did not forbid it,
// and counts what is left: 512 tokens for 65,000 would teach that this model
// packs 100 characters into a token.
func TestAPromptThatMayHaveBeenCutMeasuresNothing(t *testing.T) {
	for _, c := range []struct {
		estimate, granted, loaded, most, want int
	}{
		{65000, 0, 0, 512, 0},
		{65000, 0, 4096, 131072, 0},
		{65000, 131072, 4096, 131072, 65000},
		{300, 0, 4096, 131072, 300},
		{300, 0, 0, 0, 300},
	} {
		x := &exchange{
			query:  route.Query{Needs: route.Requirements{InputTotal: c.estimate}},
			grant:  &fleet.Grant{Context: c.granted},
			served: &fleet.Deployment{LoadedContext: c.loaded, MaxContext: c.most},
		}
		if got := x.measured(nil); got != c.want {
			t.Errorf("%+v: got %d", c, got)
		}
	}
}

// A 9,000-token text was planned into a window of 8,000 after a few small
// requests with images had taught that estimates are far too high.
func TestImagesAndSmallToolPromptsDoNotTeachHowTextIsCounted(t *testing.T) {
	for _, c := range []struct {
		needs route.Requirements
		want  int
	}{
		{route.Requirements{InputTotal: 3000, Images: 1}, 0},
		{route.Requirements{InputTotal: 3000, AudioIn: true}, 0},
		{route.Requirements{InputTotal: 300, NeedsTools: true}, 0},
		{route.Requirements{InputTotal: 12000, NeedsTools: true}, 12000},
		{route.Requirements{InputTotal: 300}, 300},
	} {
		x := &exchange{query: route.Query{Needs: c.needs}, served: unknownDeployment, grant: &fleet.Grant{}}
		if got := x.measured(nil); got != c.want {
			t.Errorf("%+v: got %d, want %d", c.needs, got, c.want)
		}
	}
}

// The client is told the runtime's count and what there is, also where memory is
// what keeps the model from a larger context.
func TestAPromptTooLongForAnyContextToBeHadIsToldWithBothNumbers(t *testing.T) {
	x := &exchange{
		req: &dialect.Request{}, grant: &fleet.Grant{Deployment: fleet.DeploymentID{Model: "m"}},
		decision: &route.Decision{Verdict: route.Refuse, Decisive: &route.Exclusion{Code: fleet.CodeMemory, Operands: []any{"m", "studio"}}},
	}
	var p dialect.Problem
	x.tooLong(&p, &fleet.Failure{Status: 400, Tokens: 29605, Context: 16384, Caller: true})
	if p.Status != 400 || p.Code != dialect.CodeContextLength || p.Tokens != 29605 || p.MaxTokens != 16384 || p.Param != "messages" || *p.Retry {
		t.Errorf("got %+v", p)
	}
	if !strings.Contains(p.Remedy, "Shorten the prompt by at least 13221 tokens") || !strings.Contains(p.Remedy, "A larger one of this model has no room") {
		t.Errorf("remedy %q", p.Remedy)
	}
	x.req.Embed, x.decision = &dialect.Embed{}, &route.Decision{Verdict: route.Serve}
	x.tooLong(&p, &fleet.Failure{Tokens: 600, Context: 512, Message: "input (600 tokens) is too large to process. increase the physical batch size"})
	if p.Param != "input" || !strings.Contains(p.Remedy, "increase the physical batch size") {
		t.Errorf("of an embedding: %+v", p)
	}
}
