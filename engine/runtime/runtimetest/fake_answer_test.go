package runtimetest

import (
	"encoding/json"
	"strings"
	"testing"
)

// nativeReply is a whole answer of /api/chat.
type nativeReply struct {
	Message struct {
		Content, Thinking string
		ToolCalls         []struct {
			ID       string
			Function struct {
				Index     int
				Name      string
				Arguments map[string]any
			}
		} `json:"tool_calls"`
	}
	DoneReason      string `json:"done_reason"`
	EvalCount       int    `json:"eval_count"`
	PromptEvalCount int    `json:"prompt_eval_count"`
	Error           string
}

func ask1(t *testing.T, f *Fake, members string) (r nativeReply) {
	t.Helper()
	_, body := post(t, f, "/api/chat", `{"stream":false,`+members+`}`)
	if err := json.Unmarshal([]byte(body), &r); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	return r
}

const (
	hi        = `"messages":[{"role":"user","content":"hi"}]`
	timeTools = `"tools":[{"type":"function","function":{"name":"get_time","parameters":{"type":"object","properties":{"zone":{"type":"string"}},"required":["zone"]}}},{"type":"function","function":{"name":"get_weather","parameters":{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer","minimum":2}}}}}]`
)

func TestDefaultAnswerNamesItsModel(t *testing.T) {
	f := start(t, FakeConfig{Models: models("tiny")})
	r := ask1(t, f, `"model":"tiny",`+hi)
	if r.Message.Content != "tiny answers: one two three four five six seven eight nine ten." || r.DoneReason != "stop" || r.EvalCount != 13 {
		t.Errorf("%+v", r)
	}
}

func TestAnswerLengthFollowsThePromptAndTheLimit(t *testing.T) {
	f := start(t, FakeConfig{Models: []FakeModel{{Name: "tiny"}, {Name: "loop", Tokens: -1}}})
	if r := ask1(t, f, `"model":"tiny","messages":[{"role":"user","content":"say 40 words please"}]`); r.EvalCount != 43 {
		t.Errorf("40 words: %+v", r)
	}
	if r := ask1(t, f, `"model":"tiny","options":{"num_predict":3},`+hi); r.Message.Content != "tiny answers: one" || r.DoneReason != "length" || r.EvalCount != 3 {
		t.Errorf("num_predict 3: %+v", r)
	}
	r := ask1(t, f, `"model":"loop","options":{"num_predict":30},`+hi)
	if !strings.HasSuffix(r.Message.Content, " 17 18") || r.DoneReason != "length" || r.EvalCount != 30 {
		t.Errorf("endless: %+v", r)
	}
}

func TestStopWordEndsTheText(t *testing.T) {
	f := start(t, FakeConfig{Models: models("tiny")})
	if r := ask1(t, f, `"model":"tiny","options":{"stop":["thr","five"]},`+hi); r.Message.Content != "tiny answers: one two " || r.DoneReason != "stop" {
		t.Errorf("%+v", r)
	}
}

func TestSameSeedSaysTheSame(t *testing.T) {
	f := start(t, FakeConfig{Models: models("tiny")})
	a, b := ask1(t, f, `"model":"tiny","options":{"seed":3},`+hi), ask1(t, f, `"model":"tiny","options":{"seed":3},`+hi)
	c := ask1(t, f, `"model":"tiny","options":{"seed":4},`+hi)
	if a.Message.Content != b.Message.Content || a.Message.Content == c.Message.Content {
		t.Errorf("%q %q %q", a.Message.Content, b.Message.Content, c.Message.Content)
	}
}

func TestToolsAreCalledUntilTheirResultIsThere(t *testing.T) {
	f := start(t, FakeConfig{Models: []FakeModel{{Name: "tiny", Capabilities: []string{"completion", "tools"}}}})
	r := ask1(t, f, `"model":"tiny",`+timeTools+`,`+hi)
	if len(r.Message.ToolCalls) != 1 || r.Message.ToolCalls[0].Function.Name != "get_time" || r.Message.ToolCalls[0].Function.Arguments["zone"] != "UTC" || r.DoneReason != "stop" {
		t.Errorf("one: %+v", r)
	}
	r = ask1(t, f, `"model":"tiny",`+timeTools+`,"messages":[{"role":"user","content":"both in parallel"}]`)
	if len(r.Message.ToolCalls) != 2 || r.Message.ToolCalls[1].Function.Index != 1 || r.Message.ToolCalls[1].Function.Arguments["days"] != 2.0 {
		t.Errorf("parallel: %+v", r)
	}
	r = ask1(t, f, `"model":"tiny",`+timeTools+`,"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"","tool_calls":[]},{"role":"tool","content":"noon"}]`)
	if len(r.Message.ToolCalls) != 0 || r.Message.Content == "" {
		t.Errorf("after the result: %+v", r)
	}
}

func TestThinkingFollowsTheRequest(t *testing.T) {
	f := start(t, FakeConfig{Models: []FakeModel{{Name: "t", Think: true}, {Name: "plain"}}})
	if r := ask1(t, f, `"model":"t",`+hi); r.Message.Thinking == "" {
		t.Error("unset on a thinking model is on")
	}
	if r := ask1(t, f, `"model":"t","think":false,`+hi); r.Message.Thinking != "" {
		t.Error("thinks though told not to")
	}
	if r := ask1(t, f, `"model":"plain","think":"high",`+hi); r.Error != `"plain" does not support thinking` {
		t.Errorf("%+v", r)
	}
	if status, body := post(t, f, "/v1/messages", `{"model":"plain","max_tokens":9,"thinking":{"type":"adaptive"},`+hi+`}`); status != 200 {
		t.Errorf("messages are relaxed: %d %s", status, body)
	}
	if status, _ := post(t, f, "/v1/chat/completions", `{"model":"plain","reasoning_effort":"low",`+hi+`}`); status != 400 {
		t.Errorf("chat is not: %d", status)
	}
}

func TestSchemaIsFollowed(t *testing.T) {
	f := start(t, FakeConfig{Models: models("tiny")})
	r := ask1(t, f, `"model":"tiny","format":{"type":"object","properties":{"name":{"type":"string"},"tags":{"type":"array","minItems":2,"items":{"enum":["a","b"]}},"at":{"$ref":"#/$defs/place"}},"required":["tags","at"],"$defs":{"place":{"anyOf":[{"type":"object","properties":{"lat":{"type":"number"}}},{"type":"null"}]}}},`+hi)
	if r.Message.Content != `{"tags":["a","a"],"at":{"lat":1}}` {
		t.Errorf("%s", r.Message.Content)
	}
	r = ask1(t, f, `"model":"tiny","format":"json",`+hi)
	if !json.Valid([]byte(r.Message.Content)) {
		t.Errorf("%s", r.Message.Content)
	}
}

func TestImagesAreCounted(t *testing.T) {
	f := start(t, FakeConfig{Models: []FakeModel{{Name: "v", Capabilities: []string{"completion", "vision"}}, {Name: "plain"}}})
	if r := ask1(t, f, `"model":"v","messages":[{"role":"user","content":"what?","images":["aGk=","aGk="]}]`); r.Message.Content != "v sees 2 images." {
		t.Errorf("%+v", r)
	}
	parts := `"messages":[{"role":"user","content":[{"type":"text","text":"what?"},{"type":"image_url","image_url":{"url":"data:image/png;base64,aGk="}}]}]`
	if _, body := post(t, f, "/v1/chat/completions", `{"model":"v",`+parts+`}`); !strings.Contains(body, "v sees 1 image.") {
		t.Errorf("%s", body)
	}
}

func TestScriptAndReplyAnswerFirst(t *testing.T) {
	var asked Question
	f := start(t, FakeConfig{Models: []FakeModel{{Name: "tiny",
		Script: []Answer{{Match: "once", Text: "first", Times: 1}, {Match: "once", Text: "then", Calls: []Call{{Name: "f", Arguments: `{"a":1}`}}}},
		Reply: func(q Question) *Answer {
			asked = q
			if q.Last == "nothing" {
				return nil
			}
			return &Answer{Text: "re: " + q.Last}
		}}}})
	say := func(s string) nativeReply {
		return ask1(t, f, `"model":"tiny","messages":[{"role":"system","content":"s"},{"role":"user","content":"`+s+`"}]`)
	}
	if got := say("at once").Message.Content; got != "first" {
		t.Errorf("%q", got)
	}
	if r := say("at once"); r.Message.Content != "then" || len(r.Message.ToolCalls) != 1 {
		t.Errorf("%+v", r)
	}
	if got := say(`a\nb`).Message.Content; got != "re: a\nb" {
		t.Errorf("%q", got)
	}
	if asked.Messages != 2 || asked.LastRole != "user" || asked.Path != "/api/chat" || len(asked.Body) == 0 {
		t.Errorf("%+v", asked)
	}
	if got := say("nothing").Message.Content; !strings.HasPrefix(got, "tiny answers") {
		t.Errorf("%q", got)
	}
}

func TestTooLongPromptIsCutSilently(t *testing.T) {
	f := start(t, FakeConfig{Models: []FakeModel{{Name: "tiny", CharsPerToken: 1}}, Context: 2048})
	r := ask1(t, f, `"model":"tiny","messages":[{"role":"user","content":"`+strings.Repeat("x", 9000)+`"}]`)
	if r.PromptEvalCount != 1027 || r.Message.Content == "" {
		t.Errorf("%+v", r)
	}
}

func TestSuffixNeedsACapability(t *testing.T) {
	f := start(t, FakeConfig{Models: []FakeModel{{Name: "fim", Capabilities: []string{"completion", "insert"}}, {Name: "plain"}}})
	if _, body := post(t, f, "/api/generate", `{"model":"fim","prompt":"a","suffix":"c","stream":false}`); !strings.Contains(body, "fills the middle") {
		t.Errorf("%s", body)
	}
	if status, body := post(t, f, "/api/generate", `{"model":"plain","prompt":"a","suffix":"c"}`); status != 400 || !strings.Contains(body, "does not support insert") {
		t.Errorf("%d %s", status, body)
	}
}

func TestEmbeddingsAreStableAndOfUnitLength(t *testing.T) {
	f := start(t, FakeConfig{Models: []FakeModel{{Name: "e", Capabilities: []string{"embedding"}, EmbeddingWidth: 64}}})
	var r struct{ Embeddings [][]float64 }
	_, body := post(t, f, "/api/embed", `{"model":"e","input":["a","b","a"]}`)
	if err := json.Unmarshal([]byte(body), &r); err != nil || len(r.Embeddings) != 3 {
		t.Fatalf("%v %s", err, body)
	}
	sum := 0.0
	for _, x := range r.Embeddings[0] {
		sum += x * x
	}
	if len(r.Embeddings[0]) != 64 || sum < 0.999 || sum > 1.001 {
		t.Errorf("%d numbers, square %f", len(r.Embeddings[0]), sum)
	}
	if r.Embeddings[0][0] != r.Embeddings[2][0] || r.Embeddings[0][0] == r.Embeddings[1][0] {
		t.Error("not a function of the input")
	}
	if _, body := post(t, f, "/v1/embeddings", `{"model":"e","input":"a","encoding_format":"base64"}`); !strings.Contains(body, `"embedding":"`) {
		t.Errorf("base64: %s", body)
	}
	if status, body := post(t, f, "/v1/embeddings", `{"model":"e","input":[1,2,3]}`); status != 400 || !strings.Contains(body, "invalid input type") {
		t.Errorf("token ids: %d %s", status, body)
	}
	if _, body := post(t, f, "/api/embed", `{"model":"e","input":[]}`); !strings.Contains(body, `"embeddings":[]`) {
		t.Errorf("empty: %s", body)
	}
}

func TestWrongTypesAreRefusedInTheDecodersWords(t *testing.T) {
	f := start(t, FakeConfig{Models: models("tiny")})
	for message, want := range map[string]string{
		`{"role":"user","content":[{"type":"text","text":"hi"}]}`:                                     "json: cannot unmarshal array into Go struct field ChatRequest.messages.content of type string",
		`{"role":"user","content":"hi","images":["data:image/png;base64,aGk="]}`:                      "illegal base64 data at input byte 4",
		`{"role":"assistant","content":"","tool_calls":[{"function":{"name":"f","arguments":"{}"}}]}`: "json: cannot unmarshal string into Go struct field ChatRequest.messages.tool_calls.function.arguments of type map[string]interface {}",
	} {
		if r := ask1(t, f, `"model":"tiny","messages":[`+message+`]`); r.Error != want {
			t.Errorf("%s: %q, want %q", message, r.Error, want)
		}
	}
	if r := ask1(t, f, `"model":"tiny","think":"hard",`+hi); !strings.Contains(r.Error, "invalid think value") {
		t.Errorf("%+v", r)
	}
}

func TestCallToAnUndeclaredToolIsSwallowed(t *testing.T) {
	f := start(t, FakeConfig{Models: []FakeModel{{Name: "tiny", Capabilities: []string{"completion", "tools"},
		Script: []Answer{{Calls: []Call{{Name: "rm", Arguments: `{}`}}}}}}})
	if r := ask1(t, f, `"model":"tiny",`+timeTools+`,`+hi); len(r.Message.ToolCalls) != 0 || r.Message.Content != "" || r.EvalCount != 16 || r.DoneReason != "stop" {
		t.Errorf("%+v", r)
	}
	if r := ask1(t, f, `"model":"tiny",`+hi); len(r.Message.ToolCalls) != 1 {
		t.Errorf("without tools: %+v", r)
	}
}
