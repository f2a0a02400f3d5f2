package dialect

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"io"
	"math"
	"net/http"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/ssestream"
	"pgregory.net/rapid"
)

var chatStream = &Request{Protocol: OpenAIChat, Model: "qwen3:8b", Stream: true}

func readChat(stream []byte) (openai.ChatCompletionAccumulator, []openai.ChatCompletionChunk, error) {
	res := &http.Response{Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(bytes.NewReader(stream))}
	events := ssestream.NewStream[openai.ChatCompletionChunk](ssestream.NewDecoder(res), nil)
	var acc openai.ChatCompletionAccumulator
	var all []openai.ChatCompletionChunk
	for events.Next() {
		c := events.Current()
		all = append(all, c)
		acc.AddChunk(c)
	}
	return acc, all, events.Err()
}

func TestOpenAILibraryReadsEveryStream(t *testing.T) {
	for _, a := range streamCases {
		t.Run(a.name, func(t *testing.T) {
			acc, all, err := readChat(streamed(chatStream, a.chunks, a.fail))
			if (err != nil) != (a.fail != nil) {
				t.Fatalf("error %v", err)
			}
			finishes := 0
			for i, c := range all {
				if c.ID != "chatcmpl-0123456789abcdef0123456789abcdef" || c.Model != "Qwen3:8B" || c.Created != 1795991618 || c.Object != "chat.completion.chunk" {
					t.Errorf("chunk %d is headed %s %s %d %s", i, c.ID, c.Model, c.Created, c.Object)
				}
				if len(c.Choices) > 0 && c.Choices[0].FinishReason != "" {
					finishes++
				}
				if isRole := len(c.Choices) > 0 && c.Choices[0].Delta.Role == "assistant"; isRole != (i == 0) {
					t.Errorf("chunk %d has a role: %v", i, isRole)
				}
			}
			if a.fail != nil {
				if finishes != 0 {
					t.Error("a finish reason before a failure")
				}
				return
			}
			whole := gather(a.chunks)
			msg := acc.Choices[0].Message
			if msg.Content != whole.Text.String() || finishes != 1 {
				t.Errorf("content %q with %d finishes", msg.Content, finishes)
			}
			if len(msg.ToolCalls) != len(whole.Tools) {
				t.Fatalf("%d calls, want %d", len(msg.ToolCalls), len(whole.Tools))
			}
			for i, c := range msg.ToolCalls {
				if c.Function.Name != whole.Tools[i].Name || c.Function.Arguments != string(whole.Tools[i].Arguments) || c.ID != streamID().ToolCallID(i) {
					t.Errorf("call %d: %s %s %s", i, c.ID, c.Function.Name, c.Function.Arguments)
				}
			}
		})
	}
}

// W-01, section 8.2: the runtime sends calls in one frame and stop in the next.
func TestFinishIsToolCallsOnceACallWasSeen(t *testing.T) {
	for _, c := range []struct {
		finish Finish
		call   bool
		want   string
	}{
		{FinishStop, true, "tool_calls"}, {FinishTools, true, "tool_calls"}, {FinishNone, true, "tool_calls"},
		{FinishLength, true, "length"}, {FinishFilter, true, "content_filter"},
		{FinishStop, false, "stop"}, {FinishStopSeq, false, "stop"}, {FinishNone, false, "stop"}, {FinishLoad, false, "stop"},
	} {
		chunks := []*Chunk{say("x"), {Finish: c.finish, Final: true}}
		if c.call {
			chunks = append([]*Chunk{toolPiece(0, "a", "f", `{}`)}, chunks...)
		}
		if got := streamed(chatStream, chunks, nil); !bytes.Contains(got, []byte(`"delta":{},"finish_reason":"`+c.want+`"`)) {
			t.Errorf("%s, call %v: %s", c.finish, c.call, got)
		}
		whole := EncodeReply(chatStream, streamID(), gather(chunks))
		if !bytes.Contains(whole, []byte(`"finish_reason":"`+c.want+`"`)) {
			t.Errorf("%s, call %v: %s", c.finish, c.call, whole)
		}
	}
}

func TestAbsentDeltaFieldsAreLeftOut(t *testing.T) { // W-10
	out := streamed(chatStream, []*Chunk{say("a"), think("b"), toolPiece(0, "", "f", ""), finished(FinishStop, NoUsage)}, nil)
	for _, null := range []string{`"tool_calls":null`, `"content":null`, `"reasoning":null`, `"usage":null`, `"logprobs":null`, `"tool_calls":[]`} {
		if bytes.Contains(out, []byte(null)) {
			t.Errorf("%s in %s", null, out)
		}
	}
}

// W-12, and both names of the field.
func TestEveryThinkingDeltaGoesOutUnderBothNames(t *testing.T) {
	var chunks []*Chunk
	for range 20 {
		chunks = append(chunks, think("hm "))
	}
	out := string(streamed(chatStream, chunks, nil))
	if a, b := strings.Count(out, `"reasoning":"hm "`), strings.Count(out, `"reasoning_content":"hm "`); a != 20 || b != 20 {
		t.Errorf("%d as reasoning, %d as reasoning_content", a, b)
	}
	whole := EncodeReply(chatStream, streamID(), gather(chunks))
	if strings.Count(string(whole), strings.Repeat("hm ", 20)) != 2 {
		t.Errorf("whole answer %s", whole)
	}
}

func TestUsageIsSentOnceAndOnlyWhenAskedFor(t *testing.T) {
	chunks := []*Chunk{say("a"), finished(FinishStop, Usage{9, 4, 3, 2})}
	if out := streamed(chatStream, chunks, nil); bytes.Contains(out, []byte("usage")) {
		t.Errorf("not asked for: %s", out)
	}
	asked := *chatStream
	asked.IncludeUsage = true
	out := string(streamed(&asked, chunks, nil))
	want := `"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":4,"total_tokens":13,"prompt_tokens_details":{"cached_tokens":3},"completion_tokens_details":{"reasoning_tokens":2}}}` + "\n\ndata: [DONE]\n\n"
	if !strings.HasSuffix(out, want) {
		t.Errorf("got %s", out)
	}
	if strings.Count(out, "usage") != 1 {
		t.Errorf("usage more than once: %s", out)
	}
}

func TestUnknownCountsAreNeverAFalseZero(t *testing.T) { // W-11
	asked := *chatStream
	asked.IncludeUsage = true
	out := string(streamed(&asked, []*Chunk{say("sixteen letters."), {Finish: FinishStop, Final: true}}, nil))
	if !strings.Contains(out, `"usage":{"prompt_tokens":12,"completion_tokens":4,"total_tokens":16}`) {
		t.Errorf("got %s", out)
	}
}

// Section 8.4: arguments before the name, the name on every piece.
func TestACallsHeadWaitsForItsNameAndIsSentOnce(t *testing.T) {
	out := streamed(chatStream, []*Chunk{
		toolPiece(0, "u1", "", `{"a"`), toolPiece(0, "u1", "f", `:`), toolPiece(0, "u1", "f", `1}`), finished(FinishStop, NoUsage)}, nil)
	if n := bytes.Count(out, []byte(`"name":"f"`)); n != 1 {
		t.Errorf("the name %d times: %s", n, out)
	}
	acc, _, err := readChat(out)
	if err != nil || acc.Choices[0].Message.ToolCalls[0].Function.Arguments != `{"a":1}` {
		t.Errorf("%v %+v", err, acc.Choices)
	}
}

// Section 8.1: some runtimes number every call 0.
func TestParallelCallsThatShareAnIndexStaySeparate(t *testing.T) {
	for name, chunks := range map[string][]*Chunk{
		"other ids":  {toolPiece(0, "a", "f", `{"x":1}`), toolPiece(0, "b", "f", `{"x":2}`)},
		"no ids":     {toolPiece(0, "", "f", `{"x":1}`), toolPiece(0, "", "f", `{"x":2}`)},
		"other name": {toolPiece(0, "", "f", `{"x":1}`), toolPiece(0, "", "g", ``), toolPiece(0, "", "", `{"x":2}`)},
		"one chunk":  {{Tools: []ToolDelta{{0, "a", "f", `{"x":1}`}, {0, "b", "g", `{"x":2}`}}}},
	} {
		acc, _, err := readChat(streamed(chatStream, append(chunks, finished(FinishStop, NoUsage)), nil))
		if err != nil {
			t.Fatal(err)
		}
		calls := acc.Choices[0].Message.ToolCalls
		if len(calls) != 2 || calls[0].Function.Arguments != `{"x":1}` || calls[1].Function.Arguments != `{"x":2}` || calls[0].ID == calls[1].ID {
			t.Errorf("%s: %+v", name, calls)
		}
	}
}

func TestACallWithoutArgumentsHasAnEmptyObject(t *testing.T) {
	acc, _, _ := readChat(streamed(chatStream, []*Chunk{toolPiece(0, "a", "f", ""), finished(FinishStop, NoUsage)}, nil))
	if got := acc.Choices[0].Message.ToolCalls[0].Function.Arguments; got != "{}" {
		t.Errorf("arguments %q", got)
	}
}

// Sections 8.5 and 1: an error record, then nothing that looks like an end.
func TestAFailureInMidStreamIsOneErrorRecordAndNoEnd(t *testing.T) {
	p := &Problem{Status: 502, Code: "upstream_failed", Message: "The runtime ended in mid-answer."}
	for _, r := range []*Request{chatStream, {Protocol: OpenAICompletion}} {
		e := NewEncoder(r, streamID())
		out := e.Chunk(nil, say("half"))
		out = e.Fail(out, p)
		end := len(out)
		out = e.End(e.Chunk(e.KeepAlive(e.Fail(out, p)), say("more")))
		if len(out) != end {
			t.Errorf("%s: after the failure came %s", r.Protocol, out[end:])
		}
		if !bytes.HasSuffix(out, []byte(`data: {"error":{"message":"The runtime ended in mid-answer.","type":"api_error","param":null,"code":"upstream_failed"}}`+"\n\n")) ||
			bytes.Contains(out, []byte("[DONE]")) || bytes.Contains(out, []byte(`"finish_reason":"`)) {
			t.Errorf("%s: %s", r.Protocol, out)
		}
	}
}

// W-21: a blank line behind a comment is an event to openai-python.
func TestKeepAliveIsACommentOfOneLine(t *testing.T) {
	e := NewEncoder(chatStream, streamID())
	out := e.KeepAlive(nil)
	if string(out) != ": waiting\n" {
		t.Errorf("got %q", out)
	}
	out = e.KeepAlive(e.KeepAlive(e.Open(out)))
	acc, all, err := readChat(e.End(e.Chunk(out, say("hi"))))
	if err != nil || acc.Choices[0].Message.Content != "hi" || len(all) != 3 {
		t.Errorf("%v, %d chunks, %+v", err, len(all), acc.Choices)
	}
}

func TestEmptyChunksRenderNothing(t *testing.T) { // section 8.14
	for _, r := range []*Request{chatStream, {Protocol: OpenAICompletion}, {Protocol: OllamaChat}, {Protocol: OllamaGenerate}} {
		e := NewEncoder(r, streamID())
		open := e.Open(nil)
		if got := e.Chunk(open, &Chunk{Text: Text(`""`), Usage: &Usage{1, 1, 1, 1}}); len(got) != len(open) {
			t.Errorf("%s: %s", r.Protocol, got)
		}
	}
}

func TestLogprobsTravelWithTheirToken(t *testing.T) {
	logprobs := Raw(`[{"token":"hi","logprob":-0.5,"bytes":[104,105],"top_logprobs":[{"token":"hi","logprob":-0.5},{"token":"ho","logprob":-2},{"token":"hi","logprob":-9}]}]`)
	c := &Chunk{Text: Text(`"hi"`), Logprobs: logprobs}
	out := streamed(chatStream, []*Chunk{c}, nil)
	if !bytes.Contains(out, []byte(`"delta":{"content":"hi"},"logprobs":{"content":`+string(logprobs)+`},"finish_reason":null`)) {
		t.Errorf("chat: %s", out)
	}
	legacy := `"logprobs":{"tokens":["hi"],"token_logprobs":[-0.5],"top_logprobs":[{"hi":-0.5,"ho":-2}],"text_offset":[3]}`
	r := &Request{Protocol: OpenAICompletion, Prompt: &Prompt{Text: Text(`"aé\n"`), Echo: true}}
	out = streamed(r, []*Chunk{c}, nil)
	if !bytes.Contains(out, []byte(`"choices":[{"text":"hi","index":0,`+legacy+`,"finish_reason":null}]`)) {
		t.Errorf("completions: %s", out)
	}
	whole := EncodeReply(r, streamID(), gather([]*Chunk{c}))
	if !bytes.Contains(whole, []byte(legacy)) || !bytes.Contains(whole, []byte(`"text":"aé\nhi"`)) {
		t.Errorf("completions, whole: %s", whole)
	}
}

func TestCompletionStreamEchoesThePromptFirst(t *testing.T) {
	r := &Request{Protocol: OpenAICompletion, Prompt: &Prompt{Text: Text(`"Once"`), Echo: true}, IncludeUsage: true}
	out := string(streamed(r, []*Chunk{say(" upon"), finished(FinishLength, Usage{1, 1, -1, -1})}, nil))
	want := `data: {"id":"cmpl-0123456789abcdef0123456789abcdef","object":"text_completion","created":1795991618,"model":"Qwen3:8B","choices":[`
	if strings.Count(out, want) != 4 {
		t.Errorf("heads: %s", out)
	}
	for _, s := range []string{
		`{"text":"Once","index":0,"finish_reason":null}]}` + "\n\n", `{"text":" upon","index":0,"finish_reason":null}]}` + "\n\n",
		`{"text":"","index":0,"finish_reason":"length"}]}` + "\n\n", `],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}` + "\n\n", "data: [DONE]\n\n",
	} {
		at := strings.Index(out, s)
		if at < 0 {
			t.Fatalf("%q is missing or out of order in %s", s, out)
		}
		out = out[at:]
	}
}

// W-15: the official SDKs ask for base64 unless told otherwise.
func TestBase64VectorsAreLittleEndianFloat32(t *testing.T) {
	v := []float32{0.5, -1e-9, 3e21, 0, 1.0 / 3}
	rep := &Reply{Vectors: [][]float32{v, {1}}, Usage: NoUsage}
	body := EncodeReply(&Request{Protocol: OpenAIEmbeddings, Embed: &Embed{Base64: true}}, streamID(), rep)
	var out struct {
		Data []struct {
			Embedding string `json:"embedding"`
			Index     int    `json:"index"`
		} `json:"data"`
		Usage map[string]int `json:"usage"`
	}
	if err := json.Unmarshal(body, &out); err != nil {
		t.Fatal(err)
	}
	raw, err := base64.StdEncoding.DecodeString(out.Data[0].Embedding)
	if err != nil || len(raw) != 4*len(v) {
		t.Fatalf("%d bytes, %v", len(raw), err)
	}
	for i := range v {
		if got := math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:])); got != v[i] {
			t.Errorf("%v became %v", v[i], got)
		}
	}
	if out.Data[1].Index != 1 || out.Usage["prompt_tokens"] != 12 || out.Usage["total_tokens"] != 12 {
		t.Errorf("%s", body)
	}
}

func TestVectorsReadBackAsTheSameFloats(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.SliceOf(rapid.Float32()).Draw(t, "v")
		for _, bits := range []int{32, 64} {
			text := appendVector(nil, v, bits)
			var back []float32
			if err := json.Unmarshal(text, &back); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			for i := range v {
				if v[i] != back[i] {
					t.Fatalf("%v was written %s", v[i], text)
				}
			}
		}
	})
	for f, want := range map[float32]string{1e-9: "1e-9", 3e21: "3e+21", 1e21: "1e+21", 0.000001: "0.000001", 100: "100", -0.25: "-0.25", 1e-10: "1e-10"} {
		if got := string(appendFloat(nil, f, 32)); got != want {
			t.Errorf("%v is written %s, want %s", f, got, want)
		}
	}
}

// Whatever the pieces, a client that reads the stream has what the whole
// answer says, and every record is one line of valid JSON.
func TestStreamsSayWhatWholeAnswersSay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		chunks := drawAnswer(t)
		whole := gather(chunks)
		acc, _, err := readChat(streamed(chatStream, chunks, nil))
		if err != nil {
			t.Fatal(err)
		}
		msg := acc.Choices[0].Message
		if msg.Content != whole.Text.String() || len(msg.ToolCalls) != len(whole.Tools) {
			t.Fatalf("content %q, %d calls; want %q, %d", msg.Content, len(msg.ToolCalls), whole.Text, len(whole.Tools))
		}
		for i, c := range msg.ToolCalls {
			if c.Function.Arguments != string(whole.Tools[i].Arguments) || c.Function.Name != whole.Tools[i].Name {
				t.Fatalf("call %d: %s(%s), want %s(%s)", i, c.Function.Name, c.Function.Arguments, whole.Tools[i].Name, whole.Tools[i].Arguments)
			}
		}
		var body openai.ChatCompletion
		if err := json.Unmarshal(EncodeReply(chatStream, streamID(), whole), &body); err != nil {
			t.Fatal(err)
		}
		if string(body.Choices[0].FinishReason) != acc.Choices[0].FinishReason || body.Choices[0].Message.Content != msg.Content {
			t.Fatalf("whole %+v, stream %+v", body.Choices[0], acc.Choices[0])
		}
		readOllamaStream(t, streamed(&Request{Protocol: OllamaChat}, chunks, nil), whole)
	})
}

// drawAnswer draws an answer: texts and reasoning in any pieces, and calls
// whose arguments are cut anywhere and interleaved.
func drawAnswer(t *rapid.T) []*Chunk {
	var chunks []*Chunk
	type open struct {
		index int
		rest  string
	}
	var calls []*open
	for range rapid.IntRange(0, 25).Draw(t, "steps") {
		switch rapid.IntRange(0, 4).Draw(t, "step") {
		case 0:
			chunks = append(chunks, say(rapid.String().Draw(t, "text")))
		case 1:
			chunks = append(chunks, think(rapid.String().Draw(t, "thinking")))
		case 2:
			args, _ := json.Marshal(map[string]string{"a": rapid.String().Draw(t, "argument")})
			calls = append(calls, &open{len(calls), string(args)})
			chunks = append(chunks, toolPiece(len(calls)-1, "", "f", ""))
		default:
			if len(calls) == 0 {
				continue
			}
			c := calls[rapid.IntRange(0, len(calls)-1).Draw(t, "call")]
			n := rapid.IntRange(0, len(c.rest)).Draw(t, "cut")
			for n < len(c.rest) && c.rest[n]&0xc0 == 0x80 {
				n++ // adapters cut at characters, not inside
			}
			chunks = append(chunks, toolPiece(c.index, "", "", c.rest[:n]))
			c.rest = c.rest[n:]
		}
	}
	for _, c := range calls {
		chunks = append(chunks, toolPiece(c.index, "", "", c.rest))
	}
	return append(chunks, finished(FinishStop, NoUsage))
}
