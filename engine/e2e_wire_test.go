package engine

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"bellwether/engine/runtime/runtimetest"
)

// quick are settings under which no deadline or circuit of one test disturbs
// the next.
const quick = `
routing: {circuit: 1000/1000 in 1s, uncertain_hold: 0, settle: 0, auto_pull: "off", thinking: {overhead: 1, min_predict: 0}}
security: {max_body_mb: 1}
`

const cjk = "日本語の返事です 🎉 — 한국어도 된다 👩‍👩‍👧"

var scripts = []runtimetest.Answer{
	{Match: "say it in cjk", Text: cjk},
	{Match: "call without arguments", Calls: []runtimetest.Call{{Name: "get_weather", Arguments: `{}`}}},
	{Match: "text and a call", Text: "Let me look.", Calls: []runtimetest.Call{{Name: "get_weather", Arguments: `{"city":"Ulm"}`}}},
	{Match: "two calls", Calls: []runtimetest.Call{{Name: "get_weather", Arguments: `{"city":"Ulm"}`}, {Name: "get_weather", Arguments: `{"city":"Köln"}`}}},
}

// both is one engine in front of an Ollama and a llama-server.
var both = share(spec{
	more:   ", parallel: 4",
	config: quick,
	fakes: map[string]runtimetest.FakeConfig{
		"ollama": {Kind: runtimetest.Ollama, Parallel: 4, MaxLoaded: 8, GPU: 1, KeepAlive: -1, Models: []runtimetest.FakeModel{
			{Name: "chat:1b", Capabilities: []string{"completion", "tools", "vision", "insert"}, Script: scripts},
			{Name: "plain", Capabilities: []string{"completion"}},
			{Name: "author/nested-name:q4", Capabilities: []string{"completion"}},
			{Name: "embed:1b", Capabilities: []string{"embedding"}, EmbeddingWidth: 64},
			{Name: "think:1b", Think: true, Capabilities: []string{"completion", "tools"}},
		}},
		"llama": {Kind: runtimetest.LlamaServer, Parallel: 4, Models: []runtimetest.FakeModel{
			{Name: "gguf-1b", Capabilities: []string{"completion", "tools", "vision"}, Script: scripts},
		}},
	},
})

// chatModels are served by different runtimes.
var chatModels = []string{"chat:1b", "gguf-1b"}

// onBoth runs a check for both runtimes, every protocol, streamed and not.
func onBoth(t *testing.T, list []wire, do func(t *testing.T, r *rig, w wire, model string, stream bool)) {
	r := both.of(t)
	for _, m := range chatModels {
		t.Run(m, func(t *testing.T) {
			eachWay(t, list, func(t *testing.T, w wire, stream bool) { do(t, r, w, m, stream) })
		})
	}
}

// W-01, BerriAI/litellm#35663, ollama/ollama#7963: a strict client drops a
// call when the stream that made it ends with stop.
func TestACalledToolIsTheFinishReason(t *testing.T) {
	onBoth(t, toolWires, func(t *testing.T, r *rig, w wire, model string, stream bool) {
		for _, prompt := range []string{"what is the weather", "text and a call", "two calls"} {
			s, a := w.say(t, r, model, prompt, stream, w.tools)
			if s.finish != "tools" || len(s.calls) == 0 || !s.ended {
				t.Errorf("%s: finish %q, calls %v, ended %v: %s", prompt, s.finish, s.calls, s.ended, a.Body)
			}
		}
	})
}

// lines is an Ollama answer of the runtime's own choosing.
func lines(list ...string) runtimetest.Fault {
	body := &strings.Builder{}
	for _, m := range list {
		fmt.Fprintf(body, `{"model":"chat:1b","created_at":"2026-11-01T09:30:00.5Z","message":{"role":"assistant",%s},"done":false}`+"\n", m)
	}
	body.WriteString(`{"model":"chat:1b","created_at":"2026-11-01T09:30:01.5Z","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","prompt_eval_count":7,"eval_count":9}` + "\n")
	return runtimetest.Fault{Path: "/api/chat", Status: 200, ContentType: "application/x-ndjson", Body: body.String()}
}

// W-02, ollama/ollama#17225: a thinking block opened while the text block was
// still open. The reader of messagesWire fails on any overlap.
func TestThinkingAfterTextOpensABlockOfItsOwn(t *testing.T) {
	r := both.of(t)
	r.fakes["ollama"].Inject(lines(`"content":"One. "`, `"content":"","thinking":"hm"`, `"content":"","thinking":"mm"`, `"content":"Two."`))
	s, a := messagesWire.say(t, r, "chat:1b", "go", true)
	if s.text != "One. Two." || s.thinking != "hmmm" || !s.ended {
		t.Errorf("%+v from %s", s, a.Body)
	}
	if n := strings.Count(string(a.Body), "event: content_block_start"); n != 3 {
		t.Errorf("%d blocks, want text, thinking, text", n)
	}
}

// W-03, ollama/ollama#15105: text blocks with an empty input object.
func TestOnlyToolUseBlocksHaveAnInput(t *testing.T) {
	onBoth(t, []wire{messagesWire}, func(t *testing.T, r *rig, w wire, model string, stream bool) {
		_, a := w.say(t, r, model, "text and a call", stream, w.tools)
		var blocks []tree
		if stream {
			for _, e := range a.objects(t) {
				if e.has("content_block") {
					blocks = append(blocks, tree{e.at("content_block")})
				}
			}
		} else {
			for i := range a.json(t).len("content") {
				blocks = append(blocks, tree{a.json(t).at(fmt.Sprintf("content.%d", i))})
			}
		}
		if len(blocks) != 2 {
			t.Fatalf("%d blocks: %s", len(blocks), a.Body)
		}
		for _, b := range blocks {
			if is := b.str("type") == "tool_use"; b.has("input") != is {
				t.Errorf("block %s", b)
			}
		}
	})
}

// W-04, BerriAI/litellm#25605: streamed tool_use with input {}: Ollama sends
// the whole arguments in one chunk.
func TestArgumentsOfACallReachEveryClientWhole(t *testing.T) {
	onBoth(t, toolWires, func(t *testing.T, r *rig, w wire, model string, stream bool) {
		s, a := w.say(t, r, model, "two calls", stream, w.tools)
		if len(s.calls) != 2 {
			t.Fatalf("calls %v: %s", s.calls, a.Body)
		}
		for i, city := range []string{"Ulm", "Köln"} {
			if got := parse(t, []byte(s.calls[i].arguments)).str("city"); got != city || s.calls[i].name != "get_weather" || s.calls[i].id == "" {
				t.Errorf("call %d is %+v", i, s.calls[i])
			}
		}
		if s.calls[0].id == s.calls[1].id {
			t.Errorf("both calls are %s", s.calls[0].id)
		}
		if none, _ := w.say(t, r, model, "call without arguments", stream, w.tools); len(none.calls) != 1 || !slices.Contains([]string{"{}", ""}, none.calls[0].arguments) {
			t.Errorf("a call without arguments came as %+v", none.calls)
		}
	})
}

// W-05, ollama/ollama#13934: no input_tokens in Anthropic streams.
func TestUsageIsTheRuntimesOwnInEveryProtocol(t *testing.T) {
	onBoth(t, wires, func(t *testing.T, r *rig, w wire, model string, stream bool) {
		more := ""
		if strings.HasPrefix(w.path, "/v1/c") {
			more = `,"stream_options":{"include_usage":true}`
		}
		s, a := w.say(t, r, model, "count me", stream, more)
		if w.name == "completions" && stream {
			last := a.objects(t)[len(a.objects(t))-1]
			s.input, s.output = last.num("usage.prompt_tokens"), last.num("usage.completion_tokens")
		}
		rec := r.decision(t, a.Header)
		if rec.Usage == nil || float64(*rec.Usage.Input) != s.input || float64(*rec.Usage.Output) != s.output || s.input <= 0 || s.output <= 0 {
			t.Errorf("the client reads %v in, %v out; the runtime said %+v: %s", s.input, s.output, rec.Usage, a.Body)
		}
	})
}

// W-06, ollama/ollama#14828, #13007: a plain-text or HTML error from upstream
// became "invalid character" and always 500.
func TestTextAndHTMLErrorsOfARuntimeKeepTheirStatus(t *testing.T) {
	onBoth(t, wires, func(t *testing.T, r *rig, w wire, model string, stream bool) {
		for _, c := range []struct {
			status    int
			kind, say string
			want      string
		}{
			{422, "text/plain", "unknown sampler", "unknown sampler"},
			{400, "text/html", "<html><h1>Bad Request</h1></html>", "Bad Request"},
			{500, "text/plain", "out of cheese", "out of cheese"},
			{503, "text/html", "<html>down</html>", "Service Unavailable"},
		} {
			r.fresh(t)
			r.fakes["ollama"].Inject(runtimetest.Fault{Status: c.status, ContentType: c.kind, Body: c.say})
			r.fakes["llama"].Inject(runtimetest.Fault{Status: c.status, ContentType: c.kind, Body: c.say})
			a := r.post(t, w.path, w.body(model, "go", stream))
			if msg := problemText(t, w, a); a.Status != c.status || !strings.Contains(msg, c.want) || strings.Contains(msg, "<") || strings.Contains(msg, "invalid character") {
				t.Errorf("%d %s: status %d, %q", c.status, c.kind, a.Status, msg)
			}
		}
	})
}

// problemText checks the error's envelope and returns its message.
func problemText(t testing.TB, w wire, a *answer) string {
	t.Helper()
	b := a.json(t)
	switch {
	case w.name == "messages":
		if b.str("type") != "error" || b.str("error.type") == "" || b.str("request_id") == "" || b.str("request_id") != a.Header.Get("Request-Id") {
			t.Errorf("no Anthropic error: %s", a.Body)
		}
		return b.str("error.message")
	case strings.HasPrefix(w.path, "/v1/"):
		if b.str("error.type") == "" || !b.has("error.code") || !b.has("error.param") {
			t.Errorf("no OpenAI error: %s", a.Body)
		}
		return b.str("error.message")
	}
	if b.str("error") == "" {
		t.Errorf("no Ollama error: %s", a.Body)
	}
	return b.str("error")
}

// W-07, mostlygeek/llama-swap#1038, #798: `error` was a string for OpenAI
// clients, which then crashed instead of trying again.
func TestErrorsHaveTheirProtocolsShapeWhateverTheStatus(t *testing.T) {
	onBoth(t, wires, func(t *testing.T, r *rig, w wire, model string, stream bool) {
		broken := runtimetest.Fault{Break: runtimetest.BreakCut}
		r.fakes["ollama"].Inject(broken)
		r.fakes["llama"].Inject(broken)
		a := r.post(t, w.path, w.body(model, "go", stream))
		problemText(t, w, a)
		if a.Status != 502 || a.Header.Get("Retry-After") == "" {
			t.Errorf("cut: status %d, headers %v", a.Status, a.Header)
		}
		r.fresh(t)
		a = r.post(t, w.path, w.body("nobody-has-it", "go", stream))
		problemText(t, w, a)
		if a.Status != 404 || a.Header.Get("X-Should-Retry") != "false" {
			t.Errorf("unknown: status %d, headers %v", a.Status, a.Header)
		}
		a = r.post(t, w.path, w.body(model, "go", stream, strings.Repeat(" ", 1<<20)))
		problemText(t, w, a)
		if a.Status != 413 {
			t.Errorf("too large: status %d", a.Status)
		}
	})
}

// W-07 again: a runtime's 429 is back-pressure. The request goes back to its
// place once; then the client is told when to come again.
func TestABusyRuntimeIs429WithRetryAfterInEveryProtocol(t *testing.T) {
	r := both.of(t)
	busy := runtimetest.Fault{Status: 429, Body: `{"error":"slow down"}`}
	r.fakes["ollama"].Inject(runtimetest.QueueFull())
	r.fakes["llama"].Inject(busy)
	var all sync.WaitGroup
	for _, model := range chatModels {
		for _, w := range wires {
			for _, stream := range []bool{false, true} {
				all.Go(func() {
					a := r.post(t, w.path, w.body(model, "go", stream))
					problemText(t, w, a)
					if a.Status != 429 || a.Header.Get("Retry-After") == "" || a.Header.Get("X-Should-Retry") != "true" {
						t.Errorf("%s %s: status %d, headers %v", model, w.name, a.Status, a.Header)
					}
				})
			}
		}
	}
	all.Wait()
}

// W-10, exo-explore/exo#2092: `"tool_calls": null` in chunks.
func TestAbsentFieldsOfADeltaAreLeftOut(t *testing.T) {
	onBoth(t, []wire{chatWire}, func(t *testing.T, r *rig, w wire, model string, _ bool) {
		for _, more := range []string{"", w.tools} {
			_, a := w.say(t, r, model, "go", true, more)
			for _, c := range a.objects(t) {
				delta, _ := c.at("choices.0.delta").(map[string]any)
				for k, v := range delta {
					if v == nil {
						t.Errorf("delta has %s: null: %s", k, c)
					}
				}
			}
		}
	})
}

// W-11, exo-explore/exo#1836, #1848: reasoning_tokens was always 0.
func TestReasoningTokensAreNeverAFalseZero(t *testing.T) {
	r := both.of(t)
	for _, stream := range []bool{false, true} {
		_, a := chatWire.say(t, r, "think:1b", "go", stream, `,"stream_options":{"include_usage":true}`)
		if strings.Contains(string(a.Body), `"reasoning_tokens":0`) {
			t.Errorf("chat: %s", a.Body)
		}
		// The Responses object must hold the field; a count is an estimate of
		// what was thought, and thinking is not nothing.
		_, a = responsesWire.say(t, r, "think:1b", "go", stream)
		if strings.Contains(string(a.Body), `"reasoning_tokens":0`) {
			t.Errorf("responses: %s", a.Body)
		}
	}
}

// W-12, BerriAI/litellm#20737: only the first two thinking deltas arrived.
func TestEveryPieceOfThinkingReachesTheClient(t *testing.T) {
	r := both.of(t)
	for _, w := range []wire{chatWire, responsesWire, messagesWire, ollamaChatWire, ollamaGenerateWire} {
		more := ""
		if w.name == "messages" {
			more = `,"thinking":{"type":"enabled","budget_tokens":1024}`
		}
		s, a := w.say(t, r, "think:1b", "go", true, more)
		if s.thinking != "First I count: 1 2 3." || s.thoughts < 5 {
			t.Errorf("%s: %d pieces say %q: %s", w.name, s.thoughts, s.thinking, a.Body)
		}
		whole, a := w.say(t, r, "think:1b", "go", false, more)
		if whole.thinking != s.thinking || whole.text != s.text {
			t.Errorf("%s: whole %+v, streamed %+v: %s", w.name, whole, s, a.Body)
		}
	}
}

// W-13, an earlier router's /api/generate answered with an empty response, as
// it used chat inside.
func TestGenerateFillsTheFieldItPromises(t *testing.T) {
	onBoth(t, []wire{ollamaGenerateWire, completionWire}, func(t *testing.T, r *rig, w wire, model string, stream bool) {
		if s, a := w.say(t, r, model, "go", stream); !strings.Contains(s.text, "answers: one two three") || !s.ended {
			t.Errorf("%+v: %s", s, a.Body)
		}
	})
}

// W-14, an earlier router's diary: 200 with empty content, all tokens spent on
// thinking.
func TestThinkingThatUsesUpTheLimitIsReported(t *testing.T) {
	r := both.of(t)
	for _, w := range []wire{chatWire, responsesWire, ollamaChatWire} {
		r.fakes["ollama"].Inject(runtimetest.Fault{ThinkOnly: true})
		limit := map[string]string{"chat": `,"max_tokens":4`, "responses": `,"max_output_tokens":4`, "ollama chat": `,"options":{"num_predict":4}`}[w.name]
		s, a := w.say(t, r, "think:1b", "go", false, limit)
		rec := r.decision(t, a.Header)
		if s.finish != "length" || s.text != "" || !slices.ContainsFunc(rec.Notes, func(n string) bool { return strings.HasPrefix(n, "thinking_used_all_output") }) {
			t.Errorf("%s: %+v, notes %q: %s", w.name, s, rec.Notes, a.Body)
		}
		r.fresh(t)
	}
	// The other half: a factor the owner may set, so that thinking leaves room.
	roomy := newRig(t, spec{
		config: "routing: {settle: 0, thinking: {overhead: 4, min_predict: 100}}",
		fakes:  map[string]runtimetest.FakeConfig{"ollama": {Models: []runtimetest.FakeModel{{Name: "think:1b", Think: true}}}},
	})
	_, a := chatWire.say(t, roomy, "think:1b", "go", false, `,"max_tokens":50`)
	sent := parse(t, lastServed(t, roomy.fakes["ollama"]).Body)
	if got := sent.num("options.num_predict"); got != 200 {
		t.Errorf("the runtime was given %v tokens, want 4 x 50; edits %q", got, roomy.decision(t, a.Header).Edits)
	}
}

// W-23, llama-swap#236, #295: nginx held the events back.
func TestStreamsTellProxiesNotToBuffer(t *testing.T) {
	onBoth(t, wires, func(t *testing.T, r *rig, w wire, model string, stream bool) {
		if !stream {
			return
		}
		_, a := w.say(t, r, model, "go", true)
		if a.Header.Get("X-Accel-Buffering") != "no" || a.Header.Get("Cache-Control") != "no-cache" || a.Header.Get("Content-Encoding") != "" {
			t.Errorf("headers %v", a.Header)
		}
		if a.Header.Get("Content-Length") != "" || a.Status != http.StatusOK {
			t.Errorf("status %d, headers %v", a.Status, a.Header)
		}
	})
}
