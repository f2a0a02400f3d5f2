package route

import (
	"encoding/json"
	"math/rand/v2"
	"testing"
)

// What one decision was made in is used for the next: neither may show in the
// other, however different the fleets.
func TestDecisionsKeepNothingOfEachOther(t *testing.T) {
	type asked struct {
		step  *Step
		first *Decision
		text  string
	}
	var all []asked
	text := func(d *Decision) string {
		b, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	for _, file := range scenarioFiles(t) {
		s := readScenario(t, file)
		for i := range s.Steps {
			a := asked{step: &s.Steps[i]}
			a.first = Decide(a.step.View, a.step.Policy, &a.step.Query)
			a.text = text(a.first)
			all = append(all, a)
		}
	}
	var room Room
	for seed := range uint64(4) {
		for _, i := range rand.New(rand.NewPCG(seed, 0)).Perm(len(all)) {
			a := &all[i]
			if got := text(room.Decide(a.step.View, a.step.Policy, &a.step.Query)); got != a.text {
				t.Fatalf("%s is decided otherwise after others:\n%s\nalone:\n%s", a.step.Query.Model, got, a.text)
			}
		}
	}
	for _, a := range all {
		if text(a.first) != a.text {
			t.Errorf("the decision for %s changed after it was made", a.step.Query.Model)
		}
	}
}
