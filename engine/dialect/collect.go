package dialect

// Collector gathers the chunks of an answer into one Reply. The zero value is
// ready. It copies what it keeps, so chunks may be reused by their stream.
type Collector struct {
	text, thinking TextBuilder
	calls          callTracker
	reply          Reply
	chunks         int
}

// Add takes the next chunk.
func (c *Collector) Add(ch *Chunk) {
	c.chunks++
	c.text.Add(ch.Text)
	c.thinking.Add(ch.Thinking)
	for i := range ch.Tools {
		c.calls.add(&ch.Tools[i])
	}
	if ch.Finish != FinishNone {
		c.reply.Finish = ch.Finish
	}
	if ch.StopSeq != "" {
		c.reply.StopSeq = ch.StopSeq
	}
	if ch.Usage != nil {
		c.reply.Usage = *ch.Usage
	} else if c.chunks == 1 {
		c.reply.Usage = NoUsage
	}
	if ch.Timings != nil {
		c.reply.Timings = *ch.Timings
	}
	c.reply.Logprobs = joinArrays(c.reply.Logprobs, ch.Logprobs)
	if ch.Context != nil {
		c.reply.Context = append(Raw(nil), ch.Context...)
	}
	for _, v := range ch.Vectors {
		c.reply.Vectors = append(c.reply.Vectors, append([]float32(nil), v...))
	}
	c.reply.Native = nil
	if ch.Final && ch.Native != nil && c.chunks == 1 {
		c.reply.Native = append([]byte(nil), ch.Native...)
	}
}

// Reply returns the answer so far. Arguments of calls are as the model wrote
// them ("" became {}): a turn cut by its length may end in half an object.
func (c *Collector) Reply() *Reply {
	r := c.reply
	if c.chunks == 0 {
		r.Usage = NoUsage
	}
	r.Text = c.text.Text()
	if !c.thinking.Empty() {
		r.Thinking = c.thinking.Text()
	}
	for _, k := range c.calls.calls {
		if k.name == "" {
			continue // arguments without a call: nothing a client could run
		}
		args := Raw("{}")
		if !blank(string(k.args.text)) {
			args = append(Raw(nil), k.args.text...)
		}
		r.Tools = append(r.Tools, ToolCall{ID: k.id, Name: k.name, Arguments: args})
	}
	return &r
}

// guessTokens estimates tokens from bytes of text, for the protocols that
// demand a count which the runtime did not give.
func guessTokens(bytes int) int { return (bytes + 3) / 4 }

// inputTokens and outputTokens are what a client is told: the serving model's
// own count, else our estimate of the prompt and a guess from the answer's size.
func inputTokens(u Usage, id *Identity) int {
	if u.Input >= 0 {
		return u.Input
	}
	return max(0, id.InputEstimate)
}

func outputTokens(u Usage, sent int) int {
	if u.Output >= 0 {
		return u.Output
	}
	return guessTokens(sent)
}

// size is the number of bytes the model wrote, the base of guessTokens.
func (r *Reply) size() int {
	n := len(r.Text.inner()) + len(r.Thinking.inner())
	for i := range r.Tools {
		n += len(r.Tools[i].Name) + len(r.Tools[i].Arguments)
	}
	return n
}
