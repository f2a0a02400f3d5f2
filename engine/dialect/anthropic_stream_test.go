package dialect

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/ssestream"
)

func anthropicRequest(t testing.TB) *Request {
	return mustParse(t, Anthropic, `{"model":"Qwen3:8B","max_tokens":100,"stream":true,"messages":[{"role":"user","content":"hi"}]}`)
}

func TestAnthropicStreamsStayAsTheyAre(t *testing.T) {
	for _, a := range streamCases {
		t.Run(a.name, func(t *testing.T) {
			goldenStream(t, "anthropic "+a.name+".sse", streamed(anthropicRequest(t), a.chunks, a.fail))
		})
	}
}

// accumulate reads a stream with the vendor's own library.
func accumulate(stream []byte) (anthropic.Message, error) {
	res := &http.Response{Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(bytes.NewReader(stream))}
	events := ssestream.NewStream[anthropic.MessageStreamEventUnion](ssestream.NewDecoder(res), nil)
	var msg anthropic.Message
	for events.Next() {
		if err := msg.Accumulate(events.Current()); err != nil {
			return msg, err
		}
	}
	return msg, events.Err()
}

func TestAnthropicLibraryReadsEveryStream(t *testing.T) {
	for _, a := range streamCases {
		t.Run(a.name, func(t *testing.T) {
			msg, err := accumulate(streamed(anthropicRequest(t), a.chunks, a.fail))
			if (err != nil) != (a.fail != nil) {
				t.Fatalf("error %v", err)
			}
			if a.fail != nil {
				return
			}
			if msg.ID != "msg_0123456789abcdef0123456789abcdef" || msg.Model != "Qwen3:8B" || msg.Role != "assistant" || msg.StopReason == "" {
				t.Errorf("message %+v", msg)
			}
			whole := gather(a.chunks)
			var text, reasoning strings.Builder
			calls := 0
			for _, b := range msg.Content {
				switch b := b.AsAny().(type) {
				case anthropic.TextBlock:
					text.WriteString(b.Text)
				case anthropic.ThinkingBlock:
					reasoning.WriteString(b.Thinking)
				case anthropic.ToolUseBlock:
					if b.Name != whole.Tools[calls].Name || string(b.Input) != string(whole.Tools[calls].Arguments) {
						t.Errorf("call %s(%s), want %v", b.Name, b.Input, whole.Tools[calls])
					}
					calls++
				default:
					t.Errorf("block %T", b)
				}
			}
			if text.String() != whole.Text.String() || reasoning.String() != whole.Thinking.String() || calls != len(whole.Tools) {
				t.Errorf("read %q, %q, %d calls; want %q, %q, %d", text.String(), reasoning.String(), calls, whole.Text, whole.Thinking, len(whole.Tools))
			}
		})
	}
}

func gather(chunks []*Chunk) *Reply {
	var c Collector
	for _, ch := range chunks {
		c.Add(ch)
	}
	return c.Reply()
}

// W-01.
func TestAnthropicAnswerWithACallStopsForToolUseWhateverTheRuntimeSays(t *testing.T) {
	for _, finish := range []Finish{FinishStop, FinishTools, FinishNone, FinishStopSeq} {
		if got := anthropicStopReason(finish, "", true); got != "tool_use" {
			t.Errorf("%q: %s", finish, got)
		}
	}
	if got := anthropicStopReason(FinishLength, "", true); got != "max_tokens" {
		t.Errorf("cut: %s", got)
	}
}

// W-02.
func TestAnthropicThinkingAfterTextOpensABlockOfItsOwn(t *testing.T) {
	msg, err := accumulate(streamed(anthropicRequest(t), []*Chunk{say("a"), think("b"), say("c"), finished(FinishStop, NoUsage)}, nil))
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, b := range msg.Content {
		kinds = append(kinds, b.Type)
	}
	if got := strings.Join(kinds, " "); got != "text thinking text" {
		t.Errorf("blocks %s", got)
	}
}

// W-03.
func TestAnthropicOnlyToolUseHasAnInput(t *testing.T) {
	rep := &Reply{Text: Quote("hello"), Thinking: Quote("hm"), Finish: FinishStop, Usage: NoUsage}
	if body := EncodeReply(anthropicRequest(t), streamID(), rep); bytes.Contains(body, []byte(`"input"`)) {
		t.Errorf("input in %s", body)
	}
	stream := streamed(anthropicRequest(t), []*Chunk{think("hm"), say("hello")}, nil)
	if bytes.Contains(stream, []byte(`"input":`)) {
		t.Errorf("input in %s", stream)
	}
}

// W-04.
func TestAnthropicWholeArgumentsInOneChunkReachTheClient(t *testing.T) {
	msg, err := accumulate(streamed(anthropicRequest(t), []*Chunk{toolPiece(0, "", "f", `{"a":1}`)}, nil))
	if err != nil || len(msg.Content) != 1 || string(msg.Content[0].Input) != `{"a":1}` {
		t.Errorf("%v %+v", err, msg.Content)
	}
}

// W-05.
func TestAnthropicUsageIsInStreamsAndInWholeAnswers(t *testing.T) {
	usage := Usage{Input: 100, Output: 7, Cached: 40, Reasoning: -1}
	stream := streamed(anthropicRequest(t), []*Chunk{say("a"), finished(FinishStop, usage)}, nil)
	events := readEvents(t, stream)
	if got := dig(events[0].data, "message", "usage", "input_tokens"); got != 12.0 {
		t.Errorf("message_start has input_tokens %v, want the estimate", got)
	}
	msg, _ := accumulate(stream)
	if u := msg.Usage; u.InputTokens != 60 || u.CacheReadInputTokens != 40 || u.OutputTokens != 7 {
		t.Errorf("stream: %+v", u)
	}
	body := EncodeReply(anthropicRequest(t), streamID(), &Reply{Text: Quote("a"), Finish: FinishStop, Usage: usage})
	if !bytes.Contains(body, []byte(`"usage":{"input_tokens":60,"cache_creation_input_tokens":0,"cache_read_input_tokens":40,"output_tokens":7}`)) {
		t.Errorf("whole: %s", body)
	}
}

// W-12.
func TestAnthropicEveryThinkingDeltaReachesTheClient(t *testing.T) {
	var chunks []*Chunk
	for range 20 {
		chunks = append(chunks, think("x"))
	}
	stream := streamed(anthropicRequest(t), append(chunks, say("done")), nil)
	if n := bytes.Count(stream, []byte(`"thinking_delta"`)); n != 20 {
		t.Errorf("%d thinking deltas, want 20", n)
	}
}

// W-22, W-28.
func TestAnthropicKeepAliveNeverStartsASecondMessage(t *testing.T) {
	e := NewEncoder(anthropicRequest(t), streamID())
	out := e.KeepAlive(nil)
	out = e.KeepAlive(out)
	out = e.Open(out)
	out = e.Chunk(out, say("a"))
	out = e.KeepAlive(out)
	out = e.End(out)
	var names []string
	for _, ev := range readEvents(t, out) {
		names = append(names, ev.name)
	}
	want := "message_start ping ping content_block_start content_block_delta ping content_block_stop message_delta message_stop"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// W-10.
func TestAnthropicEventsHoldNoNullsButTheStopOnes(t *testing.T) {
	for _, a := range streamCases {
		stream := string(streamed(anthropicRequest(t), a.chunks, a.fail))
		stream = strings.NewReplacer(`"stop_reason":null`, "", `"stop_sequence":null`, "").Replace(stream)
		if strings.Contains(stream, "null") {
			t.Errorf("%s: %s", a.name, stream)
		}
	}
}

// W-24: literals pass byte for byte, whatever a chunk's border cuts.
func TestBlocksPassLiteralsByteForByte(t *testing.T) {
	for _, lit := range []string{`"\ud83d\ude00"`, `"😀"`, `"\u4e2d 中"`, `"a\/b\n"`} {
		for _, r := range []*Request{anthropicRequest(t), responsesRequest(t)} {
			if out := streamed(r, []*Chunk{{Text: Text(lit)}}, nil); !bytes.Contains(out, []byte(":"+lit)) {
				t.Errorf("%s: %s is not in %s", r.Protocol, lit, out)
			}
		}
	}
}

// W-14: an answer whose whole limit went into thinking says so.
func TestAnthropicThinkingThatAteTheLimitEndsInMaxTokens(t *testing.T) {
	msg, err := accumulate(streamed(anthropicRequest(t), []*Chunk{think("on and on"), finished(FinishLength, Usage{9, 100, -1, 100})}, nil))
	if err != nil || msg.StopReason != "max_tokens" || len(msg.Content) != 1 || msg.Content[0].Type != "thinking" {
		t.Errorf("%v: %s, %+v", err, msg.StopReason, msg.Content)
	}
}

func TestAnthropicNothingFollowsTheEnd(t *testing.T) {
	for _, end := range []func(Encoder, []byte) []byte{Encoder.End, func(e Encoder, b []byte) []byte { return e.Fail(b, &Problem{Status: 500}) }} {
		e := NewEncoder(anthropicRequest(t), streamID())
		end(e, e.Open(nil))
		late := e.Chunk(e.Open(nil), say("late"))
		late = e.Fail(e.End(e.KeepAlive(late)), &Problem{Status: 500})
		if len(late) > 0 {
			t.Errorf("after the end: %s", late)
		}
	}
}

func TestAnthropicFailureLeavesHalfACallOpen(t *testing.T) {
	stream := streamed(anthropicRequest(t), []*Chunk{toolPiece(0, "", "rm", `{"path":"/`)}, &Problem{Status: 502, Message: "gone"})
	events := readEvents(t, stream)
	last := events[len(events)-1]
	if last.name != "error" || dig(last.data, "error", "type") != "api_error" || dig(last.data, "error", "message") != "gone" {
		t.Errorf("last event %+v", last)
	}
	for _, e := range events {
		if e.name == "content_block_stop" || e.name == "message_stop" {
			t.Errorf("%s after a failure", e.name)
		}
	}
}

func TestAnthropicWholeAnswers(t *testing.T) {
	cases := []struct {
		name string
		rep  Reply
		want string
	}{
		{"content is a list even when empty", Reply{Finish: FinishStop, Usage: Usage{3, 0, -1, -1}},
			`"content":[],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":3,"output_tokens":0}}`},
		{"every kind in order", Reply{Thinking: Quote("hm"), Text: Quote("a\n"), Tools: []ToolCall{{ID: "x", Name: "f", Arguments: Raw(`{"a":1}`)}}, Finish: FinishStop, Usage: Usage{3, 4, -1, -1}},
			`"content":[{"type":"thinking","thinking":"hm","signature":""},{"type":"text","text":"a\n"},{"type":"tool_use","id":"call_ours0","name":"f","input":{"a":1}}],"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":3,"output_tokens":4}}`},
		{"half a call is kept as text", Reply{Tools: []ToolCall{{Name: "f", Arguments: Raw(`{"a":`)}}, Finish: FinishLength, Usage: Usage{3, 4, -1, -1}},
			`"content":[{"type":"tool_use","id":"call_ours0","name":"f","input":{"_raw":"{\"a\":"}}],"stop_reason":"max_tokens","stop_sequence":null,"usage":{"input_tokens":3,"output_tokens":4}}`},
		{"the stop sequence is named", Reply{Text: Quote("a"), Finish: FinishStopSeq, StopSeq: "END", Usage: Usage{3, 4, -1, -1}},
			`"content":[{"type":"text","text":"a"}],"stop_reason":"stop_sequence","stop_sequence":"END","usage":{"input_tokens":3,"output_tokens":4}}`},
		{"counts nobody gave are the estimate and a guess", Reply{Text: Quote("twelve bytes"), Finish: FinishFilter, Usage: NoUsage},
			`"content":[{"type":"text","text":"twelve bytes"}],"stop_reason":"refusal","stop_sequence":null,"usage":{"input_tokens":12,"output_tokens":3}}`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			const head = `{"id":"msg_0123456789abcdef0123456789abcdef","type":"message","role":"assistant","model":"Qwen3:8B",`
			if got := string(EncodeReply(anthropicRequest(t), streamID(), &c.rep)); got != head+c.want {
				t.Errorf("got  %s\nwant %s", got, head+c.want)
			}
		})
	}
}

func TestAnthropicErrorsAreTypedByStatus(t *testing.T) {
	types := map[int]string{
		400: "invalid_request_error", 401: "authentication_error", 402: "billing_error", 403: "permission_error", 404: "not_found_error",
		405: "invalid_request_error", 409: "conflict_error", 413: "request_too_large", 422: "invalid_request_error", 429: "rate_limit_error",
		500: "api_error", 502: "api_error", 503: "overloaded_error", 504: "timeout_error", 529: "overloaded_error",
	}
	for status, want := range types {
		_, body := EncodeProblem(Anthropic, &Problem{Status: status, Message: "No."}, "req_1")
		if got := `{"type":"error","error":{"type":"` + want + `","message":"No."},"request_id":"req_1"}`; string(body) != got {
			t.Errorf("%d: got %s, want %s", status, body, got)
		}
	}
}

// W-17: the wording is how Claude Code knows that it must compact.
func TestAnthropicContextOverflowIsWordedForClaudeCode(t *testing.T) {
	p := &Problem{Status: 400, Code: CodeContextLength, Message: "needs 9,004 tokens, offers 2,048", Tokens: 9004, MaxTokens: 2048}
	_, body := EncodeProblem(Anthropic, p, "req_1")
	if want := `"type":"invalid_request_error","message":"prompt is too long: 9004 tokens > 2048 maximum"`; !bytes.Contains(body, []byte(want)) {
		t.Errorf("got %s", body)
	}
	p.Tokens = 0
	if _, body = EncodeProblem(Anthropic, p, ""); !bytes.Contains(body, []byte(`"prompt is too long: needs 9,004 tokens`)) {
		t.Errorf("got %s", body)
	}
}

func TestAnthropicTokenCount(t *testing.T) {
	if got := string(EncodeTokenCount(6)); got != `{"input_tokens":6}` {
		t.Error(got)
	}
}
