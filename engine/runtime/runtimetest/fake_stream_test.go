package runtimetest

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
)

// everything is an answer with all there is: thinking, text with awkward
// characters, two calls.
var everything = Answer{Thinking: "Let me \"think\".", Text: "Grüße <b>🐑</b>\n\"done\".",
	Calls: []Call{{"get_time", `{"zone":"UTC"}`}, {"get_weather", `{"city":"Bern","days":2}`}}}

// heard is what a client makes of an answer.
type heard struct {
	thinking, text string
	names          []string
	args           map[int]string
	end            string
}

func (h *heard) check(t *testing.T, end string) {
	t.Helper()
	if h.thinking != everything.Thinking || h.text != everything.Text {
		t.Errorf("thinking %q, text %q", h.thinking, h.text)
	}
	if !slices.Equal(h.names, []string{"get_time", "get_weather"}) {
		t.Errorf("calls %v", h.names)
	}
	for i, k := range slices.Sorted(maps.Keys(h.args)) {
		var got, want any
		if json.Unmarshal([]byte(h.args[k]), &got) != nil || json.Unmarshal([]byte(everything.Calls[i].Arguments), &want) != nil || shape(got) != shape(want) {
			t.Errorf("arguments %d: %q", i, h.args[k])
		}
	}
	if h.end != end {
		t.Errorf("ended with %q, want %q", h.end, end)
	}
}

// frames decodes the data lines of a stream; each must be JSON.
func frames(t *testing.T, body string) (list []map[string]any) {
	t.Helper()
	event := ""
	for line := range strings.Lines(body) {
		line = strings.TrimSuffix(line, "\n")
		if name, ok := strings.CutPrefix(line, "event: "); ok {
			event = name
			continue
		}
		line = strings.TrimPrefix(line, "data: ")
		if line == "" || line == "[DONE]" {
			continue
		}
		var v map[string]any
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if event != "" && v["type"] != event {
			t.Errorf("event %s carries %v", event, v["type"])
		}
		list = append(list, v)
	}
	return list
}

func dig(v any, keys ...any) any {
	for _, k := range keys {
		switch k := k.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[k]
		case int:
			l, _ := v.([]any)
			if k >= len(l) {
				return nil
			}
			v = l[k]
		}
	}
	return v
}

func str(v any) string { s, _ := v.(string); return s }

func num(v any) int { n, _ := v.(float64); return int(n) }

func fakes(t *testing.T) map[string]*Fake {
	m := FakeModel{Name: "m", Capabilities: []string{"completion", "tools", "thinking"}, Script: []Answer{everything}}
	return map[string]*Fake{
		Ollama:      start(t, FakeConfig{Models: []FakeModel{m}}),
		LlamaServer: start(t, FakeConfig{Kind: LlamaServer, Models: []FakeModel{m}}),
	}
}

func TestNativeStreamSaysEverything(t *testing.T) {
	h := heard{args: map[int]string{}}
	_, body := post(t, fakes(t)[Ollama], "/api/chat", `{"model":"m",`+timeTools+`,`+hi+`}`)
	for _, v := range frames(t, body) {
		h.thinking += str(dig(v, "message", "thinking"))
		h.text += str(dig(v, "message", "content"))
		if call := dig(v, "message", "tool_calls", 0, "function"); call != nil {
			h.names = append(h.names, str(dig(call, "name")))
			args, _ := json.Marshal(dig(call, "arguments"))
			h.args[num(dig(call, "index"))] = string(args)
		}
		h.end += str(v["done_reason"])
	}
	h.check(t, "stop")
}

func TestChatStreamsSayEverything(t *testing.T) {
	for kind, f := range fakes(t) {
		t.Run(kind, func(t *testing.T) {
			h := heard{args: map[int]string{}}
			_, body := post(t, f, "/v1/chat/completions", `{"model":"m","stream":true,"stream_options":{"include_usage":true},`+timeTools+`,`+hi+`}`)
			for _, v := range frames(t, body) {
				d := dig(v, "choices", 0, "delta")
				h.thinking += str(dig(d, "reasoning")) + str(dig(d, "reasoning_content"))
				h.text += str(dig(d, "content"))
				if call := dig(d, "tool_calls", 0); call != nil {
					if name := str(dig(call, "function", "name")); name != "" {
						h.names = append(h.names, name)
					}
					h.args[num(dig(call, "index"))] += str(dig(call, "function", "arguments"))
				}
				h.end += str(dig(v, "choices", 0, "finish_reason"))
			}
			h.check(t, "tool_calls")
			if !strings.HasSuffix(body, "data: [DONE]\n\n") {
				t.Error("no [DONE]")
			}
		})
	}
}

func TestMessagesStreamsSayEverythingBlockByBlock(t *testing.T) {
	for kind, f := range fakes(t) {
		t.Run(kind, func(t *testing.T) {
			h := heard{args: map[int]string{}}
			tools := `"tools":[{"name":"get_time","input_schema":{}},{"name":"get_weather","input_schema":{}}]`
			_, body := post(t, f, "/v1/messages", `{"model":"m","max_tokens":200,"stream":true,`+tools+`,`+hi+`}`)
			open, next := -1, 0
			for _, v := range frames(t, body) {
				switch v["type"] {
				case "content_block_start":
					if open >= 0 || num(v["index"]) != next {
						t.Errorf("block %v opened while %d is open, next is %d", v["index"], open, next)
					}
					open, next = next, next+1
					if name := str(dig(v, "content_block", "name")); name != "" {
						h.names = append(h.names, name)
					}
				case "content_block_delta":
					if num(v["index"]) != open {
						t.Errorf("delta of block %v while %d is open", v["index"], open)
					}
					h.thinking += str(dig(v, "delta", "thinking"))
					h.text += str(dig(v, "delta", "text"))
					if part := str(dig(v, "delta", "partial_json")); part != "" {
						h.args[open] += part
					}
				case "content_block_stop":
					open = -1
				case "message_delta":
					h.end = str(dig(v, "delta", "stop_reason"))
				}
			}
			h.check(t, "tool_use")
		})
	}
}

func TestResponsesStreamsSayEverythingItemByItem(t *testing.T) {
	for kind, f := range fakes(t) {
		t.Run(kind, func(t *testing.T) {
			h := heard{args: map[int]string{}}
			tools := `"tools":[{"type":"function","name":"get_time","parameters":{}},{"type":"function","name":"get_weather","parameters":{}}]`
			_, body := post(t, f, "/v1/responses", `{"model":"m","stream":true,`+tools+`,"input":"hi"}`)
			for i, v := range frames(t, body) {
				if seq, ok := v["sequence_number"]; kind == Ollama && (!ok || num(seq) != i) {
					t.Errorf("event %d has sequence number %v", i, seq)
				}
				switch v["type"] {
				case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
					h.thinking += str(v["delta"])
				case "response.output_text.delta":
					h.text += str(v["delta"])
				case "response.output_item.done":
					if dig(v, "item", "type") == "function_call" {
						h.names = append(h.names, str(dig(v, "item", "name")))
						h.args[len(h.names)] = str(dig(v, "item", "arguments"))
					}
				case "response.completed":
					h.end = str(dig(v, "response", "status"))
					if out, _ := dig(v, "response", "output").([]any); len(out) != 4 {
						t.Errorf("output has %d items: %v", len(out), out)
					}
				}
			}
			h.check(t, "completed")
		})
	}
}

func TestWholeAnswersSayEverything(t *testing.T) {
	flat := `"tools":[{"type":"function","name":"get_time","input_schema":{},"function":{"name":"get_time"}},{"type":"function","name":"get_weather","input_schema":{},"function":{"name":"get_weather"}}]`
	for kind, f := range fakes(t) {
		for _, path := range []string{"/api/chat", "/v1/chat/completions", "/v1/messages", "/v1/responses"} {
			if kind == LlamaServer && path == "/api/chat" {
				continue
			}
			status, body := post(t, f, path, `{"model":"m","stream":false,"max_tokens":200,"input":"hi",`+flat+`,`+hi+`}`)
			var v any
			if err := json.Unmarshal([]byte(body), &v); err != nil || status != 200 {
				t.Fatalf("%s %s: %d %v %s", kind, path, status, err, body)
			}
			told, _ := json.Marshal(v)
			for _, part := range []string{`Let me \"think\".`, "get_weather", "Bern"} {
				escaped := strings.ReplaceAll(part, `"`, `\"`)
				if !strings.Contains(string(told), part) && !strings.Contains(string(told), escaped) {
					t.Errorf("%s %s does not say %s: %s", kind, path, part, told)
				}
			}
		}
	}
}
