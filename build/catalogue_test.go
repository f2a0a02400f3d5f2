package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"bellwether/engine/evidence"
)

// scored makes scores of models by their ability: a metric's line and a little
// noise, the same on every run.
func scored(metric string, a, b float64, ability map[string]float64, size map[string]float64) []score {
	r := rand.New(rand.NewPCG(1, uint64(len(metric))))
	var out []score
	for i := range len(ability) {
		name := fmt.Sprintf("m%02d", i)
		out = append(out, score{model: name, size: size[name], task: "coding", metric: metric, source: "s", date: "2026-01", value: a + b*ability[name] + 0.05*r.NormFloat64()})
	}
	return out
}

// fleetOf makes models of 1 to 70 billion parameters that can do what their size lets expect.
func fleetOf(n int) (ability, size map[string]float64) {
	ability, size = map[string]float64{}, map[string]float64{}
	for i := range n {
		name := fmt.Sprintf("m%02d", i)
		size[name] = math.Log2(1 + math.Pow(70, float64(i)/float64(n-1)))
		ability[name] = size[name]
	}
	return ability, size
}

func TestAnAverageModelGetsWhatItsSizeLetsExpect(t *testing.T) {
	for billions, want := range map[float64]float64{1: 0.58, 3: 0.66, 8: 0.75, 14: 0.80, 32: 0.86, 70: 0.89, 400: 0.92} {
		if got := qualityOf(math.Log2(1 + billions)); math.Abs(got-want) > 0.011 {
			t.Errorf("%vB: got %.2f, want %.2f", billions, got, want)
		}
	}
	ability, size := fleetOf(20)
	fit := fitTask(scored("x", -1, 0.4, ability, size), nil)
	for name, want := range ability {
		if got := fit.ability[name]; math.Abs(got-want) > 0.6 {
			t.Errorf("%s: ability %.2f, want %.2f", name, got, want)
		}
	}
}

func TestABetterModelIsRankedAboveItsSize(t *testing.T) {
	ability, size := fleetOf(20)
	ability["m05"] += 2 // as if four times as large
	ability["m15"] -= 2
	scores := append(scored("x", -1, 0.4, ability, size), scored("yy", 20, 0.3, ability, size)...)
	fit := fitTask(scores, nil)
	for name, least := range map[string]float64{"m05": 1, "m15": -3} {
		if off := fit.ability[name] - size[name]; off < least || off > least+2 {
			t.Errorf("%s is judged %.2f off its size", name, off)
		}
	}
	for _, p := range fit.priors() {
		if p.Value < 0.2 || p.Value > 0.95 || p.Provenance != "s 2026-01" {
			t.Errorf("got %v", p)
		}
	}
}

func TestMetricsWithoutAScaleAreLeftOut(t *testing.T) {
	ability, size := fleetOf(20)
	backwards := map[string]float64{}
	for name, a := range ability {
		backwards[name] = -a
	}
	scores := append(scored("x", -1, 0.4, ability, size), scored("backwards", -1, 0.4, backwards, size)...)
	scores = append(scores, scored("few", 0, 1, ability, size)[:leastModels-1]...)
	fit := fitTask(scores, nil)
	for _, m := range fit.metrics {
		if dropped := m.dropped != ""; dropped != (m.name != "x") {
			t.Errorf("%s: left out %q", m.name, m.dropped)
		}
	}
}

func TestPriorsDoNotDependOnTheOrderOfRows(t *testing.T) {
	ability, size := fleetOf(12)
	scores := append(scored("x", -1, 0.4, ability, size), scored("yy", 20, 0.3, ability, size)...)
	want := fitTask(scores, nil).priors()
	slices.Reverse(scores)
	got := fitTask(scores, nil).priors()
	for name := range want {
		if got[name] != want[name] {
			t.Errorf("%s: got %v, want %v", name, got[name], want[name])
		}
	}
}

func TestATableOfScoresIsReadByModel(t *testing.T) {
	models, err := evidence.ParseCatalogue("models.yaml", []byte(`models:
  - name: qwen3:8b
    also: [qwen3-8b]
    parameters: 8B
  - name: deepseek-r1:7b
    parameters: 7.6B
`))
	if err != nil {
		t.Fatal(err)
	}
	table := `model,model_as_published,task,metric,value,source,source_commit_or_date,note
qwen3:8b,Qwen3-8B (FC),tool_use,BFCL v4 overall,42.5,ShishirPatil/gorilla gh-pages,8c24bd7 2026-04-12,mode=FC
qwen3:8b,Qwen3-8B (FC),tool_use,BFCL v4 live,80,ShishirPatil/gorilla gh-pages,8c24bd7 2026-04-12,
qwen3:8b,x,coding,LiveBench-2025_04_25 Coding,50,LiveBench/livebench.github.io,4bf96c8 2026-07-01,
deepseek-r1:7b,x,math,OLLv2 MATH,1,open-llm-leaderboard v2 mirror,2025-05-09,
nobody:1b,x,math,OLLv2 MATH,1,open-llm-leaderboard v2 mirror,2025-05-09,
`
	scores, strangers, err := readScores(strings.NewReader(table), models)
	if err != nil {
		t.Fatal(err)
	}
	if len(scores) != 2 || len(strangers) != 1 || strangers[0] != "nobody:1b" {
		t.Fatalf("got %v, strangers %v", scores, strangers)
	}
	if s := scores[0]; s.model != "qwen3:8b" || s.source != "bfcl" || s.date != "2026-04" || math.Abs(s.size-math.Log2(9)) > 1e-9 {
		t.Errorf("got %+v", s)
	}
	if s := scores[1]; s.source != "livebench" || s.date != "2025-04" || s.value != 0 {
		t.Errorf("got %+v", s)
	}
	for _, broken := range []string{"", "model,task\n", strings.Replace(table, "42.5", "high", 1)} {
		if _, _, err := readScores(strings.NewReader(broken), models); err == nil {
			t.Errorf("%.40q was accepted", broken)
		}
	}
}
