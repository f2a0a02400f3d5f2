package route

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"bellwether/engine/evidence"
	"bellwether/engine/fleet"
)

// ranking decides one request of a scenario and returns its candidates by model.
func ranking(t *testing.T, text string) (*Decision, map[string]Candidate) {
	t.Helper()
	s, err := ReadScenario(text)
	if err != nil {
		t.Fatal(err)
	}
	last := &s.Steps[len(s.Steps)-1]
	d := Decide(last.View, last.Policy, &last.Query)
	byModel := map[string]Candidate{}
	for _, c := range d.Candidates {
		if c.ranked() {
			byModel[c.Deployment.Model] = c
		}
	}
	return d, byModel
}

func TestQualityIsMeasuredElsePriorElseGuessedFromSize(t *testing.T) {
	for name, c := range map[string]struct {
		d           fleet.Deployment
		measured    evidence.Figure
		value       float64
		uncertainty float64
		tolerance   float64
		label       string
	}{
		"measured wins": {fleet.Deployment{Parameters: 8e9, Priors: map[string]fleet.Prior{"coding": {Value: 0.9, Provenance: "operator"}}},
			evidence.Figure{V: 0.4, N: 25}, 0.4, 0.2, 0.1, "measured:25"},
		"prior of the task": {fleet.Deployment{Priors: map[string]fleet.Prior{"coding": {Value: 0.9, Provenance: "livebench 2025-04"}, "": {Value: 0.1}}},
			evidence.Figure{}, 0.9, 0.25, 0.03, "prior:livebench 2025-04"},
		"prior of any task": {fleet.Deployment{Priors: map[string]fleet.Prior{"chat": {Value: 0.9}, "": {Value: 0.7, Provenance: "operator"}}},
			evidence.Figure{}, 0.7, 0.25, 0.03, "prior:operator"},
		"one billion":       {fleet.Deployment{Parameters: 1e9}, evidence.Figure{}, 0.58, 0.35, 0.03, "uncalibrated:size-heuristic"},
		"three billion":     {fleet.Deployment{Parameters: 3e9}, evidence.Figure{}, 0.66, 0.35, 0.03, "uncalibrated:size-heuristic"},
		"at most a quarter": {fleet.Deployment{Parameters: 70e9}, evidence.Figure{}, 0.75, 0.35, 0.03, "uncalibrated:size-heuristic"},
		"active ones count": {fleet.Deployment{Parameters: 30e9, ActiveParams: 3e9}, evidence.Figure{}, 0.66, 0.35, 0.03, "uncalibrated:size-heuristic"},
		"nothing known":     {fleet.Deployment{}, evidence.Figure{}, 0.5, 0.35, 0.03, "uncalibrated"},
	} {
		c.d.ID = fleet.DeploymentID{Node: "n", Runtime: "r", Model: "m"}
		measured := &evidence.Habits{Quality: map[string]evidence.Figure{"coding": c.measured}}
		j := &judge{p: DefaultPolicy(), q: &Query{Needs: Requirements{PrimaryTask: "coding", Clear: true}}}
		q := j.quality(&c.d, measured)
		if !near(q.value, c.value) || !near(q.uncertainty, c.uncertainty) || !near(q.tolerance(), c.tolerance) || q.label != c.label {
			t.Errorf("%s: %v +- %v (tolerance %v) %s, want %v +- %v (%v) %s", name, q.value, q.uncertainty, q.tolerance(), q.label,
				c.value, c.uncertainty, c.tolerance, c.label)
		}
	}
}

func TestAmbiguousRequestBlendsQualityByConfidence(t *testing.T) {
	d := &fleet.Deployment{Priors: map[string]fleet.Prior{"coding": {Value: 0.9, Provenance: "a"}, "math": {Value: 0.3, Provenance: "b"}, "chat": {Value: 0.5, Provenance: "c"}}}
	needs := Requirements{PrimaryTask: "coding", Tasks: map[string]float64{"coding": 0.5, "math": 0.25, "chat": 0.25}}
	j := &judge{p: DefaultPolicy(), q: &Query{Needs: needs}}
	if q := j.quality(d, &noHabits); !near(q.value, 0.5*0.9+0.25*0.3+0.25*0.5) || q.label != "prior:a" {
		t.Errorf("%v %s, want 0.65 and the label of coding", q.value, q.label)
	}
	j.q.Needs.Clear = true
	if q := j.quality(d, &noHabits); !near(q.value, 0.9) {
		t.Errorf("clear: %v, want 0.9", q.value)
	}
}

const threeModels = `
node studio memory 128GB bandwidth 340
  pool unified limit 120GB free 100GB
  runtime ollama pool unified
  model ollama/a digest a weights 10GB resident 12GB loaded 32768 caps llm priors any=0.8@operator
  model ollama/b digest b weights 20GB caps llm priors any=0.9@operator
  model ollama/c digest c weights 40GB caps llm priors any=0.95@operator
measured studio/ollama/b load 8x3
`

// score = w_q*quality - w_lat*latency - w_res*residency - w_over*overhead, the
// costs normalised over the candidates.
func TestScoreIsQualityLessNormalisedCosts(t *testing.T) {
	_, by := ranking(t, threeModels+"ask auto task chat clear")
	gigabyte := float64(int64(gb))
	residency := 8 / (40 * gigabyte / 2e9)                    // measured 8 s, against 40 GB from a disk of unknown speed
	latency, overhead := (20.0-10)/(40-10), (20.0-10)/(40-10) // affine in weights / bandwidth; bytes of weights
	for model, want := range map[string][4]float64{
		"a": {0.8, 0, 0, 0},
		"b": {0.9, latency, residency, overhead},
		"c": {0.95, 1, 1, 1},
	} {
		c := by[model]
		if !near(c.Quality, want[0]) || !near(c.LatencyCost, want[1]) || !near(c.ResidencyCost, want[2]) || !near(c.OverheadCost, want[3]) {
			t.Errorf("%s: quality %v, latency %v, residency %v, overhead %v, want %v", model, c.Quality, c.LatencyCost, c.ResidencyCost, c.OverheadCost, want)
		}
		score := want[0] - 0.45*want[1] - 0.30*want[2] - 0.10*want[3]
		if math.Abs(c.Score-score) > 1e-6 {
			t.Errorf("%s: score %v, want %v", model, c.Score, score)
		}
	}
}

func TestEachProfileWeighsInItsOwnWay(t *testing.T) {
	weights := map[string][4]float64{"auto:quality": {1, 0.15, 0.10, 0.05}, "auto": {1, 0.45, 0.30, 0.10}, "auto:balanced": {1, 0.45, 0.30, 0.10}, "auto:fast": {0.6, 1, 0.6, 0.2},
		"claude-3-5-haiku-latest": {0.6, 1, 0.6, 0.2}, "claude-sonnet-4-5": {1, 0.45, 0.30, 0.10}, "claude-opus-4-1-20250805": {1, 0.15, 0.10, 0.05}}
	for alias, w := range weights {
		_, by := ranking(t, threeModels+"ask "+alias+" task chat clear")
		c := by["c"]
		if want := 0.95*w[0] - w[1] - w[2] - w[3]; math.Abs(c.Score-want) > 1e-6 {
			t.Errorf("%s: score of c %v, want %v", alias, c.Score, want)
		}
	}
	if d, _ := ranking(t, threeModels+"ask auto profile fast task chat clear"); d.Profile != "fast" {
		t.Errorf("X-Fleet-Profile: %s, want fast", d.Profile)
	}
}

func TestCostsAreNothingWhereAllAreEqual(t *testing.T) {
	_, by := ranking(t, `
node studio memory 64GB bandwidth 400
  pool unified limit 60GB free 50GB
  runtime ollama pool unified
  model ollama/a weights 5GB caps llm
  model ollama/b weights 5GB caps llm
ask auto task chat clear`)
	for model, c := range by {
		if c.LatencyCost != 0 || c.ResidencyCost != 0 || c.OverheadCost != 0 {
			t.Errorf("%s: %+v, want no costs", model, c)
		}
	}
}

func TestMeasuredLatencyOfTheTaskCounts(t *testing.T) {
	_, by := ranking(t, threeModels+"measured studio/ollama/a tasks chat=9x5,coding=1x5\nmeasured studio/ollama/c tasks chat=3x5\nask auto task chat clear")
	if a, c := by["a"], by["c"]; a.LatencyCost != 1 || !strings.Contains(a.Evidence, "latency:measured") || !strings.Contains(by["b"].Evidence, "latency:size-heuristic") {
		t.Errorf("a %v %s, b %s, c %v: want a slowest and its time measured", a.LatencyCost, a.Evidence, by["b"].Evidence, c.LatencyCost)
	}
}

// What was measured and what is guessed are of answers of one length: the same
// machine and weights cost the same either way, whatever a task's answers take.
func TestGuessedLatencyIsOfAnAnswerAsLongAsTheMeasured(t *testing.T) {
	const two = `
node studio memory 64GB bandwidth 400
  pool unified limit 60GB free 50GB
  runtime ollama pool unified
  model ollama/seen:8b digest s weights 5GB loaded 8192 caps llm priors any=0.7@operator
  model ollama/new:8b digest n weights 5GB loaded 8192 caps llm priors any=0.7@operator
  model ollama/new:32b digest b weights 20GB loaded 8192 caps llm priors any=0.7@operator
`
	gigabyte := float64(int64(gb))
	rate := func(weights float64) float64 { return 1 / (weights*gigabyte/1e9/(0.85*400) + 0.003) }
	for _, tokens := range []float64{20, 100, 900, 6000} { // of the answers measured, at the rate guessed
		seconds := tokens / rate(5)
		_, by := ranking(t, two+fmt.Sprintf("measured studio/ollama/seen:8b decode %.9fx9 tasks chat=%.9fx9\nask auto task chat clear", rate(5), seconds))
		seen, same, big := by["seen:8b"], by["new:8b"], by["new:32b"]
		if math.Abs(seen.LatencyCost-same.LatencyCost) > 1e-3 || big.LatencyCost != 1 {
			t.Errorf("answers of %v tokens: measured %v, the same unmeasured %v, a model four times as large %v", tokens, seen.LatencyCost, same.LatencyCost, big.LatencyCost)
		}
	}
	// Measured to be half as fast as its size lets one guess: so is any other here.
	_, by := ranking(t, two+fmt.Sprintf("measured studio/ollama/seen:8b decode %.9fx9 tasks chat=20x9\nask auto task chat clear", rate(5)/2))
	if seen, same := by["seen:8b"], by["new:8b"]; math.Abs(seen.LatencyCost-same.LatencyCost) > 1e-3 {
		t.Errorf("slower than guessed costs %v, one as large %v", seen.LatencyCost, same.LatencyCost)
	}
	// Where all are measured, their medians are what counts, whatever they write.
	_, by = ranking(t, two+"measured studio/ollama/seen:8b decode 90x9 tasks chat=4x9\nmeasured studio/ollama/new:8b decode 20x9 tasks chat=1x9\nmeasured studio/ollama/new:32b decode 5x9 tasks chat=3x9\nask auto task chat clear")
	if a, b, c := by["seen:8b"].LatencyCost, by["new:8b"].LatencyCost, by["new:32b"].LatencyCost; a != 1 || b != 0 || !near(c, 2.0/3) {
		t.Errorf("medians of 4, 1 and 3 s cost %v, %v, %v", a, b, c)
	}
}

func TestSwitchingPenaltyIsForOthersAndAgainstNobodyWithoutASession(t *testing.T) {
	_, by := ranking(t, threeModels+"pin talk studio/ollama/b identity b ago 1m\nask auto task chat clear session talk")
	if by["b"].AffinityAdjust != 0.05 || by["a"].AffinityAdjust != -0.05 {
		t.Errorf("b %v, a %v: want 0.05, -0.05", by["b"].AffinityAdjust, by["a"].AffinityAdjust)
	}
	for _, ask := range []string{"ask auto task chat clear session other", "ask auto task chat clear"} {
		if _, by := ranking(t, threeModels+"pin talk studio/ollama/b identity b ago 1m\n"+ask); by["b"].AffinityAdjust != 0 || by["a"].AffinityAdjust != 0 {
			t.Errorf("%s: an affinity without a pin", ask)
		}
	}
	if _, by := ranking(t, threeModels+"pin talk studio/ollama/b identity b ago 16m\nask auto task chat clear session talk"); by["a"].AffinityAdjust != 0 {
		t.Error("an idle pin still counts")
	}
}

// Small changes of a model's score do not make a conversation go back and forth.
func TestConversationDoesNotFlap(t *testing.T) {
	const fleetText = `
node studio memory 64GB bandwidth 400
  pool unified limit 60GB free 50GB
  runtime ollama pool unified
  model ollama/a digest a weights 5GB loaded 8192 caps llm priors any=%A@operator
  model ollama/b digest b weights 5GB loaded 8192 caps llm priors any=%B@operator
pin talk studio/ollama/%P identity %P ago 1m
ask auto task chat clear session talk`
	current := "a"
	for i := range 20 {
		quality := [2]string{"0.8", "0.84"}
		if i%2 == 1 {
			quality = [2]string{"0.84", "0.8"}
		}
		d, _ := ranking(t, strings.NewReplacer("%A", quality[0], "%B", quality[1], "%P", current).Replace(fleetText))
		if d.Chosen.Model != current {
			t.Fatalf("turn %d moved from %s\n%s", i, current, d.Explain())
		}
	}
	if d, _ := ranking(t, strings.NewReplacer("%A", "0.7", "%B", "0.9", "%P", "a").Replace(fleetText)); d.Chosen.Model != "b" {
		t.Errorf("a clearly better model was not taken\n%s", d.Explain())
	}
}

// Whoever names one deployment means it, even where a pattern of the owner's
// covers every name.
func TestPatternNeverStandsForADeploymentAskedById(t *testing.T) {
	const text = `
alias * models b
node studio memory 64GB bandwidth 400
  pool unified limit 60GB free 50GB
  runtime ollama pool unified
  model ollama/a weights 5GB loaded 8192 caps llm
  model ollama/b weights 5GB loaded 8192 caps llm
`
	for ask, want := range map[string]string{"studio/ollama/a": "a", "Studio/ollama/a": "a", "a": "a", "anything": "b", "studio/ollama/gone": "b"} {
		if d, _ := ranking(t, text+"ask "+ask); d.Chosen.Model != want {
			t.Errorf("%s: got\n%s", ask, d.Explain())
		}
	}
}

func TestOwnersPatternReplacesTheTiersItCovers(t *testing.T) {
	p := DefaultPolicy()
	p.Aliases = MergeAliases(map[string]Alias{"claude-*": {Models: []string{"mine"}}, "gpt-4o": {Profile: "quality"}})
	for name, key := range map[string]string{
		"claude-3-5-haiku": "claude-*", "claude-opus-4": "claude-*", "gpt-4o": "gpt-4o", "GPT-4o:latest": "gpt-4o", "auto": "auto", "auto:fast": "auto:fast",
	} {
		if _, got := p.AliasFor(name); got != key {
			t.Errorf("%s stands for %q, want %q", name, got, key)
		}
	}
	if a, _ := p.AliasFor("gpt-4o-mini"); a != nil {
		t.Error("a name that nobody mapped stands for something")
	}
}
