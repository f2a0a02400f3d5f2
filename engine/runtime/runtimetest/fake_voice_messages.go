package runtimetest

import (
	"net/http"
)

// messagesVoice speaks Ollama's /v1/messages.
type messagesVoice struct{}

func (messagesVoice) header(h http.Header, stream bool) { responsesVoice{}.header(h, stream) }

func (messagesVoice) refuse(w http.ResponseWriter, r *refusal) {
	refuseMessages(w, r.status, r.text, asPlainJSON, "\n")
}

// refuseMessages answers with Anthropic's envelope.
func refuseMessages(w http.ResponseWriter, status int, text string, contentType []string, end string) {
	kind := "api_error"
	switch status {
	case http.StatusBadRequest:
		kind = "invalid_request_error"
	case http.StatusNotFound:
		kind = "not_found_error"
	case http.StatusServiceUnavailable, 529:
		kind = "overloaded_error"
	}
	w.Header()["Content-Type"] = contentType
	w.WriteHeader(status)
	b := append([]byte(`{"type":"error","error":{"type":"`), kind...)
	b = appendQuoted(append(b, `","message":`...), text, goEscapes)
	b = append(append(b, `},"request_id":"req_`...), randomHex(24)...)
	_, _ = w.Write(append(append(b, `"}`...), end...))
}

func randomHex(n int) string { return randomOf("0123456789abcdef", n) }

func (messagesVoice) open(b []byte, s *speech) []byte {
	b = append(b, "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_"...)
	b = append(b, randomHex(24)...)
	b = appendQuoted(append(b, `","type":"message","role":"assistant","model":`...), s.a.model, goEscapes)
	b = append(b, `,"content":[],"usage":{"input_tokens":`...)
	b = appendInt(b, max(1, s.a.chars/4)) // an estimate; the count comes at the end
	return append(b, ",\"output_tokens\":0}}}\n\n"...)
}

// block opens a content block, closing the one before.
func (v messagesVoice) block(b []byte, s *speech, kind byte, start string) []byte {
	if s.open == kind {
		return b
	}
	b = v.close(b, s)
	s.open = kind
	b = append(b, "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":"...)
	b = append(appendInt(b, s.block), `,"content_block":`...)
	return append(append(b, start...), "}\n\n"...)
}

func (messagesVoice) close(b []byte, s *speech) []byte {
	if s.open == 0 {
		return b
	}
	b = appendInt(append(b, "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":"...), s.block)
	s.open = 0
	s.block++
	return append(b, "}\n\n"...)
}

// delta appends a content_block_delta with the literal's inside.
func blockDelta(b []byte, s *speech, kind, member string, lit []byte) []byte {
	b = appendInt(append(b, "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":"...), s.block)
	b = append(append(b, `,"delta":{"type":"`...), kind...)
	b = append(append(append(b, `","`...), member...), `":"`...)
	return append(append(b, lit...), "\"}}\n\n"...)
}

func (v messagesVoice) think(b []byte, s *speech, p piece) []byte {
	b = v.block(b, s, 'r', `{"type":"thinking","thinking":""}`)
	return blockDelta(b, s, "thinking_delta", "thinking", p.lit)
}

func (v messagesVoice) text(b []byte, s *speech, p piece) []byte {
	b = v.block(b, s, 't', `{"type":"text","text":""}`)
	return blockDelta(b, s, "text_delta", "text", p.lit)
}

func (v messagesVoice) call(b []byte, s *speech, c *said) []byte {
	b = v.close(b, s)
	start := append([]byte(`{"type":"tool_use","id":"`), c.id...)
	start = appendQuoted(append(start, `","name":`...), c.name, goEscapes)
	b = v.block(b, s, 'c', string(append(start, `,"input":{}}`...)))
	b = blockDelta(b, s, "input_json_delta", "partial_json", appendEscaped(nil, c.args, goEscapes))
	return v.close(b, s)
}

// stopReason is Ollama's: a stop word ends a turn like any other end.
func stopReason(s *speech) string {
	switch {
	case s.reason == "length":
		return "max_tokens"
	case len(s.calls) > 0:
		return "tool_use"
	}
	return "end_turn"
}

func (v messagesVoice) end(b []byte, s *speech) []byte {
	b = v.close(b, s)
	b = append(b, "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\""...)
	b = append(append(b, stopReason(s)...), `"},"usage":`...)
	b = appendMessageUsage(b, s)
	return append(b, "}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"...)
}

func appendMessageUsage(b []byte, s *speech) []byte {
	b = appendInt(append(b, `{"input_tokens":`...), s.promptN)
	return append(appendInt(append(b, `,"output_tokens":`...), s.outN), '}')
}

func (messagesVoice) whole(b []byte, s *speech) []byte {
	b = append(append(b, `{"id":"msg_`...), randomHex(24)...)
	b = appendQuoted(append(b, `","type":"message","role":"assistant","model":`...), s.a.model, goEscapes)
	b = append(b, `,"content":`...)
	b = appendContent(b, s, goEscapes, false)
	b = append(append(b, `,"stop_reason":"`...), stopReason(s)...)
	b = appendMessageUsage(append(b, `","usage":`...), s)
	return append(b, '}', '\n')
}

// appendContent writes the blocks of a whole message; nothing said is null.
func appendContent(b []byte, s *speech, e escaping, signed bool) []byte {
	if len(s.thoughts)+len(s.pieces)+len(s.calls) == 0 {
		if signed {
			return append(b, "[]"...)
		}
		return append(b, "null"...)
	}
	b = append(b, '[')
	if len(s.thoughts) > 0 {
		b = append(joined(append(b, `{"type":"thinking","thinking":"`...), s.thoughts), '"')
		if signed {
			b = append(b, `,"signature":""`...)
		}
		b = append(b, '}', ',')
	}
	if len(s.pieces) > 0 {
		b = append(joined(append(b, `{"type":"text","text":"`...), s.pieces), '"', '}', ',')
	}
	for _, c := range s.calls {
		b = append(append(b, `{"type":"tool_use","id":"`...), c.id...)
		b = appendQuoted(append(b, `","name":`...), c.name, e)
		b = append(append(append(b, `,"input":`...), c.args...), '}', ',')
	}
	b[len(b)-1] = ']'
	return b
}

func (messagesVoice) broken(b []byte, _ *speech) []byte { return b }

// llamaMessages speaks llama-server's /v1/messages.
type llamaMessages struct{ messagesVoice }

func (llamaMessages) header(h http.Header, stream bool) { llamaHeader(h, stream) }

func (llamaMessages) refuse(w http.ResponseWriter, r *refusal) { refuseLlama(w, r) }

func (v llamaMessages) open(b []byte, s *speech) []byte {
	b = append(b, "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"chatcmpl-"...)
	b = append(b, randomString(32)...)
	b = append(b, `","type":"message","role":"assistant","content":[],"model":`...)
	b = appendQuoted(b, s.m.full, cppEscapes)
	b = append(b, `,"stop_reason":null,"stop_sequence":null,"usage":`...)
	b = appendCachedUsage(b, s, 0)
	return append(b, "}}\n\n"...)
}

// appendCachedUsage: input_tokens leaves out what was cached.
func appendCachedUsage(b []byte, s *speech, out int) []byte {
	b = appendInt(append(b, `{"cache_read_input_tokens":`...), s.cachedN)
	b = appendInt(append(b, `,"input_tokens":`...), s.promptN-s.cachedN)
	return append(appendInt(append(b, `,"output_tokens":`...), out), '}')
}

// text signs the thinking before it, with nothing.
func (v llamaMessages) text(b []byte, s *speech, p piece) []byte {
	return v.messagesVoice.text(v.sign(b, s), s, p)
}

func (llamaMessages) sign(b []byte, s *speech) []byte {
	if s.open != 'r' {
		return b
	}
	return blockDelta(b, s, "signature_delta", "signature", nil)
}

// call opens the block without input, as llama-server does.
func (v llamaMessages) call(b []byte, s *speech, c *said) []byte {
	b = v.close(v.sign(b, s), s)
	start := append([]byte(`{"type":"tool_use","id":"`), c.id...)
	start = append(appendQuoted(append(start, `","name":`...), c.name, cppEscapes), '}')
	b = v.block(b, s, 'c', string(start))
	for _, part := range halves(c.args) {
		b = blockDelta(b, s, "input_json_delta", "partial_json", appendEscaped(nil, part, cppEscapes))
	}
	return v.close(b, s)
}

func (v llamaMessages) end(b []byte, s *speech) []byte {
	b = v.close(v.sign(b, s), s)
	b = append(b, "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\""...)
	b = append(append(b, stopReason(s)...), `","stop_sequence":`...)
	b = stopOrNull(b, s)
	b = appendInt(append(b, `},"usage":{"output_tokens":`...), s.outN)
	return append(b, "}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"...)
}

func stopOrNull(b []byte, s *speech) []byte {
	if s.stopWord == "" {
		return append(b, "null"...)
	}
	return appendQuoted(b, s.stopWord, cppEscapes)
}

func (llamaMessages) whole(b []byte, s *speech) []byte {
	b = append(append(b, `{"id":"chatcmpl-`...), randomString(32)...)
	b = append(b, `","type":"message","role":"assistant","content":`...)
	b = appendContent(b, s, cppEscapes, true)
	b = appendQuoted(append(b, `,"model":`...), s.m.full, cppEscapes)
	b = append(append(b, `,"stop_reason":"`...), stopReason(s)...)
	b = stopOrNull(append(b, `","stop_sequence":`...), s)
	b = appendCachedUsage(append(b, `,"usage":`...), s, s.outN)
	return append(b, '}')
}

// halves cuts arguments in two deltas, as they come while being generated.
func halves(args string) []string {
	if len(args) < 2 {
		return []string{args}
	}
	return []string{args[:1], args[1:]}
}
