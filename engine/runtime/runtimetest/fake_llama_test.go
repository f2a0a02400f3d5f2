package runtimetest

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
)

func llamaFake(t testing.TB, c FakeConfig) *Fake {
	t.Helper()
	c.Kind = LlamaServer
	if c.Models == nil {
		c.Models = []FakeModel{{Name: "big", Capabilities: []string{"completion", "tools", "thinking"}}}
	}
	return start(t, c)
}

// llamaAnswer is a whole answer of llama-server's chat.
type llamaAnswer struct {
	Model   string
	Choices []struct {
		FinishReason string `json:"finish_reason"`
		Message      struct {
			Content          string
			ReasoningContent string `json:"reasoning_content"`
			ToolCalls        []struct {
				Function struct{ Name, Arguments string }
			} `json:"tool_calls"`
		}
	}
	Usage struct {
		PromptTokens        int `json:"prompt_tokens"`
		PromptTokensDetails struct {
			CachedTokens int `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
	}
	Timings struct {
		CacheN  int `json:"cache_n"`
		PromptN int `json:"prompt_n"`
	}
	Error struct{ Type string }
}

func llamaChatTo(t *testing.T, f *Fake, members string) (r llamaAnswer) {
	t.Helper()
	_, body := post(t, f, "/v1/chat/completions", `{`+members+`}`)
	if err := json.Unmarshal([]byte(body), &r); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	return r
}

func TestSingleServerTakesAnyModelName(t *testing.T) {
	f := llamaFake(t, FakeConfig{})
	for _, name := range []string{`"model":"gpt-4o",`, ``} {
		if r := llamaChatTo(t, f, name+hi); r.Model != "big" || len(r.Choices) != 1 {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

func TestEverythingIs503WhileLoading(t *testing.T) {
	f := llamaFake(t, FakeConfig{LoadBytesPerSecond: 1})
	for _, path := range []string{"/health", "/v1/models", "/props", "/nothing"} {
		if got := get(t, f, path); !strings.Contains(got, "Loading model") {
			t.Errorf("%s: %s", path, got)
		}
	}
}

func TestPromptCacheIsCounted(t *testing.T) {
	f := llamaFake(t, FakeConfig{Models: []FakeModel{{Name: "big", CharsPerToken: 1}}})
	first, again := llamaChatTo(t, f, hi), llamaChatTo(t, f, hi)
	if first.Timings.CacheN != 0 || first.Timings.PromptN != 6 {
		t.Errorf("first: %+v", first.Timings)
	}
	if again.Timings.CacheN != 5 || again.Timings.PromptN != 1 || again.Usage.PromptTokensDetails.CachedTokens != 5 {
		t.Errorf("again: %+v %+v", again.Timings, again.Usage)
	}
	_, body := post(t, f, "/v1/messages", `{"max_tokens":5,`+hi+`}`)
	if !strings.Contains(body, `"cache_read_input_tokens":5,"input_tokens":1`) {
		t.Errorf("messages: %s", body)
	}
}

func TestToolChoiceIsHonoured(t *testing.T) {
	f := llamaFake(t, FakeConfig{})
	toolNames := func(members string) (names []string) {
		for _, c := range llamaChatTo(t, f, timeTools+`,`+members).Choices[0].Message.ToolCalls {
			names = append(names, c.Function.Name)
		}
		return names
	}
	both := `"messages":[{"role":"user","content":"in parallel"}]`
	after := `"messages":[{"role":"user","content":"hi"},{"role":"tool","content":"noon","tool_call_id":"x"}]`
	for members, want := range map[string][]string{
		hi:                                  {"get_time"},
		`"tool_choice":"none",` + hi:        nil,
		after:                               nil,
		`"tool_choice":"required",` + after: {"get_time"},
		`"tool_choice":{"type":"function","function":{"name":"get_weather"}},` + hi: {"get_weather"},
		both:                                  {"get_time", "get_weather"},
		`"parallel_tool_calls":false,` + both: {"get_time"},
	} {
		if got := toolNames(members); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", members, got, want)
		}
	}
}

func TestStreamedCallComesInPieces(t *testing.T) {
	f := llamaFake(t, FakeConfig{})
	_, body := post(t, f, "/v1/chat/completions", `{"stream":true,`+timeTools+`,`+hi+`}`)
	var name, args strings.Builder
	for line := range strings.Lines(body) {
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok || strings.HasPrefix(data, "[DONE]") {
			continue
		}
		var chunk struct {
			Choices []struct {
				Delta struct {
					ToolCalls []struct {
						Function struct{ Name, Arguments string }
					} `json:"tool_calls"`
				}
			}
		}
		if err := json.Unmarshal([]byte(data), &chunk); err != nil {
			t.Fatal(err)
		}
		for _, c := range chunk.Choices[0].Delta.ToolCalls {
			name.WriteString(c.Function.Name)
			args.WriteString(c.Function.Arguments)
		}
	}
	if name.String() != "get_time" || args.String() != `{"zone":"UTC"}` || !strings.Contains(body, `"finish_reason":"tool_calls"`) {
		t.Errorf("%s(%s): %s", name.String(), args.String(), body)
	}
}

func TestReasoningIsApartAndCanBeSwitchedOff(t *testing.T) {
	f := llamaFake(t, FakeConfig{})
	if r := llamaChatTo(t, f, hi); r.Choices[0].Message.ReasoningContent == "" {
		t.Errorf("%+v", r)
	}
	if r := llamaChatTo(t, f, `"chat_template_kwargs":{"enable_thinking":false},`+hi); r.Choices[0].Message.ReasoningContent != "" {
		t.Errorf("%+v", r)
	}
}

func TestJSONSchemaIsHonoured(t *testing.T) {
	f := llamaFake(t, FakeConfig{})
	r := llamaChatTo(t, f, `"response_format":{"type":"json_schema","json_schema":{"name":"x","schema":{"type":"object","properties":{"n":{"type":"integer"}}}}},`+hi)
	if got := r.Choices[0].Message.Content; got != `{"n":1}` {
		t.Errorf("%s", got)
	}
}

func TestRefusalsOfLlamaServer(t *testing.T) {
	f := llamaFake(t, FakeConfig{Context: 100, NoMetrics: true, NoSlots: true})
	long := `{"messages":[{"role":"user","content":"` + strings.Repeat("x", 900) + `"}]}`
	for _, c := range []struct {
		path, body string
		status     int
		has        string
	}{
		{"/v1/chat/completions", long, 400, `"type":"exceed_context_size_error","n_prompt_tokens":229,"n_ctx":100`},
		{"/v1/messages", `{}`, 400, "'messages' is required"},
		{"/v1/responses", `{"input":"x","previous_response_id":"resp_1"}`, 400, "previous_response_id"},
		{"/v1/chat/completions", `{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:,"}}]}]}`, 500, "image input is not supported"},
		{"/api/chat", `{}`, 404, "File Not Found"},
	} {
		if status, body := post(t, f, c.path, c.body); status != c.status || !strings.Contains(body, c.has) {
			t.Errorf("%s: %d %s", c.path, status, body)
		}
	}
	for _, path := range []string{"/metrics", "/slots"} {
		if got := get(t, f, path); !strings.Contains(got, "not_supported_error") {
			t.Errorf("%s: %s", path, got)
		}
	}
}

// As recorded in 30-three-on-one-slot, 31-slots-busy and 32-metrics-busy.
func TestBusySlotsLookAsRecorded(t *testing.T) {
	f := llamaFake(t, FakeConfig{Models: []FakeModel{{Name: "big"}}})
	f.Inject(Fault{Times: 1, Break: BreakHold, After: 3})
	body := `{"stream":true,"max_tokens":40,` + hi + `}`
	calls := []*call{send(t, f, "/v1/chat/completions", body)}
	await(t, f, "one runs", func() bool { return seen(f, 0).Held })
	for i := range 2 {
		calls = append(calls, send(t, f, "/v1/chat/completions", body))
		await(t, f, "it waits", func() bool { return f.Waiting("big") == i+1 })
	}
	for _, x := range Recorded(LlamaServer) {
		if x.Name == "31-slots-busy" || x.Name == "32-metrics-busy" {
			got := exchange(t, f, x)
			if g, w := bodyShape(got), bodyShape(x); g != w {
				t.Errorf("%s\n%s\nwant\n%s", x.Name, g, w)
			}
		}
	}
	if got := get(t, f, "/metrics"); !strings.Contains(got, "requests_processing 1\n") || !strings.Contains(got, "requests_deferred 2\n") {
		t.Errorf("%s", got)
	}
	f.Release()
	for _, c := range calls {
		if c.wait(t).status != 200 {
			t.Errorf("%d", c.status)
		}
	}
}

func TestRouterLoadsOneAtATime(t *testing.T) {
	f := llamaFake(t, FakeConfig{Router: true, Models: models("a", "b")})
	status := func(name string) string {
		var list struct {
			Data []struct {
				ID     string
				Status struct{ Value string }
			}
		}
		if err := json.Unmarshal([]byte(get(t, f, "/models")), &list); err != nil {
			t.Fatal(err)
		}
		for _, m := range list.Data {
			if m.ID == name {
				return m.Status.Value
			}
		}
		return "missing"
	}
	if status("a") != "unloaded" {
		t.Error("a is loaded at start")
	}
	post(t, f, "/v1/chat/completions", `{"model":"a",`+hi+`}`)
	if status("a") != "loaded" {
		t.Error("a is not loaded on first use")
	}
	if code, body := post(t, f, "/models/load", `{"model":"b"}`); code != 200 || body != `{"success":true}` {
		t.Errorf("load: %d %s", code, body)
	}
	if status("a") != "unloaded" || status("b") != "loaded" {
		t.Errorf("a %s, b %s", status("a"), status("b"))
	}
	if code, _ := post(t, f, "/models/load", `{"model":"b"}`); code != 400 {
		t.Errorf("loading it again: %d", code)
	}
	if code, _ := post(t, f, "/models/unload", `{"model":"b"}`); code != 200 || status("b") != "unloaded" {
		t.Errorf("unload: %d, %s", code, status("b"))
	}
	if code, _ := post(t, f, "/models/unload", `{"model":"b"}`); code != 400 {
		t.Errorf("unloading it again: %d", code)
	}
	if code, body := post(t, f, "/v1/chat/completions", `{"model":"nope",`+hi+`}`); code != 400 || !strings.Contains(body, "model 'nope' not found") {
		t.Errorf("unknown: %d %s", code, body)
	}
	if got := get(t, f, "/props?model=a"); !strings.Contains(got, `"model_alias":"a"`) {
		t.Errorf("props of a child: %s", got)
	}
}

func TestRouterTellsALoadUnderWay(t *testing.T) {
	f := llamaFake(t, FakeConfig{Router: true, Models: models("a"), LoadBytesPerSecond: 1})
	post(t, f, "/models/load", `{"model":"a"}`)
	if got := get(t, f, "/models"); !strings.Contains(got, `"value":"loading"`) {
		t.Errorf("%s", got)
	}
}

func TestLlamaServerReflectsAnyOrigin(t *testing.T) {
	f := llamaFake(t, FakeConfig{})
	req, _ := http.NewRequest(http.MethodGet, f.URL()+"/v1/models", nil)
	req.Header.Set("Origin", "http://evil.example")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if got := resp.Header.Get("Access-Control-Allow-Origin"); resp.StatusCode != 200 || got != "http://evil.example" {
		t.Errorf("%d %q", resp.StatusCode, got)
	}
}

func TestDeathOfTheOnlyRunnerIsTheDeathOfTheServer(t *testing.T) {
	f := llamaFake(t, FakeConfig{})
	f.Inject(Fault{Break: BreakRunner, After: 2, Times: 1})
	if c := send(t, f, "/v1/chat/completions", `{"stream":true,`+hi+`}`).wait(t); c.err == nil {
		t.Errorf("clean end: %s", c.body)
	}
}
