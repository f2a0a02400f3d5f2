package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"bellwether/engine/fleet"
	"bellwether/engine/measure"
	"bellwether/engine/queue"
	"bellwether/engine/route"
	"bellwether/engine/runtime/runtimetest"
	"bellwether/engine/store"
	"bellwether/platform/desktop"
)

// The tests in e2e_*_test.go run the whole product: engine.New on real
// sockets, with a real database, in front of stand-in runtimes on sockets of
// their own. They look at bytes on the wire and at what the runtimes were sent.

// patience bounds every wait of these tests; only a failing one takes so long.
const patience = 15 * time.Second

// Words that must never be seen where people or other programs look: in logs,
// in errors, in records. Tests put them into prompts and keys.
const (
	secretPrompt = "kingfisher-7f3a"
	secretKey    = "sk-heron-51d0aa"
	secretManage = "sk-egret-93c1bb"
)

// sandboxEnv makes this test's program run as the sandbox of evals.
const sandboxEnv = "BELLWETHER_TEST_SANDBOX"

// TestMain ends the rigs that tests share and looks for what they left behind.
func TestMain(m *testing.M) {
	if os.Getenv(sandboxEnv) != "" { // an eval of ours started us to run code
		if err := measure.ServeSandbox(os.Stdin, os.Stdout); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	code := m.Run()
	for _, s := range sharedRigs {
		s.end()
	}
	http.DefaultClient.CloseIdleConnections()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// rig is one running engine with its runtimes.
type rig struct {
	*Engine
	base    string // http://127.0.0.1:PORT
	token   string // of the owner
	fakes   map[string]*runtimetest.Fake
	logs    *logBook
	client  *http.Client
	stop    func()
	stopped chan error
}

// spec says what a rig is made of.
type spec struct {
	fakes  map[string]runtimetest.FakeConfig
	config string // further settings
	more   string // further members of each runtime's entry
	// runtimes are further entries, with want models, that the test runs itself.
	runtimes string
	want     int
	listen   string        // "" = 127.0.0.1:0
	before   func(*Engine) // after New, before Run
	// catalogue is the one the program carries, shipped for the real one; nil = none.
	catalogue fs.FS
	ui        fs.FS // nil = none was built
}

// start makes an engine in dir and waits until it knows the models of all its
// runtimes.
func (s spec) start(dir string) (r *rig, err error) {
	r = &rig{fakes: map[string]*runtimetest.Fake{}, logs: &logBook{}, stopped: make(chan error, 1)}
	text := &strings.Builder{}
	fmt.Fprintf(text, "listen: %q\nlog_level: debug\nmeetings: {enabled: false}\npools: [{memory_gb: 64, margin_gb: 0}]\n%s\nruntimes:\n", or(s.listen, "127.0.0.1:0"), s.config)
	for name, c := range s.fakes {
		f, err := runtimetest.NewFake(c)
		if err == nil {
			err = f.Start()
		}
		if err != nil {
			return nil, err
		}
		r.fakes[name] = f
		fmt.Fprintf(text, "  - {name: %s, kind: %s, url: %q%s}\n", name, or(c.Kind, runtimetest.Ollama), f.URL(), s.more)
	}
	text.WriteString(s.runtimes)
	file := filepath.Join(dir, "config.yaml")
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		return nil, err
	}
	config, err := Load(Sources{DataDir: dir, NodeName: "studio", File: file, FileAsked: true})
	if err != nil {
		return nil, err
	}
	folders, err := desktop.FoldersUnder(dir)
	if err != nil {
		return nil, err
	}
	if r.Engine, err = New(Options{Config: config, Folders: folders, Version: "test", Sandbox: measure.Sandbox{Command: []string{os.Args[0]}, Env: []string{sandboxEnv + "=1", "GORACE=atexit_sleep_ms=0"}}, Catalogue: s.catalogue, UI: s.ui, Log: slog.New(slog.NewTextHandler(r.logs, &slog.HandlerOptions{Level: slog.LevelDebug}))}); err != nil {
		return nil, err
	}
	if s.before != nil {
		s.before(r.Engine)
	}
	r.base, r.token = r.adminAddress(), r.Engine.token
	r.client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true}}
	ctx, cancel := context.WithCancel(context.Background())
	r.stop = cancel
	go func() { r.stopped <- r.Run(ctx) }()
	want := s.want
	for _, c := range s.fakes {
		want += len(c.Models)
	}
	if !r.until(func() bool { return r.deployments() >= want }) {
		return nil, fmt.Errorf("the engine knows %d of %d models; log:\n%s", r.deployments(), want, r.logs)
	}
	return r, nil
}

func jsonQuote(s string) ([]byte, error) { return json.Marshal(s) }

func or(s, fallback string) string {
	if s == "" {
		return fallback
	}
	return s
}

// deployments counts what can be asked for now: what the dispatcher has seen,
// which takes the fleet's snapshots over a moment after they are there.
func (r *rig) deployments() int {
	v := r.queue.View()
	if v == nil {
		return 0
	}
	n := 0
	for _, node := range v.Fleet.Nodes {
		for _, d := range node.Deployments {
			if rt := node.Runtime(d.ID.Runtime); rt != nil && rt.Up {
				n++
			}
		}
	}
	return n
}

// until looks at cond again after every event of the engine and every few
// milliseconds, since not all state rings a bell. It reports whether cond came
// true in time.
func (r *rig) until(cond func() bool) bool {
	tick := time.NewTicker(3 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(patience)
	for !cond() {
		select {
		case <-tick.C:
		case <-deadline:
			return false
		}
	}
	return true
}

// await fails the test when cond does not come true.
func (r *rig) await(t testing.TB, what string, cond func() bool) {
	t.Helper()
	if !r.until(cond) {
		t.Fatalf("never came true: %s", what)
	}
}

// idle waits until no request is anywhere in the engine, and none runs at a
// runtime.
func (r *rig) idle(t testing.TB) {
	t.Helper()
	var s queue.Status
	if !r.until(func() bool {
		s = r.queue.Status()
		running := 0
		for _, l := range s.Lanes {
			running += l.Running + l.Waiting
		}
		return running == 0 && s.Tickets == 0 && s.Grants == 0 && len(s.Held) == 0
	}) {
		t.Fatalf("the queues never emptied: %+v", s)
	}
}

// revive starts a killed runtime again and waits until the engine knows it.
func (r *rig) revive(t testing.TB, name string) {
	t.Helper()
	if err := r.fakes[name].Start(); err != nil {
		t.Fatal(err)
	}
	r.await(t, name+" to be up again", func() bool {
		if err := r.agent.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, n := range r.registry.Snapshot().Nodes {
			if rt := n.Runtime(name); rt != nil && rt.Up {
				return true
			}
		}
		return false
	})
}

// holding waits until a runtime is silent on a request, and returns its name.
func (r *rig) holding(t testing.TB) (name string) {
	t.Helper()
	r.await(t, "a runtime to hold a request", func() bool {
		for n, f := range r.fakes {
			for _, q := range f.Requests() {
				if q.Held && !q.Done {
					name = n
				}
			}
		}
		return name != ""
	})
	return name
}

// inject adds faults to every runtime.
func (r *rig) inject(faults ...runtimetest.Fault) {
	for _, f := range r.fakes {
		f.Inject(faults...)
	}
}

// fresh heals all runtimes and waits until the engine sees them so.
func (r *rig) fresh(t testing.TB) {
	t.Helper()
	for _, f := range r.fakes {
		f.Heal()
	}
	r.idle(t)
	for _, f := range r.fakes {
		f.ForgetRequests()
	}
}

// end stops engine and runtimes.
func (r *rig) end() error {
	r.stop()
	err := <-r.stopped
	r.client.CloseIdleConnections()
	for _, f := range r.fakes {
		f.Close()
	}
	return err
}

// newRig runs an engine for one test.
func newRig(t testing.TB, s spec) *rig {
	t.Helper()
	r, err := s.start(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.end(); err != nil {
			t.Errorf("the engine ended with: %v", err)
		}
		r.logs.search(t)
	})
	return r
}

// shared is a rig that tests use one after another.
type shared struct {
	spec
	once sync.Once
	dir  string
	rig  *rig
	err  error
}

var sharedRigs []*shared

func share(s spec) *shared {
	sh := &shared{spec: s}
	sharedRigs = append(sharedRigs, sh)
	return sh
}

// of returns the rig, healed and idle. When the test ends, the log is searched
// for secrets.
func (s *shared) of(t testing.TB) *rig {
	t.Helper()
	s.once.Do(func() {
		if s.dir, s.err = os.MkdirTemp("", "bellwether-e2e-"); s.err == nil {
			s.rig, s.err = s.start(s.dir)
		}
	})
	if s.err != nil {
		t.Fatal(s.err)
	}
	s.rig.fresh(t)
	s.rig.load(t, s.spec)
	t.Cleanup(func() {
		s.rig.logs.search(t)
		if t.Failed() {
			t.Logf("the engine's log ends:\n%s", s.rig.logs.tail(4000))
		}
	})
	return s.rig
}

// load brings the models into memory that an earlier test took out, so that a
// fault meets the request it is meant for and not a load.
func (r *rig) load(t testing.TB, s spec) {
	t.Helper()
	for name, c := range s.fakes {
		for _, m := range c.Models {
			if slices.ContainsFunc(r.fakes[name].Loaded(), func(l string) bool { return fleet.SameModel(l, m.Name) }) {
				continue
			}
			if err := r.agent.Refresh(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := r.agent.Load(t.Context(), name, m.Name); err != nil {
				t.Fatalf("load %s on %s: %v", m.Name, name, err)
			}
		}
	}
	r.idle(t)
	for _, f := range r.fakes {
		f.ForgetRequests()
	}
}

func (s *shared) end() {
	if s.rig != nil {
		_ = s.rig.end()
	}
	_ = os.RemoveAll(s.dir)
}

// logBook keeps what the engine logs.
type logBook struct {
	mu   sync.Mutex // guards what follows
	text bytes.Buffer
	seen int // searched up to here
}

func (l *logBook) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logBook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (l *logBook) tail(n int) string {
	s := l.String()
	return s[max(0, len(s)-n):]
}

// search fails the test when a secret was logged since the last search.
func (l *logBook) search(t testing.TB) {
	t.Helper()
	l.mu.Lock()
	text := l.text.String()[l.seen:]
	l.seen = l.text.Len()
	l.mu.Unlock()
	for _, secret := range []string{secretPrompt, secretKey, secretManage} {
		if i := strings.Index(text, secret); i >= 0 {
			t.Errorf("%q was logged: ...%s...", secret, text[max(0, i-200):min(len(text), i+200)])
		}
	}
}

// decision returns the record of the answer's request.
func (r *rig) decision(t testing.TB, header http.Header) *route.Record {
	t.Helper()
	return r.decisionOf(t, header.Get("X-Fleet-Request-Id"))
}

func (r *rig) decisionOf(t testing.TB, id string) *route.Record {
	t.Helper()
	var rec *route.Record
	r.await(t, "the record of "+id, func() bool {
		var err error
		if err = r.store.Flush(context.Background()); err != nil {
			t.Fatal(err)
		}
		rec, err = r.store.Decision(context.Background(), id)
		return err == nil && rec != nil
	})
	return rec
}

// latest returns the newest record, an empty one when there is none.
func (r *rig) latest(t testing.TB) *route.Record {
	t.Helper()
	if err := r.store.Flush(context.Background()); err != nil {
		t.Fatal(err)
	}
	list, err := r.store.Decisions(context.Background(), store.Filter{Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	if len(list) == 0 {
		return &route.Record{}
	}
	return list[0]
}

// served lists what a runtime was asked to generate, oldest first.
func served(f *runtimetest.Fake) []runtimetest.Request {
	var out []runtimetest.Request
	for _, q := range f.Requests() {
		if !strings.Contains(string(q.Body), `"prompt"`) && q.Path == "/api/generate" {
			continue // a load
		}
		for _, path := range []string{"/api/chat", "/api/generate", "/api/embed", "/v1/", "/completion"} {
			if q.Method == http.MethodPost && strings.HasPrefix(q.Path, path) {
				out = append(out, q)
				break
			}
		}
	}
	return out
}

// lastServed is the newest of those.
func lastServed(t testing.TB, f *runtimetest.Fake) runtimetest.Request {
	t.Helper()
	all := served(f)
	if len(all) == 0 {
		t.Fatal("the runtime was asked nothing")
	}
	return all[len(all)-1]
}

// lane returns the status of a deployment's lane.
func (r *rig) lane(runtimeName, model string) queue.LaneStatus {
	for _, l := range r.queue.Status().Lanes {
		if l.Deployment.Runtime == runtimeName && fleet.SameModel(l.Deployment.Model, model) {
			return l
		}
	}
	return queue.LaneStatus{}
}

// dial opens a bare connection, for requests that no client library sends.
func (r *rig) dial(t testing.TB) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(r.base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(patience))
	return c
}
