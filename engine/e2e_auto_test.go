package engine

import (
	"strings"
	"testing"

	"bellwether/engine/admin"
	"bellwether/engine/runtime/runtimetest"
)

const (
	codingPrompt = "Write a Python function that merges overlapping intervals and returns them sorted. Add type hints and raise a ValueError for intervals that end before they start."
	chatPrompt   = "Hi there! How was your day?"
)

// auto over two stand-ins of scripted strength. Before anyone measured them the
// choice stands on what is thought of them, and says so; after an eval whose
// grades are saved, coding goes to the better coder, and says that it was
// measured. Small talk, which no eval measures, stays with the small model.
func TestAutoSendsCodingToTheBetterCoderOnceItIsMeasured(t *testing.T) {
	for name, c := range map[string]struct{ config, before string }{
		"nothing is known before":   {"", "uncalibrated"},
		"its operator was mistaken": {"deployments: [{match: 'small:1b', quality: {coding: 0.9}}, {match: 'coder:7b', quality: {coding: 0.6}}]", "prior:operator"},
	} {
		t.Run(name, func(t *testing.T) {
			made := spec{config: c.config, fakes: map[string]runtimetest.FakeConfig{"ollama": {Parallel: 2, MaxLoaded: 8, KeepAlive: -1, Exam: exam(), Models: []runtimetest.FakeModel{
				{Name: "coder:7b", Size: 4_700_000_000, Strength: map[string]float64{"coding": 0.9, "": 0.5}},
				{Name: "small:1b", Size: 800_000_000, Strength: map[string]float64{"coding": 0.3, "": 0.5}},
			}}}}
			r := newRig(t, made)
			r.load(t, made)
			asks := func(when, prompt, task, model, evidence string) {
				t.Helper()
				s, a := chatWire.say(t, r, "auto", prompt, true)
				if s.failed != "" || !s.ended {
					t.Fatalf("%s: %+v", when, s)
				}
				rec := r.decision(t, a.Header)
				if rec.Requirements.PrimaryTask != task || !strings.HasSuffix(rec.Chosen, "/"+model) || !strings.Contains(rec.Evidence, evidence) || rec.Alias != "auto" {
					t.Errorf("%s: %s went to %s by %q, want %s to %s by %s; because %v", when, rec.Requirements.PrimaryTask, rec.Chosen, rec.Evidence, task, model, evidence, rec.Reasons)
				}
				if a.Header.Get("X-Fleet-Profile") != "balanced" || a.Header.Get("X-Fleet-Served-Model") != model {
					t.Errorf("%s: headers say %s by %s", when, a.Header.Get("X-Fleet-Served-Model"), a.Header.Get("X-Fleet-Profile"))
				}
			}
			asks("before", codingPrompt, "coding", "small:1b", c.before)
			asks("before", chatPrompt, "chat", "small:1b", "uncalibrated")

			last, _ := r.evaluate(t, admin.EvalWish{Tasks: []string{"coding"}, Items: 12, Save: true})
			if len(last.Done) != 2 || !last.Done[0].Saved || !last.Done[1].Saved {
				t.Fatalf("the eval says %+v", last)
			}
			asks("after", codingPrompt, "coding", "coder:7b", "measured:12")
			asks("after", chatPrompt, "chat", "small:1b", "uncalibrated")
			r.idle(t)
		})
	}
}
