package main

import (
	"bytes"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bellwether/engine"
	"bellwether/engine/admin"
	"bellwether/platform/desktop"
)

// hungEngine is a data folder whose engine takes connections, as the system
// does for a stopped process, and answers nothing.
func hungEngine(t *testing.T) (dir string) {
	t.Helper()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	return engineAt(t, "http://"+silent.Addr().String())
}

// engineAt is a data folder whose engine is said to answer at an address.
func engineAt(t *testing.T, at string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	state, err := json.Marshal(engine.State{Address: at, Admin: at, Token: "t", PID: 4711})
	if err != nil {
		t.Fatal(err)
	}
	if err := desktop.WritePrivate(filepath.Join(dir, "engine.json"), state); err != nil {
		t.Fatal(err)
	}
	settings := "runtimes: [{name: nobody, kind: ollama, url: 'http://127.0.0.1:9'}]\n"
	if err := os.WriteFile(filepath.Join(dir, "config.yaml"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestAnEngineThatHangsIsTold(t *testing.T) {
	t.Parallel()
	dir := hungEngine(t)
	for _, command := range []string{"status", "pause", "resume", "open --print", "login", "decisions --follow", "doctor",
		"models pull a", "models load a", "probe a", "eval a --yes", "doctor --bundle " + filepath.Join(dir, "b.zip")} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			var out, errs bytes.Buffer
			e := &environ{in: strings.NewReader(""), out: &out, err: &errs, cli: new(cli), patience: 20 * time.Millisecond}
			code := e.run(append([]string{"--data-dir", dir}, strings.Fields(command)...))
			s := said{out.String(), errs.String(), code}
			s.ends(t, exitFailed).says(t, "answers nothing", "4711", "End it (", "start Bellwether again", filepath.Join(dir, "logs", "bellwether.log"))
			switch command {
			case "pause", "resume":
				s.says(t, "may still be done")
			case "doctor": // what it can tell by itself
				s.says(t, "BROKEN").lacks(t, "may still be done")
			}
		})
	}
}

// What a pause or resume comes to besides: the disk is full, or the engine is
// about to end.
func TestAPauseSaysWhatBecomesOfIt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		command string
		status  admin.Status
		code    int
		want    []string
	}{
		"kept":      {"pause", admin.Status{Node: admin.NodeStatus{Name: "studio", State: "paused", Reason: "paused by its owner"}}, exitDone, []string{"studio is paused: paused by its owner.\n"}},
		"not saved": {"pause", admin.Status{Node: admin.NodeStatus{Name: "studio", State: "paused"}, Unsaved: "no space left on device"}, exitDegraded, []string{"studio is paused", "a restart undoes this", "no space left on device.\n", "Make room in"}},
		"quitting":  {"pause", admin.Status{Node: admin.NodeStatus{Name: "studio", State: "draining"}}, exitDegraded, []string{"studio is stopping", "The pause holds when it is started again"}},
		"resumed":   {"resume", admin.Status{Node: admin.NodeStatus{Name: "studio", State: "draining"}}, exitDegraded, []string{"studio is stopping", "takes work when it is started again"}},
	} {
		t.Run(name, func(t *testing.T) {
			answers := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(&c.status) }))
			defer answers.Close()
			var out, errs bytes.Buffer
			code := run([]string{"--data-dir", engineAt(t, answers.URL), c.command}, strings.NewReader(""), &out, &errs)
			said{out.String(), errs.String(), code}.ends(t, c.code).says(t, c.want...)
		})
	}
}
