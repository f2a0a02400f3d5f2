package engine

import (
	"strings"
	"testing"

	"bellwether/engine/runtime/runtimetest"
)

// Ollama knows no tool_choice, so the answer is held to a call by its format. A
// model that pays no heed to it has not made one.
func TestWordsInPlaceOfARequiredCallAreAFailure(t *testing.T) {
	r := newRig(t, spec{config: quick, fakes: map[string]runtimetest.FakeConfig{"ollama": {Models: []runtimetest.FakeModel{
		{Name: "deaf:1b", Capabilities: []string{"completion", "tools"}, Script: []runtimetest.Answer{{Text: "x"}}},
		{Name: "able:1b", Capabilities: []string{"completion", "tools"}, Script: []runtimetest.Answer{{Text: `{"city":"Oslo"}`}}},
	}}}})
	must := map[string]string{
		"chat":      `,"tool_choice":"required"`,
		"named":     `,"tool_choice":{"type":"function","function":{"name":"get_weather"}}`,
		"responses": `,"tool_choice":"required"`,
		"messages":  `,"tool_choice":{"type":"any"}`,
	}
	for name, w := range map[string]wire{"chat": chatWire, "named": chatWire, "responses": responsesWire, "messages": messagesWire} {
		for _, stream := range []bool{false, true} {
			more := w.tools + must[name]
			a := r.post(t, w.path, w.body("deaf:1b", "weather?", stream, more))
			if msg := problemText(t, w, a); a.Status != 502 || !strings.Contains(msg, "a call of a tool was required") {
				t.Errorf("%s, stream %t: %d %s", name, stream, a.Status, a.Body)
			}
			if d := r.decision(t, a.Header); d.Outcome != "failed" || !strings.Contains(d.Problem, "a call of a tool was required") {
				t.Errorf("%s, stream %t: recorded %s, %q", name, stream, d.Outcome, d.Problem)
			}
			s, _ := w.say(t, r, "able:1b", "weather?", stream, more)
			if len(s.calls) != 1 || s.calls[0].name != "get_weather" || !strings.Contains(s.calls[0].arguments, "Oslo") {
				t.Errorf("%s, stream %t: calls %v", name, stream, s.calls)
			}
		}
	}
	// Another model of the list makes the call.
	a := r.post(t, chatWire.path, chatWire.body("deaf:1b", "weather?", true, chatWire.tools+must["chat"]), "X-Fleet-Fallbacks", "able:1b")
	if a.Status != 200 || a.Header.Get("X-Fleet-Served-Model") != "able:1b" {
		t.Errorf("with a fallback: %d %s by %s", a.Status, a.Body, a.Header.Get("X-Fleet-Served-Model"))
	}
}
