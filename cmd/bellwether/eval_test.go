package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"bellwether/engine/measure"
)

// examiners is a runtime with models of scripted strength, and an engine on it.
// Answers take long enough to be interrupted.
func examiners(t *testing.T, more ...string) (*home, *fake) {
	t.Helper()
	paper := filepath.Join(t.TempDir(), "exam.jsonl")
	text, err := exec.Command(program("bellwether"), "exam").Output()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(paper, text, 0o600); err != nil {
		t.Fatal(err)
	}
	args := append([]string{"--exam", paper, "-m", "coder=40MB,coding=0.9,all=0.5", "-m", "small=10MB,coding=0.3,all=0.5", "-m", "words=5MB,caps=embedding,width=8"}, more...)
	f := fakeRuntime(t, "ollama", args...)
	h := newHome(t, "", map[string]*fake{"ollama": f})
	h.serve(t, anywhere)
	return h, f
}

func TestEvalShowsItsPlanAndRunsNothingUnasked(t *testing.T) {
	t.Parallel()
	h, _ := examiners(t)
	h.run(t, "eval").ends(t, exitDone).says(t, "studio/ollama/coder:latest", "studio/ollama/small:latest", "coding", "extraction", "In all 390 requests", "2 loads", "Nothing was run").lacks(t, "words")
	h.runWith(t, "n\n", "eval", "coder", "--tasks", "math", "--items", "4", "--mode", "live").ends(t, exitRefused).says(t, "In all 4 requests", "Run it?", "nothing was run")
	p := decode[measure.Plan](t, h.run(t, "eval", "coder", "--tasks", "math,coding", "--items", "5", "--json").ends(t, exitDone).out)
	if p.Requests != 10 || len(p.Models) != 1 || p.Loads != 1 || p.Seconds <= 0 {
		t.Errorf("%+v", p)
	}
	if out := h.run(t, "decisions", "--app", measure.AppEval, "--json").out; strings.TrimSpace(out) != "" && out != "[]\n" {
		t.Errorf("something was asked: %s", out)
	}
}

func TestEvalGradesByTheProgramItself(t *testing.T) {
	t.Parallel()
	h, _ := examiners(t)
	h.run(t, "eval", "coder", "small", "--tasks", "coding", "--items", "10", "--mode", "live", "--yes", "--save-measurements").
		ends(t, exitDone).says(t, "95 % INTERVAL", "of 10", "2 of 2 grades were kept")
	h.run(t, "models", "show", "coder").ends(t, exitDone).says(t, "measured")
	var last measure.Step
	for line := range strings.Lines(h.run(t, "eval", "small", "--tasks", "math", "--items", "3", "--mode", "live", "--yes", "--json").ends(t, exitDone).out) {
		if err := json.Unmarshal([]byte(line), &last); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
	}
	if len(last.Done) != 1 || last.Done[0].Of != 3 || last.Done[0].Saved {
		t.Errorf("%+v", last)
	}
}

// answeredOf reads how many items a plan finds answered.
func answeredOf(t *testing.T, h *home, args ...string) int {
	t.Helper()
	return decode[measure.Plan](t, h.run(t, append(args, "--json")...).ends(t, exitDone).out).Done
}

func TestEvalGoesOnAfterCtrlCAndAfterTheEngineIsKilled(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("no Ctrl-C can be sent to another process there")
	}
	h, _ := examiners(t, "--decode", "300")
	what := []string{"eval", "coder", "--tasks", "reasoning", "--items", "30"}
	live := append(slices.Clone(what), "--mode", "live", "--yes")
	steps := func(p *process) int { return strings.Count(p.out.String(), `"n":`) }

	first := launch(t, h.env, "bellwether", append([]string{"--data-dir", h.dir, "--json"}, live...)...)
	until(t, "some items are answered", func() bool { return steps(first) >= 3 })
	if err := first.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if code := first.wait(t); code != exitDegraded || !strings.Contains(first.err.String(), "goes on where this one stopped") {
		t.Errorf("Ctrl-C ends with %d: %s", code, first.err)
	}
	once := 0
	until(t, "the engine takes another run", func() bool {
		once = answeredOf(t, h, what...)
		return once >= 3
	})

	var second *process
	until(t, "the second run begins", func() bool { // the engine may not have noticed yet that the first one left
		second = launch(t, h.env, "bellwether", append([]string{"--data-dir", h.dir, "--json"}, live...)...)
		until(t, "it answers or ends", func() bool { return steps(second) > once+2 || !second.running() })
		return second.running()
	})
	h.engine.kill()
	if code := second.wait(t); code != exitFailed || !strings.Contains(second.err.String(), "goes on") {
		t.Errorf("a killed engine ends it with %d: %s", code, second.err)
	}
	h.serve(t, anywhere)
	twice := answeredOf(t, h, what...)
	if twice <= once {
		t.Errorf("%d items are answered after kill -9, %d were before", twice, once)
	}
	s := h.run(t, append([]string{"--json"}, live...)...).ends(t, exitDone)
	if !strings.Contains(s.out, fmt.Sprintf(`"done":%d`, twice)) || !strings.Contains(s.out, `"of":30`) {
		t.Errorf("it did not go on from %d:\n%s", twice, s.out)
	}
	if n := answeredOf(t, h, what...); n != 0 {
		t.Errorf("after a whole run %d items count as answered", n)
	}
}

func TestProbeTellsWhatItFoundAndSkipped(t *testing.T) {
	t.Parallel()
	h, _ := studio(t)
	s := h.run(t, "probe", "tiny").ends(t, exitDegraded)
	s.says(t, "studio/ollama/tiny:latest", "tools", "yes", "vision", "no", "the runtime refuses it")
	h.run(t, "models").ends(t, exitDone).says(t, "tools (probe)")
	h.run(t, "probe", "words").ends(t, exitDone).says(t, "vectors have 8 numbers")
	h.run(t, "probe", "nobody").ends(t, exitRefused).says(t, "No model nobody is here")
	h.run(t, "eval", "nobody").ends(t, exitRefused).says(t, "No model nobody is here")
	h.run(t, "eval", "words").ends(t, exitRefused).says(t, "does not answer questions")
}

func TestMeasuringIsHardToUseWrong(t *testing.T) {
	t.Parallel()
	h := newHome(t, "", nil)
	for _, args := range [][]string{{"probe"}, {"probe", "tiny", "--all"}, {"eval", "--save-measurements"}, {"eval", "--mode", "now"},
		{"eval", "--items", "-1"}, {"eval", "--mode", "live", "--json"}} {
		if s := h.run(t, args...).ends(t, exitUsage); s.err == "" {
			t.Errorf("%v: nothing says what is wrong", args)
		}
	}
	h.run(t, "probe", "--all").ends(t, exitNoEngine)
	h.run(t, "eval").ends(t, exitNoEngine)
	h.run(t, "--help").ends(t, exitDone).says(t, "probe", "eval").lacks(t, "sandbox", "exam")
}

func TestModelsAndTasksAreCompleted(t *testing.T) {
	t.Parallel()
	h, _ := studio(t)
	complete := func(line string) string {
		cmd := exec.Command(program("bellwether"))
		cmd.Env = append(slices.Clone(h.env), "FLEET_DATA_DIR="+h.dir, "COMP_LINE="+line, fmt.Sprintf("COMP_POINT=%d", len(line)))
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	if got := complete("bellwether probe "); !strings.Contains(got, "tiny:latest") {
		t.Errorf("probe completes %q", got)
	}
	if got := complete("bellwether eval --tasks "); !strings.Contains(got, "summarization") {
		t.Errorf("eval --tasks completes %q", got)
	}
}
