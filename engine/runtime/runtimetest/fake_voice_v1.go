package runtimetest

import (
	"math/rand/v2"
	"net/http"
	"strconv"
)

// chatVoice speaks Ollama's /v1/chat/completions.
type chatVoice struct{}

func (chatVoice) header(h http.Header, stream bool) { v1Header(h, stream) }

func v1Header(h http.Header, stream bool) {
	if stream {
		h["Content-Type"] = asEvents
	} else {
		h["Content-Type"] = asPlainJSON
	}
}

func (chatVoice) refuse(w http.ResponseWriter, r *refusal) {
	refuseV1(w, r.status, r.text, asPlainJSON, "\n")
}

// refuseV1 answers with OpenAI's envelope. Ollama writes it in two hands: what
// its adapter refuses has the charset and no newline, what the handler behind
// refuses has the newline and no charset.
func refuseV1(w http.ResponseWriter, status int, text string, contentType []string, end string) {
	kind := "api_error"
	switch status {
	case http.StatusBadRequest:
		kind = "invalid_request_error"
	case http.StatusNotFound:
		kind = "not_found_error"
	}
	w.Header()["Content-Type"] = contentType
	w.WriteHeader(status)
	b := appendQuoted([]byte(`{"error":{"message":`), text, goEscapes)
	b = append(append(b, `,"type":"`...), kind...)
	b = append(b, `","param":null,"code":null}}`...)
	_, _ = w.Write(append(b, end...))
}

// open fixes what every chunk repeats.
func (chatVoice) open(b []byte, s *speech) []byte {
	s.id = "chatcmpl-" + strconv.Itoa(rand.IntN(999))
	s.prefix = chunkStart(s, s.a.model)
	return b
}

func chunkStart(s *speech, model string) []byte {
	p := append([]byte(`data: {"id":"`), s.id...)
	p = append(p, `","object":"chat.completion.chunk","created":`...)
	p = strconv.AppendInt(p, s.created, 10)
	p = appendQuoted(append(p, `,"model":`...), model, goEscapes)
	return append(p, `,"system_fingerprint":"fp_ollama","choices":[`...)
}

// delta begins a chunk up to the inside of its delta; the first says the role.
func (chatVoice) delta(b []byte, s *speech) []byte {
	b = append(append(b, s.prefix...), `{"index":0,"delta":{`...)
	if !s.started {
		s.started = true
		b = append(b, `"role":"assistant",`...)
	}
	return b
}

func (v chatVoice) think(b []byte, s *speech, p piece) []byte {
	b = append(append(v.delta(b, s), `"content":"","reasoning":"`...), p.lit...)
	return append(b, `"},"finish_reason":null}]}`+"\n\n"...)
}

func (v chatVoice) text(b []byte, s *speech, p piece) []byte {
	b = append(append(v.delta(b, s), `"content":"`...), p.lit...)
	b = append(b, `"},"finish_reason":null`...)
	if s.a.logs {
		b = append(appendLogprobs(append(b, `,"logprobs":{"content":`...), []piece{p}, s.a.topLog, goEscapes), '}')
	}
	return append(b, "}]}\n\n"...)
}

func (v chatVoice) call(b []byte, s *speech, c *said) []byte {
	b = append(v.delta(b, s), `"content":"","tool_calls":[`...)
	b = appendV1Call(b, c)
	return append(b, `]},"finish_reason":null}]}`+"\n\n"...)
}

func appendV1Call(b []byte, c *said) []byte {
	b = append(append(b, `{"id":"`...), c.id...)
	b = appendInt(append(b, `","index":`...), c.index)
	b = appendQuoted(append(b, `,"type":"function","function":{"name":`...), c.name, goEscapes)
	b = appendQuoted(append(b, `,"arguments":`...), c.args, goEscapes)
	return append(b, '}', '}')
}

// finishReason tells tool calls only where the model stopped by itself.
func finishReason(s *speech) string {
	if len(s.calls) > 0 && s.reason == "stop" {
		return "tool_calls"
	}
	return s.reason
}

func (chatVoice) end(b []byte, s *speech) []byte {
	b = append(append(b, s.prefix...), `{"index":0,"delta":{},"finish_reason":"`...)
	b = append(append(b, finishReason(s)...), `"}]}`+"\n\n"...)
	if s.a.usage {
		b = append(append(b, s.prefix...), `],"usage":`...)
		b = append(appendUsage(b, s.promptN, s.outN), "}\n\n"...)
	}
	return append(b, "data: [DONE]\n\n"...)
}

func appendUsage(b []byte, prompt, out int) []byte {
	b = appendInt(append(b, `{"prompt_tokens":`...), prompt)
	b = appendInt(append(b, `,"completion_tokens":`...), out)
	b = appendInt(append(b, `,"total_tokens":`...), prompt+out)
	return append(b, '}')
}

func (chatVoice) whole(b []byte, s *speech) []byte {
	b = appendInt(append(b, `{"id":"chatcmpl-`...), rand.IntN(999))
	b = append(b, `","object":"chat.completion","created":`...)
	b = strconv.AppendInt(b, s.created, 10)
	b = appendQuoted(append(b, `,"model":`...), s.a.model, goEscapes)
	b = append(b, `,"system_fingerprint":"fp_ollama","choices":[{"index":0,"message":{"role":"assistant","content":"`...)
	b = append(joined(b, s.pieces), '"')
	if len(s.thoughts) > 0 {
		b = append(joined(append(b, `,"reasoning":"`...), s.thoughts), '"')
	}
	if len(s.calls) > 0 {
		b = append(b, `,"tool_calls":[`...)
		for i := range s.calls {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendV1Call(b, &s.calls[i])
		}
		b = append(b, ']')
	}
	b = append(append(append(b, `},"finish_reason":"`...), finishReason(s)...), '"')
	if s.a.logs {
		b = append(appendLogprobs(append(b, `,"logprobs":{"content":`...), s.pieces, s.a.topLog, goEscapes), '}')
	}
	b = appendUsage(append(b, `}],"usage":`...), s.promptN, s.outN)
	return append(b, '}', '\n')
}

// broken is what Ollama's adapter makes of the error line: an empty chunk of
// no model, and no end.
func (v chatVoice) broken(b []byte, s *speech) []byte {
	b = append(append(b, chunkStart(s, "")...), `{"index":0,"delta":{`...)
	if !s.started {
		b = append(b, `"role":"assistant",`...)
	}
	return append(b, `"content":""},"finish_reason":null}]}`+"\n\n"...)
}

// completionVoice speaks Ollama's /v1/completions.
type completionVoice struct{}

func (completionVoice) header(h http.Header, stream bool) { v1Header(h, stream) }

func (completionVoice) refuse(w http.ResponseWriter, r *refusal) { chatVoice{}.refuse(w, r) }

func (completionVoice) open(b []byte, s *speech) []byte {
	s.id = "cmpl-" + strconv.Itoa(rand.IntN(999))
	p := append([]byte(`data: {"id":"`), s.id...)
	p = append(p, `","object":"text_completion","created":`...)
	p = strconv.AppendInt(p, s.created, 10)
	s.prefix = append(p, `,"choices":[`...)
	return b
}

func (completionVoice) think(b []byte, _ *speech, _ piece) []byte { return b }

func (completionVoice) text(b []byte, s *speech, p piece) []byte {
	b = append(append(b, s.prefix...), `{"text":"`...)
	b = append(append(b, p.lit...), `","index":0,"finish_reason":null}]`...)
	return completionTail(b, s, 0, 0)
}

// completionTail ends a chunk; with include_usage each has one, of zeros.
func completionTail(b []byte, s *speech, prompt, out int) []byte {
	b = appendQuoted(append(b, `,"model":`...), s.a.model, goEscapes)
	b = append(b, `,"system_fingerprint":"fp_ollama"`...)
	if s.a.usage {
		b = appendUsage(append(b, `,"usage":`...), prompt, out)
	}
	return append(b, "}\n\n"...)
}

func (completionVoice) call(b []byte, _ *speech, _ *said) []byte { return b }

func (completionVoice) end(b []byte, s *speech) []byte {
	b = append(append(b, s.prefix...), `{"text":"","index":0,"finish_reason":"`...)
	b = completionTail(append(append(b, s.reason...), `"}]`...), s, 0, 0)
	if s.a.usage {
		b = completionTail(append(append(b, s.prefix...), ']'), s, s.promptN, s.outN)
	}
	return append(b, "data: [DONE]\n\n"...)
}

func (completionVoice) whole(b []byte, s *speech) []byte {
	b = appendInt(append(b, `{"id":"cmpl-`...), rand.IntN(999))
	b = append(b, `","object":"text_completion","created":`...)
	b = strconv.AppendInt(b, s.created, 10)
	b = appendQuoted(append(b, `,"model":`...), s.a.model, goEscapes)
	b = append(b, `,"system_fingerprint":"fp_ollama","choices":[{"text":"`...)
	b = append(joined(b, s.pieces), `","index":0,"finish_reason":"`...)
	b = append(append(b, s.reason...), `"}],"usage":`...)
	return append(appendUsage(b, s.promptN, s.outN), '}', '\n')
}

func (completionVoice) broken(b []byte, s *speech) []byte {
	b = append(append(b, s.prefix...), `{"text":"","index":0,"finish_reason":null}],"model":"","system_fingerprint":"fp_ollama"`...)
	return append(b, "}\n\n"...)
}
