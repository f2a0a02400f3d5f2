package runtimetest

import (
	"net/http"
	"strconv"
	"time"
)

// llamaResponses speaks llama-server's /v1/responses: events without
// sequence_number and with a bare response object, as recorded.
type llamaResponses struct{}

func (llamaResponses) header(h http.Header, stream bool) { llamaHeader(h, stream) }

func (llamaResponses) refuse(w http.ResponseWriter, r *refusal) { refuseLlama(w, r) }

// event appends one event; rest is the members after type.
func (llamaResponses) event(b []byte, kind string, rest ...[]byte) []byte {
	b = append(append(b, "event: "...), kind...)
	b = append(append(b, "\ndata: {\"type\":\""...), kind...)
	b = append(b, '"')
	for _, r := range rest {
		b = append(b, r...)
	}
	return append(b, "}\n\n"...)
}

func (v llamaResponses) open(b []byte, s *speech) []byte {
	s.id = "resp_" + randomString(32)
	bare := []byte(`,"response":{"id":"` + s.id + `","object":"response","status":"in_progress"}`)
	b = v.event(b, "response.created", bare)
	return v.event(b, "response.in_progress", bare)
}

func (v llamaResponses) think(b []byte, s *speech, p piece) []byte {
	if s.open != 'r' {
		s.open = 'r'
		s.item = "rs_" + randomString(32)
		b = v.event(b, "response.output_item.added",
			[]byte(`,"item":{"id":"`+s.item+`","summary":[],"type":"reasoning","content":[],"encrypted_content":"","status":"in_progress"}`))
	}
	s.sofar = append(s.sofar, p.lit...)
	return v.event(b, "response.reasoning_text.delta", []byte(`,"delta":"`), p.lit, []byte(`","item_id":"`+s.item+`"`))
}

func (v llamaResponses) text(b []byte, s *speech, p piece) []byte {
	if s.open == 'r' {
		b = v.close(b, s)
	}
	if s.open != 't' {
		s.open = 't'
		s.item = "msg_" + randomString(32)
		b = v.event(b, "response.output_item.added",
			[]byte(`,"item":{"content":[],"id":"`+s.item+`","role":"assistant","status":"in_progress","type":"message"}`))
		b = v.event(b, "response.content_part.added",
			[]byte(`,"item_id":"`+s.item+`","part":{"type":"output_text","text":""}`))
	}
	s.sofar = append(s.sofar, p.lit...)
	b = append(append(b, "event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"item_id\":\""...), s.item...)
	return append(append(append(b, `","delta":"`...), p.lit...), "\"}\n\n"...)
}

// close ends the open item.
func (v llamaResponses) close(b []byte, s *speech) []byte {
	var item []byte
	switch s.open {
	case 't':
		at := []byte(`,"item_id":"` + s.item + `"`)
		b = v.event(b, "response.output_text.done", at, []byte(`,"text":"`), s.sofar, []byte(`"`))
		part := append([]byte(`{"type":"output_text","annotations":[],"logprobs":[],"text":"`), s.sofar...)
		part = append(part, '"', '}')
		b = v.event(b, "response.content_part.done", at, []byte(`,"part":`), part)
		item = append([]byte(`{"type":"message","status":"completed","id":"`+s.item+`","content":[`), part...)
		item = append(item, `],"role":"assistant"}`...)
	case 'r':
		item = reasoningItem(s.item, s.sofar, false)
	default:
		return b
	}
	b = v.event(b, "response.output_item.done", []byte(`,"item":`), item)
	s.keep(item)
	s.open, s.sofar = 0, s.sofar[:0]
	return b
}

func reasoningItem(id string, lit []byte, status bool) []byte {
	b := append([]byte(`{"id":"`+id+`","summary":[],"type":"reasoning","content":[{"text":"`), lit...)
	b = append(b, `","type":"reasoning_text"}],"encrypted_content":""`...)
	if status {
		b = append(b, `,"status":"completed"`...)
	}
	return append(b, '}')
}

func (v llamaResponses) call(b []byte, s *speech, c *said) []byte {
	b = v.close(b, s)
	id := "fc_" + c.id
	b = v.event(b, "response.output_item.added", []byte(`,"item":`), functionCall(id, c.name, "", "in_progress"))
	for _, part := range halves(c.args) {
		b = v.event(b, "response.function_call_arguments.delta",
			appendQuoted([]byte(`,"delta":`), part, cppEscapes), []byte(`,"item_id":"`+id+`"`))
	}
	item := functionCall(id, c.name, c.args, "completed")
	s.keep(item)
	return v.event(b, "response.output_item.done", []byte(`,"item":`), item)
}

func functionCall(id, name, args, status string) []byte {
	b := appendQuoted([]byte(`{"type":"function_call","status":"`+status+`","arguments":`), args, cppEscapes)
	b = appendQuoted(append(b, `,"call_id":"`+id+`","name":`...), name, cppEscapes)
	return append(b, '}')
}

func (v llamaResponses) end(b []byte, s *speech) []byte {
	b = v.close(b, s)
	done := []byte(`,"response":{"id":"` + s.id + `","object":"response","created_at":`)
	done = strconv.AppendInt(done, s.created, 10)
	done = appendQuoted(append(done, `,"status":"completed","model":`...), s.m.full, cppEscapes)
	done = append(append(append(done, `,"output":[`...), s.output...), `],"usage":`...)
	done = append(appendItemUsage(done, s), '}')
	return v.event(b, "response.completed", done, appendTimings([]byte(`,"timings":`), s))
}

func appendItemUsage(b []byte, s *speech) []byte {
	b = appendInt(append(b, `{"input_tokens":`...), s.promptN)
	b = appendInt(append(b, `,"output_tokens":`...), s.outN)
	b = appendInt(append(b, `,"total_tokens":`...), s.promptN+s.outN)
	b = appendInt(append(b, `,"input_tokens_details":{"cached_tokens":`...), s.cachedN)
	return append(b, '}', '}')
}

func (llamaResponses) whole(b []byte, s *speech) []byte {
	b = strconv.AppendInt(append(b, `{"completed_at":`...), time.Now().Unix(), 10)
	b = strconv.AppendInt(append(b, `,"created_at":`...), s.created, 10)
	b = append(append(b, `,"id":"resp_`...), randomString(32)...)
	b = appendQuoted(append(b, `","model":`...), s.m.full, cppEscapes)
	b = append(b, `,"object":"response","output":[`...)
	if len(s.thoughts) > 0 {
		s.keep(reasoningItem("rs_"+randomString(32), joined(nil, s.thoughts), true))
	}
	if len(s.pieces) > 0 {
		item := joined([]byte(`{"content":[{"type":"output_text","annotations":[],"logprobs":[],"text":"`), s.pieces)
		s.keep(append(item, `"}],"id":"msg_`+randomString(32)+`","role":"assistant","status":"completed","type":"message"}`...))
	}
	for _, c := range s.calls {
		s.keep(functionCall("fc_"+c.id, c.name, c.args, "completed"))
	}
	b = append(append(b, s.output...), `],"status":"completed","usage":`...)
	return append(appendItemUsage(b, s), '}')
}

func (llamaResponses) broken(b []byte, _ *speech) []byte { return b }
