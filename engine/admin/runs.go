package admin

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"bellwether/engine/dialect"
	"bellwether/engine/fleet"
	"bellwether/engine/measure"
)

// runsKept is how many ended evals and probes stay in the list, and linesKept
// how much of what each found out.
const (
	runsKept  = 16
	linesKept = 64
)

// Runs are the evals and probes asked for here: what is under way and the last
// ended ones. Its mutex guards list and what each run shows.
type Runs struct {
	now     func() time.Time
	changed func() // told after a run began or ended
	mu      sync.Mutex
	list    []*run // oldest first
}

type run struct {
	JobView
	cancel context.CancelCauseFunc
}

// NewRuns returns a list of former runs, which have ended, latest first; changed
// is told when a run begins or ends.
func NewRuns(now func() time.Time, changed func(), former ...JobView) *Runs {
	rs := &Runs{now: now, changed: changed}
	for _, v := range slices.Backward(former) {
		rs.list = append(rs.list, &run{JobView: v})
	}
	return rs
}

var errCancelled = errors.New("cancelled by its owner")

// begin lists a run. done ends it; a
// run that was refused is taken off the list.
func (rs *Runs) begin(kind, node, model string, cancel context.CancelCauseFunc) (r *run, done func(error)) {
	r = &run{JobView: JobView{ID: rand.Text()[:8], Kind: kind, NodeID: node, Model: model, State: "running", StartedAt: rs.now().UTC(), Cancellable: true, Lines: []JobLine{}}, cancel: cancel}
	rs.mu.Lock()
	rs.list = append(rs.list, r)
	if n := len(rs.list); n > runsKept && rs.list[0].EndedAt != nil {
		rs.list = slices.Delete(rs.list, 0, 1)
	}
	rs.mu.Unlock()
	rs.changed()
	return r, func(err error) {
		rs.mu.Lock()
		r.EndedAt, r.Cancellable = ptr(rs.now().UTC()), false
		switch {
		case isRefused(err): // it never began: whoever asked is told, and there is no job to show
			rs.list = slices.DeleteFunc(rs.list, func(o *run) bool { return o == r })
		case r.State == "cancelled":
		case err != nil:
			r.State, r.Error = "failed", said(err)
		default:
			r.State, r.Percent = "done", ptr(100.0)
		}
		r.Step = ""
		rs.mu.Unlock()
		rs.changed()
	}
}

// isRefused reports whether a run was turned down before it did anything.
func isRefused(err error) bool {
	var p *dialect.Problem
	return errors.As(err, &p) && p.Status < http.StatusInternalServerError
}

// update changes what a run shows.
func (rs *Runs) update(r *run, change func(*JobView)) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	change(&r.JobView)
}

// List returns the runs, the latest first.
func (rs *Runs) List() []JobView {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	out := make([]JobView, 0, len(rs.list))
	for _, r := range slices.Backward(rs.list) {
		out = append(out, r.JobView)
	}
	return out
}

// Cancel ends a run; false when there is none of that id under way.
func (rs *Runs) Cancel(id string) bool {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	for _, r := range rs.list {
		if r.ID == id && r.EndedAt == nil {
			r.State = "cancelled"
			r.cancel(errCancelled)
			return true
		}
	}
	return false
}

// Dismiss takes an ended run off the list. found: there is one of that id;
// dismissed is false while it still runs.
func (rs *Runs) Dismiss(id string) (found, dismissed bool) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	i := slices.IndexFunc(rs.list, func(r *run) bool { return r.ID == id })
	if i < 0 || rs.list[i].EndedAt == nil {
		return i >= 0, false
	}
	rs.list = slices.Delete(rs.list, i, i+1)
	return true, true
}

// start runs an eval or a probe as a job. In the foreground its lines are the
// answer, and it ends when its client leaves. In the background the answer is
// the job, and it goes on by itself; what keeps it from beginning is an answer
// all the same.
func (a *api) start(w http.ResponseWriter, r *http.Request, kind, model string, background bool,
	do func(ctx context.Context, j *run, line func(any)) error, failed func(message string) any) {
	if !background {
		ctx, cancel := context.WithCancelCause(r.Context())
		defer cancel(nil)
		j, done := a.Runs.begin(kind, a.NodeID, model, cancel)
		out := lines(w, func() { cancel(context.Canceled) })
		err := do(ctx, j, func(v any) { out.write(v) })
		done(err)
		if err != nil {
			out.fail(err, failed)
		}
		return
	}
	begun := make(chan error, 1) // the first line, or the end: whoever comes first
	tell := func(err error) {
		select {
		case begun <- err:
		default:
		}
	}
	jobs := make(chan *run, 1)
	ok := a.Background(func(ctx context.Context) {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		j, done := a.Runs.begin(kind, a.NodeID, model, cancel)
		jobs <- j
		err := do(ctx, j, func(any) { tell(nil) })
		done(err)
		tell(err)
	})
	if !ok {
		refuse(w, http.StatusServiceUnavailable, "busy", "Too much is waiting to be begun, or the engine stops.", "Try again in a moment.")
		return
	}
	select {
	case err := <-begun:
		if err != nil {
			trouble(w, err)
			return
		}
	case <-r.Context().Done():
		return
	case <-time.After(2 * time.Second): // it is at work, and has nothing to say yet
	}
	j := <-jobs
	a.Runs.mu.Lock()
	view := j.JobView
	a.Runs.mu.Unlock()
	answer(w, http.StatusAccepted, view)
}

// Probe runs a probe as a job that nobody reads the lines of.
func (rs *Runs) Probe(ctx context.Context, m Measurer, node string, wish ProbeWish) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	j, done := rs.begin("probe", node, one(node, wish.Models), cancel)
	done(m.Probe(ctx, wish, func(f measure.Finding) { rs.watchProbe(j, &f) }))
}

// watchEval shows an eval's steps in its job.
func (rs *Runs) watchEval(r *run, s *measure.Step) {
	rs.update(r, func(v *JobView) {
		if s.Plan != nil {
			v.TotalItems, v.DoneItems = ptr(s.Plan.Requests+s.Plan.Done), ptr(0)
		}
		if s.Name != "" {
			v.Model, v.Step = modelOf(s.Name), s.Of
		}
		if s.Task == nil && s.Name != "" && s.N > 0 && v.DoneItems != nil {
			v.DoneItems = ptr(min(*v.DoneItems+1, *v.TotalItems))
			v.Percent = ptr(tenth(100 * float64(*v.DoneItems) / float64(max(1, *v.TotalItems))))
		}
		if t := s.Task; t != nil {
			v.tell(JobLine{Deployment: t.Deployment.String(), About: t.Task, Text: gradeWords(t)})
		}
		if s.Stopped != "" {
			v.tell(JobLine{Text: s.Stopped})
		}
	})
}

// watchProbe shows a probe's findings in its job.
func (rs *Runs) watchProbe(r *run, f *measure.Finding) {
	rs.update(r, func(v *JobView) {
		n := 1
		if v.DoneItems != nil {
			n += *v.DoneItems
		}
		v.DoneItems, v.Model, v.Step = &n, modelOf(f.Name), f.Capability
		v.tell(JobLine{Deployment: f.Deployment.String(), About: f.Capability, Support: f.Support.String(), Text: f.Reason})
	})
}

// tell adds what was found out; what is too much is left out.
func (v *JobView) tell(l JobLine) {
	if len(v.Lines) < linesKept {
		v.Lines = append(v.Lines, l)
	}
}

// gradeWords says how often a model was right.
func gradeWords(t *measure.TaskResult) string {
	words := fmt.Sprintf("%d of %d right", t.Right, t.Of)
	if t.Unanswered > 0 {
		words += fmt.Sprintf(", %d unanswered", t.Unanswered)
		if t.Why != "" {
			words += ": " + strings.TrimSuffix(t.Why, ".")
		}
	}
	return words
}

// modelOf is the model of a deployment that is called by its machine's name or
// id; another name stays as it is.
func modelOf(name string) string {
	id, _ := fleet.ParseDeploymentID(name)
	return cmp.Or(id.Model, name)
}
