package measure

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bellwether/engine/dialect"
	"bellwether/engine/evidence"
	"bellwether/engine/fleet"
)

func TestEvalCountsRightAnswers(t *testing.T) {
	wrong := &someone{answer: func(n int, r *dialect.Request, q Question) (*Answer, error) {
		if n%5 == 0 {
			return says("Answer: I do not know"), nil
		}
		return knowing(n, r, q)
	}}
	_, results, stopped := evaluate(t.Context(), t, wrong, journal(t), Wish{Targets: []Target{target("m")}, Tasks: []string{"math", "reasoning"}, Items: 20})
	if got := brief(results); got != "m reasoning 16/20+0 m math 16/20+0" || stopped != "" {
		t.Errorf("got %s, stopped %q", got, stopped)
	}
	r := results[0]
	if r.Seconds != 1 || r.TTFT != 0.1 || r.Rate < 101 || r.Rate > 102 || r.Low > 0.8 || r.High < 0.8 {
		t.Errorf("got %+v", r)
	}
	for _, q := range wrong.all {
		if q.App != AppEval || !q.NoHold || q.Task == "" || q.Deployment.Model != "m" {
			t.Fatalf("asked as %+v", q)
		}
	}
}

// Whatever ended a run, the next one asks only what is still open, and gives
// the same result as one that was never broken off.
func TestBrokenOffEvalGoesOnWhereItWas(t *testing.T) {
	path := filepath.Join(t.TempDir(), "evals.jsonl")
	w := Wish{Targets: []Target{target("a"), target("b")}, Tasks: []string{"math"}, Items: 10}
	ctx, cancel := context.WithCancel(t.Context())
	first := &someone{}
	first.answer = func(n int, r *dialect.Request, q Question) (*Answer, error) {
		if n == 13 {
			cancel()
			return &Answer{}, &dialect.Problem{Code: "cancelled"}
		}
		return knowing(n, r, q)
	}
	_, results, stopped := evaluate(ctx, t, first, journalAt(t, path), w)
	if brief(results) != "a math 10/10+0" || stopped == "" {
		t.Fatalf("got %s, stopped %q", brief(results), stopped)
	}
	if err := os.WriteFile(path, append(readAll(t, path), `{"make":"n1/ollama/b@sha-b","suite":"math/1","item":"math/spe`...), 0o600); err != nil {
		t.Fatal(err) // the last line of a writer that was killed
	}
	j := journalAt(t, path)
	plan, err := PlanEval(w, nil, j.Has)
	if err != nil || plan.Done != 13 || plan.Requests != 7 {
		t.Errorf("the plan finds %d done and %d to ask, want 13 and 7 (%v)", plan.Done, plan.Requests, err)
	}
	second := &someone{answer: knowing}
	_, results, stopped = evaluate(t.Context(), t, second, j, w)
	if got := brief(results); got != "a math 10/10+0 b math 10/10+0" || stopped != "" || len(second.asked) != 7 {
		t.Errorf("got %s after %d questions, stopped %q", got, len(second.asked), stopped)
	}
	for _, asked := range second.asked {
		if n := len(first.asked); slices.Contains(first.asked[10:n-1], asked) {
			t.Errorf("asked again: %s", asked)
		}
	}
	third := &someone{answer: knowing}
	evaluate(t.Context(), t, third, j, w)
	if len(third.asked) != 20 {
		t.Errorf("after a run that ended, the next asks %d of 20", len(third.asked))
	}
}

func readAll(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestAnswersOfAnotherMakeOrSuiteDoNotCount(t *testing.T) {
	j := journal(t)
	old, it := target("m"), Suite("math")[0]
	if err := j.Record(&old, &it, Outcome{Right: true, At: time.Now()}); err != nil {
		t.Fatal(err)
	}
	pulled := old
	pulled.Deployment.Digest = "sha-new"
	other := it
	other.Task = "coding"
	if _, ok := j.Done(&old, &it); !ok {
		t.Error("its own is forgotten")
	}
	if _, ok := j.Done(&pulled, &it); ok {
		t.Error("counts for a model that was pulled again")
	}
	if _, ok := j.Done(&old, &other); ok {
		t.Error("counts for another suite")
	}
}

func TestJournalForgetsAfterAWeekAndKeepsNoText(t *testing.T) {
	path := filepath.Join(t.TempDir(), "evals.jsonl")
	j := journalAt(t, path)
	m, it := target("m"), Suite("math")[0]
	if err := j.Record(&m, &it, Outcome{Right: true, At: time.Now()}); err != nil {
		t.Fatal(err)
	}
	if text := string(readAll(t, path)); strings.Contains(text, "rolls are left") {
		t.Errorf("the question is in it: %s", text)
	}
	later, err := OpenJournal(path, time.Now().Add(8*24*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	defer later.Close()
	if _, ok := later.Done(&m, &it); ok || len(readAll(t, path)) != 0 {
		t.Errorf("kept: %s", readAll(t, path))
	}
}

func TestEvalStopsWhenTheMachineIsItsOwners(t *testing.T) {
	for _, code := range []fleet.Code{fleet.CodePaused, fleet.CodeMeeting, fleet.CodeBattery, fleet.CodePressure, fleet.CodeDraining, "shutting_down"} {
		who := &someone{answer: func(n int, r *dialect.Request, q Question) (*Answer, error) {
			if n == 3 {
				return refused(code)
			}
			return knowing(n, r, q)
		}}
		_, results, stopped := evaluate(t.Context(), t, who, journal(t), Wish{Targets: []Target{target("a"), target("b")}, Tasks: []string{"math"}, Items: 5})
		if stopped == "" || len(who.asked) != 4 || len(results) != 0 {
			t.Errorf("%s: %d asked, stopped %q, results %s", code, len(who.asked), stopped, brief(results))
		}
	}
}

func TestEvalWaitsForWhatMayPass(t *testing.T) {
	who := &someone{answer: func(n int, r *dialect.Request, q Question) (*Answer, error) {
		if q.NoHold && n == 2 {
			return refused(fleet.CodeMemory)
		}
		return knowing(n, r, q)
	}}
	_, results, stopped := evaluate(t.Context(), t, who, journal(t), Wish{Targets: []Target{target("m")}, Tasks: []string{"math"}, Items: 5})
	if brief(results) != "m math 5/5+0" || stopped != "" || who.all[3].NoHold || who.asked[2] != who.asked[3] {
		t.Errorf("got %s, stopped %q", brief(results), stopped)
	}
}

func TestFailedAnswersAreNoWrongAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		answer func(n int, r *dialect.Request, q Question) (*Answer, error)
		want   string
		asked  int
	}{
		"one crash is asked again": {func(n int, r *dialect.Request, q Question) (*Answer, error) {
			if n == 1 {
				return fails(fleet.Failure{Class: fleet.FailMidStream, Message: "broke"})
			}
			return knowing(n, r, q)
		}, "a math 5/5+0 b math 5/5+0", 11},
		"a model that always crashes is given up": {func(n int, r *dialect.Request, q Question) (*Answer, error) {
			if q.Deployment.Model == "a" {
				return fails(fleet.Failure{Class: fleet.FailBeforeOpen, Message: "broke"})
			}
			return knowing(n, r, q)
		}, "a math 0/0+5 b math 5/5+0", 2*inARow + 5},
		"a timeout ends its model": {func(n int, r *dialect.Request, q Question) (*Answer, error) {
			if n == 2 {
				return fails(fleet.Failure{Class: fleet.FailTimeout, Message: "late", MayRun: true})
			}
			return knowing(n, r, q)
		}, "a math 2/2+3 b math 5/5+0", 8},
		"a model without a place is left out": {func(n int, r *dialect.Request, q Question) (*Answer, error) {
			if q.Deployment.Model == "a" {
				return refused(fleet.CodeMemory)
			}
			return knowing(n, r, q)
		}, "a math 0/0+5 b math 5/5+0", 7},
	} {
		t.Run(name, func(t *testing.T) {
			who := &someone{answer: c.answer}
			saved := 0
			j := journal(t)
			plan, err := PlanEval(Wish{Targets: []Target{target("a"), target("b")}, Tasks: []string{"math"}, Items: 5}, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			e := Eval{Plan: plan, Ask: who, Grader: testGrader(), Journal: j, Watch: func(Step) {}, Now: time.Now,
				Save: func(_ *Target, _ string, g evidence.Grade) bool { saved++; return g.Of == 5 && g.Right == 5 }}
			results, stopped, err := e.Run(t.Context())
			if err != nil || stopped != "" || brief(results) != c.want || len(who.asked) != c.asked {
				t.Errorf("got %s after %d questions, stopped %q, %v", brief(results), len(who.asked), stopped, err)
			}
			if whole := strings.Count(c.want, "+0"); saved != whole {
				t.Errorf("%d grades were saved, want those of %d whole tasks", saved, whole)
			}
			for _, r := range results {
				if (r.Unanswered > 0) != (r.Why != "") || r.Saved != (r.Unanswered == 0) {
					t.Errorf("%+v", r)
				}
			}
		})
	}
}

func TestPlanCountsWhatIsStillToBeAsked(t *testing.T) {
	slow, fast, twin := target("slow"), target("fast"), target("fast")
	slow.Deployment.Residency, slow.Deployment.WeightsBytes = fleet.OnDisk, 40e9
	twin.Deployment.ID.Runtime = "other" // the same weights: one model
	p, err := PlanEval(Wish{Targets: []Target{slow, fast, twin}, Tasks: []string{"math", "coding"}, Items: 4}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Models) != 2 || p.Models[0].Deployment.Model != "fast" || p.Requests != 16 || p.Loads != 1 || !p.Models[1].Load {
		t.Errorf("got %+v", p)
	}
	if p.Models[1].Seconds < 5*p.Models[0].Seconds || p.Seconds <= 0 || p.Input <= 0 || p.Output <= 0 {
		t.Errorf("times %v and %v of %v", p.Models[0].Seconds, p.Models[1].Seconds, p.Seconds)
	}
	if _, err := PlanEval(Wish{Tasks: []string{"poetry"}}, nil, nil); err == nil {
		t.Error("a task without a suite is planned")
	}
}

func TestEveryHeadOfASuiteMixesDifficulties(t *testing.T) {
	for _, task := range Tasks {
		seen := map[Difficulty]int{}
		for _, it := range Suite(task)[:6] {
			seen[it.Difficulty]++
		}
		if seen[Easy] != 2 || seen[Medium] != 2 || seen[Hard] != 2 {
			t.Errorf("%s begins with %v", task, seen)
		}
	}
}

func TestWilsonIntervals(t *testing.T) {
	for _, c := range []struct {
		right, of int
		low, high float64
	}{{0, 0, 0, 1}, {0, 10, 0, 0.2775}, {10, 10, 0.7225, 1}, {5, 10, 0.2366, 0.7634}, {27, 30, 0.7438, 0.9654}} {
		if low, high := wilson(c.right, c.of); low < c.low-5e-4 || low > c.low+5e-4 || high < c.high-5e-4 || high > c.high+5e-4 {
			t.Errorf("%d of %d: %.4f to %.4f, want %.4f to %.4f", c.right, c.of, low, high, c.low, c.high)
		}
	}
}
