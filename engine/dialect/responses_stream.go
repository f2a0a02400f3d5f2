package dialect

import "strconv"

// Answer is what the encoder of a stateful protocol offers beside Encoder
// (Responses): after End, the answer as a later request may refer to it.
type Answer interface {
	// Answer returns the response's id and its output items, which the encoder
	// never changes again. There are none before End and after Fail.
	Answer() (id string, items []Raw)
}

// responsesEncoder renders an answer as OpenAI Responses events: items one
// after another, sequence numbers from 0 without gaps, and one terminal event
// with the whole response object.
type responsesEncoder struct {
	object responseObject
	tools  toolNames
	seq    sequencer

	number int   // of the next event
	items  []Raw // finished
	item   outputItem

	finish   Finish
	usage    Usage
	sent     int // bytes of answer rendered
	thought  int // of those, reasoning
	waits    int // keep-alives so far
	state    encoderState
	answered bool
}

// outputItem is the item that is open.
type outputItem struct {
	id    string
	where []byte // `"item_id":...,"output_index":...,` of its events
	text  []byte // inside of the literal of its text, reasoning or arguments so far
	logs  Raw
	input customInput
}

func newResponsesEncoder(r *Request, id *Identity) Encoder {
	e := &responsesEncoder{object: newResponseObject(r, id), tools: newToolNames(r), usage: NoUsage}
	e.seq.sink = e
	return e
}

func (e *responsesEncoder) ContentType() string { return "text/event-stream" }

func (e *responsesEncoder) Open(dst []byte) []byte {
	if e.state != streamNew {
		return dst
	}
	e.state = streamOpen
	dst = e.progress(dst, "response.created")
	return e.progress(dst, "response.in_progress")
}

// KeepAlive renders a comment, and every third time an event: Codex counts
// only events against its limit of idle time.
func (e *responsesEncoder) KeepAlive(dst []byte) []byte {
	if e.state == streamEnded {
		return dst
	}
	dst = e.Open(dst)
	e.waits++
	if e.waits%3 == 0 {
		return e.progress(dst, "response.in_progress")
	}
	return append(dst, ": waiting\n"...)
}

func (e *responsesEncoder) Chunk(dst []byte, c *Chunk) []byte {
	if e.state == streamEnded {
		return dst
	}
	dst = e.Open(dst)
	dst = e.seq.text(dst, blockThinking, c.Thinking, nil)
	dst = e.seq.text(dst, blockText, c.Text, c.Logprobs)
	for i := range c.Tools {
		dst = e.seq.tool(dst, &c.Tools[i])
	}
	if c.Finish != FinishNone {
		e.finish = c.Finish
	}
	if c.Usage != nil {
		e.usage = *c.Usage
	}
	return dst
}

func (e *responsesEncoder) End(dst []byte) []byte {
	if e.state == streamEnded {
		return dst
	}
	dst = e.Open(dst)
	dst = e.seq.finish(dst, e.finish == FinishLength)
	e.state, e.answered = streamEnded, true
	end := responseEnd{status: statusOf(e.finish), items: e.items, usage: e.usage, sent: e.sent, thought: e.thought, finish: e.finish}
	return e.withResponse(dst, "response."+end.status, &end)
}

// Fail renders response.failed with the items that were whole. Before
// anything was said the response is created first, as accumulators expect.
func (e *responsesEncoder) Fail(dst []byte, p *Problem) []byte {
	if e.state == streamEnded {
		return dst
	}
	dst = e.Open(dst)
	e.state = streamEnded
	end := responseEnd{status: "failed", items: e.items, usage: NoUsage, problem: p}
	return e.withResponse(dst, "response.failed", &end)
}

// Answer implements the interface of that name.
func (e *responsesEncoder) Answer() (string, []Raw) {
	if !e.answered {
		return e.object.id(), nil
	}
	return e.object.id(), e.items
}

// progress renders an event with the response as it is while it runs.
func (e *responsesEncoder) progress(dst []byte, name string) []byte {
	return e.withResponse(dst, name, &responseEnd{status: "in_progress", usage: NoUsage})
}

// withResponse renders an event that carries the whole response object.
func (e *responsesEncoder) withResponse(dst []byte, name string, end *responseEnd) []byte {
	dst = e.event(dst, name)
	dst = append(dst, `"response":`...)
	dst = e.object.append(dst, end)
	return append(dst, "}\n\n"...)
}

// event begins an event, up to its own members.
func (e *responsesEncoder) event(dst []byte, name string) []byte {
	dst = append(dst, "event: "...)
	dst = append(dst, name...)
	dst = append(dst, "\ndata: {\"type\":\""...)
	dst = append(dst, name...)
	dst = append(dst, `","sequence_number":`...)
	dst = strconv.AppendInt(dst, int64(e.number), 10)
	e.number++
	return append(dst, ',')
}

// itemEvent begins an event of the open item.
func (e *responsesEncoder) itemEvent(dst []byte, name string) []byte {
	return append(e.event(dst, name), e.item.where...)
}

func (e *responsesEncoder) openBlock(dst []byte, b *block) []byte {
	e.item = outputItem{text: e.item.text[:0]}
	index := "content_index"
	switch b.kind {
	case blockThinking:
		e.item.id, index = e.object.itemID("rs_", len(e.items)), "summary_index"
	case blockText:
		e.item.id = e.object.itemID("msg_", len(e.items))
	case blockCall:
		e.item.id, index = e.object.itemID(e.tools.itemPrefix(b.call.name), len(e.items)), ""
	}
	e.item.where = itemPlace(e.item.id, len(e.items), index)
	dst = e.event(dst, "response.output_item.added")
	dst = append(dst, `"output_index":`...)
	dst = strconv.AppendInt(dst, int64(len(e.items)), 10)
	dst = append(dst, `,"item":`...)
	dst = append(e.appendItem(dst, b, "in_progress"), "}\n\n"...)
	switch b.kind {
	case blockThinking:
		dst = e.itemEvent(dst, "response.reasoning_summary_part.added")
		dst = append(dst, "\"part\":{\"type\":\"summary_text\",\"text\":\"\"}}\n\n"...)
	case blockText:
		dst = e.itemEvent(dst, "response.content_part.added")
		dst = append(dst, "\"part\":"...)
		dst = append(appendOutputText(dst, nil, nil), "}\n\n"...)
	}
	return dst
}

// itemPlace renders what every event of an item says about where it belongs.
func itemPlace(id string, output int, index string) []byte {
	where := append([]byte(`"item_id":"`), id...)
	where = append(where, `","output_index":`...)
	where = append(strconv.AppendInt(where, int64(output), 10), ',')
	if index != "" {
		where = append(where, '"')
		where = append(where, index...)
		where = append(where, `":0,`...)
	}
	return where
}

func (e *responsesEncoder) piece(dst []byte, b *block, inside []byte, logprobs Raw) []byte {
	e.sent += len(inside)
	name := "response.output_text.delta"
	switch {
	case b.kind == blockThinking:
		e.thought += len(inside)
		name = "response.reasoning_summary_text.delta"
	case b.kind == blockCall && e.tools.isCustom(b.call.name):
		return e.customDelta(dst, e.item.input.next(b.call.args.text))
	case b.kind == blockCall:
		name = "response.function_call_arguments.delta"
	}
	e.item.text = append(e.item.text, inside...)
	dst = e.itemEvent(dst, name)
	dst = append(dst, `"delta":"`...)
	dst = append(append(dst, inside...), '"')
	if b.kind == blockText {
		e.item.logs = joinArrays(e.item.logs, logprobs)
		dst = append(dst, `,"logprobs":`...)
		dst = appendArray(dst, logprobs)
	}
	return append(dst, "}\n\n"...)
}

// customDelta renders a piece of a custom tool's input, nothing for "".
func (e *responsesEncoder) customDelta(dst []byte, piece string) []byte {
	if piece == "" {
		return dst
	}
	dst = e.itemEvent(dst, "response.custom_tool_call_input.delta")
	dst = append(dst, `"delta":`...)
	return append(AppendString(dst, piece), "}\n\n"...)
}

func (e *responsesEncoder) closeBlock(dst []byte, b *block, cut bool) []byte {
	status := "completed"
	if cut {
		status = "incomplete"
	}
	switch b.kind {
	case blockThinking:
		dst = e.closeText(dst, "response.reasoning_summary_text.done")
		dst = e.itemEvent(dst, "response.reasoning_summary_part.done")
		dst = append(dst, `"part":`...)
		dst = append(appendSummaryText(dst, e.item.text), "}\n\n"...)
	case blockText:
		dst = e.closeText(dst, "response.output_text.done")
		dst = e.itemEvent(dst, "response.content_part.done")
		dst = append(dst, `"part":`...)
		dst = append(appendOutputText(dst, e.item.text, e.item.logs), "}\n\n"...)
	case blockCall:
		dst = e.closeCall(dst, b, cut)
	}
	item := Raw(e.appendItem(nil, b, status))
	dst = e.event(dst, "response.output_item.done")
	dst = append(dst, `"output_index":`...)
	dst = strconv.AppendInt(dst, int64(len(e.items)), 10)
	dst = append(dst, `,"item":`...)
	dst = append(dst, item...)
	e.items = append(e.items, item)
	return append(dst, "}\n\n"...)
}

func (e *responsesEncoder) closeText(dst []byte, name string) []byte {
	dst = e.itemEvent(dst, name)
	dst = append(dst, `"text":"`...)
	dst = append(append(dst, e.item.text...), '"')
	if name == "response.output_text.done" {
		dst = append(dst, `,"logprobs":`...)
		dst = appendArray(dst, e.item.logs)
	}
	return append(dst, "}\n\n"...)
}

// closeCall ends a call's arguments. A call without any has {}: clients parse
// them.
func (e *responsesEncoder) closeCall(dst []byte, b *block, cut bool) []byte {
	if e.tools.isCustom(b.call.name) {
		dst = e.customDelta(dst, e.item.input.rest(b.call.args.text))
		dst = e.itemEvent(dst, "response.custom_tool_call_input.done")
		dst = append(dst, `"input":`...)
		return append(AppendString(dst, string(e.item.input.text)), "}\n\n"...)
	}
	if !cut && blank(string(b.call.args.text)) {
		dst = e.piece(dst, b, []byte("{}"), nil)
	}
	dst = e.itemEvent(dst, "response.function_call_arguments.done")
	dst = append(dst, `"name":`...)
	dst = AppendString(dst, e.tools.bare(b.call.name))
	dst = append(dst, `,"arguments":"`...)
	dst = append(dst, e.item.text...)
	return append(dst, "\"}\n\n"...)
}

// appendItem renders the open item as it is now.
func (e *responsesEncoder) appendItem(dst []byte, b *block, status string) []byte {
	switch b.kind {
	case blockThinking:
		return e.object.appendReasoning(dst, e.item.id, status, e.item.text)
	case blockText:
		return appendMessageItem(dst, e.item.id, status, e.item.text, e.item.logs)
	}
	callID := e.object.ident.callID(b.call.n, b.call.id)
	if e.tools.isCustom(b.call.name) {
		return e.tools.appendCustomCall(dst, e.item.id, status, callID, b.call.name, string(e.item.input.text))
	}
	return e.tools.appendFunctionCall(dst, e.item.id, status, callID, b.call.name, e.item.text)
}
