package gateway

import (
	"testing"

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
			served: fleet.Deployment{LoadedContext: c.loaded, MaxContext: c.most},
		}
		if got := x.measured(); got != c.want {
			t.Errorf("%+v: got %d", c, got)
		}
	}
}
