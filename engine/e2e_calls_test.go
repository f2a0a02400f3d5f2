package engine

import (
	"slices"
	"strings"
	"testing"

	"bellwether/engine/runtime/runtimetest"
)

// forbidsSeveral are the members that allow one tool call at most.
var forbidsSeveral = map[string]string{
	"chat":      `,"parallel_tool_calls":false`,
	"responses": `,"parallel_tool_calls":false`,
	"messages":  `,"tool_choice":{"type":"auto","disable_parallel_tool_use":true}`,
}

// LangChain's with_structured_output forbids several calls always. Ollama knows
// no such field, and models make them all the same: the first one is passed on.
func TestOneCallIsPassedOnWhereNoMoreAreAllowed(t *testing.T) {
	onBoth(t, []wire{chatWire, responsesWire, messagesWire}, func(t *testing.T, r *rig, w wire, model string, stream bool) {
		if s, a := w.say(t, r, model, "two calls", stream, w.tools); len(s.calls) != 2 {
			t.Fatalf("allowed: %v: %s", s.calls, a.Body)
		}
		s, a := w.say(t, r, model, "two calls", stream, w.tools, forbidsSeveral[w.name])
		if len(s.calls) != 1 || s.calls[0].arguments != `{"city":"Ulm"}` || s.finish != "tools" || !s.ended {
			t.Errorf("forbidden: finish %q, calls %v, ended %v: %s", s.finish, s.calls, s.ended, a.Body)
		}
		const edit = "parallel_tool_calls: the first call is passed on, and 1 more left out"
		if d := r.decision(t, a.Header); d.Outcome != "ok" || !slices.Contains(d.Edits, edit) {
			t.Errorf("recorded %s, edits %q", d.Outcome, d.Edits)
		}
		s, a = w.say(t, r, model, "text and a call", stream, w.tools, forbidsSeveral[w.name])
		if d := r.decision(t, a.Header); len(s.calls) != 1 || slices.ContainsFunc(d.Edits, func(e string) bool { return strings.HasPrefix(e, "parallel_tool_calls") }) {
			t.Errorf("one was made: calls %v, edits %q", s.calls, d.Edits)
		}
	})
}

// The whole of what LangChain sends for a structured answer.
func TestOneNamedToolAndNoSeveralCallsIsServed(t *testing.T) {
	r := newRig(t, spec{config: quick, fakes: map[string]runtimetest.FakeConfig{"ollama": {Models: []runtimetest.FakeModel{
		{Name: "chat:1b", Capabilities: []string{"completion", "tools"}, Script: []runtimetest.Answer{{Text: `{"city":"Oslo"}`}}},
	}}}})
	for _, stream := range []bool{false, true} {
		s, a := chatWire.say(t, r, "chat:1b", "weather?", stream, chatWire.tools, forbidsSeveral["chat"], `,"tool_choice":{"type":"function","function":{"name":"get_weather"}}`)
		if len(s.calls) != 1 || s.calls[0].arguments != `{"city":"Oslo"}` {
			t.Errorf("stream %t: calls %v: %s", stream, s.calls, a.Body)
		}
	}
}

func TestAChoiceOfAnUndeclaredToolIsRefusedInEveryDialect(t *testing.T) {
	choice := map[string][2]string{ // of a tool that is not there; of any where none is
		"chat":      {`,"tool_choice":{"type":"function","function":{"name":"ZZZ"}}`, `,"tool_choice":"required"`},
		"responses": {`,"tool_choice":{"type":"function","name":"ZZZ"}`, `,"tool_choice":"required"`},
		"messages":  {`,"tool_choice":{"type":"tool","name":"ZZZ"}`, `,"tool_choice":{"type":"any"}`},
	}
	onBoth(t, []wire{chatWire, responsesWire, messagesWire}, func(t *testing.T, r *rig, w wire, model string, stream bool) {
		for _, more := range []string{w.tools + choice[w.name][0], choice[w.name][1]} {
			a := r.post(t, w.path, w.body(model, "weather?", stream, more))
			if msg := problemText(t, w, a); a.Status != 400 || !strings.HasPrefix(msg, "tool_choice: ") {
				t.Errorf("%s: %d %s", more, a.Status, a.Body)
			}
			if w.name != "messages" && a.json(t).str("error.param") != "tool_choice" {
				t.Errorf("%s: %s", more, a.Body)
			}
		}
	})
}
