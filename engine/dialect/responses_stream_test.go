package dialect

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/openai/openai-go/v3/packages/ssestream"
	"github.com/openai/openai-go/v3/responses"
)

// responsesRequest has what the stream tests need: plain tools, one that takes
// free text, and a namespace.
func responsesRequest(t testing.TB) *Request {
	return mustParse(t, OpenAIResponses, `{"model":"Qwen3:8B","stream":true,"input":"hi","instructions":"Be brief.","store":false,
		"max_output_tokens":100,"temperature":0.5,"metadata":{"k":"v"},
		"tools":[{"type":"function","name":"get_time","parameters":{"type":"object"}},
			{"type":"custom","name":"apply_patch"},
			{"type":"namespace","name":"multi_agent_v1","tools":[{"type":"function","name":"spawn_agent","parameters":{"type":"object"}}]}]}`)
}

// responsesCases are the streams of Responses alone.
var responsesCases = []struct {
	name   string
	chunks []*Chunk
}{
	{"a custom tool", []*Chunk{
		toolPiece(0, "up1", "apply_patch", `{"inp`), toolPiece(0, "", "", `ut": "*** Begin\`), toolPiece(0, "", "", `nPatch \ud83d`),
		toolPiece(0, "", "", `\ude00"}`), finished(FinishTools, Usage{9, 5, -1, -1})}},
	{"a namespaced tool", []*Chunk{toolPiece(0, "up1", "multi_agent_v1.spawn_agent", `{"task":"x"}`), finished(FinishTools, Usage{9, 5, -1, -1})}},
	{"a call cut by length", []*Chunk{say("I look."), toolPiece(0, "up1", "get_time", `{"zone":"U`), finished(FinishLength, Usage{9, 5, -1, -1})}},
	{"filtered", []*Chunk{say("No"), finished(FinishFilter, Usage{9, 1, -1, -1})}},
}

func TestResponsesStreamsStayAsTheyAre(t *testing.T) {
	for _, a := range streamCases {
		t.Run(a.name, func(t *testing.T) {
			goldenStream(t, "responses "+a.name+".sse", streamed(responsesRequest(t), a.chunks, a.fail))
		})
	}
	for _, a := range responsesCases {
		t.Run(a.name, func(t *testing.T) {
			goldenStream(t, "responses "+a.name+".sse", streamed(responsesRequest(t), a.chunks, nil))
		})
	}
}

// readWithLibrary reads a stream with the vendor's own library, as a stream of
// the HTTP API and with its accumulator, and returns the final response.
func readWithLibrary(t *testing.T, stream []byte) (*responses.Response, responses.ResponseAccumulatorSnapshot) {
	t.Helper()
	res := &http.Response{Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(bytes.NewReader(stream))}
	events := ssestream.NewStream[responses.ResponseStreamEventUnion](ssestream.NewDecoder(res), nil)
	var acc responses.ResponseAccumulator
	next := int64(0)
	for events.Next() {
		ev := events.Current()
		if ev.SequenceNumber != next {
			t.Fatalf("sequence number %d, want %d", ev.SequenceNumber, next)
		}
		next++
		var server responses.ResponsesServerEventUnion
		if err := json.Unmarshal([]byte(ev.RawJSON()), &server); err != nil {
			t.Fatal(err)
		}
		if err := acc.AddEvent(server); err != nil {
			t.Fatalf("%s: %v", ev.Type, err)
		}
	}
	if err := events.Err(); err != nil {
		t.Fatal(err)
	}
	final, err := acc.ReconstructedResponse()
	if err != nil {
		t.Fatal(err)
	}
	return final, acc.Snapshot()
}

func TestResponsesLibraryReadsEveryStream(t *testing.T) {
	for _, a := range streamCases {
		t.Run(a.name, func(t *testing.T) {
			final, _ := readWithLibrary(t, streamed(responsesRequest(t), a.chunks, a.fail))
			if a.fail != nil {
				if final.Status != "failed" || string(final.Error.Code) != a.fail.Code || final.Error.Message == "" {
					t.Errorf("status %s, error %+v", final.Status, final.Error)
				}
				return
			}
			whole := gather(a.chunks)
			if final.OutputText() != whole.Text.String() {
				t.Errorf("text %q, want %q", final.OutputText(), whole.Text)
			}
			calls := 0
			for _, item := range final.Output {
				if item.Type != "function_call" {
					continue
				}
				if c := item.AsFunctionCall(); c.Name != whole.Tools[calls].Name || c.Arguments != string(whole.Tools[calls].Arguments) || c.CallID != streamID().ToolCallID(calls) {
					t.Errorf("call %s %s(%s), want %v", c.CallID, c.Name, c.Arguments, whole.Tools[calls])
				}
				calls++
			}
			if calls != len(whole.Tools) {
				t.Errorf("%d calls, want %d", calls, len(whole.Tools))
			}
		})
	}
}

// What the deltas say, what the items say and what the response says is one.
func TestResponsesDeltasItemsAndResponseAgree(t *testing.T) {
	for _, a := range streamCases {
		if a.fail != nil {
			continue
		}
		t.Run(a.name, func(t *testing.T) {
			checkResponsesStream(t, readEvents(t, streamed(responsesRequest(t), a.chunks, nil)))
		})
	}
	for _, a := range responsesCases {
		t.Run(a.name, func(t *testing.T) {
			checkResponsesStream(t, readEvents(t, streamed(responsesRequest(t), a.chunks, nil)))
		})
	}
}

func TestResponsesWholeAnswerHasTheStreamsItems(t *testing.T) {
	for _, chunks := range [][]*Chunk{
		{think("hm"), say("I look."), toolPiece(0, "", "get_time", `{"zone":"UTC"}`), toolPiece(1, "", "apply_patch", `{"input":"x\ny"}`), finished(FinishTools, Usage{9, 5, 1, 2})},
		{say("Once"), finished(FinishLength, Usage{9, 5, -1, -1})},
		{think("hm"), say("I look."), toolPiece(0, "", "get_time", `{"zo`), finished(FinishLength, Usage{9, 5, -1, -1})},
		{think("All of it went into thinking."), finished(FinishLength, Usage{9, 5, -1, -1})},
		{finished(FinishStop, Usage{9, 0, -1, -1})},
	} {
		r := responsesRequest(t)
		e := NewEncoder(r, streamID())
		var out []byte
		for _, c := range chunks {
			out = e.Chunk(out, c)
		}
		events := readEvents(t, e.End(out))
		body := EncodeReply(r, streamID(), gather(chunks))
		var whole map[string]any
		if err := json.Unmarshal(body, &whole); err != nil {
			t.Fatal(err)
		}
		last := events[len(events)-1].data["response"]
		got, _ := json.Marshal(last, json.Deterministic(true))
		want, _ := json.Marshal(whole, json.Deterministic(true))
		if !bytes.Equal(got, want) {
			t.Errorf("stream %s\nwhole  %s", got, want)
		}
		streamID1, streamItems := e.(Answer).Answer()
		id := streamID()
		wholeID, wholeItems := ResponseAnswer(r, &id, gather(chunks))
		if streamID1 != wholeID || len(streamItems) != len(wholeItems) {
			t.Errorf("answer %s with %d items, whole %s with %d", streamID1, len(streamItems), wholeID, len(wholeItems))
		}
	}
}

// Every member of the response object is there, and output is never null.
func TestResponsesObjectIsComplete(t *testing.T) {
	want := []string{"id", "object", "created_at", "status", "completed_at", "error", "incomplete_details", "instructions", "max_output_tokens",
		"model", "output", "parallel_tool_calls", "previous_response_id", "reasoning", "store", "temperature", "text", "tool_choice", "tools",
		"top_p", "truncation", "usage", "metadata", "prompt_cache_key", "service_tier", "background"}
	for _, e := range readEvents(t, streamed(responsesRequest(t), []*Chunk{say("a"), finished(FinishStop, Usage{1, 1, -1, -1})}, nil)) {
		res, ok := e.data["response"].(map[string]any)
		if !ok {
			continue
		}
		for _, name := range want {
			if _, ok := res[name]; !ok {
				t.Errorf("%s: no %s", e.name, name)
			}
		}
		if res["output"] == nil || res["tools"] == nil || res["metadata"] == nil {
			t.Errorf("%s: null where a list or object belongs: %v", e.name, res)
		}
		if dig(res, "instructions") != "Be brief." || dig(res, "store") != false || dig(res, "temperature") != 0.5 || dig(res, "metadata", "k") != "v" {
			t.Errorf("%s: the request is not repeated: %v", e.name, res)
		}
	}
}

// W-01: a cut answer is incomplete, never completed.
func TestResponsesStatusSaysHowTheAnswerEnded(t *testing.T) {
	for finish, want := range map[Finish][3]any{
		FinishStop: {"response.completed", "completed", nil}, FinishTools: {"response.completed", "completed", nil},
		FinishLength: {"response.incomplete", "incomplete", "max_output_tokens"}, FinishFilter: {"response.incomplete", "incomplete", "content_filter"},
	} {
		events := readEvents(t, streamed(responsesRequest(t), []*Chunk{say("a"), finished(finish, NoUsage)}, nil))
		last := events[len(events)-1]
		if got := [3]any{last.name, dig(last.data, "response", "status"), dig(last.data, "response", "incomplete_details", "reason")}; got != want {
			t.Errorf("%s: got %v, want %v", finish, got, want)
		}
	}
}

// W-08, and the report of a namespaced call that came back with a dotted name,
// which Codex cannot route.
func TestResponsesNamespacedCallGoesBackUnderNamespaceAndName(t *testing.T) {
	for _, name := range []string{"multi_agent_v1.spawn_agent", "spawn_agent"} {
		final, _ := readWithLibrary(t, streamed(responsesRequest(t), []*Chunk{toolPiece(0, "", name, `{}`)}, nil))
		if c := final.Output[0].AsFunctionCall(); c.Namespace != "multi_agent_v1" || c.Name != "spawn_agent" {
			t.Errorf("%s: namespace %q, name %q", name, c.Namespace, c.Name)
		}
	}
}

func TestResponsesCustomToolGetsItsTextBack(t *testing.T) {
	for args, want := range map[string]string{
		`{"input":"a\nb \"c\""}`:                       "a\nb \"c\"",
		`{"input":""}`:                                 "",
		`{"other":1,"input":"late"}`:                   "late",
		`{"patch":"*** Begin Patch"}`:                  `{"patch":"*** Begin Patch"}`,
		`"just a text"`:                                "just a text",
		`*** Begin Patch`:                              "*** Begin Patch",
		`{"input":"smile \ud83d\ude00 and \u00e9"}`:    "smile 😀 and é",
		`{"input":"cut in the mid`:                     "cut in the mid",
		"{\"input\":\"a raw\nline and a wrong \\x\"}":  "a raw\nline and a wrong \\x",
		`{"input":"alone \ud83d here","note":"extra"}`: "alone \uFFFD here",
	} {
		for step := 1; step <= len(args); step += max(1, len(args)/3) {
			chunks := []*Chunk{toolPiece(0, "", "apply_patch", "")}
			for i := 0; i < len(args); i += step {
				chunks = append(chunks, toolPiece(0, "", "", args[i:min(i+step, len(args))]))
			}
			final, snap := readWithLibrary(t, streamed(responsesRequest(t), chunks, nil))
			c := final.Output[0].AsCustomToolCall()
			if c.Input != want || c.Name != "apply_patch" || c.CallID != "call_ours0" {
				t.Errorf("%s by %d: input %q, want %q", args, step, c.Input, want)
			}
			if snap.Output[0].Input != want {
				t.Errorf("%s by %d: deltas say %q", args, step, snap.Output[0].Input)
			}
		}
	}
}

// A patch of minutes must not look like a dead stream.
func TestResponsesCustomToolStreamsItsInput(t *testing.T) {
	e := NewEncoder(responsesRequest(t), streamID())
	e.Open(nil)
	e.Chunk(nil, toolPiece(0, "", "apply_patch", `{"input":"`))
	if out := e.Chunk(nil, toolPiece(0, "", "", `line 1\n`)); !bytes.Contains(out, []byte(`"delta":"line 1\n"`)) {
		t.Errorf("got %q", out)
	}
}

// W-11.
func TestResponsesReasoningTokensAreNeverAFalseZero(t *testing.T) {
	cases := []struct {
		usage    Usage
		thinking bool
		want     float64
	}{
		{Usage{9, 100, -1, 40}, true, 40},
		{Usage{9, 100, -1, -1}, true, 50}, // half of what was written
		{Usage{9, 100, -1, -1}, false, 0},
	}
	for _, c := range cases {
		chunks := []*Chunk{say("12345678"), finished(FinishStop, c.usage)}
		if c.thinking {
			chunks = append([]*Chunk{think("87654321")}, chunks...)
		}
		events := readEvents(t, streamed(responsesRequest(t), chunks, nil))
		if got := dig(events[len(events)-1].data, "response", "usage", "output_tokens_details", "reasoning_tokens"); got != c.want {
			t.Errorf("%+v: %v, want %v", c, got, c.want)
		}
	}
}

func TestResponsesUsageIsTheModelsOwnOrNull(t *testing.T) {
	events := readEvents(t, streamed(responsesRequest(t), []*Chunk{say("a")}, nil))
	if got := dig(events[len(events)-1].data, "response", "usage"); got != nil {
		t.Errorf("usage %v, want null", got)
	}
}

// W-12.
func TestResponsesEveryThinkingDeltaReachesTheClient(t *testing.T) {
	var chunks []*Chunk
	for range 20 {
		chunks = append(chunks, think("x"))
	}
	stream := streamed(responsesRequest(t), append(chunks, say("done")), nil)
	if n := bytes.Count(stream, []byte("event: response.reasoning_summary_text.delta\n")); n != 20 {
		t.Errorf("%d reasoning deltas, want 20", n)
	}
}

// W-22: Codex counts events only, so every third sign of life is one.
func TestResponsesKeepAliveIsACommentAndEveryThirdTimeAnEvent(t *testing.T) {
	e := NewEncoder(responsesRequest(t), streamID())
	out := e.Open(nil)
	opened := len(out)
	var kinds []string
	for range 6 {
		before := len(out)
		out = e.KeepAlive(out)
		switch s := string(out[before:]); {
		case s == ": waiting\n":
			kinds = append(kinds, "comment")
		case strings.HasPrefix(s, "event: response.in_progress\n"):
			kinds = append(kinds, "event")
		default:
			t.Errorf("%q", s)
		}
	}
	if got := strings.Join(kinds, " "); got != "comment comment event comment comment event" {
		t.Error(got)
	}
	if opened == 0 {
		t.Error("nothing at Open")
	}
	checkResponsesStream(t, readEvents(t, e.End(e.Chunk(out, say("a")))))
}

// Codes that end a Codex turn for good go through as they are; it tries again
// at any other.
func TestResponsesFailureCarriesItsCode(t *testing.T) {
	for _, code := range []string{CodeContextLength, "insufficient_quota", "no_capacity", ""} {
		events := readEvents(t, streamed(responsesRequest(t), []*Chunk{say("whole"), think("new")}, &Problem{Status: 503, Code: code, Message: "No."}))
		last := events[len(events)-1]
		want := code
		if code == "" {
			want = "server_error"
		}
		if last.name != "response.failed" || dig(last.data, "response", "error", "code") != want || dig(last.data, "response", "error", "message") != "No." {
			t.Errorf("%q: %v", code, last)
		}
		if items, _ := dig(last.data, "response", "output").([]any); len(items) != 1 {
			t.Errorf("%q: output %v, want the one whole item", code, items)
		}
	}
}

func TestResponsesNothingFollowsTheEnd(t *testing.T) {
	e := NewEncoder(responsesRequest(t), streamID())
	e.End(e.Open(nil))
	late := e.Chunk(e.Open(nil), say("late"))
	late = e.Fail(e.End(e.KeepAlive(late)), &Problem{Status: 500})
	if len(late) > 0 {
		t.Errorf("after the end: %s", late)
	}
}

func TestResponsesFailedAnswerIsNothingToReferTo(t *testing.T) {
	e := NewEncoder(responsesRequest(t), streamID())
	e.Fail(e.Chunk(nil, say("whole")), &Problem{Status: 500})
	if _, items := e.(Answer).Answer(); items != nil {
		t.Errorf("items %s", items)
	}
}

func TestResponsesLogprobsGoWithTheirText(t *testing.T) {
	lp := Raw(`[{"token":"a","logprob":-0.5,"bytes":[97],"top_logprobs":[]}]`)
	c := say("a")
	c.Logprobs = lp
	final, _ := readWithLibrary(t, streamed(responsesRequest(t), []*Chunk{c, c}, nil))
	if got := final.Output[0].AsMessage().Content[0].AsOutputText().Logprobs; len(got) != 2 || got[0].Logprob != -0.5 {
		t.Errorf("logprobs %+v", got)
	}
}

func TestResponsesCompletedAtIsTheEndNotTheBeginning(t *testing.T) {
	id := streamID()
	id.Now = func() time.Time { return id.Created.Add(7 * time.Second) }
	e := NewEncoder(responsesRequest(t), id)
	events := readEvents(t, e.End(nil))
	last := events[len(events)-1].data
	if got := dig(last, "response", "completed_at").(float64) - dig(last, "response", "created_at").(float64); got != 7 {
		t.Errorf("took %v s", got)
	}
}

// A body written over many lines must not break the records that repeat it.
func TestResponsesRequestWithLineBreaksKeepsRecordsOnOneLine(t *testing.T) {
	r := mustParse(t, OpenAIResponses, "{\n \"model\": \"m\",\n \"input\": \"hi\",\n \"tools\": [\n  {\"type\": \"function\",\n   \"name\": \"f\"}\n ]\n}")
	readEvents(t, streamed(r, []*Chunk{say("a")}, nil))
}
