package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bellwether/engine/route"
)

// An exported decision is decided again where there is no engine and no fleet,
// and the answer is the one on record.
func TestExportedDecisionReplaysToTheSameAnswerOffline(t *testing.T) {
	t.Parallel()
	h, _ := studio(t)
	h.ask(t, "tiny")
	rec := decode[route.Record](t, h.run(t, "decisions", "--json").ends(t, exitDone).out)
	file := filepath.Join(t.TempDir(), "why.txt")
	h.run(t, "decisions", rec.RequestID, "--export", file).ends(t, exitDone).says(t, "bellwether explain "+file)
	stop(t, h.engine)
	if err := os.RemoveAll(filepath.Join(h.dir, "fleet.scenario")); err != nil {
		t.Fatal(err)
	}

	h.run(t, "explain", file).ends(t, exitDone).says(t, "serve studio/ollama/tiny", "because", "same decision as recorded", "which was answered").lacks(t, "JSON")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	h.runWith(t, string(text), "explain", "-").ends(t, exitDone).says(t, "same decision as recorded")
	h.runWith(t, "\ufeff"+strings.ReplaceAll(string(text), "\n", "\r\n"), "explain", "-").ends(t, exitDone).says(t, "same decision as recorded")

	got := decode[replayed](t, h.run(t, "explain", file, "--json").ends(t, exitDone).out)
	if !got.Same || len(got.Steps) != 1 || !got.Steps[0].Same || got.Steps[0].Verdict != route.Serve || got.Steps[0].Record == nil || len(got.Steps[0].Differences) != 0 {
		t.Errorf("--json: %+v", got)
	}
	h.run(t, "explain", file, "--live").ends(t, exitUsage).says(t, "leave out --live")
}

// What differs is listed exactly, and the exit code says that something does.
func TestReplayListsWhereItDiffers(t *testing.T) {
	t.Parallel()
	h := newHome(t, "", nil)
	const fleetText = "node studio memory 64GB bandwidth 400\n  pool unified limit 60GB free 40GB\n  runtime ollama pool unified\n  model ollama/m weights 5GB loaded 8192 caps llm\n"
	s, err := route.ReadScenario(fleetText + "ask m\n")
	if err != nil {
		t.Fatal(err)
	}
	recorded := s.Rewrite()

	changed := strings.Replace(recorded, "node studio", "node studio paused", 1)
	h.runWith(t, changed, "explain", "-").ends(t, exitFailed).says(t, "hold", "another decision than recorded", "line 1 of the explanation",
		"recorded: serve studio/ollama/m", "now:      hold", "now:      paused H: studio is paused")
	got := decode[replayed](t, h.runWith(t, changed, "explain", "-", "--json").ends(t, exitFailed).out)
	if got.Same || got.Steps[0].SameChoice || len(got.Steps[0].Differences) == 0 || got.Steps[0].Differences[0].Recorded[0] != "serve studio/ollama/m" {
		t.Errorf("--json: %+v", got)
	}

	slower := strings.Replace(recorded, "loaded 8192", "loaded 2048", 1)
	h.runWith(t, slower, "explain", "-").ends(t, exitFailed).says(t, "the same choice as recorded, for other reasons")
	h.runWith(t, fleetText+"ask m\n", "explain", "-").ends(t, exitDone).says(t, "serve studio/ollama/m", "no decision is recorded")

	two := recorded + changed
	h.runWith(t, two, "explain", "-").ends(t, exitFailed).says(t, "line 5, ask m", "same decision as recorded", "another decision than recorded")

	h.runWith(t, strings.Replace(recorded, "weights 5GB", "weights much", 1), "explain", "-").ends(t, exitFailed).says(t, "is a scenario and cannot be read: line 4: weights: want a size")
	h.runWith(t, fleetText, "explain", "-").ends(t, exitFailed).says(t, "asks for nothing")
}
