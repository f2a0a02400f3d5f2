package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bellwether/engine/fleet"
	"bellwether/engine/measure"
	"bellwether/platform/desktop"
)

// hasty are settings under which a runtime that does not answer is given up
// within a second, and nothing waits for it to come back.
const hasty = "routing: {hold: {max: 1s, interval: 500ms}, timeouts: {first_content: 1s, stream_idle: 1s, total: 3s}}"

// findings runs a probe and returns what it found of the chat model tiny.
func (h *home) findings(t testing.TB, code int) map[string]measure.Finding {
	t.Helper()
	found := map[string]measure.Finding{}
	for line := range strings.Lines(h.run(t, "--json", "probe", "tiny").ends(t, code).out) {
		f := decode[measure.Finding](t, line)
		found[f.Capability] = f
	}
	return found
}

// A runtime that fails says nothing of what a model can, what was established
// before stays, and the probe has failed.
func TestProbeOfAFailingRuntimeEstablishesNothingAndForgetsNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ fault, says string }{
		"cut mid-answer":          {`{"break":"cut","after":1}`, "failed"},
		"cut before it":           {`{"break":"cut"}`, "failed"},
		"ends without an end":     {`{"break":"end","after":1}`, "failed"},
		"garbage within":          {`{"break":"garbage"}`, "failed"},
		"garbage instead":         {`{"status":200,"body":"\u0001\u0002 it works!"}`, "failed"},
		"another's page":          {`{"status":200,"content_type":"text/html","body":"<html>log in first</html>"}`, "failed"},
		"500":                     {`{"status":500,"body":"{\"error\":\"out of luck\"}"}`, "out of luck"},
		"401":                     {`{"status":401,"body":"{\"error\":\"access is not allowed\"}"}`, "not allowed"},
		"busy":                    {`{"status":503,"body":"{\"error\":\"server busy, please try again.  maximum pending requests exceeded\"}"}`, ""},
		"silent":                  {`{"delay":"1h"}`, "no answer came in time"},
		"silent within an answer": {`{"break":"hang","after":1}`, "no answer came in time"},
		"endless":                 {`{"endless":true,"token_delay":"1ms"}`, "no answer came in time"},
		"a runner that dies":      {`{"break":"runner","after":1}`, "failed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := fakeRuntime(t, "ollama", "-m", "tiny=40MB,ctx=8192,caps=completion+tools+thinking+vision")
			h := newHome(t, hasty, map[string]*fake{"ollama": f})
			h.serve(t, anywhere)
			before := h.findings(t, exitDegraded)
			if before["tools"].Support != fleet.Yes {
				t.Fatalf("of a sound runtime: %+v", before)
			}
			known := h.run(t, "models").ends(t, exitDone).out
			f.order(t, `{"inject":[`+c.fault+`]}`)
			said := ""
			for _, found := range h.findings(t, exitFailed) {
				if found.Support != fleet.Unknown || found.Reason == "" {
					t.Errorf("it counts as %s: %s (%s)", found.Support, found.Capability, found.Reason)
				}
				said += found.Reason + "\n"
			}
			if !strings.Contains(said, c.says) {
				t.Errorf("no reason says %q:\n%s", c.says, said)
			}
			f.order(t, `{"heal":true}`)
			if now := h.run(t, "models").ends(t, exitDone).out; strings.Count(now, "(probe)") != strings.Count(known, "(probe)") || !strings.Contains(now, "tools (probe)") {
				t.Errorf("known before:\n%s\nand after:\n%s", known, now)
			}
		})
	}
}

// A model that talks on is stopped by the limit of an item where its runtime
// heeds it, and by the deadline where it does not; the latter is no grade.
func TestEvalOfAModelThatNeverStopsEndsAndSaysSo(t *testing.T) {
	t.Parallel()
	h, f := examiners(t, "-m", "loop=10MB,tokens=-1")
	h.run(t, "eval", "loop", "--tasks", "math", "--items", "3", "--mode", "live", "--yes", "--json").ends(t, exitDone).says(t, `"of":3`, `"cut":3`)

	old, err := os.ReadFile(filepath.Join(h.dir, "config.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	h.settings(t, hasty+"\n"+string(old))
	until(t, "the deadline is in force", func() bool {
		return strings.Contains(h.run(t, "config", "show").out, "routing.timeouts.total") && strings.Contains(h.engine.err.String(), "settings")
	})
	f.order(t, `{"inject":[{"endless":true,"token_delay":"1ms"}]}`)
	h.run(t, "eval", "coder", "--tasks", "math", "--items", "3", "--mode", "live", "--yes", "--save-measurements").
		ends(t, exitFailed).says(t, "did not come in time").lacks(t, "grades were kept")
	h.run(t, "models", "show", "coder").ends(t, exitDone).lacks(t, "measured here")
	if s := h.status(t); s.Node.State != "serving" {
		t.Errorf("the engine is %s", s.Node.State)
	}
}

// What a run had not finished when the engine was killed is no evidence.
func TestProbeAndEvalThatDieWithTheEngineAreNoEvidence(t *testing.T) {
	t.Parallel()
	h, f := examiners(t)
	hold := `{"inject":[{"break":"hold","after":2,"skip":%d}]}`
	killed := func(args ...string) *process {
		t.Helper()
		p := launch(t, h.env, "bellwether", append([]string{"--data-dir", h.dir}, args...)...)
		until(t, "its question is at the runtime", func() bool { return f.busy(t) })
		h.engine.kill()
		if code := p.wait(t); code != exitFailed {
			t.Errorf("%v ends with %d: %s", args, code, p.err)
		}
		f.order(t, `{"heal":true}`)
		h.serve(t, anywhere)
		h.clean(t)
		return p
	}
	f.order(t, fmt.Sprintf(hold, 0))
	if p := killed("probe", "coder"); p.err.String() == "" {
		t.Error("a killed probe says nothing")
	}
	h.run(t, "models").ends(t, exitDone).lacks(t, "(probe)")

	f.order(t, `{"inject":[{"break":"hold","after":0}]}`)
	killed("eval", "coder", "--tasks", "math", "--items", "3", "--mode", "live", "--yes", "--save-measurements")
	h.run(t, "models", "show", "coder").ends(t, exitDone).lacks(t, "measured here")

	// And both run when they are asked for again.
	h.run(t, "--json", "probe", "coder").says(t, `"json_object"`)
	h.run(t, "eval", "coder", "--tasks", "math", "--items", "3", "--mode", "live", "--yes", "--save-measurements").ends(t, exitDone).says(t, "1 of 1 grades were kept")
	h.run(t, "models", "show", "coder").ends(t, exitDone).says(t, "measured here with 3 items")
}

// clean fails the test when the data folder holds what a kill broke off in its
// middle: temporary files, or documents that cannot be read.
func (h *home) clean(t testing.TB) {
	t.Helper()
	// What the engine writes at this moment has such a name, too, and soon none.
	until(t, "no half file is left", func() bool {
		left, err := filepath.Glob(filepath.Join(h.dir, desktop.Unfinished))
		return err == nil && len(left) == 0
	})
	entries, err := os.ReadDir(h.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if filepath.Ext(e.Name()) != ".json" {
			continue
		}
		text, err := os.ReadFile(filepath.Join(h.dir, e.Name()))
		if err != nil || !json.Valid(text) {
			t.Errorf("%s: %v\n%s", e.Name(), err, text)
		}
	}
}

// The policy is written once for each contract that is bound. Whenever the
// engine dies, the file is a whole one, and no contract is bound twice.
func TestEngineKilledWhileThePolicyIsWrittenLeavesAWholeOne(t *testing.T) {
	t.Parallel()
	f := fakeRuntime(t, "ollama", "-m", "words=10MB,caps=embedding,width=8", "-m", "other=10MB,caps=embedding,width=8")
	h := newHome(t, "", map[string]*fake{"ollama": f})
	old, err := os.ReadFile(filepath.Join(h.dir, "config.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	h.settings(t, string(old))
	bound := map[string]string{}
	contracts := "embeddings:\n"
	for round := range 6 {
		contracts += fmt.Sprintf("  c%d: {members: [%s]}\n", round, []string{"words", "other"}[round%2])
		h.settings(t, string(old)+contracts)
		h.engine = h.launch(t, anywhere)
		// Its members become known within the first second: the kill falls before,
		// into and behind the write.
		if round%3 > 0 {
			until(t, "the engine is there", func() bool { return strings.Contains(h.engine.out.String(), "http://") })
		}
		if round%3 > 1 {
			until(t, "the contract is bound", func() bool {
				return strings.Contains(h.engine.err.String(), fmt.Sprintf("contract=c%d", round))
			})
		}
		h.engine.kill()
		h.engine = h.launch(t, anywhere)
		h.ready(t)
		h.clean(t)
		policy, text := filepath.Join(h.dir, "fleet-policy.json"), []byte(nil)
		until(t, "the contract is bound", func() bool {
			text, _ = os.ReadFile(policy)
			return bytes.Contains(text, fmt.Appendf(nil, `"c%d"`, round))
		})
		h.engine.kill()
		doc := decode[struct {
			Revision int
			Anchors  map[string]struct{ Identity string }
		}](t, string(text))
		for name, identity := range bound {
			if doc.Anchors[name].Identity != identity {
				t.Errorf("round %d: %s was bound to %s, and is to %s", round, name, identity, doc.Anchors[name].Identity)
			}
		}
		for name, a := range doc.Anchors {
			bound[name] = a.Identity
		}
	}
	if len(bound) != 6 || bound["c0"] == bound["c1"] || !slices.Contains([]string{bound["c2"], bound["c3"]}, bound["c0"]) {
		t.Errorf("bound: %v", bound)
	}
}
