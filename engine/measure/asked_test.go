package measure

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"bellwether/engine/dialect"
	"bellwether/engine/fleet"
)

// someone answers questions by a function, and remembers them.
type someone struct {
	mu     sync.Mutex
	asked  []string
	all    []Question
	answer func(n int, r *dialect.Request, q Question) (*Answer, error)
}

func (s *someone) Ask(ctx context.Context, r *dialect.Request, q Question) (*Answer, error) {
	s.mu.Lock()
	n := len(s.asked)
	s.asked, s.all = append(s.asked, textOf(r)), append(s.all, q)
	s.mu.Unlock()
	if ctx.Err() != nil {
		return &Answer{}, &dialect.Problem{Code: "cancelled", Message: "The request was given up."}
	}
	return s.answer(n, r, q)
}

func textOf(r *dialect.Request) string {
	if r.Embed != nil {
		return "embed"
	}
	for _, p := range r.Messages[len(r.Messages)-1].Parts {
		if p.Kind == dialect.PartText {
			return p.Text.String()
		}
	}
	return ""
}

func says(text string) *Answer {
	return &Answer{Reply: &dialect.Reply{Text: dialect.Quote(text), Finish: dialect.FinishStop}, TTFT: 100 * time.Millisecond, Took: time.Second,
		Usage: dialect.Usage{Input: 50, Output: 91, Cached: -1, Reasoning: -1}}
}

func fails(f fleet.Failure) (*Answer, error) {
	return &Answer{Failure: &f}, &dialect.Problem{Status: 502, Code: "upstream_" + string(f.Class), Message: f.Message}
}

func refused(code fleet.Code) (*Answer, error) {
	return &Answer{}, &dialect.Problem{Status: 503, Code: string(code), Message: "no machine could serve it: " + string(code) + "."}
}

// byHeart knows every item's right answer.
var byHeart = func() map[string]*Item {
	m := map[string]*Item{}
	for _, task := range Tasks {
		for _, it := range Suite(task) {
			m[it.Ask] = &it
		}
	}
	return m
}()

// knowing answers all items right.
func knowing(_ int, r *dialect.Request, _ Question) (*Answer, error) {
	it := byHeart[textOf(r)]
	if it == nil {
		return nil, errors.New("asked something else")
	}
	return says(it.Right), nil
}

func target(model string) Target {
	return Target{Node: "studio", Bandwidth: 100, Deployment: fleet.Deployment{
		ID: fleet.DeploymentID{Node: "n1", Runtime: "ollama", Model: model}, Kind: "ollama", Digest: "sha-" + model,
		WeightsBytes: 4e9, Residency: fleet.Loaded, LoadedContext: 8192,
		Capabilities: fleet.Capabilities{fleet.CapChat: {Support: fleet.Yes, Source: fleet.SourceRuntime}},
	}}
}

func journal(t *testing.T) *Journal {
	t.Helper()
	return journalAt(t, filepath.Join(t.TempDir(), "evals.jsonl"))
}

func journalAt(t *testing.T, path string) *Journal {
	t.Helper()
	j, err := OpenJournal(path, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	return j
}

// evaluate runs an eval of easy-to-judge tasks.
func evaluate(ctx context.Context, t *testing.T, who *someone, j *Journal, w Wish) (*Eval, []TaskResult, string) {
	t.Helper()
	plan, err := PlanEval(w, nil, j.Has)
	if err != nil {
		t.Fatal(err)
	}
	e := &Eval{Plan: plan, Ask: who, Grader: testGrader(), Journal: j, Watch: func(Step) {}, Now: time.Now}
	results, stopped, err := e.Run(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return e, results, stopped
}

func brief(r []TaskResult) string {
	var b strings.Builder
	for _, x := range r {
		fmt.Fprintf(&b, "%s %s %d/%d+%d ", x.Deployment.Model, x.Task, x.Right, x.Of, x.Unanswered)
	}
	return strings.TrimSpace(b.String())
}
