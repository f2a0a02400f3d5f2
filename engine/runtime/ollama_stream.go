package runtime

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"bellwether/engine/dialect"
)

// Do sends a request to Ollama. Nothing comes back, not even headers, before
// the first token: Do waits as long as queue, load and prompt take.
func (o *Ollama) Do(ctx context.Context, c Call) (dialect.Stream, []string, error) {
	p, err := planOllama(&c)
	if err != nil {
		return nil, nil, err
	}
	x, err := o.remote.open(ctx, request{method: http.MethodPost, path: p.path, body: p.body}, o.target.Drain)
	if err != nil {
		return nil, p.edits, err
	}
	if x.status != http.StatusOK {
		return nil, p.edits, x.statusFailure()
	}
	p.sent()
	s := &ollamaStream{plan: p}
	s.x, s.lines.r = x, x
	return s, p.edits, nil
}

// ollamaStream reads NDJSON, or the one JSON object of a non-streamed answer.
type ollamaStream struct {
	answer
	lines   lineReader
	plan    *ollamaPlan
	chunk   dialect.Chunk
	usage   dialect.Usage
	timings dialect.Timings
	held    dialect.TextBuilder // where a call is required: the text so far
}

// Buffered reports whether a whole further line is here.
func (s *ollamaStream) Buffered() bool { return s.lines.buffered() }

// Recycle lets the stream's memory be used again; see Recycler.
func (s *ollamaStream) Recycle() { s.lines.recycle() }

// Next reads one line.
func (s *ollamaStream) Next() (*dialect.Chunk, error) {
	if err := s.over(); err != nil {
		return nil, err
	}
	for {
		line, err := s.lines.next()
		if err != nil {
			return nil, s.broken(err)
		}
		if len(line) == 0 {
			continue
		}
		line, ok := frame(line)
		if !ok {
			return nil, s.malformed("the runtime sent a line that is no JSON object")
		}
		return s.read(line)
	}
}

// read turns one line into a chunk.
func (s *ollamaStream) read(line dialect.Raw) (*dialect.Chunk, error) {
	c := &s.chunk
	*c = dialect.Chunk{}
	if s.plan.native {
		c.Native = line
	}
	known, done := false, false
	var reason, model dialect.Text
	s.usage, s.timings = dialect.NoUsage, dialect.Timings{}
	for m := range dialect.Members(line) {
		v := m.Value
		switch m.Name {
		case "error":
			if !v.None() {
				return nil, s.said(v)
			}
		case "message":
			known = known || v.Kind() == '{'
			s.message(c, v)
		case "response":
			known = true
			c.Text = textOf(v)
		case "thinking":
			c.Thinking = textOf(v)
		case "embeddings":
			for _, e := range dialect.Elements(v) {
				f, ok := vector(e)
				if !ok {
					return nil, s.malformed("the runtime sent a vector with something that is no number")
				}
				c.Vectors = append(c.Vectors, f)
			}
			known, done = v.Kind() == '[', v.Kind() == '['
		case "embedding":
			f, ok := vector(v)
			if !ok {
				return nil, s.malformed("the runtime sent a vector with something that is no number")
			}
			c.Vectors = append(c.Vectors, f)
			known, done = true, true
		case "done":
			done = done || v.Kind() == 't'
		case "done_reason":
			reason = textOf(v)
		case "logprobs":
			c.Logprobs = openAILogprobs(v)
		case "context":
			c.Context = v
		case "model":
			model = textOf(v)
		default:
			s.number(m.Name, v)
		}
	}
	if !known && !done {
		return nil, s.malformed("the runtime sent a line that is no part of a completion")
	}
	if err := s.constrained(c, done, reason.String() == string(dialect.FinishLength)); err != nil {
		return nil, err
	}
	s.text = s.text || !c.Text.Empty()
	s.thought = s.thought || !c.Thinking.Empty()
	if done {
		c.Model = model.String()
		s.end(c, reason)
	}
	return c, nil
}

// number reads the counts of the last line.
func (s *ollamaStream) number(name string, v dialect.Raw) {
	switch name {
	case "prompt_eval_count":
		s.usage.Input = count(v)
	case "eval_count":
		s.usage.Output = count(v)
	case "total_duration":
		s.timings.Total = span(v, time.Nanosecond)
	case "load_duration":
		s.timings.Load = span(v, time.Nanosecond)
	case "prompt_eval_duration":
		s.timings.Prefill = span(v, time.Nanosecond)
	case "eval_duration":
		s.timings.Decode = span(v, time.Nanosecond)
	}
}

func textOf(v dialect.Raw) dialect.Text {
	if v.Kind() != '"' {
		return nil
	}
	return dialect.Text(v)
}

// message reads a chat line's message. Each call comes whole; they are counted
// here, since older versions give every one the index 0.
func (s *ollamaStream) message(c *dialect.Chunk, v dialect.Raw) {
	for m := range dialect.Members(v) {
		switch m.Name {
		case "content":
			c.Text = textOf(m.Value)
		case "thinking":
			c.Thinking = textOf(m.Value)
		case "tool_calls":
			for _, call := range dialect.Elements(m.Value) {
				f := call.Get("function")
				c.Tools = append(c.Tools, dialect.ToolDelta{
					Index:     s.calls,
					ID:        dialect.Text(call.Get("id")).String(),
					Name:      dialect.Text(f.Get("name")).String(),
					Arguments: string(arguments(f.Get("arguments"))),
				})
				s.calls++
			}
		}
	}
}

// constrained turns text that was held to a call back into the call, which is
// sent once it is whole: only then is it known to be one. A model whose runtime
// did not hold it may say anything.
//  1. A call of Ollama's own stands, whatever else is said.
//  2. What the output limit cut is shown as far as it came: the arguments of a
//     call whose name is known, else the text.
//  3. All else must be a call of one of the tools, its arguments an object.
func (s *ollamaStream) constrained(c *dialect.Chunk, done, cut bool) error {
	if s.plan.callName == "" && !s.plan.callAny {
		return nil
	}
	s.held.Add(c.Text)
	c.Held, c.Text = !c.Text.Empty(), nil
	if !done {
		return nil
	}
	c.Held = false
	text := s.held.Text()
	said := dialect.Raw(strings.TrimSpace(text.String()))
	if s.calls > 0 || cut && (text.Empty() || s.plan.callAny && !validJSON(said)) { // 1, 2
		if !text.Empty() {
			c.Text = text
		}
		return nil
	}
	call := dialect.ToolDelta{Name: s.plan.callName, Arguments: string(said)}
	args := said
	if s.plan.callAny {
		call.Name, args = textOf(said.Get("name")).String(), arguments(said.Get("arguments"))
		call.Arguments = string(args)
	}
	whole := validJSON(said) && args.Kind() == '{'
	began := cut && s.plan.callName != "" && said.Kind() == '{'           // 2
	if !whole && !began || !slices.Contains(s.plan.callable, call.Name) { // 3
		return s.malformed("a call of a tool was required, and what came is no call of one with an object of arguments")
	}
	c.Tools = append(c.Tools, call)
	s.calls++
	return nil
}

// end closes the answer with the runtime's own end marker.
func (s *ollamaStream) end(c *dialect.Chunk, reason dialect.Text) {
	c.Final = true
	switch c.Finish = dialect.Finish(reason.String()); c.Finish {
	case dialect.FinishLength, dialect.FinishLoad, dialect.FinishUnload:
	default:
		c.Finish = dialect.FinishStop // vectors have no reason, nor had answers before 0.1.38
	}
	if s.calls > 0 && c.Finish == dialect.FinishStop {
		c.Finish = dialect.FinishTools // Ollama says stop (ollama#7963)
	}
	c.Usage, c.Timings = &s.usage, &s.timings
	s.remark(c.Finish, c.Usage)
	s.final.Store(true)
}
