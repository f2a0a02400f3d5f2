package engine

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// wire is one inference protocol as its clients use it.
type wire struct {
	name, path string
	// ask makes a body's members for a prompt, without model and stream.
	ask func(prompt string) string
	// whole and stream read an answer, as a strict client would.
	whole  func(a tree) said
	stream func(t testing.TB, list []record) said
	tools  string // members that declare the tool get_weather, "" = the protocol has none
}

// said is an answer in words that all protocols share.
type said struct {
	text, thinking string
	calls          []called
	finish         string // stop, length, tools; "" = none said
	failed         string // the error's message
	ended          bool   // the protocol's own end of a whole answer was seen
	input, output  float64
	thoughts       int // pieces of thinking
}

type called struct{ id, name, arguments string }

// wires are the protocols that generate, in the order of the docs.
var wires = []wire{chatWire, completionWire, responsesWire, messagesWire, ollamaChatWire, ollamaGenerateWire}

// toolWires are those that know tools.
var toolWires = []wire{chatWire, responsesWire, messagesWire, ollamaChatWire}

// body makes a request; more are further members: `,"seed":1`.
func (w wire) body(model, prompt string, stream bool, more ...string) string {
	return fmt.Sprintf(`{"model":%q,"stream":%t,%s%s}`, model, stream, w.ask(prompt), strings.Join(more, ""))
}

// say asks and reads the answer, streamed or not.
func (w wire) say(t testing.TB, r *rig, model, prompt string, stream bool, more ...string) (said, *answer) {
	t.Helper()
	a := r.post(t, w.path, w.body(model, prompt, stream, more...))
	if a.Status != 200 {
		t.Fatalf("%s: status %d: %s", w.name, a.Status, a.Body)
	}
	return w.read(t, a, stream), a
}

func (w wire) read(t testing.TB, a *answer, stream bool) said {
	t.Helper()
	if stream {
		return w.stream(t, a.records(t))
	}
	s := w.whole(a.json(t))
	s.ended = true
	return s
}

// eachWay runs a check for every protocol, streamed and not.
func eachWay(t *testing.T, list []wire, do func(t *testing.T, w wire, stream bool)) {
	t.Helper()
	for _, w := range list {
		for _, stream := range []bool{false, true} {
			name := w.name
			if stream {
				name += " stream"
			}
			t.Run(name, func(t *testing.T) { do(t, w, stream) })
		}
	}
}

const weatherSchema = `{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`

var chatWire = wire{
	name: "chat", path: "/v1/chat/completions",
	ask:   func(p string) string { return fmt.Sprintf(`"messages":[{"role":"user","content":%q}]`, p) },
	tools: `,"tools":[{"type":"function","function":{"name":"get_weather","parameters":` + weatherSchema + `}}]`,
	whole: func(a tree) said {
		s := said{text: a.str("choices.0.message.content"), thinking: a.str("choices.0.message.reasoning"),
			finish: openAIFinish(a.str("choices.0.finish_reason")), input: a.num("usage.prompt_tokens"), output: a.num("usage.completion_tokens")}
		for i := range a.len("choices.0.message.tool_calls") {
			at := fmt.Sprintf("choices.0.message.tool_calls.%d.", i)
			s.calls = append(s.calls, called{a.str(at + "id"), a.str(at + "function.name"), a.str(at + "function.arguments")})
		}
		return s
	},
	stream: func(t testing.TB, list []record) said {
		s := said{input: -1, output: -1}
		calls := map[float64]*called{}
		finishes := 0
		for _, r := range list {
			if r.comment != "" {
				continue
			}
			if r.data == "[DONE]" {
				s.ended = finishes == 1
				continue
			}
			c := r.json(t)
			if m := c.str("error.message"); m != "" {
				s.failed = m
				continue
			}
			s.text += c.str("choices.0.delta.content")
			if th := c.str("choices.0.delta.reasoning"); th != "" {
				s.thinking += th
				s.thoughts++
			}
			for i := range c.len("choices.0.delta.tool_calls") {
				at := fmt.Sprintf("choices.0.delta.tool_calls.%d.", i)
				n := c.num(at + "index")
				if calls[n] == nil {
					calls[n] = &called{id: c.str(at + "id"), name: c.str(at + "function.name")}
				}
				calls[n].arguments += c.str(at + "function.arguments")
			}
			if f := c.str("choices.0.finish_reason"); f != "" {
				s.finish = openAIFinish(f)
				finishes++
			}
			if c.has("usage") && c.at("usage") != nil {
				s.input, s.output = c.num("usage.prompt_tokens"), c.num("usage.completion_tokens")
			}
		}
		for _, n := range slices.Sorted(maps.Keys(calls)) {
			s.calls = append(s.calls, *calls[n])
		}
		if finishes > 1 {
			t.Errorf("%d finish reasons", finishes)
		}
		return s
	},
}

func openAIFinish(f string) string {
	if f == "tool_calls" {
		return "tools"
	}
	return f
}

var completionWire = wire{
	name: "completions", path: "/v1/completions",
	ask: func(p string) string { return fmt.Sprintf(`"prompt":%q`, p) },
	whole: func(a tree) said {
		return said{text: a.str("choices.0.text"), finish: a.str("choices.0.finish_reason"),
			input: a.num("usage.prompt_tokens"), output: a.num("usage.completion_tokens")}
	},
	stream: func(t testing.TB, list []record) said {
		s := said{input: -1, output: -1}
		for _, r := range list {
			switch {
			case r.comment != "":
				continue
			case r.data == "[DONE]":
				s.ended = s.finish != ""
				continue
			}
			c := r.json(t)
			if m := c.str("error.message"); m != "" {
				s.failed = m
				continue
			}
			s.text += c.str("choices.0.text")
			s.finish += c.str("choices.0.finish_reason")
		}
		return s
	},
}

var responsesWire = wire{
	name: "responses", path: "/v1/responses",
	ask:   func(p string) string { return fmt.Sprintf(`"input":%q`, p) },
	tools: `,"tools":[{"type":"function","name":"get_weather","parameters":` + weatherSchema + `}]`,
	whole: responsesSaid,
	stream: func(t testing.TB, list []record) said {
		var s said
		next, delta := 0.0, ""
		for _, r := range list {
			if r.comment != "" {
				continue
			}
			e := r.json(t)
			if e.str("type") != r.event {
				t.Errorf("event %q carries type %q", r.event, e.str("type"))
			}
			if n := e.num("sequence_number"); n != next {
				t.Errorf("sequence number %v, want %v", n, next)
			}
			next++
			switch r.event {
			case "response.output_text.delta":
				delta += e.str("delta")
			case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
				s.thoughts++
			case "response.completed", "response.incomplete", "response.failed":
				thoughts := s.thoughts
				s = responsesSaid(tree{e.at("response")})
				s.thoughts = thoughts
				s.ended = r.event != "response.failed"
			case "error":
				s.failed = e.str("message")
			}
		}
		if s.ended && s.text != delta {
			t.Errorf("deltas say %q, the response %q", delta, s.text)
		}
		if s.text == "" {
			s.text = delta
		}
		return s
	},
}

func responsesSaid(a tree) said {
	s := said{input: a.num("usage.input_tokens"), output: a.num("usage.output_tokens"), failed: a.str("error.message")}
	switch a.str("status") {
	case "completed":
		s.finish = "stop"
	case "incomplete":
		s.finish = "length"
	}
	for i := range a.len("output") {
		item := tree{a.at(fmt.Sprintf("output.%d", i))}
		switch item.str("type") {
		case "message":
			s.text += item.str("content.0.text")
		case "reasoning":
			s.thinking += or(item.str("content.0.text"), item.str("summary.0.text"))
		case "function_call":
			s.calls = append(s.calls, called{item.str("call_id"), item.str("name"), item.str("arguments")})
			s.finish = "tools"
		}
	}
	return s
}

var messagesWire = wire{
	name: "messages", path: "/v1/messages",
	ask: func(p string) string {
		return fmt.Sprintf(`"max_tokens":1000,"messages":[{"role":"user","content":%q}]`, p)
	},
	tools: `,"tools":[{"name":"get_weather","input_schema":` + weatherSchema + `}]`,
	whole: func(a tree) said {
		s := said{finish: anthropicFinish(a.str("stop_reason")), input: anthropicInput(a, "usage"), output: a.num("usage.output_tokens")}
		for i := range a.len("content") {
			b := tree{a.at(fmt.Sprintf("content.%d", i))}
			switch b.str("type") {
			case "text":
				s.text += b.str("text")
			case "thinking":
				s.thinking += b.str("thinking")
			case "tool_use":
				s.calls = append(s.calls, called{b.str("id"), b.str("name"), tree{b.at("input")}.String()})
			}
		}
		return s
	},
	stream: func(t testing.TB, list []record) said {
		s := said{input: -1, output: -1}
		open, blocks := -1.0, 0.0
		for _, r := range list {
			if r.comment != "" {
				continue
			}
			e := r.json(t)
			if e.str("type") != r.event {
				t.Errorf("event %q carries type %q", r.event, e.str("type"))
			}
			switch r.event {
			case "message_start":
				s.input = anthropicInput(e, "message.usage")
			case "content_block_start":
				if open >= 0 || e.num("index") != blocks {
					t.Errorf("block %v opens while block %v is open, %v were before", e.num("index"), open, blocks)
				}
				open, blocks = e.num("index"), blocks+1
				if e.str("content_block.type") == "tool_use" {
					s.calls = append(s.calls, called{id: e.str("content_block.id"), name: e.str("content_block.name")})
				}
			case "content_block_delta":
				if e.num("index") != open {
					t.Errorf("a delta of block %v while block %v is open", e.num("index"), open)
				}
				s.text += e.str("delta.text")
				if th := e.str("delta.thinking"); th != "" {
					s.thinking += th
					s.thoughts++
				}
				if e.str("delta.type") == "input_json_delta" {
					s.calls[len(s.calls)-1].arguments += e.str("delta.partial_json")
				}
			case "content_block_stop":
				open = -1
			case "message_delta":
				s.finish = anthropicFinish(e.str("delta.stop_reason"))
				s.output = e.num("usage.output_tokens")
				if e.has("usage.input_tokens") {
					s.input = anthropicInput(e, "usage")
				}
			case "message_stop":
				s.ended = s.finish != ""
			case "error":
				s.failed = e.str("error.message")
			}
		}
		return s
	},
}

// anthropicInput is the whole prompt: the protocol counts its cached part apart.
func anthropicInput(a tree, usage string) float64 {
	return a.num(usage+".input_tokens") + max(0, a.num(usage+".cache_read_input_tokens")) + max(0, a.num(usage+".cache_creation_input_tokens"))
}

func anthropicFinish(f string) string {
	return map[string]string{"end_turn": "stop", "max_tokens": "length", "tool_use": "tools", "stop_sequence": "stop"}[f]
}

var ollamaChatWire = wire{
	name: "ollama chat", path: "/api/chat",
	ask:   chatWire.ask,
	tools: chatWire.tools,
	whole: func(a tree) said { return ollamaSaid([]tree{a}, "message.content", "message.thinking") },
	stream: func(t testing.TB, list []record) said {
		return ollamaStream(t, list, "message.content", "message.thinking")
	},
}

var ollamaGenerateWire = wire{
	name: "ollama generate", path: "/api/generate",
	ask:    completionWire.ask,
	whole:  func(a tree) said { return ollamaSaid([]tree{a}, "response", "thinking") },
	stream: func(t testing.TB, list []record) said { return ollamaStream(t, list, "response", "thinking") },
}

func ollamaStream(t testing.TB, list []record, text, thinking string) said {
	var lines []tree
	for _, r := range list {
		lines = append(lines, r.json(t))
	}
	return ollamaSaid(lines, text, thinking)
}

func ollamaSaid(lines []tree, text, thinking string) said {
	s := said{input: -1, output: -1}
	for _, l := range lines {
		if e := l.str("error"); e != "" {
			s.failed = e
			continue
		}
		s.text += l.str(text)
		if th := l.str(thinking); th != "" {
			s.thinking += th
			s.thoughts++
		}
		for i := range l.len("message.tool_calls") {
			at := fmt.Sprintf("message.tool_calls.%d.", i)
			s.calls = append(s.calls, called{l.str(at + "id"), l.str(at + "function.name"), tree{l.at(at + "function.arguments")}.String()})
		}
		if l.at("done") == true {
			s.ended, s.finish = true, l.str("done_reason")
			s.input, s.output = l.num("prompt_eval_count"), l.num("eval_count")
		}
	}
	if len(s.calls) > 0 && s.finish == "stop" { // Ollama says stop after calls
		s.finish = "tools"
	}
	return s
}
