package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"bellwether/engine/dialect"
	"bellwether/engine/fleet"
	"bellwether/engine/route"
	"bellwether/engine/store"
)

// notes is a Node that writes down what it is told.
type notes struct {
	told []string
	err  error
}

func (n *notes) tell(format string, args ...any) error {
	n.told = append(n.told, fmt.Sprintf(format, args...))
	return n.err
}

func (n *notes) Pause(reason string, until time.Time) error {
	return n.tell("pause %s %v", reason, until.IsZero())
}
func (n *notes) Resume() error                 { return n.tell("resume") }
func (n *notes) Refresh(context.Context) error { return n.tell("refresh") }
func (n *notes) Load(_ context.Context, d fleet.DeploymentID) error {
	return n.tell("load %s", d)
}
func (n *notes) Unload(_ context.Context, d fleet.DeploymentID) error {
	return n.tell("unload %s", d)
}
func (n *notes) Delete(_ context.Context, d fleet.DeploymentID) error {
	return n.tell("delete %s", d)
}
func (n *notes) Pull(_ context.Context, model string, progress func(Progress)) error {
	progress(Progress{Status: "pulling manifest"})
	return n.tell("pull %s", model)
}
func (n *notes) StartPull(_ context.Context, model string) (JobView, error) {
	return JobView{ID: "J1", Kind: "pull", Model: model, State: "running"}, n.tell("start pull %s", model)
}
func (n *notes) CancelJob(id string) bool { return n.tell("cancel %s", id) == nil && id == "J1" }
func (n *notes) DismissJob(id string) (found, dismissed bool) {
	return n.tell("dismiss %s", id) == nil && id != "J2", id == "J1"
}
func (n *notes) InForce() any { return n.Settings() }

func (n *notes) Settings() SettingsAnswer {
	return SettingsAnswer{Revision: "r1", Settings: []SettingView{{Key: "listen", Value: "localhost:11435"}}}
}
func (n *notes) Pin(_ context.Context, model string, on bool) error {
	return n.tell("pin %s %v", model, on)
}
func (n *notes) Change(_ context.Context, c SettingsChange) (*SettingsPreview, error) {
	if c.Revision != "r1" {
		return nil, &dialect.Problem{Status: 409, Code: "revision_moved", Message: "moved"}
	}
	if c.Changes["listen"] == nil {
		return nil, &SettingsError{Err: Refusal{Code: "settings_wrong", Message: "wrong"}, Keys: map[string]string{"listen": "no"}}
	}
	return &SettingsPreview{Revision: "r2", Saved: !c.DryRun}, n.tell("change %d", len(c.Changes))
}
func (n *notes) Using() (map[string]int, []KeyView) {
	return map[string]int{"curl": 1}, []KeyView{{Name: "phone"}}
}
func (n *notes) Named(string) *NameStatus { return nil }
func (n *notes) Plan(node, pool, model string) (*EvictionPlan, *dialect.Problem) {
	if node != "studio" {
		return nil, &dialect.Problem{Status: 404, Code: "no_such_node", Message: "no such node"}
	}
	return &EvictionPlan{Deployment: model, Pool: pool, Verdict: "fits"}, nil
}
func (n *notes) Cure(_ context.Context, id string) error { return n.tell("cure %s", id) }
func (n *notes) Dismiss(_ context.Context, id string) error {
	return n.tell("dismiss %s", id)
}
func (n *notes) Traffic(_ context.Context, line func(TrafficLine)) error {
	line(TrafficLine{Kind: "plan", Requests: 1})
	return n.tell("traffic")
}
func (n *notes) Bundle(_ context.Context, names bool) ([]byte, error) {
	return []byte("PK"), n.tell("bundle %v", names)
}
func (n *notes) Doctor(context.Context) []Finding {
	return []Finding{{ID: "port", Severity: "ok", Text: "fine"}}
}

// newAPI is the API over a real store, with its node's notes.
func newAPI(t *testing.T, change ...func(*Config)) (http.Handler, *notes, *store.Store) {
	t.Helper()
	s, err := store.Open(filepath.Join(t.TempDir(), "test.db"), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	node := &notes{}
	c := Config{
		Token: "secret", Store: s, Node: node, Log: slog.New(slog.DiscardHandler),
		Status:   func() *Status { return &Status{Node: NodeStatus{Name: "studio", State: "serving"}} },
		Snapshot: func() string { return "node studio\n" },
		Version:  "test", NodeName: "studio", NodeID: "n", Address: "http://localhost:11435", Settings: node, Desk: node, Past: NewPast(), Logs: NewLogBook(),
		Runs: NewRuns(time.Now, func() {}), Background: func(work func(context.Context)) bool { go work(context.Background()); return true },
		UI: fstest.MapFS{"index.html": {Data: []byte("<html>ui</html>")}, "assets/app-1a2b.js": {Data: []byte("js")}, "favicon.svg": {Data: []byte("<svg/>")}, ".gitkeep": {}},
		Explain: func(p dialect.Protocol, body []byte, _ http.Header) (*Explained, *dialect.Problem) {
			if len(body) == 0 {
				return nil, &dialect.Problem{Status: 400, Code: "invalid_request", Message: "missing body"}
			}
			return &Explained{Verdict: route.Serve, Text: string(p)}, nil
		},
	}
	for _, f := range change {
		f(&c)
	}
	return New(c), node, s
}

func do(h http.Handler, method, path, token, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	if token != "" {
		r.Header.Set("X-Fleet-Admin", token)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestChangesNeedTheOwnersToken(t *testing.T) {
	h, node, _ := newAPI(t)
	for _, path := range []string{"/admin/pause", "/admin/resume", "/admin/refresh", "/admin/models/load", "/admin/models/unload", "/admin/models/delete", "/admin/models/pull", "/admin/eval", "/admin/probe"} {
		for _, token := range []string{"", "wrong", "secretx"} {
			w := do(h, "POST", path, token, `{"deployment":"n/r/m","model":"m"}`)
			if w.Code != http.StatusForbidden || !strings.Contains(w.Body.String(), "admin_token_needed") {
				t.Errorf("%s with token %q: %d %s", path, token, w.Code, w.Body)
			}
		}
	}
	if len(node.told) != 0 {
		t.Errorf("without a token the node was told %v", node.told)
	}
}

func TestTheOwnersCommandsReachTheNode(t *testing.T) {
	h, node, _ := newAPI(t)
	for _, c := range []struct{ path, body, want string }{
		{"/admin/pause", `{"reason":"a build"}`, "pause a build true"},
		{"/admin/pause", `{"reason":"lunch","seconds":60}`, "pause lunch false"},
		{"/admin/resume", "", "resume"},
		{"/admin/refresh", "", "refresh"},
		{"/admin/models/load", `{"deployment":"n/ollama/hf.co/a/b:q4"}`, "load n/ollama/hf.co/a/b:q4"},
		{"/admin/models/unload", `{"deployment":"n/r/m"}`, "unload n/r/m"},
		{"/admin/models/delete", `{"deployment":"n/r/m"}`, "delete n/r/m"},
		{"/admin/models/pull", `{"model":"m"}`, "pull m"},
	} {
		node.told = nil
		w := do(h, "POST", c.path, "secret", c.body)
		if w.Code != http.StatusOK || len(node.told) != 1 || node.told[0] != c.want {
			t.Errorf("%s %s: %d, told %v, want %q", c.path, c.body, w.Code, node.told, c.want)
		}
	}
}

func TestBadCommandsAreRefusedWithAReason(t *testing.T) {
	h, node, _ := newAPI(t)
	for _, c := range []struct {
		method, path, body string
		status             int
	}{
		{"POST", "/admin/models/load", `{"deployment":"m"}`, 400},
		{"POST", "/admin/models/load", `{"runtime":"ollama","model":"m"}`, 400},
		{"POST", "/admin/models/delete", `{}`, 400},
		{"POST", "/admin/models/load", `{`, 400},
		{"POST", "/admin/models/burn", `{"deployment":"n/r/m"}`, 404},
		{"GET", "/admin/decisions?limit=0", "", 400},
		{"GET", "/admin/decisions?limit=1001", "", 400},
		{"GET", "/admin/decisions?since=yesterday", "", 400},
		{"GET", "/admin/decisions/nobody", "", 404},
		{"POST", "/admin/explain/openai-chat", "", 400},
	} {
		w := do(h, c.method, c.path, "secret", c.body)
		var answer struct{ Error Refusal }
		if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code != c.status || answer.Error.Code == "" || answer.Error.Message == "" {
			t.Errorf("%s %s %s: %d %s", c.method, c.path, c.body, w.Code, w.Body)
		}
	}
	if len(node.told) != 0 {
		t.Errorf("the node was told %v", node.told)
	}
}

func TestWhatCanBeReadIsReadWithoutAToken(t *testing.T) {
	h, _, s := newAPI(t)
	s.Record(&route.Record{RequestID: "0123", At: time.Now(), RequestedModel: "m", App: "curl", Outcome: fleet.OutcomeOK, Reasons: []string{}})
	for path, want := range map[string]string{
		"/admin/status": `"name":"studio"`, "/admin/snapshot": "node studio", "/admin/settings": "localhost:11435",
		"/admin/doctor": `"severity":"ok"`, "/admin/decisions": `"request_id":"0123"`, "/admin/decisions?app=curl&limit=1": `"request_id":"0123"`,
		"/admin/decisions?app=other": "[]", "/admin/decisions/0123": `"requested_model":"m"`,
	} {
		w := do(h, "GET", path, "", "")
		if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), want) || w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d %s (%s)", path, w.Code, w.Body, w.Header())
		}
	}
	if w := do(h, "POST", "/admin/explain/ollama-chat", "", `{}`); w.Code != 200 || !strings.Contains(w.Body.String(), "ollama-chat") {
		t.Errorf("explain: %d %s", w.Code, w.Body)
	}
}

func TestAPullThatFailsSaysSoInItsLastLine(t *testing.T) {
	h, node, _ := newAPI(t)
	node.err = io.ErrUnexpectedEOF
	w := do(h, "POST", "/admin/models/pull", "secret", `{"model":"m"}`)
	lines := strings.Split(strings.TrimSpace(w.Body.String()), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], "pulling manifest") || !strings.Contains(lines[1], `"error":"unexpected EOF`) {
		t.Errorf("got %q", lines)
	}
}

func TestANodesStateIsToldInWords(t *testing.T) {
	up := []fleet.RuntimeState{{Name: "ollama", Up: true}}
	now := time.Date(2026, 11, 30, 8, 4, 0, 0, time.UTC) // a Monday
	paused := func(reason string, d time.Duration) fleet.Node {
		return fleet.Node{Heartbeat: fleet.Heartbeat{Runtimes: up, State: fleet.NodeState{Paused: true, PauseReason: reason, PausedUntil: now.Add(d)}}}
	}
	for _, c := range []struct {
		name          string
		node          fleet.Node
		state, reason string
	}{
		{"serving", fleet.Node{Heartbeat: fleet.Heartbeat{Runtimes: up}}, "serving", ""},
		{"no runtime", fleet.Node{}, "serving", "no runtime is up"},
		{"paused", fleet.Node{Heartbeat: fleet.Heartbeat{Runtimes: up, State: fleet.NodeState{Paused: true, PauseReason: "a build"}}}, "paused", "a build"},
		{"paused today", paused("a build", 4*time.Hour), "paused", "a build (until 12:04)"},
		{"paused for days", paused("a build", 100*time.Hour), "paused", "a build (until Fri 12:04)"},
		{"paused for weeks", paused("", 500*time.Hour), "paused", "(until 21 Dec 04:04)"},
		{"offline", fleet.Node{Heartbeat: fleet.Heartbeat{Runtimes: up}, Liveness: fleet.Offline, LastSeen: now.Add(-26 * time.Hour)}, "offline", "no heartbeat since Sun 06:04"},
		{"draining", fleet.Node{Heartbeat: fleet.Heartbeat{Runtimes: up, State: fleet.NodeState{Draining: true}}}, "draining", "it is stopping"},
		{"late", fleet.Node{Heartbeat: fleet.Heartbeat{Runtimes: up}, Liveness: fleet.Late}, "late", "its heartbeat is late"},
	} {
		if got := NodeOf(&c.node, now); got.State != c.state || got.Reason != c.reason {
			t.Errorf("%s: %s (%s), want %s (%s)", c.name, got.State, got.Reason, c.state, c.reason)
		}
	}
}
