package route

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"bellwether/engine/fleet"
)

// emitted are the codes that the engine's own sources name.
func emitted(t *testing.T, folder, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", folder, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no sources in %s: %v", folder, err)
	}
	var codes []string
	what := regexp.MustCompile(pattern)
	for _, f := range files {
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range what.FindAllStringSubmatch(string(text), -1) {
			codes = append(codes, m[1])
		}
	}
	return codes
}

func TestEveryCodeOfARecordHasWords(t *testing.T) {
	t.Parallel()
	exclusions := emitted(t, "fleet", `\bCode[A-Za-z]+ +Code = "([a-z_]+)"`)
	outcomes := emitted(t, "fleet", `\bOutcome[A-Za-z]+ +Outcome = "([a-z_]+)"`)
	var notes []string
	for _, folder := range []string{"route", "gateway", "queue", "runtime"} {
		notes = append(notes, emitted(t, folder, `\bc\.note\("([a-z_]+)[":]`)...)
		notes = append(notes, emitted(t, folder, `otes, (?:fmt\.Sprintf\()?"([a-z_]+):`)...)
	}
	if len(exclusions) < 20 || len(outcomes) < 7 || len(notes) < 15 {
		t.Fatalf("found only %d exclusions, %d outcomes, %d notes", len(exclusions), len(outcomes), len(notes))
	}
	for _, c := range exclusions {
		if exclusionWords[fleet.Code(c)] == "" {
			t.Errorf("the exclusion %s has no words", c)
		}
	}
	for _, o := range outcomes {
		if outcomeWords[fleet.Outcome(o)] == "" {
			t.Errorf("the outcome %s has no words", o)
		}
	}
	for _, n := range notes {
		if _, ok := noteWords[n]; !ok {
			t.Errorf("the note %s has no words", n)
		}
	}
	if len(exclusionWords) != len(exclusions) || len(outcomeWords) != len(outcomes) {
		t.Errorf("words for %d exclusions and %d outcomes, and there are %d and %d", len(exclusionWords), len(outcomeWords), len(exclusions), len(outcomes))
	}
}

func TestNotesAndEvidenceAreSentences(t *testing.T) {
	t.Parallel()
	for note, want := range map[string]string{
		"only_thought: the answer is reasoning and nothing else": "the answer is reasoning and nothing else",
		"same_weights_as:qwen3:8b":                               "has the same weights as qwen3:8b",
		"slots_learned:3":                                        "its slots are learnt from waits: 3",
		"task_asked: gemma3:4b says creative_writing":            "asked what it is about: gemma3:4b says creative writing",
		"num_ctx_reload":                                         "would be loaded again for the context asked for",
		"some_new_code":                                          "some new code",
		"the runtime left out [DONE]":                            "the runtime left out [DONE]",
		"empty answer though 9 tokens were spent: it may be one": "empty answer though 9 tokens were spent: it may be one",
	} {
		if got := NoteWords(note); got != want {
			t.Errorf("%s: got %q, want %q", note, got, want)
		}
	}
	for labels, want := range map[string]string{
		"measured:30 p75:measured:412":                 "quality measured on 30 tasks, speed measured on 412 answers",
		"p75:heuristic":                                "speed estimated",
		"p75:measured:1":                               "speed measured on 1 answer",
		"prior:operator latency:measured":              "quality as its operator says, speed measured",
		"uncalibrated:size-heuristic latency:measured": "quality guessed from its size, speed measured",
		"": "",
	} {
		if got := EvidenceWords(labels); got != want {
			t.Errorf("%q: got %q, want %q", labels, got, want)
		}
	}
}
