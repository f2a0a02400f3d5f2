package engine

import (
	"strings"
	"testing"

	"bellwether/engine/runtime/runtimetest"
)

// unclear is a request of which nothing can be said for sure.
const unclear = "the usual for blue and seven, " + secretPrompt

func classified(t *testing.T, more, answer string) *rig {
	t.Helper()
	r := newRig(t, spec{
		config: "routing: {classifier: {enabled: true, when: always, deployment: 'sorter:1b'" + more + "}}",
		fakes: map[string]runtimetest.FakeConfig{"ollama": {Parallel: 4, MaxLoaded: 4, KeepAlive: -1, Models: []runtimetest.FakeModel{
			{Name: "sorter:1b", Size: 8 << 20, Script: []runtimetest.Answer{{Text: answer}}}, {Name: "big:7b", Size: 400 << 20},
		}}},
	})
	// A question is not held: until the picture stands it is not asked.
	r.await(t, "every machine to have reported", func() bool { return r.registry.Snapshot().Settled })
	return r
}

// asked counts the questions put to the classifier.
func (r *rig) asked() (n int) {
	for _, q := range r.fakes["ollama"].Requests() {
		if q.Model == "sorter:1b" && strings.Contains(string(q.Body), "has_images") {
			n++
		}
	}
	return n
}

func TestClassifierNamesTheTaskOnceAndIsNotClassifiedItself(t *testing.T) {
	r := classified(t, "", "translation")
	for range 2 {
		s, a := chatWire.say(t, r, "auto", unclear, true)
		if s.failed != "" || !s.ended {
			t.Fatalf("%+v", s)
		}
		if rec := r.decision(t, a.Header); rec.Requirements.PrimaryTask != "translation" || !rec.Requirements.Clear {
			t.Errorf("the task is %s: %q", rec.Requirements.PrimaryTask, rec.Notes)
		}
	}
	if n := r.asked(); n != 1 {
		t.Errorf("asked %d times: an answer is remembered, and a question is no request to classify", n)
	}
	if _, a := chatWire.say(t, r, "big:7b", unclear+"!", true); r.decision(t, a.Header).Requirements.PrimaryTask == "translation" || r.asked() != 1 {
		t.Error("a concrete name leaves nothing to choose, yet the classifier was asked")
	}
	r.idle(t)
}

func TestClassifierThatFailsChangesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		answer string
		fault  *runtimetest.Fault
	}{
		"it chats":       {"I think this is about translation.", nil},
		"it is too slow": {"translation", &runtimetest.Fault{Model: "sorter:1b", Times: 1, Break: runtimetest.BreakHang}},
		"it fails":       {"translation", &runtimetest.Fault{Model: "sorter:1b", Times: 1, Status: 500}},
	} {
		t.Run(name, func(t *testing.T) {
			r := classified(t, ", timeout: 200ms", c.answer)
			if c.fault != nil {
				r.fakes["ollama"].Inject(*c.fault)
			}
			s, a := chatWire.say(t, r, "auto:quality", "Is 97 prime?", true)
			if s.failed != "" || !s.ended {
				t.Fatalf("%+v", s)
			}
			if rec := r.decision(t, a.Header); rec.Requirements.PrimaryTask != "math" {
				t.Errorf("the task is %s, want what was read: math", rec.Requirements.PrimaryTask)
			}
			r.fakes["ollama"].Release()
		})
	}
}
