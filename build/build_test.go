package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	if err := toModuleRoot(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func TestEveryTaskIsListedOnceWithWhatItDoes(t *testing.T) {
	var list bytes.Buffer
	usage(&list)
	seen := map[string]bool{}
	for _, task := range tasks() {
		if seen[task.Name] || task.Doc == "" || task.Run == nil || !strings.Contains(list.String(), task.Doc) {
			t.Errorf("%+v", task)
		}
		seen[task.Name] = true
	}
}

func TestGoTestsAreCountedAndFailuresShown(t *testing.T) {
	s := &suite{}
	var out bytes.Buffer
	c := newTestCount(s, &out)
	err := c.read(strings.NewReader(`{"Action":"start","Package":"p"}
{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestA","Output":"quiet\n"}
{"Action":"pass","Package":"p","Test":"TestA","Elapsed":0.1}
{"Action":"output","Package":"p","Test":"TestB","Output":"    b_test.go:7: got 1, want 2\n"}
{"Action":"fail","Package":"p","Test":"TestB"}
{"Action":"skip","Package":"p","Test":"TestC"}
{"Action":"output","Package":"p","Output":"FAIL\n"}
{"Action":"fail","Package":"p","Elapsed":0.3}
{"Action":"pass","Package":"q","Elapsed":0.2}
{"Action":"skip","Package":"r"}
{"Action":"output","Package":"leaky","Output":"goleak: found\n"}
{"Action":"fail","Package":"leaky"}
{"ImportPath":"broken","Action":"build-output","Output":"x.go:1:1: no\n"}
{"ImportPath":"broken","Action":"build-fail"}
{"Action":"fail","Package":"broken","FailedBuild":"broken"}
not an event
`))
	if err != nil {
		t.Fatal(err)
	}
	if s.passed != 1 || s.failed != 3 || s.skipped != 1 || c.failed != 3 {
		t.Errorf("%d passed, %d failed, %d skipped", s.passed, s.failed, s.skipped)
	}
	want := `FAIL p TestB
    b_test.go:7: got 1, want 2
FAIL p (0.3 s)
FAIL
ok   q (0.2 s)
-    r has no tests
FAIL leaky (0.0 s)
goleak: found
FAIL broken does not build
x.go:1:1: no
not an event
`
	if out.String() != want {
		t.Errorf("printed:\n%s\nwant:\n%s", &out, want)
	}
}

func TestNodesSummaryIsRead(t *testing.T) {
	got, err := readNodeSummary(strings.NewReader("✔ streams pass 3 times (2ms)\nℹ tests 12\nℹ pass 10\nℹ fail 1\nℹ cancelled 1\nℹ skipped 0\n"))
	if err != nil || got["pass"] != 10 || got["fail"] != 1 || got["cancelled"] != 1 || len(got) != 4 {
		t.Errorf("%v, %v", got, err)
	}
}

func TestChangedFilesNameTheirPackages(t *testing.T) {
	isPackage := func(dir string) bool { return slices.Contains([]string{"engine", "engine/store", "build"}, dir) }
	got := packagesOf([]string{"engine/store/ring.go", "engine/store/testdata/v1.sql", "", "README.md", "engine/engine.go", "build/clients/rig.js", "assets/docs/x.md"}, isPackage)
	if want := []string{"./build", "./engine", "./engine/store"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestRunPassesItsFlagsToServe(t *testing.T) {
	want := []string{"serve", "--listen", "localhost:1"}
	for _, args := range [][]string{{"--listen", "localhost:1"}, {"--", "--listen", "localhost:1"}} {
		if got := serveArgs(args); !slices.Equal(got, want) {
			t.Errorf("%v: %v", args, got)
		}
	}
	if got, want := serveArgs([]string{"app", "--hidden"}), []string{"app", "--hidden"}; !slices.Equal(got, want) {
		t.Errorf("the desktop app: %v", got)
	}
}

func TestFuzzTestsAreFound(t *testing.T) {
	got := fuzzTests("package x\n\nfunc FuzzLoad(f *testing.F) {\n}\n\n// func FuzzNot\nfunc TestX(t *testing.T) {}\nfunc FuzzB(f *testing.F) {}\n")
	if want := []string{"FuzzLoad", "FuzzB"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// The window's tool reads this file; a wrong one shows only when somebody
// builds the window.
func TestWailsFileIsSound(t *testing.T) {
	text, err := os.ReadFile("wails.json")
	if err != nil {
		t.Fatal(err)
	}
	var file map[string]any
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{"frontend:dir": "frontend", "reloaddirs": "cmd/bellwether-window", "outputfilename": "bellwether-window"} {
		if file[key] != want {
			t.Errorf("%s is %v, want %s", key, file[key], want)
		}
	}
}

// The demo is what a newcomer sees first: what it prints must work.
func TestDemoServesWhatItPromises(t *testing.T) {
	if testing.Short() {
		t.Skip("builds two programs")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	var out bytes.Buffer
	d := &demo{out: &out, command: "serve"}
	defer d.stop()
	if err := d.start(ctx); err != nil {
		t.Fatal(err)
	}
	d.explain()
	for _, part := range d.parts() {
		for _, line := range part.lines {
			if !strings.Contains(out.String(), line.command) {
				t.Errorf("not printed: %s", line.command)
			}
			does(ctx, t, line)
		}
	}
	d.breaks(ctx, t)
	for _, want := range []string{d.bell() + "open", "go run ./build demo app"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("not printed: %s", want)
		}
	}
	dir := d.dir
	ended, end := context.WithCancel(ctx)
	end()
	if err := d.wait(ended); err != nil {
		t.Error(err)
	}
	d.stop()
	if exists(dir) {
		t.Errorf("%s is left behind", dir)
	}
	if _, err := http.Get(d.address); err == nil {
		t.Error("bellwether still answers")
	}
}

func TestTheDemoTakesAppAndNothingElse(t *testing.T) {
	if err := demoTask(t.Context(), []string{"tray"}); err == nil || !strings.Contains(err.Error(), "app") {
		t.Errorf("demo tray: %v, want what it takes", err)
	}
}

// Quit in the icon's menu is the end that was asked for; another end is not.
func TestQuittingTheDemosAppEndsTheDemo(t *testing.T) {
	for _, c := range []struct {
		ended error
		want  bool
	}{{errQuit, false}, {errEnded, true}} {
		d := &demo{out: io.Discard, command: "app", ended: make(chan error, 1)}
		d.ended <- c.ended
		if err := d.wait(t.Context()); (err != nil) != c.want {
			t.Errorf("after %v the demo says %v", c.ended, err)
		}
	}
}

// does runs a printed line in a shell, as a newcomer does, and returns its output.
func does(ctx context.Context, t *testing.T, line demoLine) string {
	t.Helper()
	for _, tool := range []string{"sh", "curl"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip("the printed lines cannot be run here: ", err)
		}
	}
	text, err := exec.CommandContext(ctx, "sh", "-c", line.command).CombinedOutput()
	if err != nil || len(text) < 10 {
		t.Errorf("%s\n%v %s", line.command, err, text)
	}
	for _, want := range line.shows {
		if !strings.Contains(string(text), want) {
			t.Errorf("%s\ndoes not show %q:\n%s", line.command, want, text)
		}
	}
	return string(text)
}

// breaks asks what the demo says should be asked while its first runtime is
// broken, and after it is healed.
func (d *demo) breaks(ctx context.Context, t *testing.T) {
	t.Helper()
	parts := d.parts()
	faults := parts[len(parts)-1].lines
	stream := d.requests()[0]
	decisions := func() string {
		bell := d.path(exe("bellwether"))
		return does(ctx, t, demoLine{command: bell + " --data-dir " + d.path("data") + " decisions --app curl"})
	}
	does(ctx, t, faults[0])
	does(ctx, t, stream)
	if got := decisions(); !strings.Contains(got, "demo/laptop/qwen3:8b") {
		t.Errorf("nobody served in place of desk:\n%s", got)
	}
	does(ctx, t, faults[1])
	torn := ""
	for range 3 {
		torn += does(ctx, t, demoLine{command: stream.command})
	}
	if !strings.Contains(torn, "broke off") || !strings.Contains(torn, "[DONE]") || !strings.Contains(decisions(), "cut off") {
		t.Errorf("asked three times, it says:\n%s", torn)
	}
	does(ctx, t, faults[2])
	does(ctx, t, stream)
}
