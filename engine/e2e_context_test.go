package engine

import (
	"strings"
	"testing"

	"bellwether/engine/runtime/runtimetest"
)

// wordy is a model that takes twice the tokens that texts are estimated at.
var wordy = runtimetest.FakeConfig{Parallel: 1, KeepAlive: -1, Models: []runtimetest.FakeModel{
	{Name: "wordy", CharsPerToken: 2, Context: 32768}}}

// prose is n characters.
func prose(n int) string {
	const line = "The quick brown fox jumps over the lazy dog and then walks home again. "
	return strings.Repeat(line, n/len(line)+1)[:n]
}

// A model loaded with the context that a prompt was estimated at refused it each
// time, though it can hold twice as much; and the client was told the context it
// happened to be loaded with as the most there is.
func TestAPromptOverTheLoadedContextIsServedWithALargerOne(t *testing.T) {
	for _, w := range wires {
		t.Run(w.name, func(t *testing.T) {
			r := newRig(t, spec{config: quick, fakes: map[string]runtimetest.FakeConfig{"ollama": wordy}})
			a := r.post(t, w.path, w.body("wordy", prose(50_000), false))
			a.ok(t)
			rec := r.decision(t, a.Header)
			if rec.Retries != 1 || rec.Usage == nil || *rec.Usage.Input < 25_000 || len(rec.Failover) != 1 || rec.Failover[0].Failure.Tokens < 25_000 {
				t.Errorf("retries %d, usage %+v, failover %+v", rec.Retries, rec.Usage, rec.Failover)
			}
			r.post(t, w.path, w.body("wordy", prose(50_000), false)).ok(t)
			if n := len(served(r.fakes["ollama"])); n != 3 {
				t.Errorf("the runtime was asked %d times for two requests, want 3: the count of the first is learnt", n)
			}
		})
	}
}

// What is too long for the model is told with its runtime's count and the most
// the model can hold, in the words by which each client knows it.
func TestAPromptOverTheModelIsRefusedWithItsCount(t *testing.T) {
	r := newRig(t, spec{config: quick, fakes: map[string]runtimetest.FakeConfig{"ollama": wordy}})
	for _, w := range wires {
		a := r.post(t, w.path, w.body("wordy", prose(80_000), true))
		want := map[string]string{
			"messages":        "prompt is too long: 4",
			"chat":            "This model's maximum context length is 32768 tokens. However, your request needs 4",
			"completions":     "This model's maximum context length is 32768 tokens. However, your request needs 4",
			"responses":       "This model's maximum context length is 32768 tokens. However, your request needs 4",
			"ollama chat":     "this request needs 4",
			"ollama generate": "this request needs 4",
		}[w.name]
		text := problemText(t, w, a)
		if a.Status != 400 || !strings.HasPrefix(text, want) || !strings.Contains(text, "its runtime counted 40,0") || !strings.Contains(text, "Shorten the prompt by at least ") {
			t.Errorf("%s: %d %q", w.name, a.Status, text)
		}
		if w.name == "messages" && !strings.Contains(text, " tokens > 32768 maximum (") {
			t.Errorf("%q lacks the most there is", text)
		}
	}
}

// Prompts of another kind do not turn away what was served before, not even
// after a restart.
func TestAPromptThatWasServedIsServedAfterOthers(t *testing.T) {
	r := newRig(t, spec{config: quick, fakes: map[string]runtimetest.FakeConfig{"ollama": {Parallel: 1, KeepAlive: -1, Context: 32768, Models: []runtimetest.FakeModel{
		{Name: "wordy", CharsPerToken: 1.5, Context: 32768}}}}})
	known := messagesWire.body("wordy", prose(45_000), false)
	r.post(t, "/v1/messages", known).ok(t)
	for range 8 { // digits: estimated as code, at fewer characters a token
		r.post(t, "/v1/messages", messagesWire.body("wordy", strings.Repeat("4096/", 600), false)).ok(t)
	}
	r.post(t, "/v1/messages", known).ok(t)
}

func TestCountTokensCountsAsItsModel(t *testing.T) {
	r := newRig(t, spec{config: quick, fakes: map[string]runtimetest.FakeConfig{"ollama": wordy}})
	const path = "/v1/messages/count_tokens"
	body := messagesWire.body("wordy", prose(20_000), false)
	before := r.post(t, path, body).ok(t).num("input_tokens")
	r.post(t, "/v1/messages", body).ok(t)
	after := r.post(t, path, body).ok(t).num("input_tokens")
	if before < 4_900 || before > 5_100 || after < 9_900 || after > 10_100 {
		t.Errorf("counted %v, then %v; want the estimate, then what the model counts", before, after)
	}
	for _, e := range sse(string(r.post(t, "/v1/messages", messagesWire.body("wordy", prose(20_000), true)).Body)) {
		if e.event == "message_start" {
			if begun := e.json(t).num("message.usage.input_tokens"); begun != after {
				t.Errorf("a stream begins with %v, want as counted: %v", begun, after)
			}
		}
	}
	if a := r.post(t, path, messagesWire.body("nobody", "hi", false)); a.Status != 404 || a.json(t).str("error.type") != "not_found_error" {
		t.Errorf("of a model that is not here: %d %s", a.Status, a.Body)
	}
}

// Ollama cuts a text that it is to embed; a record tells of it.
func TestALongTextIsEmbeddedAsOllamaDoes(t *testing.T) {
	r := newRig(t, spec{config: quick, fakes: map[string]runtimetest.FakeConfig{"ollama": {Models: []runtimetest.FakeModel{
		{Name: "embed", Context: 512, EmbeddingWidth: 8, Capabilities: []string{"embedding"}}}}}})
	a := r.post(t, "/v1/embeddings", `{"model":"embed","input":"`+prose(9_000)+`"}`)
	a.ok(t)
	if notes := r.decision(t, a.Header).Notes; len(notes) == 0 || notes[0] != "input_cut" {
		t.Errorf("the record notes %q", notes)
	}
	a = r.post(t, "/api/embed", `{"model":"embed","truncate":false,"input":"`+prose(9_000)+`"}`)
	if a.Status != 400 {
		t.Errorf("told not to cut: %d %s", a.Status, a.Body)
	}
}

// How long a model may think is a guess, and refuses no prompt that fits: the
// runtime answers as far as its context goes.
func TestAThinkingModelWithASmallContextAnswersShortPrompts(t *testing.T) {
	think := runtimetest.FakeConfig{Kind: runtimetest.LlamaServer, Context: 4096, Models: []runtimetest.FakeModel{{Name: "think", Think: true, Context: 4096}}}
	r := newRig(t, spec{config: quick, fakes: map[string]runtimetest.FakeConfig{"llama": think}})
	for name, ask := range map[string]struct{ path, members string }{
		"chat":             {"/v1/chat/completions", `"messages":[{"role":"user","content":"q"}]`},
		"chat, high":       {"/v1/chat/completions", `"max_tokens":32000,"reasoning_effort":"high","messages":[{"role":"user","content":"q"}]`},
		"responses, high":  {"/v1/responses", `"reasoning":{"effort":"high"},"input":"q"`},
		"as Claude Code":   {"/v1/messages", `"max_tokens":32000,"thinking":{"type":"adaptive"},"output_config":{"effort":"high"},"messages":[{"role":"user","content":"q"}]`},
		"messages, budget": {"/v1/messages", `"max_tokens":32000,"thinking":{"type":"enabled","budget_tokens":10000},"messages":[{"role":"user","content":"q"}]`},
	} {
		if a := r.post(t, ask.path, `{"model":"think",`+ask.members+`}`); a.Status != 200 {
			t.Errorf("%s: %d %s", name, a.Status, a.Body)
		}
	}
	if a := r.post(t, "/v1/messages", messagesWire.body("think", prose(60_000), false)); a.Status != 400 || !strings.Contains(string(a.Body), "prompt is too long: ") {
		t.Errorf("too long in truth: %d %s", a.Status, a.Body)
	}
}
