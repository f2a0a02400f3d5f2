package engine

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"bellwether/engine/runtime/runtimetest"
)

// W-08, ollama/ollama#15424, #17593: new Codex requests lost parts or were
// refused without a word on which.
func TestResponsesTakesRoleShorthandAndNestedTools(t *testing.T) {
	r := both.of(t)
	for _, m := range chatModels {
		a := r.post(t, "/v1/responses", `{"model":"`+m+`","input":[{"role":"developer","content":"be brief"},{"role":"user","content":[{"type":"input_text","text":"call without arguments"}]},{"type":"some_future_item","x":1}],
			"tools":[{"type":"namespace","name":"weather","tools":[{"type":"function","name":"get_weather","parameters":`+weatherSchema+`}]},{"type":"web_search","external_web_access":true}]}`)
		a.ok(t)
		sent := parse(t, lastServed(t, r.fakes[runtimeOf(m)]).Body)
		if got := sent.str("messages.0.role") + " " + sent.str("messages.1.role"); got != "system user" {
			t.Errorf("%s: roles %q in %s", m, got, sent)
		}
		if name := sent.str("tools.0.function.name"); !strings.Contains(name, "get_weather") || sent.len("tools") != 1 {
			t.Errorf("%s: tools %s", m, tree{sent.at("tools")})
		}
		if rec := r.decision(t, a.Header); !slices.ContainsFunc(rec.Edits, func(e string) bool { return strings.Contains(e, "web_search") }) ||
			!slices.ContainsFunc(rec.Edits, func(e string) bool { return strings.Contains(e, "some_future_item") }) {
			t.Errorf("%s: what was left out is not recorded: %q", m, rec.Edits)
		}
		bad := r.post(t, "/v1/responses", `{"model":"`+m+`","input":[{"role":"user","content":"x"},{"role":"user","content":7}]}`)
		if bad.Status != 400 || !strings.Contains(bad.json(t).str("error.param"), "input[1].content") {
			t.Errorf("%s: a wrong field is answered by %d %s", m, bad.Status, bad.Body)
		}
	}
}

func runtimeOf(model string) string {
	if model == "gguf-1b" {
		return "llama"
	}
	return "ollama"
}

// W-09, ollama/ollama#13434, #12988: function_call items were not merged into
// the assistant's turn, and call ids got lost.
func TestCallIDsAndOrderSurviveTheRoundTrip(t *testing.T) {
	r := both.of(t)
	turns := map[string]string{
		"/v1/responses": `"input":[{"role":"user","content":"go"},
			{"type":"message","role":"assistant","content":[{"type":"output_text","text":"I look."}]},
			{"type":"function_call","call_id":"call_A","name":"get_weather","arguments":"{\"city\":\"Ulm\"}"},
			{"type":"function_call","call_id":"call_B","name":"get_weather","arguments":"{\"city\":\"Bonn\"}"},
			{"type":"function_call_output","call_id":"call_A","output":"sun"},
			{"type":"function_call_output","call_id":"call_B","output":"rain"}]` + responsesWire.tools,
		"/v1/chat/completions": `"messages":[{"role":"user","content":"go"},
			{"role":"assistant","content":"I look.","tool_calls":[
				{"id":"call_A","type":"function","function":{"name":"get_weather","arguments":"{\"city\":\"Ulm\"}"}},
				{"id":"call_B","type":"function","function":{"name":"get_weather","arguments":"{\"city\":\"Bonn\"}"}}]},
			{"role":"tool","tool_call_id":"call_A","content":"sun"},{"role":"tool","tool_call_id":"call_B","content":"rain"}]` + chatWire.tools,
		"/v1/messages": `"max_tokens":99,"messages":[{"role":"user","content":"go"},
			{"role":"assistant","content":[{"type":"text","text":"I look."},
				{"type":"tool_use","id":"call_A","name":"get_weather","input":{"city":"Ulm"}},
				{"type":"tool_use","id":"call_B","name":"get_weather","input":{"city":"Bonn"}}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"call_A","content":"sun"},{"type":"tool_result","tool_use_id":"call_B","content":"rain"}]}]` + messagesWire.tools,
	}
	for path, members := range turns {
		for _, m := range chatModels {
			r.post(t, path, `{"model":"`+m+`",`+members+`}`).ok(t)
			sent := parse(t, lastServed(t, r.fakes[runtimeOf(m)]).Body)
			if sent.len("messages") != 4 || sent.len("messages.1.tool_calls") != 2 || sent.str("messages.1.content") != "I look." {
				t.Fatalf("%s %s: the calls are not in the assistant's turn: %s", path, m, sent)
			}
			for i, id := range []string{"call_A", "call_B"} {
				if got := sent.str(fmt.Sprintf("messages.1.tool_calls.%d.id", i)); got != id {
					t.Errorf("%s %s: call %d has the id %q", path, m, i, got)
				}
				result := fmt.Sprintf("messages.%d.", 2+i)
				if sent.str(result+"role") != "tool" || sent.str(result+"tool_call_id") != id || sent.str(result+"content") != []string{"sun", "rain"}[i] {
					t.Errorf("%s %s: result %d is %s", path, m, i, tree{sent.at(result[:len(result)-1])})
				}
			}
		}
	}
}

// W-15, BerriAI/litellm#42426, lmstudio-bug-tracker#756, openclaw#45986:
// official SDKs ask for base64, and a gateway that answers with floats gives
// them vectors of a quarter of the length.
func TestEmbeddingsComeInTheEncodingThatWasAsked(t *testing.T) {
	r := both.of(t)
	floats := r.post(t, "/v1/embeddings", `{"model":"embed:1b","input":["a","b"]}`).ok(t)
	packed := r.post(t, "/v1/embeddings", `{"model":"embed:1b","input":["a","b"],"encoding_format":"base64"}`).ok(t)
	for i := range 2 {
		want, _ := floats.at(fmt.Sprintf("data.%d.embedding", i)).([]any)
		raw, err := base64.StdEncoding.DecodeString(packed.str(fmt.Sprintf("data.%d.embedding", i)))
		if err != nil || len(want) != 64 || len(raw) != 4*len(want) {
			t.Fatalf("%d floats, %d packed bytes, %v", len(want), len(raw), err)
		}
		for j := range want {
			if got := math.Float32frombits(binary.LittleEndian.Uint32(raw[4*j:])); got != float32(want[j].(float64)) {
				t.Fatalf("vector %d, number %d: %v packed, %v plain", i, j, got, want[j])
			}
		}
	}
	if a := r.post(t, "/v1/embeddings", `{"model":"embed:1b","input":"a","encoding_format":"int8"}`); a.Status != 400 || a.json(t).str("error.param") != "encoding_format" {
		t.Errorf("an unknown encoding is answered by %d %s", a.Status, a.Body)
	}
}

// W-16, BerriAI/litellm#11483, ollama/ollama#2343: keep_alive lost, or in
// another unit.
func TestKeepAliveReachesTheRuntimeUntouched(t *testing.T) {
	r := both.of(t)
	for _, keep := range []string{`-1`, `"-1s"`, `"10m"`, `300`, `0.5`, `"0"`} {
		for _, w := range []wire{ollamaChatWire, ollamaGenerateWire} {
			w.say(t, r, "plain", "go", false, `,"keep_alive":`+keep)
			body := string(lastServed(t, r.fakes["ollama"]).Body)
			if !strings.Contains(body, `"keep_alive":`+keep) {
				t.Errorf("%s: keep_alive %s became %s", w.name, keep, body)
			}
		}
	}
	if a := r.post(t, "/api/chat", `{"model":"plain","stream":false,"messages":[{"role":"user","content":"x"}],"keep_alive":"-1"}`); a.Status != 400 {
		t.Errorf(`keep_alive "-1" is no Go duration, as Ollama says; the answer is %d %s`, a.Status, a.Body)
	}
	r.post(t, "/api/generate", `{"model":"plain","keep_alive":0}`).ok(t)
	if slices.Contains(r.fakes["ollama"].Loaded(), "plain:latest") {
		t.Error("keep_alive 0 without a prompt unloads; the model is still loaded")
	}
}

// W-17, ollama/ollama#4967, #3839, #17889, #18107: a long prompt was cut
// silently, and the user's turn with it.
func TestAPromptThatDoesNotFitIsRefusedWithReasonAndRemedy(t *testing.T) {
	r := both.of(t)
	long := strings.Repeat("a long story without end ", 38_000) // ~240k tokens; models have 32k
	for _, m := range chatModels {
		for _, w := range wires {
			a := r.post(t, w.path, w.body(m, long, true))
			if msg := problemText(t, w, a); a.Status != 400 || !strings.Contains(msg, "token") {
				t.Errorf("%s %s: status %d, %q", m, w.name, a.Status, msg)
			}
			switch b := a.json(t); w.name {
			case "chat", "completions", "responses":
				if b.str("error.code") != "context_length_exceeded" {
					t.Errorf("%s: code %q", w.name, b.str("error.code"))
				}
			case "messages": // Claude Code compacts by this wording
				if !strings.HasPrefix(b.str("error.message"), "prompt is too long: ") {
					t.Errorf("%s: %q", w.name, b.str("error.message"))
				}
			}
		}
		if n := len(served(r.fakes[runtimeOf(m)])); n != 0 {
			t.Errorf("%s: the runtime was asked %d times", m, n)
		}
	}
	// What fits a larger context than the one loaded is given that context: the
	// OpenAI endpoints of Ollama cannot ask for it.
	// An engine of its own: estimates follow what other prompts have shown.
	fits := strings.Repeat("a long story without end ", 1500) // ~9k tokens, loaded with 4k
	r = newRig(t, spec{config: quick, fakes: map[string]runtimetest.FakeConfig{"ollama": {Models: []runtimetest.FakeModel{{Name: "chat:1b"}}}}})
	chatWire.say(t, r, "chat:1b", "load", false)
	_, a := chatWire.say(t, r, "chat:1b", fits, false, `,"max_tokens":5`)
	sent := parse(t, lastServed(t, r.fakes["ollama"]).Body)
	if got := sent.num("options.num_ctx"); got < 9000 {
		t.Errorf("num_ctx %v was sent with 9k tokens of prompt; estimated %+v, edits %q", got, r.decision(t, a.Header).Requirements.Tokens, r.decision(t, a.Header).Edits)
	}
}

// W-18, an earlier router's #20 (ollama/ollama#9749, #11711, #13461): a
// harmless-looking num_ctx makes Ollama load the model again.
func TestANumCtxNoLargerThanLoadedNeverReloads(t *testing.T) {
	r := both.of(t)
	f := r.fakes["ollama"]
	ollamaChatWire.say(t, r, "author/nested-name:q4", "warm up", false)
	loads := f.Loads("author/nested-name:q4")
	_, a := ollamaChatWire.say(t, r, "author/nested-name:q4", "go", false, `,"options":{"num_ctx":2048,"seed":7}`)
	sent := parse(t, lastServed(t, f).Body)
	if sent.has("options.num_ctx") && sent.num("options.num_ctx") != 4096 || sent.num("options.seed") != 7 || f.Loads("author/nested-name:q4") != loads {
		t.Errorf("sent %s; %d loads, before %d", sent, f.Loads("author/nested-name:q4"), loads)
	}
	if rec := r.decision(t, a.Header); !slices.ContainsFunc(rec.Edits, func(e string) bool { return strings.Contains(e, "num_ctx") }) {
		t.Errorf("the record does not say so: %q", rec.Edits)
	}
}

// W-19, an earlier router's #19: `m` and `m:latest` were two models.
func TestANameAndItsLatestTagAreOneModel(t *testing.T) {
	r := both.of(t)
	for _, spelled := range []string{"plain", "plain:latest", "PLAIN"} {
		for _, w := range wires {
			_, a := w.say(t, r, spelled, "go", false)
			if got := modelOf(a.json(t)); got != spelled {
				t.Errorf("%s: asked for %q, answered as %q", w.name, spelled, got)
			}
			if rec := r.decision(t, a.Header); !strings.HasSuffix(rec.Chosen, "/ollama/plain:latest") {
				t.Errorf("%q is the deployment %s", spelled, rec.Chosen)
			}
		}
	}
	if n := strings.Count(string(r.get(t, "/api/tags").Body), `"name":"plain`); n != 1 {
		t.Errorf("the model is listed %d times", n)
	}
}

func modelOf(a tree) string { return a.str("model") }

// W-20, llama-swap#229, #298, #431: ids with slashes broke path parsing.
func TestModelIDsWithSlashesAndColonsWorkInPaths(t *testing.T) {
	r := both.of(t)
	for _, path := range []string{"/v1/models/author/nested-name:q4", "/v1/models/author%2Fnested-name%3Aq4", "/v1/v1/models/author/nested-name:q4", "/v1//models/author/nested-name:q4"} {
		if a := r.get(t, path); a.Status != 200 || a.json(t).str("id") != "author/nested-name:q4" {
			t.Errorf("%s: %d %s", path, a.Status, a.Body)
		}
	}
	if a := r.get(t, "/v1/models/author/none"); a.Status != 404 {
		t.Errorf("an unknown one is %d", a.Status)
	}
}

// W-21, ollama/ollama#16443, mnfst/llm-gateway#2053, theopenco/llmgateway#2334:
// comment lines were read as JSON, or passed on as data.
func TestCommentsOfARuntimeAreIgnored(t *testing.T) {
	r := both.of(t)
	r.fakes["llama"].Inject(runtimetest.Fault{Comments: true, CRLF: true, NoSpace: true})
	for _, w := range wires {
		s, a := w.say(t, r, "gguf-1b", "go", true)
		if !s.ended || !strings.HasSuffix(s.text, "nine ten.") || slices.ContainsFunc(sse(string(a.Body)), func(r record) bool { return r.comment != "" && strings.HasPrefix(w.path, "/v1") }) {
			t.Errorf("%s: %+v: %s", w.name, s, a.Body)
		}
	}
}

// W-24, musistudio/claude-code-router#1672, danielmiessler/Fabric#2203,
// ggml-org/llama.cpp#28926: replacement characters where a chunk ended inside
// a rune.
func TestRunesCutByTheNetworkArriveWhole(t *testing.T) {
	onBoth(t, wires, func(t *testing.T, r *rig, w wire, model string, stream bool) {
		r.fakes[runtimeOf(model)].Inject(runtimetest.Fault{SplitUTF8: true})
		defer r.fakes[runtimeOf(model)].Heal()
		if s, a := w.say(t, r, model, "say it in cjk", stream); s.text != cjk || !utf8.Valid(a.Body) {
			t.Errorf("%q, want %q", s.text, cjk)
		}
	})
}

// W-27, thushan/olla#154: a strict decoder refused newer clients.
func TestUnknownFieldsAreIgnoredAndPassedOnToTheirOwnRuntime(t *testing.T) {
	onBoth(t, wires, func(t *testing.T, r *rig, w wire, model string, stream bool) {
		w.say(t, r, model, "go", stream, `,"field_of_tomorrow":{"a":[1,2,3]}`)
		sent := string(lastServed(t, r.fakes[runtimeOf(model)]).Body)
		if native := strings.HasPrefix(w.path, "/api/") && runtimeOf(model) == "ollama"; native && !strings.Contains(sent, `"field_of_tomorrow":{"a":[1,2,3]}`) {
			t.Errorf("passing through lost it: %s", sent)
		}
	})
}

// W-29, exo-explore/exo#2091: VS Code refused a server without Ollama's
// metadata. P-31: what the fleet has and what this machine has are told apart.
func TestTheWholeMetadataSurfaceOfOllamaIsThere(t *testing.T) {
	r := both.of(t)
	for _, path := range []string{"/", "/api/version", "/api/tags"} {
		if a := ask(t, r.client, http.MethodHead, r.base+path, ""); a.Status != 200 || len(a.Body) != 0 {
			t.Errorf("HEAD %s: %d, %d bytes", path, a.Status, len(a.Body))
		}
	}
	if a := r.get(t, "/"); string(a.Body) != "Ollama is running" {
		t.Errorf("GET /: %s", a.Body)
	}
	if v := r.get(t, "/api/version").ok(t).str("version"); v < "0.33" {
		t.Errorf("version %q: clients gate features on it", v)
	}
	tags := r.get(t, "/api/tags", "X-Fleet-Local", "1").ok(t)
	names := []string{}
	for i := range tags.len("models") {
		m := tree{tags.at(fmt.Sprintf("models.%d", i))}
		names = append(names, m.str("name"))
		for _, key := range []string{"name", "model", "modified_at", "size", "digest", "details.format", "details.family", "details.families", "details.parameter_size", "details.quantization_level", "details.parent_model"} {
			if !m.has(key) || m.at(key) == nil {
				t.Errorf("%s has no %s", m.str("name"), key)
			}
		}
		if m.len("fleet_nodes") != 1 || m.str("fleet_nodes.0") != "studio" {
			t.Errorf("%s is said to be on %v", m.str("name"), m.at("fleet_nodes"))
		}
		show := r.post(t, "/api/show", `{"name":"`+m.str("name")+`"}`).ok(t)
		for _, key := range []string{"details", "model_info", "capabilities", "template", "parameters", "modified_at"} {
			if key != "parameters" && (!show.has(key) || show.at(key) == nil) {
				t.Errorf("show of %s has no %s: %s", m.str("name"), key, show)
			}
		}
		arch, _ := show.at("model_info").(map[string]any)["general.architecture"].(string)
		if n, ok := show.at("model_info").(map[string]any)[arch+".context_length"].(float64); !ok || n <= 0 {
			t.Errorf("show of %s tells no context length under %q", m.str("name"), arch)
		}
	}
	slices.Sort(names)
	if got := strings.Join(names, " "); got != "author/nested-name:q4 auto auto:balanced auto:fast auto:quality chat:1b claude-haiku claude-opus claude-sonnet embed:1b gguf-1b plain:latest think:1b" {
		t.Errorf("listed: %s", got)
	}
	chatWire.say(t, r, "plain", "load", false)
	r.await(t, "the loaded model to be listed", func() bool {
		ps := r.get(t, "/api/ps").ok(t)
		for i := range ps.len("models") {
			if m := (tree{ps.at(fmt.Sprintf("models.%d", i))}); m.str("name") == "plain:latest" {
				return m.has("expires_at") && m.num("size") > 0 && m.num("context_length") > 0
			}
		}
		return false
	})
}
