package main

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"bellwether/engine/route"
)

// say sends a chat request with headers.
func (h *home) say(t testing.TB, model string, headers map[string]string) (status int, body string, head http.Header) {
	t.Helper()
	req, err := http.NewRequest(http.MethodPost, h.address+"/v1/chat/completions", strings.NewReader(chat(model, false)))
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range headers {
		req.Header.Set(k, v)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text), resp.Header
}

// drop deletes a model at the runtime itself, as ollama rm does.
func (f *fake) drop(t testing.TB, model string) {
	t.Helper()
	req, err := http.NewRequest(http.MethodDelete, f.url+"/api/delete", strings.NewReader(`{"model":"`+model+`"}`))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != 200 {
		t.Fatalf("delete: %d", resp.StatusCode)
	}
}

// A model may be gone at its runtime before anybody here knows: a session that
// stuck to it, and an alias that names it, go on with what else they may use.
func TestModelThatVanishesIsReplacedWhereTheNameAllowsIt(t *testing.T) {
	t.Parallel()
	f := fakeRuntime(t, "ollama", "-m", "one=40MB", "-m", "two=40MB")
	h := newHome(t, "aliases:\n  coder: {models: [one, two], pinned_order: true}\n  only: {models: [one]}\n", map[string]*fake{"ollama": f})
	h.serve(t, anywhere)
	session := map[string]string{"X-Fleet-Session": "talk"}
	for range 2 {
		if status, body, head := h.say(t, "coder", session); status != 200 || !strings.HasPrefix(head.Get("X-Fleet-Served-Model"), "one") {
			t.Fatalf("%d %s %v", status, body, head)
		}
	}
	if status, body, _ := h.say(t, "one", map[string]string{"X-Fleet-Session": "other"}); status != 200 {
		t.Fatalf("%d %s", status, body)
	}
	f.drop(t, "one")
	status, body, head := h.say(t, "coder", session)
	if status != 200 || !strings.HasPrefix(head.Get("X-Fleet-Served-Model"), "two") {
		t.Errorf("the session that stuck to it: %d %s %v", status, body, head)
	}
	for name, headers := range map[string]map[string]string{"one": {"X-Fleet-Session": "other"}, "only": nil} {
		status, body, head := h.say(t, name, headers)
		if status/100 != 4 && status != 503 || !strings.Contains(body, "one") || strings.Contains(body, "two answers") {
			t.Errorf("%s: %d %s %v, want a refusal that names it", name, status, body, head)
		}
	}
	until(t, "it is known to be gone", func() bool { return !strings.Contains(h.run(t, "models").out, "one:latest") })
	if status, body, _ := h.say(t, "one", nil); status == 200 || !strings.Contains(body, "model 'one' is not installed") {
		t.Errorf("by its own name: %d %s", status, body)
	}
	if status, body, _ := h.say(t, "only", nil); status/100 == 2 || !strings.Contains(body, "one") {
		t.Errorf("by an alias of it alone: %d %s", status, body)
	}
	if status, _, head := h.say(t, "coder", session); status != 200 || !strings.HasPrefix(head.Get("X-Fleet-Served-Model"), "two") {
		t.Errorf("afterwards: %d %v", status, head)
	}
	h.run(t, "doctor").says(t, "one")
}

// Whoever forbids another model gets none, neither of a list nor of an alias,
// and the error says why. Another runtime that has the same model is no other.
func TestNoFallbackTriesNoOtherModelAndSaysSo(t *testing.T) {
	t.Parallel()
	one, two := fakeRuntime(t, "ollama", "-m", "tiny=10MB", "-m", "first=10MB"), fakeRuntime(t, "ollama", "-m", "tiny=10MB", "-m", "second=10MB")
	fakes := map[string]*fake{"one": one, "two": two}
	h := newHome(t, "aliases: {both: {models: [first, second], pinned_order: true}}", fakes)
	h.serve(t, anywhere)
	for _, model := range []string{"tiny", "first", "second"} {
		if status, body, _ := h.say(t, model, nil); status != 200 { // loads it
			t.Fatalf("%d %s", status, body)
		}
	}
	for _, f := range fakes {
		f.order(t, `{"inject":[{"status":500,"body":"{\"error\":\"out of luck\"}"}]}`)
	}
	alone := map[string]string{"X-Fleet-No-Fallback": "true"}
	for model, others := range map[string][]string{"tiny": {"first", "second"}, "both": {"second", "tiny"}, "first": {"second", "tiny"}} {
		status, body, head := h.say(t, model, alone)
		if status < 500 || !strings.Contains(body, "out of luck") || !strings.Contains(body, "No other model was tried: the request forbids it (X-Fleet-No-Fallback)") {
			t.Errorf("%s: %d %s", model, status, body)
		}
		rec := decode[route.Record](t, h.run(t, "decisions", head.Get("X-Fleet-Request-Id"), "--json").out)
		if !strings.Contains(rec.FailoverNote, "forbids") {
			t.Errorf("%s: the record says %q", model, rec.FailoverNote)
		}
		for _, step := range rec.Failover {
			for _, other := range others {
				if strings.Contains(step.Deployment.String(), "/"+other) {
					t.Errorf("%s: %s was tried", model, step.Deployment)
				}
			}
		}
	}
	// Without it the other one answers.
	two.order(t, `{"heal":true}`)
	if status, body, _ := h.say(t, "both", nil); status != 200 || !strings.Contains(body, "second answers") {
		t.Errorf("where it may: %d %s", status, body)
	}
}
