package measure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"bellwether/engine/dialect"
	"bellwether/engine/evidence"
	"bellwether/engine/fleet"
)

// AppEval is the app that an eval's requests count as.
const AppEval = "bellwether/eval"

// Step is one step of an eval, for whoever watches. Exactly one of Plan, Task
// and Done is set, or none: then an item was answered.
type Step struct {
	Plan *Plan `json:"plan,omitempty"`

	Name  string  `json:"name,omitempty"` // of the model
	Of    string  `json:"task,omitempty"`
	N     int     `json:"n,omitempty"` // items of the task that are behind
	Items int     `json:"items,omitempty"`
	Right int     `json:"right"`
	ETA   float64 `json:"eta_seconds,omitempty"` // of the whole run

	Task *TaskResult  `json:"result,omitempty"`
	Done []TaskResult `json:"results,omitempty"`
	// Stopped says why the run ended before its plan did; it goes on there when
	// it is asked for again.
	Stopped string `json:"stopped,omitempty"`
	Error   string `json:"error,omitempty"`
}

// Eval is one run of a plan. Run may be called once.
type Eval struct {
	Plan    *Plan
	Ask     Asker
	Grader  *Grader
	Journal *Journal
	// Watch is told of every step; it must not block for long.
	Watch func(Step)
	// Save keeps a grade; nil = grades are shown and not kept. It reports
	// whether the model is still there to keep it for.
	Save func(t *Target, task string, g evidence.Grade) bool
	Now  func() time.Time
	// Answered is how many items this run got an answer to, known when it ended.
	Answered int

	spent   float64 // seconds that asking took
	planned float64 // what the plan gave for the same items
	left    float64 // planned seconds of all that is still to be asked
	results []TaskResult
}

// Limits of patience with a model.
const (
	itemTime = 10 * time.Minute
	inARow   = 3 // failures one after another that end a model's part
)

// errAway ends a run: the machine takes no work of ours at present.
type errAway struct{ why string }

func (e *errAway) Error() string { return e.why }

// errModel ends a model's part of a run.
type errModel struct{ why string }

func (e *errModel) Error() string { return e.why }

// Run asks what the plan holds, one question at a time, and returns what was
// found. It ends early with ctx, or when the machine is taken from us (paused,
// on battery, in a meeting): that is no error, Stopped says so, and what was
// answered is kept for the next run. The error is one of the journal.
func (e *Eval) Run(ctx context.Context) (results []TaskResult, stopped string, err error) {
	e.left = e.Plan.Seconds
	e.Watch(Step{Plan: e.Plan})
	for i := range e.Plan.Models {
		m := &e.Plan.Models[i]
		err := e.model(ctx, m)
		var gone *errAway
		switch {
		case errors.As(err, &gone):
			return e.results, gone.why, nil
		case ctx.Err() != nil:
			return e.results, "it was given up", nil
		case err != nil:
			return e.results, "", err
		}
	}
	for i := range e.Plan.Models {
		if m := &e.Plan.Models[i]; e.answered(m) {
			if err := e.Journal.End(m.target); err != nil {
				return e.results, "", err
			}
		}
	}
	return e.results, "", nil
}

// answered reports whether nothing of a model's part is open.
func (e *Eval) answered(m *ModelPlan) bool {
	for i := range e.results {
		if r := &e.results[i]; r.Deployment == m.Deployment && r.Unanswered > 0 {
			return false
		}
	}
	return true
}

// model asks all tasks of a model. Once it is given up, what is left of it
// counts as unanswered.
func (e *Eval) model(ctx context.Context, m *ModelPlan) error {
	var given *errModel
	for k := range m.Tasks {
		t := &m.Tasks[k]
		outcomes, unanswered, err := e.task(ctx, m, t, given)
		if err != nil && !errors.As(err, &given) {
			return err
		}
		why := ""
		if given != nil {
			why = given.why
		}
		if unanswered > 0 && why == "" {
			why = "some answers failed"
		}
		e.finish(m, resultOf(m.target, t.Task, outcomes, unanswered, why))
	}
	return nil
}

func (e *Eval) finish(m *ModelPlan, r TaskResult) {
	if e.Save != nil && r.Unanswered == 0 && r.Of > 0 {
		r.Saved = e.Save(m.target, r.Task, evidence.Grade{Right: r.Right, Of: r.Of, Suite: SuiteName(r.Task), At: e.Now()})
	}
	e.results = append(e.results, r)
	e.Watch(Step{Task: &r})
}

// task asks the items of one task. With a model given up it only counts them.
func (e *Eval) task(ctx context.Context, m *ModelPlan, t *TaskPlan, given *errModel) (outcomes []Outcome, unanswered int, err error) {
	right, failed := 0, 0
	for i := range t.items {
		it := &t.items[i]
		o, known := e.Journal.Done(m.target, it)
		if !known && given != nil {
			unanswered++
			continue
		}
		if !known {
			var why error
			o, why = e.item(ctx, m.target, it)
			e.left -= t.each
			switch {
			case why == nil:
				failed = 0
				e.Answered++
				e.spent += o.Took
				e.planned += t.each
				if err := e.Journal.Record(m.target, it, o); err != nil {
					return outcomes, unanswered, err
				}
			case errors.As(why, new(*errAway)) || ctx.Err() != nil:
				return outcomes, unanswered, why
			default:
				unanswered++
				failed++
				if !errors.As(why, &given) && failed >= inARow {
					given = &errModel{fmt.Sprintf("%d answers in a row failed; the last one: %s", failed, why)}
				}
				continue
			}
		}
		if o.Right {
			right++
		}
		outcomes = append(outcomes, o)
		e.Watch(Step{Name: m.Name, Of: t.Task, N: i + 1, Items: t.Items, Right: right, ETA: e.eta()})
	}
	if given != nil {
		return outcomes, unanswered, given
	}
	return outcomes, unanswered, nil
}

// eta is the planned rest, at the pace seen so far.
func (e *Eval) eta() float64 {
	if e.planned == 0 || e.spent == 0 {
		return max(0, e.left)
	}
	return max(0, e.left) * e.spent / e.planned
}

// item asks one item, again once when the runtime failed, and judges the answer.
func (e *Eval) item(ctx context.Context, t *Target, it *Item) (Outcome, error) {
	r := steady(say(it.Ask), &t.Deployment, mostOutput[it.Task])
	a, err := e.ask(ctx, t, it, r)
	if err != nil && a != nil && a.Failure != nil && !a.Failure.Caller && a.Failure.Class != fleet.FailTimeout && ctx.Err() == nil {
		a, err = e.ask(ctx, t, it, r)
	}
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return Outcome{}, ctx.Err()
	case away(err) != "":
		return Outcome{}, &errAway{away(err)}
	case a != nil && a.Failure != nil && a.Failure.Class == fleet.FailTimeout:
		return Outcome{}, &errModel{"an answer did not come in time, and may still be running: " + err.Error()}
	case a == nil || a.Failure == nil: // it got no place
		return Outcome{}, &errModel{err.Error()}
	default:
		return Outcome{}, err
	}
	v, err := e.Grader.Grade(ctx, it, a.Reply.Text.String())
	if err != nil {
		return Outcome{}, fmt.Errorf("the answer could not be judged: %w", err)
	}
	return outcomeOf(a, v, e.Now()), nil
}

func (e *Eval) ask(ctx context.Context, t *Target, it *Item, r *dialect.Request) (*Answer, error) {
	return patient(ctx, e.Ask, r, Question{Deployment: t.Deployment.ID, App: AppEval, Task: it.Task, Timeout: itemTime})
}

func outcomeOf(a *Answer, v Verdict, now time.Time) Outcome {
	o := Outcome{
		Right: v.Right, Cut: a.Reply.Finish == dialect.FinishLength, At: now,
		Took: (a.Took - a.Load).Seconds(), TTFT: max(0, a.TTFT-a.Load).Seconds(), Input: max(0, a.Usage.Input), Output: max(0, a.Usage.Output),
	}
	if decode := cmp.Or(a.Timings.Decode, a.Took-a.TTFT); decode > 0 && o.Output > 1 {
		o.Rate = float64(o.Output) / decode.Seconds()
	}
	return o
}
