package runtimetest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"
)

// responsesVoice speaks Ollama's /v1/responses. Its events are maps written by
// Go, so their members come in alphabetical order.
type responsesVoice struct{}

func (responsesVoice) header(h http.Header, stream bool) {
	v1Header(h, stream)
	if stream {
		h["Cache-Control"] = noCache
		h["Connection"] = keepAlive
	}
}

var (
	noCache   = []string{"no-cache"}
	keepAlive = []string{"keep-alive"}
)

func (responsesVoice) refuse(w http.ResponseWriter, r *refusal) { chatVoice{}.refuse(w, r) }

// event appends one event; body is the members before sequence_number.
func (responsesVoice) event(b []byte, s *speech, kind string, body []byte) []byte {
	b = append(append(append(b, "event: "...), kind...), "\ndata: {"...)
	b = append(b, body...)
	b = appendInt(append(b, `,"sequence_number":`...), s.seq)
	s.seq++
	b = append(append(b, `,"type":"`...), kind...)
	return append(b, "\"}\n\n"...)
}

func (v responsesVoice) open(b []byte, s *speech) []byte {
	s.id = fmt.Sprintf("resp_%06d", rand.IntN(999999))
	for _, kind := range []string{"response.created", "response.in_progress"} {
		b = v.event(b, s, kind, appendResponse([]byte(`"response":`), s, false))
	}
	return b
}

// appendResponse writes the response object as streams carry it.
func appendResponse(b []byte, s *speech, done bool) []byte {
	b = append(b, `{"background":false,"completed_at":`...)
	if done {
		b = strconv.AppendInt(b, time.Now().Unix(), 10)
	} else {
		b = append(b, "null"...)
	}
	b = strconv.AppendInt(append(b, `,"created_at":`...), s.created, 10)
	b = append(append(b, `,"error":null,"frequency_penalty":0,"id":"`...), s.id...)
	b = orNull(append(b, `","incomplete_details":null,"instructions":`...), s.a.instruct)
	b = maxOrNull(append(b, `,"max_output_tokens":`...), s.a.max)
	b = appendQuoted(append(b, `,"max_tool_calls":null,"metadata":{},"model":`...), s.a.model, goEscapes)
	b = append(b, `,"object":"response","output":`...)
	switch {
	case !done:
		b = append(b, "[]"...)
	case s.output == nil:
		b = append(b, "null"...) // nothing was said at all: Ollama's nil slice
	default:
		b = append(append(append(b, '['), s.output...), ']')
	}
	b = append(b, `,"parallel_tool_calls":true,"presence_penalty":0,"previous_response_id":null,"prompt_cache_key":null,"reasoning":null,"safety_identifier":null,"service_tier":"default","status":"`...)
	if done {
		b = append(b, "completed"...)
	} else {
		b = append(b, "in_progress"...)
	}
	b = append(b, `","store":false,"temperature":1,"text":{"format":{"type":"text"}},"tool_choice":"auto","tools":`...)
	b = appendEchoedTools(b, s.a.rawTools)
	b = append(b, `,"top_logprobs":0,"top_p":1,"truncation":"disabled","usage":`...)
	if !done {
		return append(b, "null}"...)
	}
	b = appendInt(append(b, `{"input_tokens":`...), s.promptN)
	b = appendInt(append(b, `,"input_tokens_details":{"cached_tokens":0},"output_tokens":`...), s.outN)
	b = appendInt(append(b, `,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":`...), s.promptN+s.outN)
	return append(b, '}', '}')
}

func orNull(b, v []byte) []byte {
	if len(v) == 0 {
		return append(b, "null"...)
	}
	return append(b, v...)
}

func maxOrNull(b []byte, n int) []byte {
	if n < 0 {
		return append(b, "null"...)
	}
	return appendInt(b, n)
}

// appendEchoedTools writes the tools back with strict, which Ollama adds.
func appendEchoedTools(b, raw []byte) []byte {
	var list []map[string]any
	if len(raw) == 0 || json.Unmarshal(raw, &list) != nil {
		return append(b, "[]"...)
	}
	for _, t := range list {
		if _, ok := t["strict"]; !ok && t != nil {
			t["strict"] = nil
		}
	}
	out, _ := json.Marshal(list)
	return append(b, out...)
}

// message opens the message item before its first text.
func (v responsesVoice) message(b []byte, s *speech) []byte {
	s.open = 't'
	s.item = fmt.Sprintf("msg_%06d", rand.IntN(999999))
	body := append([]byte(`"item":{"content":[],"id":"`), s.item...)
	body = appendInt(append(body, `","role":"assistant","status":"in_progress","type":"message"},"output_index":`...), s.block)
	b = v.event(b, s, "response.output_item.added", body)
	body = append([]byte(`"content_index":0,"item_id":"`), s.item...)
	body = appendInt(append(body, `","output_index":`...), s.block)
	return v.event(b, s, "response.content_part.added",
		append(body, `,"part":{"annotations":[],"logprobs":[],"text":"","type":"output_text"}`...))
}

func (v responsesVoice) text(b []byte, s *speech, p piece) []byte {
	if s.open == 'r' {
		b = v.close(b, s)
	}
	if s.open != 't' {
		b = v.message(b, s)
	}
	s.sofar = append(s.sofar, p.lit...)
	b = append(b, "event: response.output_text.delta\ndata: {\"content_index\":0,\"delta\":\""...)
	b = append(append(append(b, p.lit...), `","item_id":"`...), s.item...)
	b = appendInt(append(b, `","logprobs":[],"output_index":`...), s.block)
	b = appendInt(append(b, `,"sequence_number":`...), s.seq)
	s.seq++
	return append(b, ",\"type\":\"response.output_text.delta\"}\n\n"...)
}

func (v responsesVoice) think(b []byte, s *speech, p piece) []byte {
	if s.open != 'r' {
		s.open = 'r'
		s.item = fmt.Sprintf("rs_%06d", rand.IntN(999999))
		body := append([]byte(`"item":{"id":"`), s.item...)
		body = appendInt(append(body, `","summary":[],"type":"reasoning"},"output_index":`...), s.block)
		b = v.event(b, s, "response.output_item.added", body)
	}
	s.sofar = append(s.sofar, p.lit...)
	body := append(append([]byte(`"delta":"`), p.lit...), `","item_id":"`...)
	body = appendInt(append(append(body, s.item...), `","output_index":`...), s.block)
	return v.event(b, s, "response.reasoning_summary_text.delta", append(body, `,"summary_index":0`...))
}

// close ends the open item and keeps it for the final response object.
func (v responsesVoice) close(b []byte, s *speech) []byte {
	var item, body []byte
	switch s.open {
	case 't':
		body = append([]byte(`"content_index":0,"item_id":"`), s.item...)
		body = appendInt(append(body, `","logprobs":[],"output_index":`...), s.block)
		// text comes after sequence_number in the alphabet: this event is written by hand
		b = append(append(append(b, "event: response.output_text.done\ndata: {"...), body...), `,"sequence_number":`...)
		b = append(append(appendInt(b, s.seq), `,"text":"`...), s.sofar...)
		b = append(b, "\",\"type\":\"response.output_text.done\"}\n\n"...)
		s.seq++
		part := append([]byte(`{"annotations":[],"logprobs":[],"text":"`), s.sofar...)
		part = append(part, `","type":"output_text"}`...)
		body = append([]byte(`"content_index":0,"item_id":"`), s.item...)
		body = append(appendInt(append(body, `","output_index":`...), s.block), `,"part":`...)
		b = v.event(b, s, "response.content_part.done", append(body, part...))
		item = append(append([]byte(`{"content":[`), part...), `],"id":"`...)
		item = append(append(item, s.item...), `","role":"assistant","status":"completed","type":"message"}`...)
	case 'r':
		body = append([]byte(`"item_id":"`), s.item...)
		body = appendInt(append(body, `","output_index":`...), s.block)
		b = append(append(append(b, "event: response.reasoning_summary_text.done\ndata: {"...), body...), `,"sequence_number":`...)
		b = append(append(appendInt(b, s.seq), `,"summary_index":0,"text":"`...), s.sofar...)
		b = append(b, "\",\"type\":\"response.reasoning_summary_text.done\"}\n\n"...)
		s.seq++
		item = append(append([]byte(`{"encrypted_content":"`), s.sofar...), `","id":"`...)
		item = append(append(item, s.item...), `","summary":[{"text":"`...)
		item = append(append(item, s.sofar...), `","type":"summary_text"}],"type":"reasoning"}`...)
	default:
		return b
	}
	body = append(append([]byte(`"item":`), item...), `,"output_index":`...)
	b = v.event(b, s, "response.output_item.done", appendInt(body, s.block))
	s.keep(item)
	s.open, s.sofar = 0, s.sofar[:0]
	s.block++
	return b
}

// keep adds a finished item to the output.
func (s *speech) keep(item []byte) {
	if len(s.output) > 0 {
		s.output = append(s.output, ',')
	}
	s.output = append(s.output, item...)
}

func (v responsesVoice) call(b []byte, s *speech, c *said) []byte {
	b = v.close(b, s)
	id := fmt.Sprintf("fc_%06d_%d", rand.IntN(999999), c.index)
	item := func(args, status string) []byte {
		i := appendQuoted([]byte(`{"arguments":`), args, goEscapes)
		i = append(append(i, `,"call_id":"`...), c.id...)
		i = append(append(i, `","id":"`...), id...)
		i = appendQuoted(append(i, `","name":`...), c.name, goEscapes)
		return append(append(append(i, `,"status":"`...), status...), `","type":"function_call"}`...)
	}
	at := func(body []byte) []byte { return appendInt(append(body, `,"output_index":`...), s.block) }
	b = v.event(b, s, "response.output_item.added", at(append([]byte(`"item":`), item("", "in_progress")...)))
	where := append(append([]byte(`,"item_id":"`), id...), '"')
	b = v.event(b, s, "response.function_call_arguments.delta",
		at(append(appendQuoted([]byte(`"delta":`), c.args, goEscapes), where...)))
	b = v.event(b, s, "response.function_call_arguments.done",
		at(append(appendQuoted([]byte(`"arguments":`), c.args, goEscapes), where...)))
	done := item(c.args, "completed")
	b = v.event(b, s, "response.output_item.done", at(append([]byte(`"item":`), done...)))
	s.keep(done)
	s.block++
	return b
}

func (v responsesVoice) end(b []byte, s *speech) []byte {
	b = v.close(b, s)
	return v.event(b, s, "response.completed", appendResponse([]byte(`"response":`), s, true))
}

// whole writes the members in the order of Ollama's struct. Text is dropped
// when there are tool calls.
func (responsesVoice) whole(b []byte, s *speech) []byte {
	b = append(b, fmt.Sprintf(`{"id":"resp_%06d","object":"response","created_at":%d,"completed_at":%d,"status":"completed","incomplete_details":null,"model":`,
		rand.IntN(999999), s.created, time.Now().Unix())...)
	b = appendQuoted(b, s.a.model, goEscapes)
	b = orNull(append(b, `,"previous_response_id":null,"instructions":`...), s.a.instruct)
	b = append(b, `,"output":`...)
	b = appendWholeItems(b, s)
	b = append(b, `,"error":null,"tools":`...)
	b = appendEchoedTools(b, s.a.rawTools)
	b = append(b, `,"tool_choice":"auto","truncation":"disabled","parallel_tool_calls":true,"text":{"format":{"type":"text"}},"top_p":1,"presence_penalty":0,"frequency_penalty":0,"top_logprobs":0,"temperature":1,"reasoning":null,"usage":`...)
	b = append(b, fmt.Sprintf(`{"input_tokens":%d,"output_tokens":%d,"total_tokens":%d,"input_tokens_details":{"cached_tokens":0},"output_tokens_details":{"reasoning_tokens":0}}`,
		s.promptN, s.outN, s.promptN+s.outN)...)
	b = maxOrNull(append(b, `,"max_output_tokens":`...), s.a.max)
	return append(b, `,"max_tool_calls":null,"store":false,"background":false,"service_tier":"default","metadata":{},"safety_identifier":null,"prompt_cache_key":null}`+"\n"...)
}

func appendWholeItems(b []byte, s *speech) []byte {
	var items []byte
	add := func(item string) {
		if len(items) > 0 {
			items = append(items, ',')
		}
		items = append(items, item...)
	}
	if len(s.thoughts) > 0 {
		said := joined(nil, s.thoughts)
		add(fmt.Sprintf(`{"id":"rs_%06d","type":"reasoning","summary":[{"type":"summary_text","text":"%s"}],"encrypted_content":"%s"}`,
			rand.IntN(999999), said, said))
	}
	for _, c := range s.calls {
		add(fmt.Sprintf(`{"id":"fc_%06d_%d","type":"function_call","status":"completed","call_id":"%s","name":%s,"arguments":%s}`,
			rand.IntN(999999), c.index, c.id, appendQuoted(nil, c.name, goEscapes), appendQuoted(nil, c.args, goEscapes)))
	}
	if len(s.calls) == 0 && len(s.pieces) > 0 {
		add(fmt.Sprintf(`{"id":"msg_%06d","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","text":"%s","annotations":[],"logprobs":[]}]}`,
			rand.IntN(999999), joined(nil, s.pieces)))
	}
	if items == nil {
		return append(b, "null"...)
	}
	return append(append(append(b, '['), items...), ']')
}

func (responsesVoice) broken(b []byte, _ *speech) []byte { return b }
