package admin

import (
	"context"
	"net/http"

	"bellwether/engine/dialect"
	"bellwether/engine/store"
)

// Desk is what else the admin UI asks of the engine.
type Desk interface {
	// Using says who asks: requests under way by app, and the keys without their
	// secrets.
	Using() (active map[string]int, keys []KeyView)
	// Plan says what loading a model into a node's pool would take.
	Plan(node, pool, model string) (*EvictionPlan, *dialect.Problem)
	// Named says what a name stands for that is no model's own, nil for others.
	Named(name string) *NameStatus
	// Cure does what helps against a finding.
	Cure(ctx context.Context, finding string) error
	// Dismiss puts a finding aside that its owner may wave away
	// (FindingView.Dismissable).
	Dismiss(ctx context.Context, finding string) error
	// Traffic tries the models through every protocol.
	Traffic(ctx context.Context, line func(TrafficLine)) error
	// Bundle gathers what helps to find a fault, redacted; with the names of
	// machines only when they are asked for.
	Bundle(ctx context.Context, names bool) ([]byte, error)
}

const (
	appsPage = 1000
	// appsMost is how many records are read for one answer: of more, the latest.
	appsMost = 200_000
)

// apps sums up who asked since ?since=, the last hour unless said; that is what
// the feed's section apps says, too.
func (a *api) apps(w http.ResponseWriter, r *http.Request) {
	since, ok := a.sinceOf(w, r)
	if !ok {
		return
	}
	active, keys := a.Desk.Using()
	now := a.Now()
	if since.IsZero() {
		since = now.Add(-appsWindow)
	}
	if a.Feed != nil && minuteOf(since) == minuteOf(now.Add(-appsWindow)) {
		out := a.Feed.hour.answer(now, active)
		out.Keys = list(keys)
		answer(w, http.StatusOK, out)
		return
	}
	sums := appSums{}
	complete := true
	f := store.Filter{Since: since, Limit: appsPage}
	for n := 0; ; {
		page, err := a.Store.Decisions(r.Context(), f)
		if err != nil {
			a.storeTrouble(w, r, err)
			return
		}
		for _, rec := range page {
			sums.add(rec, 0)
		}
		if n += len(page); len(page) < appsPage {
			break
		}
		if n >= appsMost {
			complete = false
			break
		}
		f.After = page[len(page)-1].RequestID
	}
	answer(w, http.StatusOK, AppsAnswer{Since: since.UTC(), Complete: complete, Apps: sums.views(active), Keys: list(keys)})
}

func (a *api) plan(w http.ResponseWriter, r *http.Request) {
	model := r.URL.Query().Get("model")
	if model == "" {
		refuse(w, http.StatusBadRequest, "missing_model", "model says which model would be loaded.", "Add ?model=NAME.")
		return
	}
	p, problem := a.Desk.Plan(r.PathValue("node"), r.PathValue("pool"), model)
	if problem != nil {
		trouble(w, problem)
		return
	}
	answer(w, http.StatusOK, p)
}

// named says what an alias or an embedding contract stands for.
func (a *api) named(w http.ResponseWriter, r *http.Request) {
	name := r.URL.Query().Get("name")
	s := a.Desk.Named(name)
	if s == nil {
		refuse(w, http.StatusNotFound, "no_such_name", "No alias or embedding contract is called so.", "bellwether config show lists those of the settings.")
		return
	}
	answer(w, http.StatusOK, s)
}

func (a *api) cancelJob(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	if !a.Runs.Cancel(id) && !a.Node.CancelJob(id) {
		refuse(w, http.StatusNotFound, "no_such_job", "No job of this id is under way.", "It may have ended meanwhile.")
		return
	}
	a.touched()
	answer(w, http.StatusOK, map[string]bool{"done": true})
}

func (a *api) cure(w http.ResponseWriter, r *http.Request) {
	if err := a.Desk.Cure(r.Context(), r.PathValue("id")); err != nil {
		trouble(w, err)
		return
	}
	a.touched()
	answer(w, http.StatusOK, map[string]bool{"done": true})
}

// dismissJob takes a job off the list that has ended.
func (a *api) dismissJob(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	found, dismissed := a.Runs.Dismiss(id)
	if !found {
		found, dismissed = a.Node.DismissJob(id)
	}
	switch {
	case !found:
		refuse(w, http.StatusNotFound, "no_such_job", "No job of this id is listed.", "It may have been dismissed already, or left the list for later ones.")
	case !dismissed:
		refuse(w, http.StatusConflict, "job_running", "This job still runs: only one that has ended is dismissed.", "Cancel it first, or wait for its end.")
	default:
		a.touched()
		answer(w, http.StatusOK, map[string]bool{"done": true})
	}
}

// dismissFinding puts a wish of an app aside.
func (a *api) dismissFinding(w http.ResponseWriter, r *http.Request) {
	if err := a.Desk.Dismiss(r.Context(), r.PathValue("id")); err != nil {
		trouble(w, err)
		return
	}
	a.touched()
	answer(w, http.StatusOK, map[string]bool{"done": true})
}

// testTraffic answers with a line for every request that it made.
func (a *api) testTraffic(w http.ResponseWriter, r *http.Request) {
	ctx, stop := context.WithCancel(r.Context())
	defer stop()
	out := lines(w, stop)
	if err := a.Desk.Traffic(ctx, func(l TrafficLine) { out.write(l) }); err != nil {
		out.fail(err, func(message string) any { return TrafficLine{Kind: "done", Error: message} })
	}
}

// bundle is a file to send to who helps: ?names=yes keeps the machines' names.
func (a *api) bundle(w http.ResponseWriter, r *http.Request) {
	b, err := a.Desk.Bundle(r.Context(), r.URL.Query().Get("names") == "yes")
	if err != nil {
		trouble(w, err)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "application/zip")
	h.Set("Content-Disposition", `attachment; filename="bellwether-support-`+a.Now().UTC().Format("20060102-150405")+`.zip"`)
	h.Set("Cache-Control", "no-store")
	_, _ = w.Write(b)
}

// touched has the feed look at what has no events of its own.
func (a *api) touched() {
	if a.Feed != nil {
		a.Feed.Touched()
	}
}
