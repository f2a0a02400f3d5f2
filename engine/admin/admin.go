// Package admin is the API of the CLI and the admin UI under /admin/: the
// node's state, decisions, dry runs, and the owner's commands. It renders what
// others own and passes commands on; it decides nothing. Its own state is what
// browsers need: the feed, the sessions, the last hour and the last log lines. Handlers run on net/http goroutines.
//
// Reading needs loopback (the gateway's edge sees to that); changing anything
// needs the admin token in the header X-Fleet-Admin, or a browser that a
// one-time link has unlocked (sessions.go).
package admin

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"bellwether/engine/dialect"
	"bellwether/engine/fleet"
	"bellwether/engine/route"
	"bellwether/engine/store"
)

// Node is what the owner may do to this machine's agent. Errors are shown to
// the caller as they are.
type Node interface {
	// Pause and Resume hold from when they return; an error says why they will not
	// hold over a restart.
	Pause(reason string, until time.Time) error
	Resume() error
	Refresh(ctx context.Context) error
	Load(ctx context.Context, d fleet.DeploymentID) error
	Unload(ctx context.Context, d fleet.DeploymentID) error
	Delete(ctx context.Context, d fleet.DeploymentID) error
	Pull(ctx context.Context, model string, progress func(Progress)) error
	// StartPull begins a pull that goes on by itself; CancelJob ends one, and
	// reports whether it was under way.
	StartPull(ctx context.Context, model string) (JobView, error)
	CancelJob(id string) bool
	// DismissJob takes an ended pull off the list; dismissed is false while it
	// runs.
	DismissJob(id string) (found, dismissed bool)
	Doctor(ctx context.Context) []Finding
}

// Progress is one step of a pull. Sizes in bytes, 0 = not said.
type Progress struct {
	Status    string `json:"status"`
	Digest    string `json:"digest,omitempty"`
	Total     int64  `json:"total,omitempty"`
	Completed int64  `json:"completed,omitempty"`
	Error     string `json:"error,omitempty"`
}

// Finding is one line of the doctor's report.
type Finding struct {
	ID       string `json:"id"`
	Severity string `json:"severity"` // ok, note, warning, broken
	Text     string `json:"text"`
	Remedy   string `json:"remedy,omitempty"`
}

// Config is what the API needs. Every field is required but those that say
// otherwise.
type Config struct {
	Token    string
	Version  string // of Bellwether
	NodeName string // of this machine
	Address  string // that browsers of this machine use: http://localhost:11435
	// UI holds the built admin UI, index.html at its root; nil = none was built.
	UI fs.FS
	// Feed is /admin/ws, Past the last hour; nil = there is none.
	Feed *Feed
	Past *Past
	Logs *LogBook
	Now  func() time.Time // nil = time.Now

	Status func() *Status
	Store  *store.Store
	// UnderWay is the record so far of a request that has not ended: what it needs
	// and what is decided, with outcome ""; nil = there is no such request.
	UnderWay func(id string) *route.Record
	Snapshot func() string // the fleet of the moment as scenario text, for explain
	// Explain judges a request's body without running it.
	Explain  func(p dialect.Protocol, body []byte, header http.Header) (*Explained, *dialect.Problem)
	Settings Settings
	Node     Node
	Measure  Measurer
	NodeID   string // of this machine
	Runs     *Runs
	Desk     Desk
	Host     Host // nil = the engine knows nothing of the machine around it
	// AskWindow counts a wish to see the admin window; nil = no such wish is taken.
	AskWindow func()
	// TrayTold takes how the icon fares; nil = there is none to speak of.
	TrayTold func(TrayReport)
	// Background runs work of the engine's own, which ends with it; false when it
	// cannot be taken.
	Background func(work func(ctx context.Context)) bool
	Log        *slog.Logger
}

// Explained is the answer of a dry run.
type Explained struct {
	Requirements route.Requirements `json:"requirements"`
	Micros       float64            `json:"micros"` // time of the decision itself
	Verdict      route.Verdict      `json:"verdict"`
	Chosen       string             `json:"chosen,omitempty"`
	Record       *route.Record      `json:"record"`
	Text         string             `json:"text"` // the same for people
	Problem      string             `json:"problem,omitempty"`
}

// New returns the handler of /admin/.
func New(c Config) http.Handler {
	if c.Now == nil {
		c.Now = time.Now
	}
	a := &api{Config: c, doors: newDoors(c.Now)}
	if c.Feed != nil {
		a.doors.ended = c.Feed.sessionEnded
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /admin/session", a.session)
	mux.HandleFunc("POST /admin/enter-link", a.owner(a.enterLink))
	mux.HandleFunc("GET /admin/enter", a.enter)
	mux.HandleFunc("POST /admin/lock", a.owner(a.lock))
	mux.Handle("/admin/ui", http.RedirectHandler("/ui/", http.StatusPermanentRedirect))
	pages := newUI(c.UI, c.Feed)
	mux.Handle("/ui", pages)
	mux.Handle("/ui/", pages)
	if c.Feed != nil {
		mux.Handle("GET /admin/ws", c.Feed)
	}
	if c.Past != nil {
		mux.HandleFunc("GET /admin/history", a.history)
	}
	mux.HandleFunc("GET /admin/status", a.status)
	mux.HandleFunc("GET /admin/snapshot", a.snapshot)
	mux.HandleFunc("GET /admin/decisions", a.decisions)
	mux.HandleFunc("GET /admin/decisions/{id}", a.decision)
	mux.HandleFunc("GET /admin/settings", a.settings)
	mux.HandleFunc("POST /admin/settings", a.owner(a.changeSettings))
	mux.HandleFunc("GET /admin/config", a.owner(a.inForce)) // it tells where a file is
	mux.HandleFunc("GET /admin/log", a.owner(a.log))
	mux.HandleFunc("GET /admin/apps", a.apps)
	mux.HandleFunc("GET /admin/pools/{node}/{pool}/plan", a.plan)
	mux.HandleFunc("POST /admin/jobs/{id}/cancel", a.owner(a.cancelJob))
	mux.HandleFunc("POST /admin/jobs/{id}/dismiss", a.owner(a.dismissJob))
	mux.HandleFunc("POST /admin/findings/{id}/cure", a.owner(a.cure))
	mux.HandleFunc("POST /admin/findings/{id}/dismiss", a.owner(a.dismissFinding))
	mux.HandleFunc("POST /admin/test-traffic", a.owner(a.testTraffic))
	mux.HandleFunc("GET /admin/bundle", a.owner(a.bundle))
	mux.HandleFunc("GET /admin/name", a.named)
	mux.HandleFunc("GET /admin/doctor", a.doctor)
	mux.HandleFunc("POST /admin/explain/{protocol}", a.explain)
	mux.HandleFunc("POST /admin/refresh", a.owner(a.refresh))
	if c.Host != nil {
		mux.HandleFunc("POST /admin/open-url", a.owner(a.openURL))
		mux.HandleFunc("GET /admin/login-item", a.login)
		mux.HandleFunc("POST /admin/login-item", a.owner(a.setLogin))
	}
	if c.AskWindow != nil {
		mux.HandleFunc("POST /admin/window", a.owner(a.askWindow))
	}
	if c.TrayTold != nil {
		mux.HandleFunc("POST /admin/tray", a.owner(a.tray))
	}
	mux.HandleFunc("POST /admin/pause", a.owner(a.pause))
	mux.HandleFunc("POST /admin/resume", a.owner(a.resume))
	mux.HandleFunc("POST /admin/models/{action}", a.owner(a.models))
	mux.HandleFunc("POST /admin/eval", a.owner(a.eval))
	mux.HandleFunc("POST /admin/probe", a.owner(a.probe))
	mux.HandleFunc(everythingElse, elsewhere(mux))
	return mux
}

type api struct {
	Config
	doors *doors
}

func (a *api) status(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, a.Status()) }

func (a *api) snapshot(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = io.WriteString(w, a.Snapshot())
}

func (a *api) doctor(w http.ResponseWriter, r *http.Request) {
	answer(w, http.StatusOK, a.Node.Doctor(r.Context()))
}

// history is the last hour, or what of it came since ?since=.
func (a *api) history(w http.ResponseWriter, r *http.Request) {
	since, ok := a.sinceOf(w, r)
	if ok {
		answer(w, http.StatusOK, a.Past.History(since))
	}
}

// sinceOf reads ?since=, a time or how long ago, zero without it; false when it
// was refused.
func (a *api) sinceOf(w http.ResponseWriter, r *http.Request) (since time.Time, ok bool) {
	s := r.URL.Query().Get("since")
	if s == "" {
		return time.Time{}, true
	}
	if ago, err := time.ParseDuration(s); err == nil && ago >= 0 {
		return a.Now().Add(-ago), true
	}
	since, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		refuse(w, http.StatusBadRequest, "invalid_since", "since is a time like 2026-01-31T12:00:00Z, or how long ago, like 90m.", "")
		return time.Time{}, false
	}
	return since, true
}

// decisions lists records, newest first: ?limit= &app= &model= &node=
// &outcome= &after=ID for the page after that record, &since=RFC3339.
func (a *api) decisions(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	f := store.Filter{App: q.Get("app"), Model: q.Get("model"), Node: q.Get("node"), Outcome: q.Get("outcome"),
		After: q.Get("after"), Limit: 50}
	if s := q.Get("limit"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 || n > 1000 {
			refuse(w, http.StatusBadRequest, "invalid_limit", "limit is a whole number from 1 to 1000.", "")
			return
		}
		f.Limit = n
	}
	var ok bool
	if f.Since, ok = a.sinceOf(w, r); !ok {
		return
	}
	list, err := a.Store.Decisions(r.Context(), f)
	if err != nil {
		a.storeTrouble(w, r, err)
		return
	}
	if list == nil {
		list = []*route.Record{}
	}
	for i, rec := range list {
		if rec.Scenario != "" { // long, and asked for one by one
			short := *rec // the store's own may still be on its way to the disk
			short.Scenario = ""
			list[i] = &short
		}
	}
	answer(w, http.StatusOK, list)
}

func (a *api) decision(w http.ResponseWriter, r *http.Request) {
	rec, err := a.recordOf(r.Context(), r.PathValue("id"))
	if err != nil {
		a.storeTrouble(w, r, err)
		return
	}
	answer(w, http.StatusOK, rec)
}

// recordOf is a record by the id of its request, or by one that an app was told
// of it. One under way is looked for second, and then what has ended meanwhile.
func (a *api) recordOf(ctx context.Context, id string) (*route.Record, error) {
	rec, err := a.kept(ctx, id)
	if !errors.Is(err, store.ErrNotFound) || a.UnderWay == nil {
		return rec, err
	}
	if rec = a.UnderWay(requestOf(id)); rec != nil {
		return rec, nil
	}
	return a.kept(ctx, id)
}

func (a *api) kept(ctx context.Context, id string) (*route.Record, error) {
	rec, err := a.Store.Decision(ctx, id)
	if request := requestOf(id); errors.Is(err, store.ErrNotFound) && request != id {
		return a.Store.Decision(ctx, request)
	}
	return rec, err
}

func (a *api) storeTrouble(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, store.ErrNotFound) {
		refuse(w, http.StatusNotFound, "no_such_decision", "No decision with this id is kept.", "bellwether decisions lists them.")
		return
	}
	if r.Context().Err() != nil {
		return // who asked has left, which is nobody's trouble
	}
	a.Log.Warn("decisions could not be read", "err", err)
	refuse(w, http.StatusServiceUnavailable, "store", "The records cannot be read now.", "See bellwether doctor.")
}

func (a *api) explain(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 64<<20))
	if err != nil {
		refuse(w, http.StatusRequestEntityTooLarge, "request_too_large", "The request is over 64 MiB.", "")
		return
	}
	e, p := a.Explain(dialect.Protocol(r.PathValue("protocol")), body, r.Header)
	if p != nil {
		refuse(w, p.Status, p.Code, p.Message, p.Remedy)
		return
	}
	answer(w, http.StatusOK, e)
}

func (a *api) refresh(w http.ResponseWriter, r *http.Request) {
	if err := a.Node.Refresh(r.Context()); err != nil {
		refuse(w, http.StatusBadGateway, "not_observed", "A runtime could not be observed: "+err.Error()+".", "See bellwether doctor.")
		return
	}
	answer(w, http.StatusOK, a.Status())
}

// pause takes {"seconds": N, "until": RFC3339, "reason": text}; neither time
// means until resumed.
func (a *api) pause(w http.ResponseWriter, r *http.Request) {
	var wish pauseWish
	if !read(w, r, &wish) {
		return
	}
	until, code, wrong := wish.end(a.Now())
	if wrong != "" {
		refuse(w, http.StatusBadRequest, code, wrong, "")
		return
	}
	a.answerKept(w, a.Node.Pause(wish.Reason, until))
}

func (a *api) resume(w http.ResponseWriter, _ *http.Request) {
	a.answerKept(w, a.Node.Resume())
}

// answerKept answers with the status after a change, and why it was not saved.
func (a *api) answerKept(w http.ResponseWriter, unsaved error) {
	s := a.Status()
	if unsaved != nil {
		s.Unsaved = unsaved.Error()
	}
	answer(w, http.StatusOK, s)
}

// models carries out load, unload, delete (body {"deployment": id}), pull (body
// {"model": name}; progress as NDJSON lines), pin and unpin (either of them).
func (a *api) models(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Deployment fleet.DeploymentID `json:"deployment"`
		Model      string             `json:"model"`
		Background bool               `json:"background"` // of a pull: the answer is the job
	}
	if !read(w, r, &body) {
		return
	}
	action := r.PathValue("action")
	if body.Deployment == (fleet.DeploymentID{}) && (action == "load" || action == "unload" || action == "delete") {
		refuse(w, http.StatusBadRequest, "missing_deployment", "deployment says what it is about, as node/runtime/model.", "bellwether status --json lists them.")
		return
	}
	var err error
	switch action {
	case "load":
		err = a.Node.Load(r.Context(), body.Deployment)
	case "unload":
		err = a.Node.Unload(r.Context(), body.Deployment)
	case "delete":
		err = a.Node.Delete(r.Context(), body.Deployment)
	case "pull":
		if body.Background {
			a.startPull(w, r, body.Model)
		} else {
			a.pull(w, r, body.Model)
		}
		return
	case "pin", "unpin":
		model := body.Model
		if body.Deployment != (fleet.DeploymentID{}) {
			model = body.Deployment.String()
		}
		if model == "" {
			refuse(w, http.StatusBadRequest, "missing_model", "model says which model it is about.", "")
			return
		}
		if err = a.Settings.Pin(r.Context(), model, r.PathValue("action") == "pin"); err == nil {
			a.touched()
		}
	default:
		refuse(w, http.StatusNotFound, "no_such_action", "Models can be loaded, unloaded, pulled, deleted, pinned and unpinned.", "")
		return
	}
	if err != nil {
		trouble(w, err)
		return
	}
	answer(w, http.StatusOK, map[string]bool{"done": true})
}

func (a *api) startPull(w http.ResponseWriter, r *http.Request, model string) {
	job, err := a.Node.StartPull(r.Context(), model)
	if err != nil {
		trouble(w, err)
		return
	}
	a.touched()
	answer(w, http.StatusAccepted, job)
}

// pull answers with progress lines; what fails before the first of them has a
// status of its own, later failures are the last line.
func (a *api) pull(w http.ResponseWriter, r *http.Request, model string) {
	ctx, stop := context.WithCancel(r.Context())
	defer stop()
	out := lines(w, stop)
	if err := a.Node.Pull(ctx, model, func(p Progress) { out.write(p) }); err != nil {
		out.fail(err, func(message string) any { return Progress{Status: "failed", Error: message} })
	}
}

// trouble says why a command was not carried out: the node would not (4xx), or
// the runtime could not (5xx).
func trouble(w http.ResponseWriter, err error) {
	status, code, message, remedy := named(err)
	refuse(w, status, code, message, remedy)
}

func named(err error) (status int, code, message, remedy string) {
	var p *dialect.Problem
	var no *fleet.Refusal
	var f *fleet.Failure
	switch {
	case errors.As(err, &p):
		return p.Status, p.Code, p.Message, p.Remedy
	case errors.As(err, &no):
		return http.StatusConflict, string(no.Code), sentence(no.Reason), ""
	case errors.As(err, &f) && f.Caller && f.Status >= 400 && f.Status < 500:
		return f.Status, cmp.Or(f.Code, "runtime_refused"), sentence(f.Message), ""
	case errors.As(err, &f) && f.Caller:
		return http.StatusBadRequest, cmp.Or(f.Code, "runtime_refused"), sentence(f.Message), ""
	case errors.As(err, &f):
		return http.StatusBadGateway, cmp.Or(f.Code, "runtime_failed"), sentence(f.Message), "See bellwether doctor."
	}
	return http.StatusBadGateway, "runtime_failed", sentence(err.Error()), "See bellwether doctor."
}

// said is what went wrong and what to do, where there is one place for both.
func said(err error) string {
	_, _, message, remedy := named(err)
	return (&dialect.Problem{Message: message, Remedy: remedy}).Text()
}

// sentence ends a clause as one.
func sentence(s string) string { return strings.TrimRight(s, ". ") + "." }

func answer(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		http.Error(w, "internal error", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// Refusal is the shape of every error of this API.
type Refusal struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Remedy  string `json:"remedy,omitempty"`
}

func refuse(w http.ResponseWriter, status int, code, message, remedy string) {
	answer(w, status, map[string]Refusal{"error": {code, message, remedy}})
}
