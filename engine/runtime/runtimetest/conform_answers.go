package runtimetest

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"bellwether/engine/dialect"
	"bellwether/engine/fleet"
)

const spoken = "one two, three: 日本語 🙂 \"quoted\" \\ four.\n"

const timeTool = `{"type":"function","function":{"name":"get_time","description":"The time in a zone","parameters":{"type":"object","properties":{"zone":{"type":"string"}},"required":["zone"]}}}`
const rainTool = `{"type":"function","function":{"name":"get_rain","parameters":{"type":"object","properties":{"town":{"type":"string"}},"required":["town"]}}}`

// conformAnswers: what a client asked is what the runtime is asked, and what
// it says comes back whole.
func conformAnswers(t *testing.T, s Setup) {
	t.Run("text in every protocol, streamed and whole", func(t *testing.T) {
		b := s.bench(t, FakeModel{Script: []Answer{{Text: spoken}}})
		for p, body := range map[dialect.Protocol]string{
			dialect.OpenAIChat:       `{"model":"MODEL","messages":[{"role":"developer","content":"be brief"},{"role":"user","content":[{"type":"text","text":"hi"},{"type":"text","text":"there"}]}],"max_completion_tokens":500,"stream":STREAM}`,
			dialect.OpenAIResponses:  `{"model":"MODEL","instructions":"be brief","input":"hi","max_output_tokens":500,"stream":STREAM}`,
			dialect.Anthropic:        `{"model":"MODEL","system":"be brief","messages":[{"role":"user","content":"hi"}],"max_tokens":500,"stream":STREAM}`,
			dialect.OllamaChat:       `{"model":"MODEL","messages":[{"role":"user","content":"hi"}],"stream":STREAM}`,
			dialect.OllamaGenerate:   `{"model":"MODEL","prompt":"hi","stream":STREAM}`,
			dialect.OpenAICompletion: `{"model":"MODEL","prompt":"hi","max_tokens":500,"stream":STREAM}`,
		} {
			for _, stream := range []string{"true", "false"} {
				a := b.must(b.call(p, strings.ReplaceAll(body, "STREAM", stream)))
				if a.text != spoken || a.finish != dialect.FinishStop {
					t.Errorf("%s, stream %s: got %q, %s", p, stream, a.text, a.finish)
				}
				if a.usage.Input <= 0 || a.usage.Output <= 0 {
					t.Errorf("%s, stream %s: usage %+v", p, stream, a.usage)
				}
				if (stream == "true") != (a.chunks > 2) {
					t.Errorf("%s, stream %s: %d chunks", p, stream, a.chunks)
				}
				if len(a.edits) > 0 || len(a.notes) > 0 {
					t.Errorf("%s: edits %q, notes %q", p, a.edits, a.notes)
				}
			}
		}
	})
	t.Run("tools: called, answered, in parallel", func(t *testing.T) { conformTools(t, s) })
	t.Run("tool_choice is never ignored", func(t *testing.T) { conformToolChoice(t, s) })
	t.Run("thinking is asked for, left out, and noted where there is none", func(t *testing.T) { conformThinking(t, s) })
	t.Run("images reach the model", func(t *testing.T) {
		images := 0
		b := s.bench(t, FakeModel{Capabilities: []string{"completion", "vision"}, Reply: func(q Question) *Answer {
			images = q.Images
			return &Answer{Text: "seen"}
		}})
		const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
		for p, body := range map[dialect.Protocol]string{
			dialect.OpenAIChat: `{"model":"MODEL","messages":[{"role":"user","content":[{"type":"text","text":"what"},{"type":"image_url","image_url":{"url":"data:image/png;base64,` + pixel + `"}},{"type":"image_url","image_url":{"url":"data:image/png;base64,` + pixel + `"}}]}]}`,
			dialect.Anthropic:  `{"model":"MODEL","max_tokens":50,"messages":[{"role":"user","content":[{"type":"text","text":"what"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + pixel + `"}},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + pixel + `"}}]}]}`,
			dialect.OllamaChat: `{"model":"MODEL","stream":false,"messages":[{"role":"user","content":"what","images":["` + pixel + `","` + pixel + `"]}]}`,
		} {
			images = 0
			if a := b.must(b.call(p, body)); a.text != "seen" || images != 2 {
				t.Errorf("%s: %d images, %q", p, images, a.text)
			}
		}
	})
	t.Run("JSON and schema are kept to", func(t *testing.T) {
		b := s.bench(t, FakeModel{})
		schema := `{"type":"object","properties":{"town":{"type":"string"},"inhabitants":{"type":"integer"}},"required":["town","inhabitants"]}`
		for p, body := range map[dialect.Protocol]string{
			dialect.OpenAIChat:      `{"model":"MODEL","messages":[{"role":"user","content":"hi"}],"response_format":{"type":"json_schema","json_schema":{"name":"x","schema":` + schema + `}}}`,
			dialect.OpenAIResponses: `{"model":"MODEL","input":"hi","text":{"format":{"type":"json_schema","name":"x","schema":` + schema + `}}}`,
			dialect.OllamaChat:      `{"model":"MODEL","stream":false,"messages":[{"role":"user","content":"hi"}],"format":` + schema + `}`,
		} {
			var v struct {
				Town        *string
				Inhabitants *int
			}
			a := b.must(b.call(p, body))
			if err := json.Unmarshal([]byte(a.text), &v); err != nil || v.Town == nil || v.Inhabitants == nil {
				t.Errorf("%s: %q", p, a.text)
			}
		}
		a := b.must(b.call(dialect.OpenAIChat, `{"model":"MODEL","messages":[{"role":"user","content":"hi"}],"response_format":{"type":"json_object"}}`))
		if !json.Valid([]byte(a.text)) { // real servers are held to nothing by the bare word
			t.Errorf("json_object: %q", a.text)
		}
	})
	t.Run("limit, stop and seed are passed on", func(t *testing.T) {
		b := s.bench(t, FakeModel{Tokens: 40})
		hi := `"messages":[{"role":"user","content":"hi"}]`
		for _, name := range []string{"max_tokens", "max_completion_tokens"} {
			a := b.must(b.call(dialect.OpenAIChat, `{"model":"MODEL","`+name+`":3,`+hi+`}`))
			if a.finish != dialect.FinishLength || a.usage.Output != 3 {
				t.Errorf("%s: %s after %d tokens", name, a.finish, a.usage.Output)
			}
		}
		whole := b.must(b.call(dialect.OpenAIChat, `{"model":"MODEL",`+hi+`}`)).text
		a := b.must(b.call(dialect.OpenAIChat, `{"model":"MODEL","stop":["three"],`+hi+`}`))
		if strings.Contains(a.text, "three") || len(a.text) >= len(whole) || a.finish != dialect.FinishStop {
			t.Errorf("stop: %q, %s", a.text, a.finish)
		}
		b.must(b.call(dialect.OpenAIChat, `{"model":"MODEL","seed":7,"temperature":0.5,"top_p":0.9,"top_k":3,"min_p":0.1,`+hi+`}`))
		b.wantAsked("seed", "7")
		b.wantAsked("temperature", "0.5")
		b.wantAsked("top_k", "3")
		b.wantAsked("min_p", "0.1")
		b.must(b.call(dialect.OpenAIChat, `{"model":"MODEL",`+hi+`}`))
		b.wantAsked("temperature", "") // not said: the model's own holds
		b.wantAsked("seed", "")
	})
	t.Run("the output limit is clamped and the edit noted", func(t *testing.T) {
		b := s.bench(t, FakeModel{Tokens: 40})
		for _, p := range []dialect.Protocol{dialect.OpenAIChat, dialect.OllamaChat} {
			limit := `"max_tokens":32000`
			if p == dialect.OllamaChat {
				limit = `"options":{"num_predict":32000},"stream":false`
			}
			c := b.call(p, `{"model":"MODEL",`+limit+`,"messages":[{"role":"user","content":"hi"}]}`)
			c.Output = 4
			if a := b.must(c); a.usage.Output != 4 || a.finish != dialect.FinishLength || len(a.edits) != 1 || !strings.Contains(a.edits[0], "32000") {
				t.Errorf("%s: %d tokens, %s, edits %q", p, a.usage.Output, a.finish, a.edits)
			}
		}
	})
	t.Run("embeddings: counted, ordered, of unit length", func(t *testing.T) { conformEmbeddings(t, s) })
	t.Run("a request without any text loads the model", func(t *testing.T) {
		for p, body := range map[dialect.Protocol]string{
			dialect.OllamaGenerate: `{"model":"MODEL"}`, dialect.OllamaChat: `{"model":"MODEL","messages":[]}`,
		} {
			b := s.bench(t, FakeModel{})
			if a := b.must(b.call(p, body)); a.finish != dialect.FinishLoad || a.text != "" {
				t.Errorf("%s: got %q, %q", p, a.finish, a.text)
			}
			if len(b.fake.Loaded()) != 1 {
				t.Errorf("%s: in memory are %v", p, b.fake.Loaded())
			}
		}
	})
	t.Run("a frame already here is known to be", func(t *testing.T) {
		fast := s
		fast.Fake.FlushEvery = 50
		b := fast.bench(t, FakeModel{Tokens: 60})
		st, _, err := b.adapter.Do(b.Context(), b.chat("hi", true))
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close()
		buffered := 0
		for {
			c, err := st.Next()
			if err != nil {
				t.Fatal(err)
			}
			if c.Final {
				break
			}
			if st.Buffered() {
				buffered++
			}
		}
		if buffered < 20 {
			t.Errorf("of 60 tokens written by 50, %d were known to be here", buffered)
		}
	})
	t.Run("swallowed calls and spent reasoning are noted", func(t *testing.T) {
		b := s.bench(t, FakeModel{Think: true, Capabilities: []string{"completion", "tools"}})
		b.fake.Inject(Fault{ThinkOnly: true, Times: 1})
		a := b.must(b.chat("hi", true))
		if a.text != "" || a.thinking == "" || len(a.notes) != 1 {
			t.Errorf("reasoning only: %q, %q, notes %q", a.thinking, a.text, a.notes)
		}
		if !s.ollama() {
			return
		}
		b.fake.Inject(Fault{SwallowCalls: true, Times: 1})
		a = b.must(b.call(dialect.OpenAIChat, `{"model":"MODEL","reasoning_effort":"none","tools":[`+timeTool+`],"messages":[{"role":"user","content":"hi"}]}`))
		if len(a.notes) != 1 || len(a.calls) > 0 || a.text != "" {
			t.Errorf("a swallowed call: %q, notes %q", a.text, a.notes)
		}
	})
	if s.ollama() {
		t.Run("an Ollama client's own words go through untouched", func(t *testing.T) { conformNative(t, s) })
	}
}

// asked is the body of the last generating request.
func (b *bench) asked() map[string]any {
	b.Helper()
	all := b.fake.Requests()
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].Method == "POST" && all[i].Path != "/api/show" && len(all[i].Body) > 2 {
			var m map[string]any
			if err := json.Unmarshal(all[i].Body, &m); err != nil {
				b.Fatalf("the runtime was sent no JSON: %s", all[i].Body)
			}
			return m
		}
	}
	b.Fatal("nothing was asked")
	return nil
}

// wantAsked checks one sampling member of the last request, "" = not there.
func (b *bench) wantAsked(name, want string) {
	b.Helper()
	m := b.asked()
	if o, ok := m["options"].(map[string]any); ok && b.setup.ollama() {
		m = o
	}
	got := ""
	if v, ok := m[name]; ok {
		got = fmt.Sprint(v)
	}
	if got != want {
		b.Errorf("%s: the runtime was asked %q, want %q", name, got, want)
	}
}

func conformTools(t *testing.T, s Setup) {
	b := s.bench(t, FakeModel{Capabilities: []string{"completion", "tools"}, Script: []Answer{
		{Match: "both", Calls: []Call{{"get_time", `{"zone":"UTC"}`}, {"get_rain", `{"town":"Ulm"}`}}},
		{Match: "one", Calls: []Call{{"get_time", `{"zone":"UTC"}`}}},
		{Match: "after", Text: "noon"},
	}})
	for _, stream := range []string{"true", "false"} {
		for ask, want := range map[string]int{"one": 1, "both": 2} {
			a := b.must(b.call(dialect.OpenAIChat, `{"model":"MODEL","stream":`+stream+`,"tools":[`+timeTool+`,`+rainTool+`],"messages":[{"role":"user","content":"`+ask+`"}]}`))
			if len(a.calls) != want || a.finish != dialect.FinishTools {
				t.Fatalf("%s, stream %s: calls %v, finish %s", ask, stream, a.calls, a.finish)
			}
			if a.calls[0].Name != "get_time" || !equalJSONText(a.calls[0].Arguments, `{"zone":"UTC"}`) {
				t.Errorf("%s, stream %s: %v", ask, stream, a.calls)
			}
			if want == 2 && (a.calls[1].Name != "get_rain" || !equalJSONText(a.calls[1].Arguments, `{"town":"Ulm"}`)) {
				t.Errorf("%s, stream %s: %v", ask, stream, a.calls)
			}
		}
	}
	a := b.must(b.call(dialect.OpenAIChat, `{"model":"MODEL","tools":[`+timeTool+`],"messages":[
		{"role":"user","content":"after"},
		{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"get_time","arguments":""}}]},
		{"role":"tool","tool_call_id":"c1","content":"12:00"}]}`))
	if a.text != "noon" || a.finish != dialect.FinishStop {
		t.Errorf("after the result: %q, %s", a.text, a.finish)
	}
	if s.ollama() {
		messages, _ := json.Marshal(b.asked()["messages"])
		for _, want := range []string{`"tool_name":"get_time"`, `"arguments":{}`} {
			if !strings.Contains(string(messages), want) {
				t.Errorf("the runtime was not told %s: %s", want, messages)
			}
		}
	}
}

func equalJSONText(a, b string) bool {
	var x, y any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && fmt.Sprint(x) == fmt.Sprint(y)
}

func conformToolChoice(t *testing.T, s Setup) {
	b := s.bench(t, FakeModel{Capabilities: []string{"completion", "tools"}})
	ask := func(choice string, stream string) *told {
		return b.must(b.call(dialect.OpenAIChat, `{"model":"MODEL","stream":`+stream+`,"tools":[`+timeTool+`,`+rainTool+`],"tool_choice":`+choice+`,"messages":[{"role":"user","content":"hi"}]}`))
	}
	for _, stream := range []string{"true", "false"} {
		if a := ask(`"none"`, stream); len(a.calls) > 0 || a.text == "" {
			t.Errorf("none: %v, %q", a.calls, a.text)
		}
		a := ask(`"required"`, stream)
		if len(a.calls) != 1 || a.finish != dialect.FinishTools || !json.Valid([]byte(a.calls[0].Arguments)) {
			t.Errorf("required: %v, %q, %s", a.calls, a.text, a.finish)
		}
		a = ask(`{"type":"function","function":{"name":"get_rain"}}`, stream)
		if len(a.calls) != 1 || a.calls[0].Name != "get_rain" || a.finish != dialect.FinishTools || !strings.Contains(a.calls[0].Arguments, "town") || len(a.edits) == 0 {
			t.Errorf("named: %v, %q, %s, edits %q", a.calls, a.text, a.finish, a.edits)
		}
	}
}

func conformThinking(t *testing.T, s Setup) {
	b := s.bench(t, FakeModel{Think: true})
	if s.Fake.Router {
		b.must(b.chat("hi", false)) // a router tells of a model's template once it is loaded
	}
	ask := func(b *bench, effort string) *told {
		return b.must(b.call(dialect.OpenAIChat, `{"model":"MODEL","stream":true`+effort+`,"messages":[{"role":"user","content":"hi"}]}`))
	}
	for effort, thinks := range map[string]bool{"": true, `,"reasoning_effort":"high"`: true, `,"reasoning_effort":"none"`: false} {
		a := ask(b, effort)
		if (a.thinking != "") != thinks || a.text == "" || len(a.edits) > 0 {
			t.Errorf("effort %q: %q, then %q, edits %q", effort, a.thinking, a.text, a.edits)
		}
	}
	plain := s.bench(t, FakeModel{})
	if s.Fake.Router {
		plain.must(plain.chat("hi", false))
	}
	if a := ask(plain, `,"reasoning_effort":"high"`); a.text == "" || len(a.edits) != 1 {
		t.Errorf("a model without reasoning: %q, edits %q", a.text, a.edits)
	}
}

func conformEmbeddings(t *testing.T, s Setup) {
	if s.Fake.Router {
		t.Skip("how a router starts its models is its owner's affair")
	}
	b := s.bench(t, FakeModel{Capabilities: []string{"embedding"}, EmbeddingWidth: 96})
	one := func(p dialect.Protocol, body string) [][]float32 { return b.must(b.call(p, body)).vectors }
	list := one(dialect.OpenAIEmbeddings, `{"model":"MODEL","input":["a cat","a dog","a cat"]}`)
	if len(list) != 3 || len(list[0]) != 96 {
		t.Fatalf("got %d vectors", len(list))
	}
	if fmt.Sprint(list[0]) != fmt.Sprint(list[2]) || fmt.Sprint(list[0]) == fmt.Sprint(list[1]) {
		t.Error("the order of the inputs is lost")
	}
	for _, v := range list {
		var sum float64
		for _, x := range v {
			sum += float64(x) * float64(x)
		}
		if math.Abs(sum-1) > 1e-3 {
			t.Errorf("length %v", math.Sqrt(sum))
		}
	}
	for p, body := range map[dialect.Protocol]string{
		dialect.OllamaEmbed:      `{"model":"MODEL","input":"a cat"}`,
		dialect.OllamaEmbeddings: `{"model":"MODEL","prompt":"a cat"}`,
	} {
		if v := one(p, body); len(v) != 1 || len(v[0]) != 96 {
			t.Errorf("%s: %d vectors", p, len(v))
		}
	}
	c := b.call(dialect.OpenAIEmbeddings, `{"model":"MODEL","input":"a cat","dimensions":8}`)
	a, err := b.run(c)
	if c.Deployment.Honour("dimensions") {
		if err != nil || len(a.vectors) != 1 || len(a.vectors[0]) != 8 {
			t.Errorf("8 dimensions: %v, %d vectors", err, len(a.vectors))
		}
	} else {
		b.wantClass(err, fleet.FailStatus, true)
	}
	chat := s.bench(t, FakeModel{})
	_, err = chat.run(chat.call(dialect.OpenAIEmbeddings, `{"model":"MODEL","input":"a cat"}`))
	chat.wantClass(err, fleet.FailStatus, true)
}

func conformNative(t *testing.T, s Setup) {
	b := s.bench(t, FakeModel{})
	body := `{ "model" : "MODEL", "messages":[{"role":"user","content":"h\u0069"}],"keep_alive":"7m","unknown":{"a": [1 , 2]},"options":{"num_ctx":4096,"seed" : 3},"stream":true}`
	c := b.call(dialect.OllamaChat, body)
	c.Context = 4096
	a := b.must(c)
	all := b.fake.Requests()
	if got, want := string(all[len(all)-1].Body), strings.ReplaceAll(body, "MODEL", b.model); got != want {
		t.Errorf("with nothing to change the body became\n%s, was\n%s", got, want)
	}
	if a.natives != a.chunks {
		t.Errorf("%d of %d frames can be passed on", a.natives, a.chunks)
	}
	c = b.call(dialect.OllamaChat, body)
	c.Context = 8192
	a = b.must(c)
	all = b.fake.Requests()
	want := `{"model":"` + b.model + `","messages":[{"role":"user","content":"h\u0069"}],"keep_alive":"7m","unknown":{"a": [1 , 2]},"options":{"num_ctx":8192,"seed":3},"stream":true,"truncate":false}`
	if got := string(all[len(all)-1].Body); got != want {
		t.Errorf("with another context the body became\n%s, want\n%s", got, want)
	}
	if len(a.edits) != 2 { // a window of ours does not cut what a larger one holds
		t.Errorf("edits %q", a.edits)
	}
}
