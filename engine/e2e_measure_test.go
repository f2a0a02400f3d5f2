package engine

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"image/png"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"bellwether/engine/admin"
	"bellwether/engine/fleet"
	"bellwether/engine/measure"
	"bellwether/engine/runtime/runtimetest"
	"bellwether/engine/store"
)

// exam is what evals ask, for stand-in models of scripted strength.
func exam() (items []runtimetest.ExamItem) {
	for _, task := range measure.Tasks {
		for _, it := range measure.Suite(task) {
			items = append(items, runtimetest.ExamItem{Ask: it.Ask, Task: it.Task, Right: it.Right, Wrong: it.Wrong})
		}
	}
	return items
}

// strengths are two models: one codes well, one does not and is small.
func strengths() map[string]runtimetest.FakeConfig {
	return map[string]runtimetest.FakeConfig{"ollama": {Parallel: 2, MaxLoaded: 8, KeepAlive: -1, Exam: exam(), Models: []runtimetest.FakeModel{
		{Name: "coder:7b", Size: 400 << 20, Strength: map[string]float64{"coding": 0.9, "math": 0.6, "": 0.5}},
		{Name: "small:1b", Size: 40 << 20, Strength: map[string]float64{"coding": 0.2, "math": 0.3, "": 0.5}},
	}}}
}

// order posts an order of the owner and hands each line of the answer to each,
// until that returns false or the answer ends. It returns the status and, for a
// refusal, its code.
func order[T any](ctx context.Context, t *testing.T, r *rig, path string, wish any, each func(T) bool) (status int, code string) {
	t.Helper()
	body, err := json.Marshal(wish)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "POST", r.base+path, strings.NewReader(string(body)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Fleet-Admin", r.token)
	resp, err := r.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 400 {
		text, _ := io.ReadAll(resp.Body)
		var refusal struct{ Error admin.Refusal }
		if err := json.Unmarshal(text, &refusal); err != nil || refusal.Error.Message == "" {
			t.Errorf("%s: a refusal that says nothing: %s", path, text)
		}
		return resp.StatusCode, refusal.Error.Code
	}
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		var v T
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			t.Fatalf("%s: %v in %s", path, err, lines.Text())
		}
		if !each(v) {
			break
		}
	}
	return resp.StatusCode, ""
}

// evaluate runs an eval to its end and returns what it said last.
func (r *rig) evaluate(t *testing.T, w admin.EvalWish) (last measure.Step, answered int) {
	t.Helper()
	w.Live = true
	status, code := order(t.Context(), t, r, "/admin/eval", w, func(s measure.Step) bool {
		if s.Name != "" {
			answered++
		}
		last = s
		return true
	})
	if status != http.StatusOK {
		t.Fatalf("the eval was refused: %d %s", status, code)
	}
	return last, answered
}

func TestEvalMeasuresAndSavesWhatModelsCan(t *testing.T) {
	r := newRig(t, spec{fakes: strengths()})
	var plan *measure.Plan
	order(t.Context(), t, r, "/admin/eval", admin.EvalWish{}, func(s measure.Step) bool { plan = s.Plan; return true })
	if plan == nil || len(plan.Models) != 2 || plan.Requests < 2*6*30 || plan.Loads != 2 || len(served(r.fakes["ollama"])) != 0 {
		t.Fatalf("the plan is %+v, and the runtime was asked %d times", plan, len(served(r.fakes["ollama"])))
	}
	w := admin.EvalWish{Tasks: []string{"coding", "math"}, Items: 12, Save: true}
	last, answered := r.evaluate(t, w)
	got := map[string]int{}
	for _, res := range last.Done {
		got[res.Deployment.Model+" "+res.Task] = res.Right
		if res.Of != 12 || !res.Saved || res.Unanswered != 0 || res.Seconds <= 0 {
			t.Errorf("%+v", res)
		}
	}
	if answered != 48 || len(last.Done) != 4 || last.Stopped != "" || got["coder:7b coding"] <= got["small:1b coding"]+4 || got["coder:7b math"] <= got["small:1b math"] {
		t.Errorf("%d answered, %v", answered, got)
	}
	book := r.evidence.Book()
	for key, right := range got {
		model, task, _ := strings.Cut(key, " ")
		d := r.deployment(fleet.DeploymentID{Node: r.nodeID, Runtime: "ollama", Model: model})
		if q := book.Quality(d, task); q.N != 12 || int(q.V*12+0.5) != right || book.Grades(d)[task].Suite != measure.SuiteName(task) {
			t.Errorf("%s: the book says %+v of %d right", key, q, right)
		}
		if book.Output(d, task).Known() || book.Seconds(d).Known() {
			t.Errorf("%s: the eval's answers taught what its users' answers are like", key)
		}
	}
	if err := r.store.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	records, err := r.store.Decisions(t.Context(), store.Filter{App: measure.AppEval, Limit: 1000})
	if err != nil || len(records) != 48 {
		t.Errorf("%d records of the eval, %v", len(records), err)
	}
	for _, rec := range records[:min(5, len(records))] {
		if !rec.Requirements.Batch || rec.Requirements.PrimaryTask == "" || rec.Outcome != fleet.OutcomeOK {
			t.Errorf("recorded as %+v", rec.Requirements)
		}
	}
	// Again, with other items: the new grade replaces the old.
	w.Items, w.Tasks, w.Models = 6, []string{"math"}, []string{"small:1b"}
	r.evaluate(t, w)
	if q := r.evidence.Book().Quality(r.deployment(fleet.DeploymentID{Node: r.nodeID, Runtime: "ollama", Model: "small:1b"}), "math"); q.N != 6 {
		t.Errorf("after a second eval of 6 items the book says %+v", q)
	}
	r.idle(t)
}

// A client that leaves ends its run, and the next one goes on there; so it does
// after the engine was stopped and started again.
func TestBrokenOffEvalGoesOnAcrossRestarts(t *testing.T) {
	dir := t.TempDir()
	w := admin.EvalWish{Models: []string{"coder:7b"}, Tasks: []string{"reasoning"}, Items: 15, Live: true}
	fakes := strengths()
	f := fakes["ollama"]
	f.DecodeRate = 400 // so that the engine notices the leaving before it has asked everything
	fakes["ollama"] = f
	r, err := spec{fakes: fakes}.start(dir)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	order(t.Context(), t, r, "/admin/eval", w, func(s measure.Step) bool {
		if s.Name != "" {
			n++
		}
		return n < 4
	})
	r.await(t, "the run to end with its client", func() bool {
		end, busy := r.measuring.begin("a look")
		if busy == nil {
			end()
		}
		return busy == nil
	})
	if err := r.end(); err != nil {
		t.Fatal(err)
	}
	if r, err = (spec{fakes: strengths()}).start(dir); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.end() }()
	asked := 0
	done := -1
	var last measure.Step
	order(t.Context(), t, r, "/admin/eval", w, func(s measure.Step) bool {
		if s.Plan != nil {
			done, asked = s.Plan.Done, s.Plan.Requests
		}
		last = s
		return true
	})
	if done < 4 || done > 14 || done+asked != 15 || len(served(r.fakes["ollama"])) != asked || len(last.Done) != 1 || last.Done[0].Of != 15 {
		t.Errorf("%d were done, %d to ask, %d asked; result %+v", done, asked, len(served(r.fakes["ollama"])), last.Done)
	}
	r.idle(t)
}

func TestSecondMeasurementAtOnceIsRefused(t *testing.T) {
	r := newRig(t, spec{fakes: strengths()})
	r.inject(runtimetest.Fault{Path: "/api/chat", Break: runtimetest.BreakHold})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	first := make(chan struct{})
	go func() {
		defer close(first)
		order(ctx, t, r, "/admin/eval", admin.EvalWish{Models: []string{"small:1b"}, Items: 1, Tasks: []string{"math"}, Live: true}, func(measure.Step) bool { return true })
	}()
	r.holding(t)
	for path, wish := range map[string]any{"/admin/eval": admin.EvalWish{Live: true, Items: 1}, "/admin/probe": admin.ProbeWish{All: true}} {
		if status, code := order(t.Context(), t, r, path, wish, func(map[string]any) bool { return true }); status != http.StatusConflict || code != "already_measuring" {
			t.Errorf("%s: %d %s", path, status, code)
		}
	}
	if status, _ := order(t.Context(), t, r, "/admin/eval", admin.EvalWish{Items: 1}, func(measure.Step) bool { return true }); status != http.StatusOK {
		t.Errorf("a plan is refused while an eval runs: %d", status)
	}
	cancel()
	<-first
	for _, f := range r.fakes {
		f.Heal()
	}
	r.idle(t)
}

// With one slot, an app waits for the question that runs, and for no other but
// one that was granted before.
func TestAppsGoBeforeAnEval(t *testing.T) {
	fakes := strengths()
	f := fakes["ollama"]
	f.Parallel, f.DecodeRate = 1, 400
	fakes["ollama"] = f
	r := newRig(t, spec{fakes: fakes, more: ", parallel: 1"})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	over := make(chan struct{})
	go func() {
		defer close(over)
		order(ctx, t, r, "/admin/eval", admin.EvalWish{Models: []string{"small:1b"}, Tasks: []string{"reasoning", "math"}, Live: true}, func(measure.Step) bool { return true })
	}()
	r.await(t, "the eval to be under way", func() bool { return len(served(r.fakes["ollama"])) >= 2 })
	for range 4 {
		before := len(served(r.fakes["ollama"]))
		if s, _ := chatWire.say(t, r, "small:1b", "Hello there", true); s.failed != "" {
			t.Fatalf("%+v", s)
		}
		if between := len(served(r.fakes["ollama"])) - before - 1; between > 2 {
			t.Errorf("%d questions of the eval were asked while an app waited", between)
		}
	}
	select {
	case <-over:
		t.Error("the eval was over: nothing was shown")
	default:
	}
	cancel()
	<-over
	r.idle(t)
}

func TestEvalStopsWhenTheMachineIsPaused(t *testing.T) {
	r := newRig(t, spec{fakes: strengths()})
	var last measure.Step
	order(t.Context(), t, r, "/admin/eval", admin.EvalWish{Models: []string{"small:1b"}, Tasks: []string{"extraction"}, Live: true}, func(s measure.Step) bool {
		if s.N == 3 {
			r.agent.Pause("the owner plays", time.Time{})
		}
		last = s
		return true
	})
	if !strings.Contains(last.Stopped, "paused") {
		t.Errorf("ended with %+v", last)
	}
	r.agent.Resume()
	r.idle(t)
}

// On a machine that takes no work nothing is answered, at once: that is no probe
// and no eval, and it is said with the machine's name and what helps.
func TestMeasuringOfAPausedMachineFailsAndMarksNothing(t *testing.T) {
	r := newRig(t, spec{fakes: strengths()})
	id := fleet.DeploymentID{Node: r.nodeID, Runtime: "ollama", Model: "small:1b"}
	must(t, r.agent.Pause("", time.Time{}))
	r.await(t, "the pause to be known", func() bool { return r.registry.Snapshot().Nodes[0].State.Paused })
	plain := func(what, said string) {
		t.Helper()
		if !strings.Contains(said, "studio is paused") || !strings.Contains(said, "bellwether resume") || strings.Contains(said, r.nodeID) {
			t.Errorf("%s says %q", what, said)
		}
	}
	body := ask(t, r.client, "POST", r.base+"/admin/probe", `{"models":["`+id.String()+`"]}`, "X-Fleet-Admin", r.token)
	if plain("the probe", string(body.Body)); body.Status != http.StatusServiceUnavailable {
		t.Errorf("the probe ends with %d", body.Status)
	}
	last, answered := r.evaluate(t, admin.EvalWish{Models: []string{id.String()}, Tasks: []string{"math"}, Items: 2, Save: true})
	if plain("the eval", last.Error); answered != 0 {
		t.Errorf("%d items were answered", answered)
	}
	if r.evidence.Book().Probe(r.deployment(id)) != nil {
		t.Error("it counts as probed")
	}
	for _, j := range r.jobs() {
		if j.State != "failed" {
			t.Errorf("the %s is %s", j.Kind, j.State)
		}
		plain("the job of the "+j.Kind, j.Error)
	}
	body = ask(t, r.client, "POST", r.base+"/admin/models/load", `{"deployment":"`+id.String()+`"}`, "X-Fleet-Admin", r.token)
	if plain("the load", string(body.Body)); body.Status != http.StatusConflict {
		t.Errorf("the load ends with %d", body.Status)
	}
	must(t, r.agent.Resume())
	r.idle(t)
}

// Of several models those that answered are probed, and of the others it is said.
func TestAProbeOfSeveralSaysWhoDidNotAnswer(t *testing.T) {
	one := runtimetest.FakeConfig{Models: []runtimetest.FakeModel{{Name: "chat:1b"}}}
	r := newRig(t, spec{config: quick, fakes: map[string]runtimetest.FakeConfig{"sound": one, "sick": one}})
	r.fakes["sick"].Inject(runtimetest.Fault{Path: "/api/chat", Status: 500, Body: `{"error":"out of luck"}`})
	silent := ""
	status, code := order(t.Context(), t, r, "/admin/probe", admin.ProbeWish{All: true}, func(f measure.Finding) bool {
		if f.Capability == "" {
			silent += f.Deployment.Runtime + ": " + f.Reason
		}
		return true
	})
	if status != http.StatusOK || !strings.HasPrefix(silent, "sick: ") || !strings.Contains(silent, "out of luck") || strings.Contains(silent, "sound: ") {
		t.Errorf("%d %s, silent: %s", status, code, silent)
	}
	for runtime, probed := range map[string]bool{"sound": true, "sick": false} {
		if got := r.evidence.Book().Probe(r.deployment(fleet.DeploymentID{Node: r.nodeID, Runtime: runtime, Model: "chat:1b"})) != nil; got != probed {
			t.Errorf("%s counts as probed: %v", runtime, got)
		}
	}
	if j := r.jobs()[0]; j.State != "done" || j.Lines[len(j.Lines)-1].About != "" {
		t.Errorf("the job is %+v", j)
	}
	r.idle(t)
}

func TestWishesThatMakeNoSenseAreRefused(t *testing.T) {
	r := newRig(t, spec{fakes: map[string]runtimetest.FakeConfig{"left": twin}})
	for path, wishes := range map[string]map[string]any{
		"/admin/eval": {
			"no_such_model": admin.EvalWish{Models: []string{"nobody"}}, "unknown_task": admin.EvalWish{Tasks: []string{"poetry"}},
			"invalid_request": admin.EvalWish{Models: []string{"embed:1b"}},
		},
		"/admin/probe": {"no_such_model": admin.ProbeWish{Models: []string{"nobody"}}, "invalid_request": admin.ProbeWish{}},
	} {
		for want, wish := range wishes {
			if status, code := order(t.Context(), t, r, path, wish, func(map[string]any) bool { return true }); status < 400 || status > 499 || code != want {
				t.Errorf("%s %+v: %d %s, want %s", path, wish, status, code, want)
			}
		}
	}
}

// colourOf looks at the picture of an Ollama request, as a model that sees.
func colourOf(body []byte) string {
	var q struct {
		Messages []struct{ Images [][]byte }
	}
	if json.Unmarshal(body, &q) != nil || len(q.Messages) != 1 || len(q.Messages[0].Images) != 1 {
		return "nothing"
	}
	img, err := png.Decode(bytes.NewReader(q.Messages[0].Images[0]))
	if err != nil {
		return "nothing"
	}
	switch red, green, blue, _ := img.At(img.Bounds().Dx()/2, img.Bounds().Dy()/2).RGBA(); {
	case red > 2*green && red > 2*blue:
		return "Red"
	case blue > 2*green && blue > 2*red:
		return "Blue"
	}
	return "another colour"
}

// What a probe established counts at once, with its source.
func TestProbedCapabilitiesCountAtOnce(t *testing.T) {
	able := runtimetest.FakeConfig{KeepAlive: -1, Models: []runtimetest.FakeModel{
		{Name: "able:1b", Capabilities: []string{"completion", "tools", "vision", "thinking"}, Reply: func(q runtimetest.Question) *runtimetest.Answer {
			switch {
			case strings.Contains(q.Last, "Which colour fills"):
				return &runtimetest.Answer{Text: colourOf(q.Body)}
			case strings.Contains(q.Last, "word of the day"):
				return &runtimetest.Answer{Text: "tangerine-4417"}
			case strings.Contains(q.Last, "both at once"):
				return &runtimetest.Answer{Calls: []runtimetest.Call{{Name: "get_weather", Arguments: `{"city":"Oslo"}`}, {Name: "get_weather", Arguments: `{"city":"Lisbon"}`}}}
			}
			return nil
		}},
		{Name: "plain:1b"},
		{Name: "embed:1b", Capabilities: []string{"embedding"}, EmbeddingWidth: 48},
	}}
	r := newRig(t, spec{fakes: map[string]runtimetest.FakeConfig{"ollama": able}})
	found := map[string]measure.Finding{}
	status, _ := order(t.Context(), t, r, "/admin/probe", admin.ProbeWish{All: true}, func(f measure.Finding) bool {
		found[f.Deployment.Model+" "+f.Capability] = f
		return true
	})
	if status != http.StatusOK {
		t.Fatal(status)
	}
	for key, want := range map[string]fleet.Tri{
		"able:1b tools": fleet.Yes, "able:1b tool_choice_required": fleet.Yes, "able:1b parallel_tools": fleet.Yes, "able:1b json_object": fleet.Yes, "able:1b json_schema": fleet.Yes,
		"able:1b thinking": fleet.Yes, "able:1b vision": fleet.Yes, "able:1b context": fleet.Yes,
		"plain:1b tools": fleet.No, "plain:1b vision": fleet.No, "plain:1b thinking": fleet.No, "embed:1b embedding": fleet.Yes, "embed:1b dimensions": fleet.Yes, "embed:1b norm": fleet.Yes,
	} {
		if f, ok := found[key]; !ok || f.Support != want || f.Reason == "" {
			t.Errorf("%s: %+v", key, f)
		}
	}
	if f := found["embed:1b dimensions"]; f.Value != 48 {
		t.Errorf("dimensions: %+v", f)
	}
	for model, want := range map[string]fleet.Claim{"able:1b": {Support: fleet.Yes, Source: fleet.SourceProbe}, "plain:1b": {Support: fleet.No, Source: fleet.SourceProbe}} {
		d := r.deployment(fleet.DeploymentID{Node: r.nodeID, Runtime: "ollama", Model: model})
		if d == nil {
			t.Fatalf("%s is gone", model)
		}
		if got := d.Can(fleet.CapTools); got != want {
			t.Errorf("%s: tools %v by %v, want %v by %v", model, got.Support, got.Source, want.Support, want.Source)
		}
	}
	// A model that makes two calls can read them back.
	r.post(t, "/api/chat", `{"model":"able:1b","stream":false,"messages":[{"role":"user","content":"go"},{"role":"assistant","content":"","tool_calls":[`+
		`{"function":{"name":"get_weather","arguments":{"city":"Oslo"}}},{"function":{"name":"get_weather","arguments":{"city":"Lisbon"}}}]},`+
		`{"role":"tool","tool_name":"get_weather","content":"rain"},{"role":"tool","tool_name":"get_weather","content":"sun"}]}`).ok(t)
	if p := r.evidence.Book().Probe(r.deployment(fleet.DeploymentID{Node: r.nodeID, Runtime: "ollama", Model: "able:1b"})); p == nil || p.Suite != measure.ProbeSuite || p.Context == 0 {
		t.Errorf("the book has %+v", p)
	}
	r.idle(t)
}
