package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// These tests run the program as people do: real processes of bellwether and
// fakeruntime, built once, each with a data folder of its own. They see only
// what a shell or an app sees.

// patience bounds every wait; only a failing test takes so long.
const patience = 20 * time.Second

// programs is the folder of the built programs.
var programs string

func TestMain(m *testing.M) {
	os.Exit(runTests(m))
}

func runTests(m *testing.M) int {
	dir, err := os.MkdirTemp("", "bellwether-cli")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	build := exec.Command("go", "build", "-o", dir, "bellwether/cmd/bellwether", "bellwether/cmd/fakeruntime")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build: %v\n%s", err, out)
		return 1
	}
	programs = dir
	// Whoever forgets to name a folder gets one of the tests', never the developer's.
	for _, name := range []string{"HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA"} {
		_ = os.Setenv(name, dir)
	}
	for _, name := range []string{"XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "FLEET_DATA_DIR"} {
		_ = os.Unsetenv(name)
	}
	return m.Run()
}

func program(name string) string {
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	return filepath.Join(programs, name)
}

// process is a running program. Its output is collected while it runs.
type process struct {
	cmd      *exec.Cmd
	out, err *tape
	ended    chan struct{} // closed when it has ended, and cmd.ProcessState is there
}

// tape is an output that can be read while it is written.
type tape struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (t *tape) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.Write(b)
}

func (t *tape) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.String()
}

// launch starts a program; it is killed when the test ends.
func launch(t testing.TB, env []string, name string, args ...string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(program(name), args...), out: &tape{}, err: &tape{}, ended: make(chan struct{})}
	p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = env, p.out, p.err
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.ended)
		_ = p.cmd.Wait()
	}()
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("%s %s\n%s%s", name, strings.Join(args, " "), p.out, p.err)
		}
	})
	return p
}

// kill ends the process at once, as the system does when memory runs out.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.ended
}

// wait returns the exit code of a process that ends by itself.
func (p *process) wait(t testing.TB) int {
	t.Helper()
	select {
	case <-p.ended:
		return p.cmd.ProcessState.ExitCode()
	case <-time.After(patience):
		t.Fatalf("it never ended:\n%s%s", p.out, p.err)
		return -1
	}
}

func (p *process) running() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// until looks at cond every few milliseconds: what happens in another process
// rings no bell here.
func until(t testing.TB, what string, cond func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(patience)
	for !cond() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("never came true: %s", what)
		}
	}
}

// cleanEnv is this environment without what would change settings, and with a
// home of its own.
func cleanEnv(home string) []string {
	env := slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		for _, prefix := range []string{"FLEET_", "OLLAMA_", "ANTHROPIC_", "OTEL_", "XDG_"} {
			if strings.HasPrefix(name, prefix) {
				return true
			}
		}
		return name == "HOME" || name == "USERPROFILE" || name == "APPDATA" || name == "LOCALAPPDATA"
	})
	return append(env, "HOME="+home, "USERPROFILE="+home, "APPDATA="+home, "LOCALAPPDATA="+home)
}

// fake is a running stand-in runtime.
type fake struct {
	*process
	kind, url string
	args      []string
}

// fakeRuntime starts a stand-in of a kind.
func fakeRuntime(t testing.TB, kind string, args ...string) *fake {
	t.Helper()
	f := &fake{kind: kind, args: args}
	f.start(t, "127.0.0.1:0")
	return f
}

func (f *fake) start(t testing.TB, addr string) {
	t.Helper()
	f.process = launch(t, os.Environ(), "fakeruntime", append([]string{"--kind", f.kind, "--addr", addr}, f.args...)...)
	until(t, "the stand-in prints its address", func() bool {
		if !f.running() {
			t.Fatalf("the stand-in ended: %s", f.err)
		}
		url, _, whole := strings.Cut(f.out.String(), "\n")
		f.url = strings.TrimSpace(url)
		return whole
	})
}

// restart starts a killed stand-in again at its address, with nothing loaded.
func (f *fake) restart(t testing.TB) {
	t.Helper()
	f.start(t, strings.TrimPrefix(f.url, "http://"))
}

// order posts to the stand-in's control port.
func (f *fake) order(t testing.TB, body string) {
	t.Helper()
	status, answer := post(t, f.url+"/__control", body)
	if status != http.StatusOK {
		t.Fatalf("control: %d %s", status, answer)
	}
}

// home is one data folder with its settings, and the engine that may run on it.
type home struct {
	dir     string
	env     []string
	engine  *process
	address string
}

// newHome makes a data folder with settings for the given runtimes.
func newHome(t testing.TB, settings string, fakes map[string]*fake) *home {
	t.Helper()
	dir := t.TempDir()
	h := &home{dir: filepath.Join(dir, "data"), env: cleanEnv(dir)}
	text := "node: {name: studio}\nmeetings: {enabled: false}\npools: [{name: ram, memory_gb: 64, margin_gb: 0}]\n" + settings + "\nruntimes:\n"
	for name, f := range fakes {
		text += fmt.Sprintf("  - {name: %s, kind: %s, url: %q}\n", name, f.kind, f.url)
	}
	if len(fakes) == 0 { // so that nothing is looked for on this machine
		text += "  - {name: nobody, kind: ollama, url: \"http://127.0.0.1:9\"}\n"
	}
	h.settings(t, text)
	return h
}

func (h *home) settings(t testing.TB, text string) {
	t.Helper()
	if err := os.MkdirAll(h.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(h.dir, "config.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// serve starts the engine and waits until it answers and has looked at its
// runtimes.
func (h *home) serve(t testing.TB, args ...string) {
	t.Helper()
	h.engine = h.launch(t, args...)
	h.ready(t)
}

func (h *home) launch(t testing.TB, args ...string) *process {
	t.Helper()
	return launch(t, h.env, "bellwether", append([]string{"serve", "--data-dir", h.dir}, args...)...)
}

func (h *home) ready(t testing.TB) {
	t.Helper()
	pid := h.engine.cmd.Process.Pid
	until(t, "the engine serves", func() bool {
		if !h.engine.running() {
			t.Fatalf("the engine ended: %s", h.engine.err)
		}
		var state struct {
			Address string
			PID     int
		}
		raw, err := os.ReadFile(filepath.Join(h.dir, "engine.json"))
		if err != nil || json.Unmarshal(raw, &state) != nil || state.PID != pid {
			return false
		}
		h.address = state.Address
		return h.status(t).Node.State == "serving"
	})
}

// anywhere is the address most tests serve at.
const anywhere = "--listen=127.0.0.1:0"

// said is what a command printed, and how it ended.
type said struct {
	out, err string
	code     int
}

// run runs a command on the data folder.
func (h *home) run(t testing.TB, args ...string) said { t.Helper(); return h.runWith(t, "", args...) }

func (h *home) runWith(t testing.TB, stdin string, args ...string) said {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, program("bellwether"), append([]string{"--data-dir", h.dir}, args...)...)
	var out, errs bytes.Buffer
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = h.env, strings.NewReader(stdin), &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || ctx.Err() != nil {
		t.Fatalf("bellwether %s: %v %v", strings.Join(args, " "), err, ctx.Err())
	}
	return said{out.String(), errs.String(), cmd.ProcessState.ExitCode()}
}

// ok fails the test unless the command ended with the code.
func (s said) ends(t testing.TB, code int) said {
	t.Helper()
	if s.code != code {
		t.Fatalf("exit code %d, want %d\nstdout: %s\nstderr: %s", s.code, code, s.out, s.err)
	}
	return s
}

// says fails the test unless all texts are in the command's output.
func (s said) says(t testing.TB, texts ...string) said {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(s.out+s.err, text) {
			t.Errorf("output lacks %q:\n%s%s", text, s.out, s.err)
		}
	}
	return s
}

// lacks fails the test when one of the texts is in the command's output.
func (s said) lacks(t testing.TB, texts ...string) said {
	t.Helper()
	for _, text := range texts {
		if strings.Contains(s.out+s.err, text) {
			t.Errorf("output has %q:\n%s%s", text, s.out, s.err)
		}
	}
	return s
}

// decode reads a command's JSON.
func decode[T any](t testing.TB, text string) T {
	t.Helper()
	var v T
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("no JSON: %v\n%s", err, text)
	}
	return v
}

// post sends a body and returns status and answer; status 0 = no answer.
func post(t testing.TB, url, body string) (int, string) {
	t.Helper()
	resp, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b)
}

// ask sends a chat request to the engine.
func (h *home) ask(t testing.TB, model string) (int, string) {
	t.Helper()
	return post(t, h.address+"/v1/chat/completions", chat(model, false))
}

func chat(model string, stream bool) string {
	return fmt.Sprintf(`{"model":%q,"stream":%t,"messages":[{"role":"user","content":"Say something."}]}`, model, stream)
}
