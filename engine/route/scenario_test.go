package route

import (
	stdflag "flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var rewrite = stdflag.Bool("rewrite", false, "write the explanations of today into testdata/scenarios; read the diff")

func scenarioFiles(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/scenarios/*.txt")
	if err != nil || len(files) < 30 {
		t.Fatalf("found %d scenarios, want at least 30 (%v)", len(files), err)
	}
	return files
}

func readScenario(t testing.TB, file string) *Scenario {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s, err := ReadScenario(string(b))
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return s
}

// TestScenariosExplainAsExpected plays every story and compares what Decide
// says to what the file expects.
func TestScenariosExplainAsExpected(t *testing.T) {
	for _, file := range scenarioFiles(t) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			s := readScenario(t, file)
			if *rewrite {
				if err := os.WriteFile(file, []byte(s.Rewrite()), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if len(s.Steps) == 0 {
				t.Fatal("nothing is asked")
			}
			for i := range s.Steps {
				step := &s.Steps[i]
				if got := step.Explain(); got != step.Want {
					t.Errorf("line %d, ask %s\ngot:\n%s\nwant:\n%s", step.line+1, step.Query.Model, got, step.Want)
				}
			}
		})
	}
}

// TestExportedScenarioExplainsTheSame writes each step out, as decisions
// --export does, and reads it back.
func TestExportedScenarioExplainsTheSame(t *testing.T) {
	for _, file := range scenarioFiles(t) {
		for i := range readScenario(t, file).Steps {
			step := &readScenario(t, file).Steps[i]
			text := Write(step.View, step.Policy, &step.Query)
			again, err := ReadScenario(text)
			if err != nil {
				t.Fatalf("%s: %v\n%s", file, err, text)
			}
			if len(again.Steps) != 1 {
				t.Fatalf("%s: %d steps in\n%s", file, len(again.Steps), text)
			}
			if got, want := again.Steps[0].Explain(), step.Explain(); got != want {
				t.Errorf("%s line %d: read back it explains\n%s\nand before\n%s\nas\n%s", file, step.line+1, got, want, text)
			}
			if got := again.Steps[0].Want; got != step.Explain() {
				t.Errorf("%s: the export expects\n%s", file, got)
			}
		}
	}
}

func TestRewriteOfAnUpToDateScenarioChangesNothing(t *testing.T) {
	for _, file := range scenarioFiles(t) {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if got := readScenario(t, file).Rewrite(); got != string(b) {
			t.Errorf("%s changes when rewritten", file)
		}
	}
}

func TestScenarioErrorsNameTheLine(t *testing.T) {
	for text, want := range map[string]string{
		"node a\nmodel nonsense":                              "line 2: want runtime/model",
		"node a\n  pool p\n  runtime r\n  model r/m caps x@y": "line 4: caps: unknown source",
		"pool p":                    "line 1: pool before any node",
		"want\n  x":                 "line 1: want without an ask",
		"fly away":                  "line 1: unknown word",
		"node a memory":             "line 1: key memory has no value",
		"node a memory many":        "line 1: memory: want a size",
		"node a \"b":                "line 1: a quote is not closed",
		"ask m in 1 sideways":       "line 1: unknown key \"sideways\"",
		"lane nowhere running 1":    "line 1: not a deployment id",
		"measured a/b/c seconds 12": "line 1: seconds: want value x samples",
	} {
		_, err := ReadScenario(text)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: got %v, want %s...", text, err, want)
		}
	}
}

func FuzzReadScenario(f *testing.F) {
	for _, file := range scenarioFiles(f) {
		b, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(b))
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ReadScenario(text)
		if err != nil {
			return
		}
		for i := range s.Steps {
			s.Steps[i].Explain() // whatever a file says, Decide answers
		}
	})
}
