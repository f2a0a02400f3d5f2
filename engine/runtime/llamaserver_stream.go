package runtime

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"bellwether/engine/dialect"
	"bellwether/engine/fleet"
)

// Do sends a request to llama-server. No byte comes until a slot is free and
// the prompt is read.
func (l *LlamaServer) Do(ctx context.Context, c Call) (dialect.Stream, []string, error) {
	if c.Request.LoadOnly {
		return l.loadOnly(ctx, c.Model)
	}
	p, err := planLlama(&c, l.strictSystem(c.Deployment.ID.Model))
	if err != nil {
		return nil, nil, err
	}
	x, err := l.remote.open(ctx, request{method: http.MethodPost, path: p.path, body: p.body}, l.target.Drain)
	if err != nil {
		return nil, p.edits, err
	}
	if x.status != http.StatusOK {
		return nil, p.edits, x.statusFailure()
	}
	p.sent()
	if !strings.HasPrefix(x.contentType, "text/event-stream") {
		s := &openAIBody{}
		s.x = x
		return s, p.edits, nil
	}
	s := &openAIStream{}
	s.x, s.events.lines.r = x, x
	return s, p.edits, nil
}

// loadOnly answers an Ollama client's request without any text: the model is
// brought in, and that is all.
func (l *LlamaServer) loadOnly(ctx context.Context, model string) (dialect.Stream, []string, error) {
	err := l.Load(ctx, model, LoadOptions{})
	var f *fleet.Failure
	switch {
	case err == nil:
		return &loadedStream{}, nil, nil
	case errors.As(err, &f):
		return nil, nil, f
	}
	return nil, nil, &fleet.Failure{Class: fleet.FailLoad, Message: err.Error()}
}

// loadedStream says that the model is there.
type loadedStream struct{ said atomic.Bool }

// Next returns the one, final chunk.
func (s *loadedStream) Next() (*dialect.Chunk, error) {
	if s.said.Swap(true) {
		return nil, io.EOF
	}
	return &dialect.Chunk{Final: true, Finish: dialect.FinishLoad}, nil
}

// Buffered is false: there is one frame.
func (s *loadedStream) Buffered() bool { return false }

// Close has nothing to end.
func (s *loadedStream) Close() {}

// openAIReader turns OpenAI-shaped objects into chunks: stream chunks, whole
// answers, and llama.cpp's own completion form (/infill).
type openAIReader struct {
	answer
	chunk   dialect.Chunk
	usage   dialect.Usage
	timings dialect.Timings
	finish  dialect.Finish
	frames  int
	slots   []toolSlot
}

// toolSlot is one call as the runtime numbers it; its place in the list is our
// index.
type toolSlot struct {
	index int
	id    string
	named bool
}

// read turns one object into a chunk.
func (s *openAIReader) read(v dialect.Raw) (*dialect.Chunk, error) {
	c := &s.chunk
	*c = dialect.Chunk{}
	known := false
	for m := range dialect.Members(v) {
		switch m.Name {
		case "error":
			if !m.Value.None() {
				return nil, s.said(m.Value)
			}
		case "choices":
			known = m.Value.Kind() == '['
			for _, choice := range dialect.Elements(m.Value) {
				s.choice(c, choice)
				break // one choice is ever asked for
			}
		case "content": // /infill
			if m.Value.Kind() == '"' {
				known, c.Text = true, dialect.Text(m.Value)
			}
		case "stop_type":
			s.native(m.Value)
		case "tokens_predicted":
			s.counted(c).Output = count(m.Value)
		case "tokens_evaluated":
			s.counted(c).Input = count(m.Value)
		case "usage":
			if !m.Value.None() {
				s.used(c, m.Value)
			}
		case "timings":
			if !m.Value.None() {
				s.timed(c, m.Value)
			}
		case "model":
			if s.frames == 0 {
				c.Model = dialect.Text(m.Value).String()
			}
		case "data": // embeddings
			if m.Value.Kind() == '[' {
				known = true
				if err := s.vectors(c, m.Value); err != nil {
					return nil, err
				}
			}
		}
	}
	if !known {
		return nil, s.malformed("the runtime sent an object that is no part of a completion")
	}
	s.frames++
	s.text = s.text || !c.Text.Empty()
	s.thought = s.thought || !c.Thinking.Empty()
	return c, nil
}

// choice reads delta (streams), message (whole answers) or text (completions).
func (s *openAIReader) choice(c *dialect.Chunk, v dialect.Raw) {
	for m := range dialect.Members(v) {
		switch m.Name {
		case "delta", "message":
			s.message(c, m.Value)
		case "text":
			c.Text = textOf(m.Value)
		case "finish_reason":
			if m.Value.Kind() == '"' {
				s.finish = dialect.Finish(dialect.Text(m.Value).String())
			}
		case "logprobs":
			c.Logprobs = openAILogprobs(m.Value.Get("content"))
		}
	}
	// The calls may come after the reason in the object, so this comes last.
	switch s.finish {
	case dialect.FinishNone, dialect.FinishLength, dialect.FinishFilter, dialect.FinishTools:
	case dialect.FinishStop:
		if s.calls > 0 {
			s.finish = dialect.FinishTools
		}
	case "function_call":
		s.finish = dialect.FinishTools
	default:
		s.finish = dialect.FinishStop
	}
	if v.Get("finish_reason").Kind() == '"' {
		c.Finish = s.finish
	}
}

// message reads text, reasoning (either name) and calls.
func (s *openAIReader) message(c *dialect.Chunk, v dialect.Raw) {
	for m := range dialect.Members(v) {
		switch m.Name {
		case "content":
			c.Text = textOf(m.Value)
		case "reasoning_content", "reasoning":
			if t := textOf(m.Value); !t.Empty() {
				c.Thinking = t // both may stand there, with the same text
			}
		case "tool_calls":
			for i, call := range dialect.Elements(m.Value) {
				c.Tools = append(c.Tools, s.call(i, call))
			}
		}
	}
}

// call reads one piece of a call. Runtimes differ in what they repeat: a name
// on every piece, the index 0 for every call (then the id tells them apart), no
// index at all in whole answers.
func (s *openAIReader) call(at int, v dialect.Raw) dialect.ToolDelta {
	index := at
	if i := v.Get("index"); i.Kind() == '0' {
		index = count(i)
	}
	id := dialect.Text(v.Get("id")).String()
	n := s.slot(index, id)
	f := v.Get("function")
	d := dialect.ToolDelta{Index: n}
	if name := textOf(f.Get("name")); !name.Empty() && !s.slots[n].named {
		s.slots[n].named = true
		d.Name, d.ID = name.String(), s.slots[n].id
	}
	switch args := f.Get("arguments"); args.Kind() {
	case '"':
		d.Arguments = dialect.Text(args).String()
	case '{':
		d.Arguments = string(args)
	}
	return d
}

// slot finds the call a piece belongs to, or begins one.
func (s *openAIReader) slot(index int, id string) int {
	for n := len(s.slots) - 1; n >= 0; n-- {
		slot := &s.slots[n]
		if slot.index != index || id != "" && slot.id != "" && slot.id != id {
			continue
		}
		if slot.id == "" {
			slot.id = id
		}
		return n
	}
	s.slots = append(s.slots, toolSlot{index: index, id: id})
	s.calls = len(s.slots)
	return s.calls - 1
}

func (s *openAIReader) counted(c *dialect.Chunk) *dialect.Usage {
	if c.Usage == nil {
		if s.usage == (dialect.Usage{}) {
			s.usage = dialect.NoUsage
		}
		c.Usage = &s.usage
	}
	return c.Usage
}

func (s *openAIReader) used(c *dialect.Chunk, v dialect.Raw) {
	u := s.counted(c)
	*u = dialect.NoUsage
	for m := range dialect.Members(v) {
		switch m.Name {
		case "prompt_tokens":
			u.Input = count(m.Value)
		case "completion_tokens":
			u.Output = count(m.Value)
		case "prompt_tokens_details":
			u.Cached = count(m.Value.Get("cached_tokens"))
		case "completion_tokens_details":
			u.Reasoning = count(m.Value.Get("reasoning_tokens"))
		}
	}
}

func (s *openAIReader) timed(c *dialect.Chunk, v dialect.Raw) {
	for m := range dialect.Members(v) {
		switch m.Name {
		case "prompt_ms":
			s.timings.Prefill = span(m.Value, time.Millisecond)
		case "predicted_ms":
			s.timings.Decode = span(m.Value, time.Millisecond)
		}
	}
	s.timings.Total = s.timings.Prefill + s.timings.Decode
	c.Timings = &s.timings
}

// native reads why llama.cpp's own form ended.
func (s *openAIReader) native(v dialect.Raw) {
	switch dialect.Text(v).String() {
	case "limit":
		s.finish = dialect.FinishLength
	case "eos", "word":
		s.finish = dialect.FinishStop
	}
}

// vectors reads embeddings, by their own index.
func (s *openAIReader) vectors(c *dialect.Chunk, list dialect.Raw) error {
	for i, e := range dialect.Elements(list) {
		at := i
		if n := e.Get("index"); n.Kind() == '0' {
			at = count(n)
		}
		v, ok := vector(e.Get("embedding"))
		if !ok || at < 0 || at > i+1<<20 {
			return s.malformed("the runtime sent a vector that is none")
		}
		for len(c.Vectors) <= at {
			c.Vectors = append(c.Vectors, nil)
		}
		c.Vectors[at] = v
	}
	return nil
}

// finished makes the Final chunk.
func (s *openAIReader) finished(c *dialect.Chunk) *dialect.Chunk {
	if s.finish == dialect.FinishNone {
		s.finish = dialect.FinishStop
		if s.calls > 0 {
			s.finish = dialect.FinishTools
		}
	}
	c.Final, c.Finish = true, s.finish
	if s.usage != (dialect.Usage{}) {
		s.remark(s.finish, &s.usage)
	}
	s.final.Store(true)
	return c
}

// openAIStream reads server-sent events.
type openAIStream struct {
	openAIReader
	events sseReader
}

// Buffered reports whether a whole further event is here.
func (s *openAIStream) Buffered() bool { return s.events.buffered() }

// Recycle lets the stream's memory be used again; see Recycler.
func (s *openAIStream) Recycle() { s.events.lines.recycle() }

// Next reads one event. [DONE] ends the answer; where it is missing, a finish
// reason does.
func (s *openAIStream) Next() (*dialect.Chunk, error) {
	if err := s.over(); err != nil {
		return nil, err
	}
	data, err := s.events.next()
	if err == io.EOF && s.finish != dialect.FinishNone {
		s.notes = append(s.notes, "the runtime left out [DONE]")
		s.chunk = dialect.Chunk{}
		return s.finished(&s.chunk), nil
	}
	if err != nil {
		return nil, s.broken(err)
	}
	if string(data) == sseDone {
		if s.frames == 0 {
			return nil, s.malformed("the runtime ended its stream without a completion")
		}
		s.chunk = dialect.Chunk{}
		return s.finished(&s.chunk), nil
	}
	object, ok := frame(data)
	if !ok {
		return nil, s.malformed("the runtime sent an event that is no JSON object")
	}
	return s.read(object)
}

// openAIBody reads an answer that came whole.
type openAIBody struct{ openAIReader }

// Buffered is false: there is one frame.
func (s *openAIBody) Buffered() bool { return false }

// Next reads the body and returns it as the one, final chunk.
func (s *openAIBody) Next() (*dialect.Chunk, error) {
	if err := s.over(); err != nil {
		return nil, err
	}
	body, err := io.ReadAll(io.LimitReader(s.x, lineMost+1))
	if err == nil && len(body) > lineMost {
		err = errLineTooLong
	}
	if err != nil {
		return nil, s.broken(err)
	}
	for len(body) > 0 && (body[0] == ' ' || body[0] == '\n' || body[0] == '\r' || body[0] == '\t') {
		body = body[1:]
	}
	object, ok := frame(body)
	if !ok {
		return nil, s.malformed("the runtime answered with something that is no JSON object")
	}
	c, err := s.read(object)
	if err != nil {
		return nil, err
	}
	if s.finish == dialect.FinishNone && len(c.Vectors) == 0 {
		return nil, s.malformed("the runtime's answer has no finish reason")
	}
	return s.finished(c), nil
}
