package engine

import (
	"testing"

	"bellwether/engine/route"
	"bellwether/engine/runtime/runtimetest"
)

// What an app has at hand of an answer finds its decision.
func TestEveryIDAnAppSeesFindsItsDecision(t *testing.T) {
	r := newRig(t, spec{config: quick, fakes: map[string]runtimetest.FakeConfig{"ollama": {Models: []runtimetest.FakeModel{{Name: "chat:1b"}}}}})
	for _, w := range []wire{chatWire, completionWire, responsesWire, messagesWire} {
		_, a := w.say(t, r, "chat:1b", "hi", false)
		want := r.decision(t, a.Header).RequestID
		ids := []string{want, a.json(t).str("id")}
		for _, name := range []string{"X-Request-Id", "Request-Id"} {
			if id := a.Header.Get(name); id != "" {
				ids = append(ids, id)
			}
		}
		if w.name == responsesWire.name {
			ids = append(ids, a.json(t).str("output.0.id"))
		}
		for _, id := range ids {
			var rec route.Record
			if status := r.owner(t, "GET", "/admin/decisions/"+id, nil, &rec); status != 200 || rec.RequestID != want {
				t.Errorf("%s: %q gives %d and %q, want %q", w.name, id, status, rec.RequestID, want)
			}
		}
	}
	if status := r.owner(t, "GET", "/admin/decisions/req_00000000000000000000000000000000", nil, nil); status != 404 {
		t.Errorf("an id of no request: %d", status)
	}
}
