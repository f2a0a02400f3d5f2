package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"bellwether/engine/fleet"
	"bellwether/engine/measure"
	"bellwether/engine/route"
)

func TestAppsAreSummedUpSinceATime(t *testing.T) {
	api, _, s := newAPI(t)
	in, out := 100, 20
	for i := range 30 {
		r := &route.Record{RequestID: fmt.Sprintf("r%03d", i), At: time.Now().Add(-time.Duration(i) * time.Minute), App: []string{"curl", "editor"}[i%2],
			RequestedModel: "m", Outcome: fleet.OutcomeOK, Reasons: []string{}, Usage: &route.RecordUsage{Input: &in, Output: &out}, Timing: route.Timing{TTFTMs: float64(100 + i), TotalMs: 1000}}
		switch i {
		case 0:
			r.Outcome = fleet.OutcomeFailed
		case 2:
			r.Outcome = fleet.OutcomeRefused
		}
		s.Record(r)
	}
	var a AppsAnswer
	w := do(api, "GET", "/admin/apps", "", "")
	if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil || len(a.Apps) != 2 || !a.Complete || len(a.Keys) != 1 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	if c := a.Apps[0]; c.Name != "curl" || c.Requests != 15 || c.FailedRequests != 1 || c.RefusedRequests != 1 || c.ActiveRequests != 1 || c.InputTokens != 1500 ||
		c.OutputTokens != 300 || *c.TTFTP50Ms != 114 || *c.TotalP95Ms != 1000 {
		t.Errorf("curl: %+v", c)
	}
	since := time.Now().Add(-5*time.Minute - 30*time.Second).UTC().Format(time.RFC3339)
	_ = json.Unmarshal(do(api, "GET", "/admin/apps?since="+since, "", "").Body.Bytes(), &a)
	if a.Apps[0].Requests != 3 || a.Apps[1].Requests != 3 {
		t.Errorf("of five minutes: %+v", a.Apps)
	}
	if w := do(api, "GET", "/admin/apps?since=noon", "", ""); w.Code != 400 {
		t.Errorf("noon: %d", w.Code)
	}
}

func TestTheDesksAnswersPass(t *testing.T) {
	api, node, _ := newAPI(t)
	for _, c := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"GET", "/admin/pools/studio/unified/plan?model=m", "", 200, `"verdict":"fits"`},
		{"GET", "/admin/pools/nowhere/unified/plan?model=m", "", 404, "no_such_node"},
		{"GET", "/admin/pools/studio/unified/plan", "", 400, "missing_model"},
		{"GET", "/admin/history", "", 200, `"step_seconds":10`},
		{"GET", "/admin/history?since=noon", "", 400, "invalid_since"},
		{"POST", "/admin/findings/pause/cure", "", 200, `"done":true`},
		{"POST", "/admin/findings/model.ollama%2Fqwen3:4b/cure", "", 200, `"done":true`},
		{"POST", "/admin/jobs/J1/cancel", "", 200, `"done":true`},
		{"POST", "/admin/jobs/J2/cancel", "", 404, "no_such_job"},
		{"POST", "/admin/jobs/J1/dismiss", "", 200, `"done":true`},
		{"POST", "/admin/jobs/J2/dismiss", "", 404, "no_such_job"},
		{"POST", "/admin/jobs/J3/dismiss", "", 409, "job_running"},
		{"POST", "/admin/findings/pull.hf.co%2Fa%2Fb:q4/dismiss", "", 200, `"done":true`},
		{"POST", "/admin/test-traffic", "", 200, `{"kind":"plan","requests":1`},
		{"POST", "/admin/models/pull", `{"model":"m","background":true}`, 202, `"id":"J1"`},
		{"GET", "/admin/settings", "", 200, `"revision":"r1"`},
		{"POST", "/admin/settings", `{"revision":"r0","changes":{"listen":"x"}}`, 409, "revision_moved"},
		{"POST", "/admin/settings", `{"revision":"r1","changes":{}}`, 400, `"keys":{"listen":"no"}`},
		{"POST", "/admin/settings", `{"revision":"r1","changes":{"listen":"x"},"dry_run":true}`, 200, `"saved":false`},
		{"POST", "/admin/settings", `{"revision":"r1","changes":{"listen":"x"}}`, 200, `"revision":"r2"`},
		{"POST", "/admin/models/pin", `{"model":"m"}`, 200, `"done":true`},
		{"POST", "/admin/models/unpin", `{"deployment":"n/ollama/m:1b"}`, 200, `"done":true`},
		{"POST", "/admin/models/pin", `{}`, 400, "missing_model"},
		{"POST", "/admin/models/burn", `{"model":"m"}`, 404, "no_such_action"},
		{"GET", "/admin/bundle", "", 200, "PK"},
	} {
		w := do(api, c.method, c.path, "secret", c.body)
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s %s: %d %s", c.method, c.path, w.Code, w.Body)
		}
	}
	if got := strings.Join(node.told, ", "); got != "cure pause, cure model.ollama/qwen3:4b, cancel J1, cancel J2, dismiss J1, dismiss J2, dismiss J3, dismiss pull.hf.co/a/b:q4, traffic, start pull m, change 1, change 1, pin m true, pin n/ollama/m:1b false, bundle false" {
		t.Errorf("told %s", got)
	}
}

// measurer is a Measurer that asks nobody: it tells what the test says.
type measurer struct {
	steps []measure.Step
	err   error
	wait  chan struct{} // closed: go on
}

func (m *measurer) Eval(ctx context.Context, _ EvalWish, watch func(measure.Step)) error {
	for _, s := range m.steps {
		watch(s)
	}
	select {
	case <-m.wait:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return m.err
}

func (m *measurer) Probe(ctx context.Context, w ProbeWish, watch func(measure.Finding)) error {
	watch(measure.Finding{Name: w.Models[0], Capability: "tools"})
	return m.Eval(ctx, EvalWish{}, func(measure.Step) {})
}

func TestAnEvalInTheBackgroundIsAJobThatCanBeCancelled(t *testing.T) {
	changed := make(chan struct{}, 10)
	m := &measurer{wait: make(chan struct{}), steps: []measure.Step{{Plan: &measure.Plan{Requests: 4}}, {Name: "studio/ollama/qwen", Of: "math", N: 1, Items: 4},
		{Task: &measure.TaskResult{Deployment: fleet.DeploymentID{Node: "n", Runtime: "ollama", Model: "qwen"}, Task: "math", Right: 3, Of: 4, Unanswered: 1, Why: "it was unloaded."}}, {Stopped: "paused"}}}
	runs := NewRuns(time.Now, func() { changed <- struct{}{} })
	node := &notes{err: errors.New("none")}
	api := New(Config{Token: "secret", Measure: m, Runs: runs, Node: node, NodeID: "n",
		Background: func(work func(context.Context)) bool { go work(context.Background()); return true }})
	w := do(api, "POST", "/admin/eval", "secret", `{"models":["n/ollama/qwen"],"live":true,"background":true}`)
	var job JobView
	if err := json.Unmarshal(w.Body.Bytes(), &job); err != nil || w.Code != http.StatusAccepted || job.Kind != "eval" || job.Model != "qwen" || job.State != "running" || !job.Cancellable {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	<-changed
	for *runs.List()[0].DoneItems != 1 { // the steps come by themselves
		runtime.Gosched()
	}
	for len(runs.List()[0].Lines) < 2 {
		runtime.Gosched()
	}
	if j := runs.List()[0]; j.Model != "qwen" || j.Step != "math" || *j.TotalItems != 4 || *j.Percent != 25 {
		t.Errorf("job %+v", j)
	} else if want := []JobLine{{Deployment: "n/ollama/qwen", About: "math", Text: "3 of 4 right, 1 unanswered: it was unloaded"}, {Text: "paused"}}; !slices.Equal(j.Lines, want) {
		t.Errorf("lines %+v, want %+v", j.Lines, want)
	}
	if w := do(api, "POST", "/admin/jobs/"+job.ID+"/dismiss", "secret", ""); w.Code != 409 || len(runs.List()) != 1 {
		t.Errorf("dismissed while it runs: %d %s", w.Code, w.Body)
	}
	if w := do(api, "POST", "/admin/jobs/"+job.ID+"/cancel", "secret", ""); w.Code != 200 {
		t.Errorf("cancel: %d %s", w.Code, w.Body)
	}
	<-changed
	if j := runs.List()[0]; j.State != "cancelled" || j.EndedAt == nil || j.Cancellable || j.Error != "" {
		t.Errorf("job %+v", j)
	}
	if w := do(api, "POST", "/admin/jobs/"+job.ID+"/cancel", "secret", ""); w.Code != 404 {
		t.Errorf("cancelled twice: %d", w.Code)
	}
	if w := do(api, "POST", "/admin/jobs/"+job.ID+"/dismiss", "", ""); w.Code != 403 || len(runs.List()) != 1 {
		t.Errorf("dismissed by a stranger: %d", w.Code)
	}
	if w := do(api, "POST", "/admin/jobs/"+job.ID+"/dismiss", "secret", ""); w.Code != 200 || len(runs.List()) != 0 {
		t.Errorf("dismiss: %d, %v", w.Code, runs.List())
	}
	if w := do(api, "POST", "/admin/jobs/"+job.ID+"/dismiss", "secret", ""); w.Code != 404 {
		t.Errorf("dismissed twice: %d", w.Code)
	}
}

func TestWhatKeepsABackgroundJobFromBeginningIsAnAnswer(t *testing.T) {
	m := &measurer{wait: make(chan struct{}), err: errors.New("no such model")}
	close(m.wait)
	runs := NewRuns(time.Now, func() {})
	api := New(Config{Token: "secret", Measure: m, Runs: runs, Node: &notes{}, Background: func(work func(context.Context)) bool { go work(context.Background()); return true }})
	if w := do(api, "POST", "/admin/eval", "secret", `{"live":true,"background":true}`); w.Code != http.StatusBadGateway || !strings.Contains(w.Body.String(), "no such model") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if j := runs.List()[0]; j.State != "failed" || j.Error == "" {
		t.Errorf("job %+v", j)
	}
	w := do(api, "POST", "/admin/probe", "secret", `{"models":["m"]}`)
	if j := runs.List()[0]; j.Kind != "probe" || *j.DoneItems != 1 || !strings.Contains(w.Body.String(), `"capability":"tools"`) {
		t.Errorf("job %+v, lines %s", j, w.Body)
	}
	full := New(Config{Token: "secret", Measure: m, Runs: runs, Node: &notes{}, Background: func(func(context.Context)) bool { return false }})
	if w := do(full, "POST", "/admin/eval", "secret", `{"live":true,"background":true}`); w.Code != http.StatusServiceUnavailable {
		t.Errorf("with no room: %d", w.Code)
	}
}

func TestEndedJobsAreForgottenAndRunningOnesNot(t *testing.T) {
	runs := NewRuns(time.Now, func() {})
	first, _ := runs.begin("eval", "n", "m", func(error) {})
	for range 3 * runsKept {
		_, done := runs.begin("probe", "n", "m", func(error) {})
		done(nil)
	}
	list := runs.List()
	if last := list[len(list)-1]; last.ID != first.ID {
		t.Errorf("the running one was forgotten")
	}
}

// An app's requests are told apart by their labels; an app that labels each
// request anew costs no more than one that does not.
func TestAppsAreSummedUpByTag(t *testing.T) {
	api, _, s := newAPI(t)
	in, out := 100, 20
	record := func(i int, tags ...string) *route.Record {
		return &route.Record{RequestID: fmt.Sprintf("r%04d", i), At: time.Now().Add(-time.Duration(i) * time.Millisecond), App: "editor", Tags: tags,
			RequestedModel: "m", Outcome: fleet.OutcomeOK, Reasons: []string{}, Usage: &route.RecordUsage{Input: &in, Output: &out}, Timing: route.Timing{TTFTMs: 50, TotalMs: float64(1000 + i)}}
	}
	s.Record(record(0))
	for i := 1; i <= 3; i++ {
		s.Record(record(i, "work", "user:ann"))
	}
	failed := record(4, "work")
	failed.Outcome, failed.Usage, failed.Timing = fleet.OutcomeTruncated, nil, route.Timing{TotalMs: 9}
	s.Record(failed)
	var a AppsAnswer
	if w := do(api, "GET", "/admin/apps", "", ""); json.Unmarshal(w.Body.Bytes(), &a) != nil || len(a.Apps) != 1 || a.Apps[0].Requests != 5 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	if got := a.Apps[0].Tags; len(got) != 2 || a.Apps[0].MoreTags != 0 || got[0].Name != "work" || got[0].Requests != 4 || got[0].FailedRequests != 1 ||
		got[0].InputTokens != 300 || *got[0].TTFTP50Ms != 50 || *got[0].TotalP95Ms != 1003 || got[1].Name != "user:ann" || got[1].Requests != 3 || got[1].OutputTokens != 60 {
		t.Errorf("tags %+v", got)
	}
	live := newHour(time.Now())
	for i := range 5000 {
		live.add(record(i, "work", fmt.Sprintf("trace:%d", i)))
	}
	shelf := newShelf()
	live.lay(shelf, live.names(time.Now()), nil)
	var v AppView
	if err := json.Unmarshal(shelf.kept[SectionApps]["editor"], &v); err != nil || len(v.Tags) != tagsShown || v.Tags[0].Name != "work" || v.Tags[0].Requests != 5000 || v.MoreTags < tagsCounted {
		t.Errorf("%v: %d tags, %d more: %+v", err, len(v.Tags), v.MoreTags, v.Tags[:1])
	}
}
