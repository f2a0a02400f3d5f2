package dialect

import "strconv"

// sseStream is what OpenAI's chat and completions streams share: the head that
// every record repeats (same id, created and model from first to last), and
// what is kept for the end.
type sseStream struct {
	id      *Identity
	head    []byte // data: {"id":...,"choices":[
	usageOn bool   // stream_options.include_usage
	state   encoderState
	finish  Finish
	usage   Usage
	sent    int // bytes the model wrote
}

func newSSEStream(r *Request, id *Identity, prefix, object string) sseStream {
	s := sseStream{id: id, usageOn: r.IncludeUsage, usage: NoUsage}
	s.head = append(s.head, "data: "...)
	s.head = appendOpenAIHead(s.head, id, prefix, object)
	s.head = append(s.head, `"choices":[`...)
	return s
}

// appendOpenAIHead appends {"id":..., up to and with the comma behind "model".
func appendOpenAIHead(dst []byte, id *Identity, prefix, object string) []byte {
	dst = append(dst, `{"id":`...)
	dst = AppendString(dst, prefix+id.ID)
	dst = append(dst, `,"object":"`...)
	dst = append(dst, object...)
	dst = append(dst, `","created":`...)
	dst = strconv.AppendInt(dst, id.Created.Unix(), 10)
	dst = append(dst, `,"model":`...)
	dst = AppendString(dst, id.Model)
	return append(dst, ',')
}

func (s *sseStream) ContentType() string { return "text/event-stream" }

// comment is a line that SSE readers skip. It ends in one newline: a blank
// line behind a comment makes openai-python dispatch an empty event.
func (s *sseStream) comment(dst []byte) []byte {
	if s.state == streamEnded {
		return dst
	}
	return append(dst, ": waiting\n"...)
}

func (s *sseStream) keep(c *Chunk) {
	if c.Finish != FinishNone {
		s.finish = c.Finish
	}
	if c.Usage != nil {
		s.usage = *c.Usage
	}
	s.sent += len(c.Text.inner()) + len(c.Thinking.inner())
	for i := range c.Tools {
		s.sent += len(c.Tools[i].Name) + len(c.Tools[i].Arguments)
	}
}

// terminate renders the usage record, where it was asked for, and the
// terminator, which nothing but a validated end may be followed by.
func (s *sseStream) terminate(dst []byte) []byte {
	s.state = streamEnded
	if s.usageOn {
		dst = append(dst, s.head...)
		dst = append(dst, `],"usage":`...)
		dst = appendOpenAIUsage(dst, s.usage, s.id, s.sent)
		dst = append(dst, "}\n\n"...)
	}
	return append(dst, "data: [DONE]\n\n"...)
}

// Fail renders the error record. No finish and no [DONE] follow it: a client
// must not take what it has for a whole answer.
func (s *sseStream) Fail(dst []byte, p *Problem) []byte {
	if s.state == streamEnded {
		return dst
	}
	s.state = streamEnded
	dst = append(dst, "data: "...)
	dst = appendOpenAIError(dst, p)
	return append(dst, "\n\n"...)
}

// appendOpenAIUsage appends the usage object. The three counts are demanded by
// the protocol, so a count the runtime did not give is our estimate; the
// details are left out when unknown, never a false 0.
func appendOpenAIUsage(dst []byte, u Usage, id *Identity, sent int) []byte {
	in, out := inputTokens(u, id), outputTokens(u, sent)
	dst = append(dst, `{"prompt_tokens":`...)
	dst = strconv.AppendInt(dst, int64(in), 10)
	dst = append(dst, `,"completion_tokens":`...)
	dst = strconv.AppendInt(dst, int64(out), 10)
	dst = append(dst, `,"total_tokens":`...)
	dst = strconv.AppendInt(dst, int64(in+out), 10)
	if u.Cached >= 0 {
		dst = append(dst, `,"prompt_tokens_details":{"cached_tokens":`...)
		dst = strconv.AppendInt(dst, int64(u.Cached), 10)
		dst = append(dst, '}')
	}
	if u.Reasoning >= 0 {
		dst = append(dst, `,"completion_tokens_details":{"reasoning_tokens":`...)
		dst = strconv.AppendInt(dst, int64(u.Reasoning), 10)
		dst = append(dst, '}')
	}
	return append(dst, '}')
}
