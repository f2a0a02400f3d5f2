package admin

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"bellwether/engine/measure"
)

// Measurer runs evals and probes, one at a time. A run ends with ctx. Errors
// before the first line have a status of their own.
type Measurer interface {
	Eval(ctx context.Context, w EvalWish, watch func(measure.Step)) error
	Probe(ctx context.Context, w ProbeWish, watch func(measure.Finding)) error
}

// EvalWish is the body of POST /admin/eval.
type EvalWish struct {
	Models []string `json:"models,omitempty"` // nil = all that answer questions
	Tasks  []string `json:"tasks,omitempty"`  // nil = all that have a suite
	Items  int      `json:"items,omitempty"`  // of each task, 0 = all
	Live   bool     `json:"live,omitempty"`   // else only the plan is told
	Save   bool     `json:"save,omitempty"`   // keep the grades as evidence
	Fresh  bool     `json:"fresh,omitempty"`  // do not go on where a run was broken off
	// Background: the answer is the job, which goes on by itself.
	Background bool `json:"background,omitempty"`
}

// ProbeWish is the body of POST /admin/probe.
type ProbeWish struct {
	Models []string `json:"models,omitempty"`
	All    bool     `json:"all,omitempty"`
	// Background: the answer is the job, which goes on by itself.
	Background bool `json:"background,omitempty"`
}

// eval answers with steps, one a line. The run ends when its client leaves.
func (a *api) eval(w http.ResponseWriter, r *http.Request) {
	var wish EvalWish
	if !read(w, r, &wish) {
		return
	}
	if !wish.Live {
		ctx, stop := context.WithCancel(r.Context())
		defer stop()
		out := lines(w, stop)
		if err := a.Measure.Eval(ctx, wish, func(s measure.Step) { out.write(s) }); err != nil {
			trouble(w, err)
		}
		return
	}
	a.start(w, r, "eval", one(a.NodeID, wish.Models), wish.Background, func(ctx context.Context, j *run, line func(any)) error {
		return a.Measure.Eval(ctx, wish, func(s measure.Step) {
			a.Runs.watchEval(j, &s)
			line(s)
		})
	}, func(message string) any { return measure.Step{Error: message} })
}

// one is the model a job is about, "" = several; node is the one of ids.
func one(node string, models []string) string {
	if len(models) != 1 {
		return ""
	}
	if strings.HasPrefix(models[0], node+"/") {
		return modelOf(models[0])
	}
	return models[0]
}

// probe answers with findings, one a line.
func (a *api) probe(w http.ResponseWriter, r *http.Request) {
	var wish ProbeWish
	if !read(w, r, &wish) {
		return
	}
	a.start(w, r, "probe", one(a.NodeID, wish.Models), wish.Background, func(ctx context.Context, j *run, line func(any)) error {
		return a.Measure.Probe(ctx, wish, func(f measure.Finding) {
			a.Runs.watchProbe(j, &f)
			line(f)
		})
	}, func(message string) any { return map[string]string{"error": message} })
}

// lineWriter answers with a JSON value a line, each sent at once.
type lineWriter struct {
	w     http.ResponseWriter
	out   *json.Encoder
	rc    *http.ResponseController
	lost  func()
	began bool
}

// lineTime is how long a client may take to read a line.
const lineTime = time.Minute

// lines makes a lineWriter; lost is called when its client reads no more.
func lines(w http.ResponseWriter, lost func()) *lineWriter {
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	return &lineWriter{w: w, out: out, rc: http.NewResponseController(w), lost: lost}
}

func (l *lineWriter) write(v any) {
	if !l.began {
		l.began = true
		l.w.Header().Set("Content-Type", "application/x-ndjson")
		l.w.Header().Set("Cache-Control", "no-store")
	}
	_ = l.rc.SetWriteDeadline(time.Now().Add(lineTime))
	if l.out.Encode(v) != nil || l.rc.Flush() != nil {
		l.lost()
	}
	_ = l.rc.SetWriteDeadline(time.Time{}) // the next line may be long in coming
}

// fail ends the answer with an error: with its status before the first line,
// else as the last line.
func (l *lineWriter) fail(err error, line func(message string) any) {
	if !l.began {
		trouble(l.w, err)
		return
	}
	l.write(line(said(err)))
}
