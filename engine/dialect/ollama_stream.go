package dialect

import (
	"bytes"
	"strconv"
	"time"
)

// ollamaEncoder renders an answer as the lines of /api/chat or /api/generate.
// Tool calls are whole there: pieces are held until a call's arguments are.
// Frames of a runtime that speaks the same protocol pass byte for byte but for
// the model's name.
type ollamaEncoder struct {
	line    ollamaLine
	calls   callTracker
	state   encoderState
	finish  Finish
	usage   Usage
	timings Timings
	context Raw
	sent    int
	last    []byte // the runtime's own end line, held until the end is validated
}

func newOllamaEncoder(r *Request, id *Identity) Encoder {
	return &ollamaEncoder{line: newOllamaLine(r, id), usage: NoUsage}
}

func (e *ollamaEncoder) ContentType() string { return "application/x-ndjson" }

// Open renders nothing: the first line is an answer's.
func (e *ollamaEncoder) Open(dst []byte) []byte {
	if e.state == streamNew {
		e.state = streamOpen
	}
	return dst
}

// KeepAlive renders a line with empty text, which clients append to nothing;
// the format has no comments.
func (e *ollamaEncoder) KeepAlive(dst []byte) []byte {
	if e.state == streamEnded {
		return dst
	}
	return append(e.line.append(dst, nil, nil, nil, nil), "}\n"...)
}

// Chunk renders one line, or nothing when the chunk brings no content.
func (e *ollamaEncoder) Chunk(dst []byte, c *Chunk) []byte {
	if e.state == streamEnded {
		return dst
	}
	dst = e.Open(dst)
	if c.Native != nil {
		return e.native(dst, c)
	}
	e.keep(c)
	var whole []*call
	for i := range c.Tools {
		if k := e.calls.add(&c.Tools[i]); k != nil && !k.sent && k.name != "" && k.args.complete() {
			k.sent = true
			whole = append(whole, k)
		}
	}
	if c.Text.Empty() && c.Thinking.Empty() && len(whole) == 0 && len(c.Logprobs) <= 2 {
		return dst
	}
	dst = e.line.append(dst, c.Text, c.Thinking, whole, c.Logprobs)
	return append(dst, "}\n"...)
}

func (e *ollamaEncoder) native(dst []byte, c *Chunk) []byte {
	if c.Final {
		e.last = e.line.rename(nil, c.Native)
		return dst
	}
	return append(e.line.rename(dst, c.Native), '\n')
}

func (e *ollamaEncoder) keep(c *Chunk) {
	if c.Finish != FinishNone {
		e.finish = c.Finish
	}
	if c.Usage != nil {
		e.usage = *c.Usage
	}
	if c.Timings != nil {
		e.timings = *c.Timings
	}
	if c.Context != nil {
		e.context = append(Raw(nil), c.Context...)
	}
	e.sent += len(c.Text.inner()) + len(c.Thinking.inner())
}

// End renders the calls that were still held, then the done line.
func (e *ollamaEncoder) End(dst []byte) []byte {
	if e.state == streamEnded {
		return dst
	}
	e.state = streamEnded
	if e.last != nil {
		return append(append(dst, e.last...), '\n')
	}
	if rest := e.rest(); len(rest) > 0 {
		dst = append(e.line.append(dst, nil, nil, rest, nil), "}\n"...)
	}
	dst = e.line.content(dst, nil, nil, nil)
	dst = e.line.done(dst, e.finish, e.usage, e.timings, e.context, nil)
	return append(dst, "}\n"...)
}

// rest are the calls not sent yet: without arguments, or with arguments that
// never became whole. Of a turn cut by its length the half call is left out,
// as the runtime's own parser does.
func (e *ollamaEncoder) rest() []*call {
	var rest []*call
	for _, k := range e.calls.calls {
		if k.sent || k.name == "" || e.finish == FinishLength && !blank(string(k.args.text)) {
			continue
		}
		k.sent = true
		rest = append(rest, k)
	}
	return rest
}

// Fail renders the error line, after which there is nothing.
func (e *ollamaEncoder) Fail(dst []byte, p *Problem) []byte {
	if e.state == streamEnded {
		return dst
	}
	e.state = streamEnded
	return append(appendOllamaError(dst, p), '\n')
}

// ollamaLine renders what a line of chat or generate is made of.
type ollamaLine struct {
	id       *Identity
	model    []byte // the name as a literal
	generate bool
}

func newOllamaLine(r *Request, id *Identity) ollamaLine {
	return ollamaLine{id: id, model: AppendString(nil, id.Model), generate: r.Protocol == OllamaGenerate}
}

// append appends a line of content that is not the last, but for its closing
// brace.
func (l *ollamaLine) append(dst []byte, text, thinking Text, calls []*call, logprobs Raw) []byte {
	dst = l.content(dst, text, thinking, calls)
	dst = append(dst, `,"done":false`...)
	return appendOllamaLogprobs(dst, logprobs)
}

// content appends what every line begins with, up to its done.
func (l *ollamaLine) content(dst []byte, text, thinking Text, calls []*call) []byte {
	dst = append(dst, `{"model":`...)
	dst = append(dst, l.model...)
	dst = append(dst, `,"created_at":"`...)
	dst = l.now().UTC().AppendFormat(dst, time.RFC3339Nano)
	if l.generate {
		dst = append(dst, `","response":`...)
		dst = AppendText(dst, text)
		if !thinking.Empty() {
			dst = append(append(dst, `,"thinking":`...), thinking...)
		}
		return dst
	}
	dst = append(dst, `","message":{"role":"assistant","content":`...)
	dst = AppendText(dst, text)
	if !thinking.Empty() {
		dst = append(append(dst, `,"thinking":`...), thinking...)
	}
	for i, k := range calls {
		if i == 0 {
			dst = append(dst, `,"tool_calls":[`...)
		} else {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"id":`...)
		dst = AppendString(dst, l.id.callID(k.n, k.id))
		dst = append(dst, `,"function":{"index":`...)
		dst = strconv.AppendInt(dst, int64(k.n), 10)
		dst = append(dst, `,"name":`...)
		dst = AppendString(dst, k.name)
		dst = append(dst, `,"arguments":`...)
		dst = append(dst, argumentsObject(k.args.text)...)
		dst = append(dst, "}}"...)
	}
	if len(calls) > 0 {
		dst = append(dst, ']')
	}
	return append(dst, '}')
}

// done appends what the last line has behind its content: counts and times
// that are unknown or zero are left out, as the runtime does.
func (l *ollamaLine) done(dst []byte, f Finish, u Usage, t Timings, context, logprobs Raw) []byte {
	dst = append(dst, `,"done":true,"done_reason":"`...)
	dst = append(dst, ollamaReason(f)...)
	dst = append(dst, '"')
	if l.generate {
		if len(context) > 2 {
			dst = append(append(dst, `,"context":`...), context...)
		}
	} else {
		dst = appendOllamaLogprobs(dst, logprobs)
	}
	if t.Total == 0 && l.id.Now != nil && f != FinishLoad && f != FinishUnload {
		t.Total = l.id.Now().Sub(l.id.Created)
	}
	dst = appendPositive(dst, `,"total_duration":`, int64(t.Total))
	dst = appendPositive(dst, `,"load_duration":`, int64(t.Load))
	dst = appendPositive(dst, `,"prompt_eval_count":`, int64(u.Input))
	dst = appendPositive(dst, `,"prompt_eval_duration":`, int64(t.Prefill))
	dst = appendPositive(dst, `,"eval_count":`, int64(u.Output))
	dst = appendPositive(dst, `,"eval_duration":`, int64(t.Decode))
	if l.generate {
		dst = appendOllamaLogprobs(dst, logprobs)
	}
	return dst
}

func (l *ollamaLine) now() time.Time {
	if l.id.Now == nil {
		return l.id.Created
	}
	return l.id.Now()
}

// rename appends a frame with the value of its model replaced where it is
// another spelling, and without the line break it may end in.
func (l *ollamaLine) rename(dst, frame []byte) []byte {
	frame = bytes.TrimRight(frame, "\r\n")
	for m := range Members(frame) {
		if m.Name != "model" {
			continue
		}
		if m.Value.Kind() != '"' || bytes.Equal(m.Value, l.model) {
			break
		}
		at := cap(frame) - cap(m.Value) // where the value begins: it is a slice of the frame
		dst = append(dst, frame[:at]...)
		dst = append(dst, l.model...)
		return append(dst, frame[at+len(m.Value):]...)
	}
	return append(dst, frame...)
}

// ollamaReason gives done_reason. A turn that calls tools says stop.
func ollamaReason(f Finish) string {
	switch f {
	case FinishLength, FinishLoad, FinishUnload:
		return string(f)
	}
	return string(FinishStop)
}

func appendOllamaLogprobs(dst []byte, l Raw) []byte {
	if len(l) <= 2 {
		return dst
	}
	return append(append(dst, `,"logprobs":`...), l...)
}

func appendPositive(dst []byte, name string, v int64) []byte {
	if v <= 0 {
		return dst
	}
	return strconv.AppendInt(append(dst, name...), v, 10)
}
