package dialect

import (
	"slices"
	"strconv"
)

// completionEncoder renders an answer as legacy completion records. Reasoning
// has no place in this protocol and is left out, as the runtimes do.
type completionEncoder struct {
	sseStream
	echo   Text // the prompt, sent before the answer; nil = not asked
	offset int  // characters sent, for logprobs
}

func newCompletionEncoder(r *Request, id *Identity) Encoder {
	return &completionEncoder{
		sseStream: newSSEStream(r, id, "cmpl-", "text_completion"),
		echo:      echoOf(r),
	}
}

// Open renders the prompt where it is to be echoed; else nothing is due
// before the first text.
func (e *completionEncoder) Open(dst []byte) []byte {
	if e.state != streamNew {
		return dst
	}
	e.state = streamOpen
	if e.echo.Empty() {
		return dst
	}
	return e.record(dst, e.echo, nil, "")
}

// KeepAlive renders a comment line.
func (e *completionEncoder) KeepAlive(dst []byte) []byte { return e.comment(dst) }

// Chunk renders the chunk's text.
func (e *completionEncoder) Chunk(dst []byte, c *Chunk) []byte {
	if e.state == streamEnded {
		return dst
	}
	dst = e.Open(dst)
	e.keep(c)
	if c.Text.Empty() && len(c.Logprobs) <= 2 {
		return dst
	}
	return e.record(dst, c.Text, c.Logprobs, "")
}

// End renders the finish with an empty text, usage and the terminator.
func (e *completionEncoder) End(dst []byte) []byte {
	if e.state == streamEnded {
		return dst
	}
	dst = e.Open(dst)
	dst = e.record(dst, nil, nil, finishOf(e.finish, false))
	return e.terminate(dst)
}

func (e *completionEncoder) record(dst []byte, t Text, logprobs Raw, finish string) []byte {
	dst = append(dst, e.head...)
	dst = appendCompletionChoice(dst, t, logprobs, finish, e.offset)
	e.offset += t.Len()
	return append(dst, "]}\n\n"...)
}

// appendCompletionReply renders a text_completion object.
func appendCompletionReply(dst []byte, r *Request, id *Identity, rep *Reply) []byte {
	dst = appendOpenAIHead(slices.Grow(dst, 512+len(rep.Text)), id, "cmpl-", "text_completion")
	dst = append(dst, `"choices":[`...)
	echo := echoOf(r)
	dst = appendCompletionChoice(dst, Concat(echo, rep.Text), rep.Logprobs, finishOf(rep.Finish, false), echo.Len())
	dst = append(dst, `],"usage":`...)
	dst = appendOpenAIUsage(dst, rep.Usage, id, rep.size())
	return append(dst, '}')
}

func echoOf(r *Request) Text {
	if r.Prompt == nil || !r.Prompt.Echo {
		return nil
	}
	return r.Prompt.Text
}

// appendCompletionChoice appends one choice; offset is the character in the
// whole text at which the logprobs begin.
func appendCompletionChoice(dst []byte, t Text, logprobs Raw, finish string, offset int) []byte {
	dst = append(dst, `{"text":`...)
	dst = AppendText(dst, t)
	dst = append(dst, `,"index":0`...)
	dst = appendLegacyLogprobs(dst, logprobs, offset)
	dst = append(dst, `,"finish_reason":`...)
	dst = appendStringOrNull(dst, finish)
	return append(dst, '}')
}

// appendLegacyLogprobs turns the chat form (a list of tokens with their
// alternatives) into the four parallel lists of the completions protocol.
func appendLegacyLogprobs(dst []byte, l Raw, offset int) []byte {
	if len(l) <= 2 {
		return dst
	}
	var tokens, values, tops, offsets []byte
	for i, v := range Elements(l) {
		if i > 0 {
			tokens, values, tops, offsets = append(tokens, ','), append(values, ','), append(tops, ','), append(offsets, ',')
		}
		token := Text(v.Get("token"))
		tokens = AppendText(tokens, token)
		values = AppendRaw(values, v.Get("logprob"))
		tops = appendTopLogprobs(tops, v.Get("top_logprobs"))
		offsets = strconv.AppendInt(offsets, int64(offset), 10)
		offset += token.Len()
	}
	dst = append(dst, `,"logprobs":{"tokens":[`...)
	dst = append(dst, tokens...)
	dst = append(dst, `],"token_logprobs":[`...)
	dst = append(dst, values...)
	dst = append(dst, `],"top_logprobs":[`...)
	dst = append(dst, tops...)
	dst = append(dst, `],"text_offset":[`...)
	dst = append(dst, offsets...)
	return append(dst, "]}"...)
}

// appendTopLogprobs appends {token: logprob}. Two tokens with one spelling
// (byte pieces) keep the likelier, which comes first.
func appendTopLogprobs(dst []byte, l Raw) []byte {
	if len(l) <= 2 {
		return append(dst, "null"...)
	}
	dst = append(dst, '{')
	empty := len(dst)
	var seen []string
next:
	for _, v := range Elements(l) {
		token := Text(v.Get("token"))
		for _, s := range seen {
			if token.Is(s) {
				continue next
			}
		}
		seen = append(seen, token.String())
		dst = AppendText(comma(dst, empty), token)
		dst = append(dst, ':')
		dst = AppendRaw(dst, v.Get("logprob"))
	}
	return append(dst, '}')
}
