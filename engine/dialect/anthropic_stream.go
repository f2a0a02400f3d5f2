package dialect

import "strconv"

// anthropicEncoder renders an answer as Anthropic Messages events: one block
// open at a time, indexes without gaps, and nothing after message_stop or error.
type anthropicEncoder struct {
	id    *Identity
	seq   sequencer
	index int // of the block that is open or comes next

	finish  Finish
	stopSeq string
	usage   Usage
	sent    int // bytes of answer rendered, the base of a guess at its tokens
	state   encoderState
}

// encoderState is how far a stream has come.
type encoderState uint8

const (
	streamNew encoderState = iota
	streamOpen
	streamEnded // by End or Fail: nothing follows
)

func newAnthropicEncoder(_ *Request, id *Identity) Encoder {
	e := &anthropicEncoder{id: id, usage: NoUsage}
	e.seq.sink = e
	return e
}

func (e *anthropicEncoder) ContentType() string { return "text/event-stream" }

// Open renders message_start. Clients read the prompt's size here, so it
// carries our estimate; message_delta brings the runtime's own count.
func (e *anthropicEncoder) Open(dst []byte) []byte {
	if e.state != streamNew {
		return dst
	}
	e.state = streamOpen
	dst = append(dst, "event: message_start\ndata: {\"type\":\"message_start\",\"message\":"...)
	dst = appendAnthropicHead(dst, e.id)
	dst = append(dst, `"content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":`...)
	dst = strconv.AppendInt(dst, int64(max(0, e.id.InputEstimate)), 10)
	dst = append(dst, `,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":0}}}`...)
	return append(dst, "\n\n"...)
}

// KeepAlive renders a ping, which is legal between any two events.
func (e *anthropicEncoder) KeepAlive(dst []byte) []byte {
	if e.state == streamEnded {
		return dst
	}
	dst = e.Open(dst)
	return append(dst, "event: ping\ndata: {\"type\":\"ping\"}\n\n"...)
}

func (e *anthropicEncoder) Chunk(dst []byte, c *Chunk) []byte {
	if e.state == streamEnded {
		return dst
	}
	dst = e.Open(dst)
	dst = e.seq.text(dst, blockThinking, c.Thinking, nil)
	dst = e.seq.text(dst, blockText, c.Text, nil)
	for i := range c.Tools {
		dst = e.seq.tool(dst, &c.Tools[i])
	}
	if c.Finish != FinishNone {
		e.finish = c.Finish
	}
	if c.StopSeq != "" {
		e.stopSeq = c.StopSeq
	}
	if c.Usage != nil {
		e.usage = *c.Usage
	}
	return dst
}

func (e *anthropicEncoder) End(dst []byte) []byte {
	if e.state == streamEnded {
		return dst
	}
	dst = e.Open(dst)
	dst = e.seq.finish(dst, e.finish == FinishLength)
	e.state = streamEnded
	dst = append(dst, "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{"...)
	dst = appendAnthropicStop(dst, e.finish, e.stopSeq, e.seq.calls.any())
	dst = append(dst, `},"usage":{`...)
	dst = appendAnthropicUsage(dst, e.usage, -1, e.sent)
	dst = append(dst, "}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"...)
	return dst
}

// Fail renders the error event. Open blocks stay open: a stop would tell the
// client that the block, perhaps half a tool call, is whole.
func (e *anthropicEncoder) Fail(dst []byte, p *Problem) []byte {
	if e.state == streamEnded {
		return dst
	}
	e.state = streamEnded
	dst = append(dst, "event: error\ndata: "...)
	_, body := anthropicError(p, "")
	return append(append(dst, body...), "\n\n"...)
}

func (e *anthropicEncoder) openBlock(dst []byte, b *block) []byte {
	dst = append(dst, "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":"...)
	dst = strconv.AppendInt(dst, int64(e.index), 10)
	switch b.kind {
	case blockText:
		dst = append(dst, `,"content_block":{"type":"text","text":""}}`...)
	case blockThinking:
		dst = append(dst, `,"content_block":{"type":"thinking","thinking":"","signature":""}}`...)
	case blockCall:
		dst = append(dst, `,"content_block":{"type":"tool_use","id":`...)
		dst = AppendString(dst, e.id.callID(b.call.n, b.call.id))
		dst = append(dst, `,"name":`...)
		dst = AppendString(dst, b.call.name)
		dst = append(dst, `,"input":{}}}`...)
	}
	return append(dst, "\n\n"...)
}

func (e *anthropicEncoder) piece(dst []byte, b *block, inside []byte, _ Raw) []byte {
	e.sent += len(inside)
	dst = e.delta(dst)
	switch b.kind {
	case blockText:
		dst = append(dst, `{"type":"text_delta","text":"`...)
	case blockThinking:
		dst = append(dst, `{"type":"thinking_delta","thinking":"`...)
	case blockCall:
		dst = append(dst, `{"type":"input_json_delta","partial_json":"`...)
	}
	dst = append(dst, inside...)
	return append(dst, "\"}}\n\n"...)
}

// closeBlock ends the block. A thinking block gets an empty signature first,
// as the protocol orders: it is not signed by anyone, but @ai-sdk/anthropic
// hands a reasoning part back on the next turn only if it saw a signature.
func (e *anthropicEncoder) closeBlock(dst []byte, b *block, _ bool) []byte {
	if b.kind == blockThinking {
		dst = append(e.delta(dst), "{\"type\":\"signature_delta\",\"signature\":\"\"}}\n\n"...)
	}
	dst = append(dst, "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":"...)
	dst = strconv.AppendInt(dst, int64(e.index), 10)
	e.index++
	return append(dst, "}\n\n"...)
}

// delta appends the head of a content_block_delta event, up to its delta.
func (e *anthropicEncoder) delta(dst []byte) []byte {
	dst = append(dst, "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":"...)
	dst = strconv.AppendInt(dst, int64(e.index), 10)
	return append(dst, `,"delta":`...)
}
