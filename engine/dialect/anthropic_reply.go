package dialect

import "strconv"

// appendAnthropicReply renders a whole message. Its content is a list, never
// null; only tool_use blocks have an input.
func appendAnthropicReply(dst []byte, id *Identity, rep *Reply) []byte {
	dst = appendAnthropicHead(dst, id)
	dst = append(dst, `"content":[`...)
	first := true
	begin := func() {
		if !first {
			dst = append(dst, ',')
		}
		first = false
	}
	if !rep.Thinking.Empty() {
		begin()
		dst = append(dst, `{"type":"thinking","thinking":`...)
		dst = append(AppendText(dst, rep.Thinking), `,"signature":""}`...)
	}
	if !rep.Text.Empty() {
		begin()
		dst = append(dst, `{"type":"text","text":`...)
		dst = append(AppendText(dst, rep.Text), '}')
	}
	for n := range rep.Tools {
		begin()
		dst = appendToolUse(dst, id, n, &rep.Tools[n])
	}
	dst = append(dst, `],`...)
	dst = appendAnthropicStop(dst, rep.Finish, rep.StopSeq, len(rep.Tools) > 0)
	dst = append(dst, `,"usage":{`...)
	dst = appendAnthropicUsage(dst, rep.Usage, id.InputEstimate, rep.size())
	return append(dst, "}}"...)
}

func appendToolUse(dst []byte, id *Identity, n int, c *ToolCall) []byte {
	dst = append(dst, `{"type":"tool_use","id":`...)
	dst = AppendString(dst, id.callID(n, c.ID))
	dst = append(dst, `,"name":`...)
	dst = AppendString(dst, c.Name)
	dst = append(dst, `,"input":`...)
	dst = append(dst, argumentsObject(c.Arguments)...)
	return append(dst, '}')
}

// appendAnthropicHead begins the message object, up to its content.
func appendAnthropicHead(dst []byte, id *Identity) []byte {
	dst = append(dst, `{"id":"msg_`...)
	dst = append(dst, id.ID...)
	dst = append(dst, `","type":"message","role":"assistant","model":`...)
	return append(AppendString(dst, id.Model), ',')
}

// appendAnthropicStop appends stop_reason and stop_sequence, both always there.
func appendAnthropicStop(dst []byte, f Finish, stopSeq string, calls bool) []byte {
	reason := anthropicStopReason(f, stopSeq, calls)
	dst = append(dst, `"stop_reason":"`...)
	dst = append(dst, reason...)
	dst = append(dst, `","stop_sequence":`...)
	if reason != "stop_sequence" || stopSeq == "" {
		return append(dst, "null"...)
	}
	return AppendString(dst, stopSeq)
}

// anthropicStopReason names the end of an answer. An answer with calls asks
// for their results, whatever the runtime's last frame says, unless it was cut.
func anthropicStopReason(f Finish, stopSeq string, calls bool) string {
	switch {
	case f == FinishLength:
		return "max_tokens"
	case f == FinishFilter:
		return "refusal"
	case calls || f == FinishTools:
		return "tool_use"
	case f == FinishStopSeq || stopSeq != "":
		return "stop_sequence"
	}
	return "end_turn"
}

// appendAnthropicUsage appends the members of a usage object. input_tokens
// leaves out what came from the cache, by the protocol's contract. Counts the
// runtime did not give stay out, but for output_tokens, which clients require:
// it is then guessed from the answer's length. estimate stands in for an
// unknown input; negative = leave it out.
func appendAnthropicUsage(dst []byte, u Usage, estimate, answerBytes int) []byte {
	input := estimate
	if u.Input >= 0 {
		input = u.Input - min(max(u.Cached, 0), u.Input)
	}
	if input >= 0 {
		dst = append(dst, `"input_tokens":`...)
		dst = append(strconv.AppendInt(dst, int64(input), 10), ',')
	}
	if u.Input >= 0 && u.Cached >= 0 {
		dst = append(dst, `"cache_creation_input_tokens":0,"cache_read_input_tokens":`...)
		dst = append(strconv.AppendInt(dst, int64(u.Cached), 10), ',')
	}
	dst = append(dst, `"output_tokens":`...)
	return strconv.AppendInt(dst, int64(outputTokens(u, answerBytes)), 10)
}

// EncodeTokenCount renders the answer of count_tokens.
func EncodeTokenCount(input int) []byte {
	return append(strconv.AppendInt([]byte(`{"input_tokens":`), int64(max(0, input)), 10), '}')
}
