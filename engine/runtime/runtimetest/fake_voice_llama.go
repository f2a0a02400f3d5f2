package runtimetest

import (
	"fmt"
	"net/http"
	"strconv"
	"time"
)

const llamaBuild = "b1-80fb11a"

var (
	asLlama     = []string{"llama.cpp"}
	asNothing   = []string{""}
	asStaying   = []string{"timeout=5, max=100"}
	asClosing   = []string{"close"}
	asUnbuffed  = []string{"no"}
	asMetrics   = []string{"text/plain; version=0.0.4"}
	asNoDate    []string // nil keeps net/http from adding Date
	asLlamaHTML = []string{"text/html"}
)

// llamaBase sets what llama-server answers every request with.
func llamaBase(h http.Header, origin string) {
	h["Server"] = asLlama
	h["Access-Control-Allow-Origin"] = asNothing
	if origin != "" {
		h["Access-Control-Allow-Origin"] = []string{origin}
	}
	h["Date"] = asNoDate
}

func llamaHeader(h http.Header, stream bool) {
	h["Keep-Alive"] = asStaying
	if stream {
		h["Content-Type"] = asEvents
		h["X-Accel-Buffering"] = asUnbuffed
	} else {
		h["Content-Type"] = asOllamaJSON
	}
}

// refuseLlama answers with llama-server's error object and closes the
// connection, as it does after every error. Two hands again: the middleware
// writes message first, the handlers write code first.
func refuseLlama(w http.ResponseWriter, r *refusal) {
	kind := r.kind
	if kind == "" {
		kind = "server_error"
		switch r.status {
		case http.StatusBadRequest:
			kind = "invalid_request_error"
		case http.StatusNotFound:
			kind = "not_found_error"
		case http.StatusNotImplemented:
			kind = "not_supported_error"
		}
	}
	b := append([]byte(nil), `{"error":{`...)
	if kind == "unavailable_error" || kind == "authentication_error" || r.status == http.StatusNotFound {
		b = appendQuoted(append(b, `"message":`...), r.text, cppEscapes)
		b = append(append(b, `,"type":"`...), kind...)
		b = appendInt(append(b, `","code":`...), r.status)
	} else {
		b = appendInt(append(b, `"code":`...), r.status)
		b = appendQuoted(append(b, `,"message":`...), r.text, cppEscapes)
		b = append(append(append(b, `,"type":"`...), kind...), '"')
	}
	b = append(append(b, r.extra...), '}', '}')
	h := w.Header()
	h["Connection"] = asClosing
	h["Content-Type"] = asOllamaJSON
	h["Content-Length"] = []string{strconv.Itoa(len(b))}
	w.WriteHeader(r.status)
	_, _ = w.Write(b)
}

// tooLong is the answer to a prompt of n tokens in a context of ctx.
func tooLong(n, ctx int) *refusal {
	extra := appendInt([]byte(`,"n_prompt_tokens":`), n)
	return &refusal{status: http.StatusBadRequest, kind: "exceed_context_size_error",
		text:  fmt.Sprintf("request (%d tokens) exceeds the available context size (%d tokens), try increasing it", n, ctx),
		extra: appendInt(append(extra, `,"n_ctx":`...), ctx)}
}

// tooLongInRunner is the same as Ollama tells it: the runner's whole answer.
func (s *speech) tooLongInRunner(ctx int) *refusal {
	r := tooLong(s.promptN, ctx)
	b := appendQuoted([]byte(`{"error":{"code":400,"message":`), r.text, goEscapes)
	b = append(append(append(b, `,"type":"`...), r.kind...), '"')
	return &refusal{status: r.status, text: string(append(append(b, r.extra...), '}', '}'))}
}

// llamaChat speaks llama-server's /v1/chat/completions.
type llamaChat struct{}

func (llamaChat) header(h http.Header, stream bool) { llamaHeader(h, stream) }

func (llamaChat) refuse(w http.ResponseWriter, r *refusal) { refuseLlama(w, r) }

// open sends the role alone, with content null.
func (v llamaChat) open(b []byte, s *speech) []byte {
	s.id = "chatcmpl-" + randomString(32)
	s.prefix = append(llamaCommon([]byte(`,"created":`), s), `,"object":"chat.completion.chunk"`...)
	return v.chunk(b, s, `"role":"assistant","content":null`)
}

// llamaCommon is what every chunk repeats.
func llamaCommon(b []byte, s *speech) []byte {
	b = strconv.AppendInt(b, s.created, 10)
	b = append(append(b, `,"id":"`...), s.id...)
	b = appendQuoted(append(b, `","model":`...), s.m.full, cppEscapes)
	return append(b, `,"system_fingerprint":"`+llamaBuild+`"`...)
}

func (llamaChat) chunk(b []byte, s *speech, delta string) []byte {
	b = append(append(b, `data: {"choices":[{"finish_reason":null,"index":0,"delta":{`...), delta...)
	return append(append(append(b, `}}]`...), s.prefix...), "}\n\n"...)
}

// delta appends one chunk with one text member, without allocating.
func (llamaChat) delta(b []byte, s *speech, member string, lit []byte) []byte {
	b = append(append(b, `data: {"choices":[{"finish_reason":null,"index":0,"delta":{"`...), member...)
	b = append(append(b, `":"`...), lit...)
	return append(append(append(b, `"}}]`...), s.prefix...), "}\n\n"...)
}

func (v llamaChat) think(b []byte, s *speech, p piece) []byte {
	return v.delta(b, s, "reasoning_content", p.lit)
}

func (v llamaChat) text(b []byte, s *speech, p piece) []byte {
	if !s.a.logs {
		return v.delta(b, s, "content", p.lit)
	}
	b = append(append(b, `data: {"choices":[{"finish_reason":null,"index":0,"delta":{"content":"`...), p.lit...)
	b = appendLlamaLogprobs(append(b, `"},"logprobs":{"content":`...), []piece{p}, s.a.topLog)
	return append(append(append(b, `}}]`...), s.prefix...), "}\n\n"...)
}

// call sends the name first and the arguments in pieces.
func (v llamaChat) call(b []byte, s *speech, c *said) []byte {
	parts := halves(c.args)
	d := appendInt([]byte(`"tool_calls":[{"index":`), c.index)
	d = append(append(d, `,"id":"`...), c.id...)
	d = appendQuoted(append(d, `","type":"function","function":{"name":`...), c.name, cppEscapes)
	d = appendQuoted(append(d, `,"arguments":`...), parts[0], cppEscapes)
	b = v.chunk(b, s, string(append(d, `}}]`...)))
	for _, part := range parts[1:] {
		d = appendInt([]byte(`"tool_calls":[{"index":`), c.index)
		d = appendQuoted(append(d, `,"function":{"arguments":`...), part, cppEscapes)
		b = v.chunk(b, s, string(append(d, `}}]`...)))
	}
	return b
}

func (llamaChat) end(b []byte, s *speech) []byte {
	b = append(append(b, `data: {"choices":[{"finish_reason":"`...), finishReason(s)...)
	b = append(append(b, `","index":0,"delta":{}}]`...), s.prefix...)
	if s.a.usage {
		b = append(append(b, "}\n\ndata: {\"choices\":[]"...), s.prefix...)
		b = appendLlamaUsage(append(b, `,"usage":`...), s)
	}
	b = appendTimings(append(b, `,"timings":`...), s)
	return append(b, "}\n\ndata: [DONE]\n\n"...)
}

func appendLlamaUsage(b []byte, s *speech) []byte {
	b = appendInt(append(b, `{"completion_tokens":`...), s.outN)
	b = appendInt(append(b, `,"prompt_tokens":`...), s.promptN)
	b = appendInt(append(b, `,"total_tokens":`...), s.promptN+s.outN)
	b = appendInt(append(b, `,"prompt_tokens_details":{"cached_tokens":`...), s.cachedN)
	return append(b, '}', '}')
}

// appendTimings writes milliseconds and rates as llama-server measures them.
func appendTimings(b []byte, s *speech) []byte {
	fresh := s.promptN - s.cachedN
	promptMS, outMS := milliseconds(s.prefill), milliseconds(s.decode)
	b = appendInt(append(b, `{"cache_n":`...), s.cachedN)
	b = appendInt(append(b, `,"prompt_n":`...), fresh)
	b = appendFloat(append(b, `,"prompt_ms":`...), promptMS)
	b = appendFloat(append(b, `,"prompt_per_token_ms":`...), promptMS/float64(max(1, fresh)))
	b = appendFloat(append(b, `,"prompt_per_second":`...), 1000*float64(fresh)/promptMS)
	b = appendInt(append(b, `,"predicted_n":`...), s.outN)
	b = appendFloat(append(b, `,"predicted_ms":`...), outMS)
	b = appendFloat(append(b, `,"predicted_per_token_ms":`...), outMS/float64(max(1, s.outN)))
	b = appendFloat(append(b, `,"predicted_per_second":`...), 1000*float64(s.outN)/outMS)
	return append(b, '}')
}

// milliseconds is never zero: rates are quotients of it.
func milliseconds(d time.Duration) float64 {
	return max(0.001, float64(d.Microseconds())/1000)
}

func (llamaChat) whole(b []byte, s *speech) []byte {
	b = append(append(b, `{"choices":[{"finish_reason":"`...), finishReason(s)...)
	b = append(b, `","index":0,"message":{"role":"assistant","content":"`...)
	b = append(joined(b, s.pieces), '"')
	if len(s.thoughts) > 0 {
		b = append(joined(append(b, `,"reasoning_content":"`...), s.thoughts), '"')
	}
	if len(s.calls) > 0 {
		b = append(b, `,"tool_calls":[`...)
		for i, c := range s.calls {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendQuoted(append(b, `{"type":"function","function":{"name":`...), c.name, cppEscapes)
			b = appendQuoted(append(b, `,"arguments":`...), c.args, cppEscapes)
			b = append(append(append(b, `},"id":"`...), c.id...), '"', '}')
		}
		b = append(b, ']')
	}
	b = append(b, '}')
	if s.a.logs {
		b = append(appendLlamaLogprobs(append(b, `,"logprobs":{"content":`...), s.pieces, s.a.topLog), '}')
	}
	b = strconv.AppendInt(append(b, `}],"created":`...), s.created, 10)
	b = appendQuoted(append(b, `,"model":`...), s.m.full, cppEscapes)
	b = append(b, `,"system_fingerprint":"`+llamaBuild+`","object":"chat.completion","usage":`...)
	b = appendLlamaUsage(b, s)
	b = append(append(b, `,"id":"chatcmpl-`...), randomString(32)...)
	return append(appendTimings(append(b, `","timings":`...), s), '}')
}

func (llamaChat) broken(b []byte, _ *speech) []byte { return b }

func appendLlamaLogprobs(b []byte, list []piece, top int) []byte {
	b = append(b, '[')
	for i, p := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendLogprob(appendInt(append(b, `{"id":`...), 300+i), p, top)
	}
	return append(b, ']')
}

func appendLogprob(b []byte, p piece, top int) []byte {
	b = appendToken(append(b, ','), p.text, "-0.01", cppEscapes)
	b = append(b, `,"top_logprobs":[`...)
	for i := range top {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendInt(append(b, `{"id":`...), 300+i)
		b = append(appendToken(append(b, ','), p.text, "-0.01", cppEscapes), '}')
	}
	return append(b, ']', '}')
}

// llamaCompletion speaks llama-server's /v1/completions.
type llamaCompletion struct{ llamaChat }

func (llamaCompletion) open(b []byte, s *speech) []byte {
	s.id = "chatcmpl-" + randomString(32)
	p := strconv.AppendInt([]byte(`,"created":`), s.created, 10)
	p = appendQuoted(append(p, `,"model":`...), s.m.full, cppEscapes)
	p = append(p, `,"system_fingerprint":"`+llamaBuild+`","object":"text_completion"`...)
	s.prefix = p
	return b
}

func (llamaCompletion) think(b []byte, _ *speech, _ piece) []byte { return b }

func (llamaCompletion) call(b []byte, _ *speech, _ *said) []byte { return b }

func (llamaCompletion) text(b []byte, s *speech, p piece) []byte {
	b = append(append(b, `data: {"choices":[{"text":"`...), p.lit...)
	b = append(append(b, `","index":0,"logprobs":null,"finish_reason":null}]`...), s.prefix...)
	return append(append(append(b, `,"id":"`...), s.id...), "\"}\n\n"...)
}

func (v llamaCompletion) end(b []byte, s *speech) []byte {
	b = v.final(append(b, "data: "...), s, nil)
	return append(b, "\n\ndata: [DONE]\n\n"...)
}

func (v llamaCompletion) whole(b []byte, s *speech) []byte {
	v.open(nil, s)
	return v.final(b, s, s.pieces)
}

func (llamaCompletion) final(b []byte, s *speech, said []piece) []byte {
	b = joined(append(b, `{"choices":[{"text":"`...), said)
	b = append(append(b, `","index":0,"logprobs":null,"finish_reason":"`...), s.reason...)
	b = append(append(b, `"}]`...), s.prefix...)
	b = appendLlamaUsage(append(b, `,"usage":`...), s)
	b = append(append(b, `,"id":"`...), s.id...)
	return append(appendTimings(append(b, `","timings":`...), s), '}')
}
