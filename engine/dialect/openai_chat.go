package dialect

import (
	"slices"
	"strconv"
)

// chatEncoder renders an answer as OpenAI chat completion chunks: the role
// first, then content, reasoning and tool calls as they come, one finish,
// usage if asked, [DONE].
type chatEncoder struct {
	sseStream
	calls callTracker
}

func newChatEncoder(r *Request, id *Identity) Encoder {
	return &chatEncoder{sseStream: newSSEStream(r, id, "chatcmpl-", "chat.completion.chunk")}
}

// Open renders the role record, legal before any content is known.
func (e *chatEncoder) Open(dst []byte) []byte {
	if e.state != streamNew {
		return dst
	}
	e.state = streamOpen
	dst = append(dst, e.head...)
	return append(dst, `{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}`+"\n\n"...)
}

// KeepAlive renders a comment line.
func (e *chatEncoder) KeepAlive(dst []byte) []byte { return e.comment(dst) }

// Chunk renders one record; an empty delta renders nothing, since clients
// count a record as an answer begun.
func (e *chatEncoder) Chunk(dst []byte, c *Chunk) []byte {
	if e.state == streamEnded {
		return dst
	}
	dst = e.Open(dst)
	e.keep(c)
	start := len(dst)
	dst = append(dst, e.head...)
	dst = append(dst, `{"index":0,"delta":{`...)
	empty := len(dst)
	if !c.Text.Empty() || len(c.Logprobs) > 2 { // a token may be no text at all
		dst = append(dst, `"content":`...)
		dst = AppendText(dst, c.Text)
	}
	if !c.Thinking.Empty() {
		dst = appendReasoning(comma(dst, empty), c.Thinking)
	}
	dst = e.tools(dst, empty, c.Tools)
	if len(dst) == empty {
		return dst[:start]
	}
	dst = append(dst, '}')
	dst = appendLogprobs(dst, c.Logprobs)
	return append(dst, `,"finish_reason":null}]}`+"\n\n"...)
}

// tools renders the pieces of tool calls that can go out. A call's head waits
// for its name (some runtimes send arguments first) and is sent once.
func (e *chatEncoder) tools(dst []byte, empty int, deltas []ToolDelta) []byte {
	open := false
	for i := range deltas {
		k := e.calls.add(&deltas[i])
		if k == nil || k.name == "" || k.sent && deltas[i].Arguments == "" {
			continue
		}
		if open {
			dst = append(dst, ',')
		} else {
			dst = append(comma(dst, empty), `"tool_calls":[`...)
			open = true
		}
		if k.sent {
			dst = appendArgumentsDelta(dst, k.n, deltas[i].Arguments)
			continue
		}
		k.sent = true
		dst = append(dst, `{"index":`...)
		dst = strconv.AppendInt(dst, int64(k.n), 10)
		dst = append(dst, ',')
		dst = appendCall(dst, e.id.callID(k.n, k.id), k.name, string(k.args.text))
	}
	if open {
		dst = append(dst, ']')
	}
	return dst
}

// End renders arguments {} for calls that had none (clients parse the text),
// the finish, usage and the terminator.
func (e *chatEncoder) End(dst []byte) []byte {
	if e.state == streamEnded {
		return dst
	}
	dst = e.Open(dst)
	for _, k := range e.calls.calls {
		if k.sent && blank(string(k.args.text)) {
			dst = append(dst, e.head...)
			dst = append(dst, `{"index":0,"delta":{"tool_calls":[`...)
			dst = appendArgumentsDelta(dst, k.n, "{}")
			dst = append(dst, `]},"finish_reason":null}]}`+"\n\n"...)
		}
	}
	dst = append(dst, e.head...)
	dst = append(dst, `{"index":0,"delta":{},"finish_reason":"`...)
	dst = append(dst, finishOf(e.finish, e.calls.any())...)
	dst = append(dst, `"}]}`+"\n\n"...)
	return e.terminate(dst)
}

// appendChatReply renders a chat.completion object.
func appendChatReply(dst []byte, id *Identity, rep *Reply) []byte {
	dst = slices.Grow(dst, 320+len(rep.Text)+2*len(rep.Thinking))
	dst = appendOpenAIHead(dst, id, "chatcmpl-", "chat.completion")
	dst = append(dst, `"choices":[{"index":0,"message":{"role":"assistant","content":`...)
	dst = AppendText(dst, rep.Text)
	if !rep.Thinking.Empty() {
		dst = appendReasoning(append(dst, ','), rep.Thinking)
	}
	if len(rep.Tools) > 0 {
		dst = append(dst, `,"tool_calls":[`...)
		for i := range rep.Tools {
			if i > 0 {
				dst = append(dst, ',')
			}
			t := &rep.Tools[i]
			dst = append(dst, '{')
			dst = appendCall(dst, id.callID(i, t.ID), t.Name, string(t.Arguments))
		}
		dst = append(dst, ']')
	}
	dst = append(dst, '}')
	dst = appendLogprobs(dst, rep.Logprobs)
	dst = append(dst, `,"finish_reason":"`...)
	dst = append(dst, finishOf(rep.Finish, len(rep.Tools) > 0)...)
	dst = append(dst, `"}],"usage":`...)
	dst = appendOpenAIUsage(dst, rep.Usage, id, rep.size())
	return append(dst, '}')
}

// appendReasoning writes both names clients look for: reasoning (Ollama, LM
// Studio, OpenRouter) and reasoning_content (DeepSeek, vLLM, llama.cpp).
func appendReasoning(dst []byte, t Text) []byte {
	dst = append(dst, `"reasoning":`...)
	dst = append(dst, t...)
	dst = append(dst, `,"reasoning_content":`...)
	return append(dst, t...)
}

// appendCall appends the members of a tool call and the closing brace.
func appendCall(dst []byte, id, name, arguments string) []byte {
	dst = append(dst, `"id":`...)
	dst = AppendString(dst, id)
	dst = append(dst, `,"type":"function","function":{"name":`...)
	dst = AppendString(dst, name)
	dst = append(dst, `,"arguments":`...)
	dst = AppendString(dst, arguments)
	return append(dst, "}}"...)
}

func appendArgumentsDelta(dst []byte, n int, piece string) []byte {
	dst = append(dst, `{"index":`...)
	dst = strconv.AppendInt(dst, int64(n), 10)
	dst = append(dst, `,"function":{"arguments":`...)
	dst = AppendString(dst, piece)
	return append(dst, "}}"...)
}

// appendLogprobs appends the member of a choice; nothing when there are none.
func appendLogprobs(dst []byte, l Raw) []byte {
	if len(l) <= 2 {
		return dst
	}
	dst = append(dst, `,"logprobs":{"content":`...)
	dst = append(dst, l...)
	return append(dst, '}')
}

// comma appends one when something stands behind empty already.
func comma(dst []byte, empty int) []byte {
	if len(dst) > empty {
		return append(dst, ',')
	}
	return dst
}
