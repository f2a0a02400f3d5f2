package runtimetest

import (
	"net/http"
	"strconv"
	"time"
)

// Content types, as the servers spell them.
const (
	ollamaJSON = "application/json; charset=utf-8"
	plainJSON  = "application/json"
	ndjson     = "application/x-ndjson"
	eventText  = "text/event-stream"
	plainText  = "text/plain"
)

// Header values are shared slices: setting one allocates nothing.
var (
	asOllamaJSON = []string{ollamaJSON}
	asPlainJSON  = []string{plainJSON}
	asNDJSON     = []string{ndjson}
	asEvents     = []string{eventText}
	asPlainText  = []string{plainText}
)

// nativeVoice speaks /api/chat and /api/generate.
type nativeVoice struct{ generate bool }

func (nativeVoice) header(h http.Header, stream bool) {
	if stream {
		h["Content-Type"] = asNDJSON
	} else {
		h["Content-Type"] = asOllamaJSON
	}
}

func (nativeVoice) refuse(w http.ResponseWriter, r *refusal) { refuseNative(w, r.status, r.text) }

func refuseNative(w http.ResponseWriter, status int, text string) {
	w.Header()["Content-Type"] = asOllamaJSON
	w.WriteHeader(status)
	b := appendQuoted([]byte(`{"error":`), text, goEscapes)
	_, _ = w.Write(append(b, '}'))
}

func (v nativeVoice) open(b []byte, s *speech) []byte {
	s.prefix = v.lineStart(nil, s.a.model)
	return b
}

// lineStart is a line up to the time.
func (nativeVoice) lineStart(b []byte, model string) []byte {
	b = append(b, `{"model":`...)
	b = appendQuoted(b, model, goEscapes)
	return append(b, `,"created_at":"`...)
}

func (nativeVoice) now(b []byte) []byte {
	b = time.Now().UTC().AppendFormat(b, time.RFC3339Nano)
	return append(b, '"')
}

func (v nativeVoice) think(b []byte, s *speech, p piece) []byte {
	b = v.now(append(b, s.prefix...))
	if v.generate {
		b = append(b, `,"response":"","thinking":"`...)
		b = append(b, p.lit...)
		return append(b, `","done":false}`+"\n"...)
	}
	b = append(b, `,"message":{"role":"assistant","content":"","thinking":"`...)
	b = append(b, p.lit...)
	return append(b, `"},"done":false}`+"\n"...)
}

func (v nativeVoice) text(b []byte, s *speech, p piece) []byte {
	b = v.now(append(b, s.prefix...))
	if v.generate {
		b = append(append(b, `,"response":"`...), p.lit...)
		b = append(b, `","done":false`...)
	} else {
		b = append(append(b, `,"message":{"role":"assistant","content":"`...), p.lit...)
		b = append(b, `"},"done":false`...)
	}
	if s.a.logs {
		b = appendLogprobs(append(b, `,"logprobs":`...), []piece{p}, s.a.topLog, goEscapes)
	}
	return append(b, '}', '\n')
}

func (v nativeVoice) call(b []byte, s *speech, c *said) []byte {
	b = v.now(append(b, s.prefix...))
	b = append(b, `,"message":{"role":"assistant","content":"","tool_calls":[`...)
	b = appendNativeCall(b, c)
	return append(b, `]},"done":false}`+"\n"...)
}

func appendNativeCall(b []byte, c *said) []byte {
	b = append(append(b, `{"id":"`...), c.id...)
	b = appendInt(append(b, `","function":{"index":`...), c.index)
	b = appendQuoted(append(b, `,"name":`...), c.name, goEscapes)
	b = append(append(b, `,"arguments":`...), c.args...)
	return append(b, '}', '}')
}

func (v nativeVoice) end(b []byte, s *speech) []byte {
	b = v.now(append(b, s.prefix...))
	if v.generate {
		b = append(b, `,"response":""`...)
	} else {
		b = append(b, `,"message":{"role":"assistant","content":""}`...)
	}
	return append(v.done(b, s, false), '\n')
}

// done appends the tail of a final object.
func (v nativeVoice) done(b []byte, s *speech, logs bool) []byte {
	b = append(append(b, `,"done":true,"done_reason":"`...), s.reason...)
	b = append(b, '"')
	if v.generate && !s.a.raw {
		b = append(b, `,"context":[`...)
		for i := range min(s.promptN+s.outN, 64) {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendInt(b, 330+i)
		}
		b = append(b, ']')
	}
	if logs {
		b = appendLogprobs(append(b, `,"logprobs":`...), s.pieces, s.a.topLog, goEscapes)
	}
	b = nanoseconds(b, `,"total_duration":`, time.Since(s.began))
	b = nanoseconds(b, `,"load_duration":`, s.loadTime)
	b = count(b, `,"prompt_eval_count":`, s.promptN)
	b = nanoseconds(b, `,"prompt_eval_duration":`, s.prefill)
	b = count(b, `,"eval_count":`, s.outN)
	b = nanoseconds(b, `,"eval_duration":`, s.decode)
	return append(b, '}')
}

// nanoseconds and count leave a zero out, as Ollama does.
func nanoseconds(b []byte, name string, d time.Duration) []byte {
	if d <= 0 {
		return b
	}
	return strconv.AppendInt(append(b, name...), int64(d), 10)
}

func count(b []byte, name string, n int) []byte {
	if n <= 0 {
		return b
	}
	return appendInt(append(b, name...), n)
}

func (v nativeVoice) whole(b []byte, s *speech) []byte {
	b = v.now(v.lineStart(b, s.a.model))
	if v.generate {
		b = append(b, `,"response":"`...)
	} else {
		b = append(b, `,"message":{"role":"assistant","content":"`...)
	}
	b = append(joined(b, s.pieces), '"')
	if len(s.thoughts) > 0 {
		b = append(joined(append(b, `,"thinking":"`...), s.thoughts), '"')
	}
	if len(s.calls) > 0 {
		b = append(b, `,"tool_calls":[`...)
		for i := range s.calls {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendNativeCall(b, &s.calls[i])
		}
		b = append(b, ']')
	}
	if !v.generate {
		b = append(b, '}')
	}
	return v.done(b, s, s.a.logs)
}

func (nativeVoice) broken(b []byte, _ *speech) []byte {
	return append(b, `{"error":"an error was encountered while running the model: unexpected EOF"}`+"\n"...)
}

func joined(b []byte, list []piece) []byte {
	for i := range list {
		b = append(b, list[i].lit...)
	}
	return b
}

// appendLogprobs writes the form Ollama uses natively, and inside "content"
// on /v1. The other candidates are made up; the first of them is the empty
// end token, which has no bytes member.
func appendLogprobs(b []byte, list []piece, top int, e escaping) []byte {
	b = append(b, '[')
	for i, p := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendToken(append(b, '{'), p.text, "0", e)
		if top > 0 {
			b = append(b, `,"top_logprobs":[`...)
			b = append(appendToken(append(b, '{'), p.text, "0", e), '}')
			for j := range top - 1 {
				other := " or"
				if i+j == 0 {
					other = ""
				}
				b = append(appendToken(append(b, ',', '{'), other, "-60", e), '}')
			}
			b = append(b, ']')
		}
		b = append(b, '}')
	}
	return append(b, ']')
}

func appendToken(b []byte, token, logprob string, e escaping) []byte {
	b = appendQuoted(append(b, `"token":`...), token, e)
	b = append(append(b, `,"logprob":`...), logprob...)
	if token == "" {
		return b
	}
	b = append(b, `,"bytes":[`...)
	for i := range len(token) {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendInt(b, int(token[i]))
	}
	return append(b, ']')
}
