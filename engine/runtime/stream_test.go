package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"bellwether/engine/dialect"
	"bellwether/engine/fleet"
)

// bare is an exchange that reads from r; nothing stands behind it.
func bare(r io.Reader) *exchange {
	a, b := net.Pipe()
	b.Close()
	x := &exchange{remote: &remote{}, head: head{status: 200}, body: r, ctx: context.Background(), unhook: func() bool { return false }}
	x.wire = &wire{Conn: a, headLeft: -1}
	return x
}

func ollamaFrom(r io.Reader, p *ollamaPlan) *ollamaStream {
	s := &ollamaStream{plan: p}
	s.x = bare(r)
	s.lines.r = r
	return s
}

func eventsFrom(r io.Reader) *openAIStream {
	s := &openAIStream{}
	s.x = bare(r)
	s.events.lines.r = r
	return s
}

// readOut reads a stream to its end and checks what every stream owes.
func readOut(t *testing.T, s dialect.Stream) (chunks []string, err error) {
	t.Helper()
	defer s.Close()
	final := false
	for {
		c, err := s.Next()
		if err != nil {
			var f *fleet.Failure
			if again, err2 := s.Next(); again != nil || err2 != err {
				t.Fatalf("after its end the stream said %v, %v", again, err2)
			}
			switch {
			case err == io.EOF && final:
				return chunks, nil
			case err == io.EOF:
				t.Fatal("EOF without a Final chunk")
			case !errors.As(err, &f):
				t.Fatalf("an error that is no failure: %v", err)
			}
			return chunks, err
		}
		if final {
			t.Fatal("a chunk after the Final one")
		}
		final = c.Final
		for _, text := range []dialect.Text{c.Text, c.Thinking} {
			if text != nil && !dialect.IsText(text) {
				t.Fatalf("no literal: %q", text)
			}
		}
		chunks = append(chunks, strings.TrimSuffix(chunkText(c), "\n"))
	}
}

func wantChunks(t *testing.T, s dialect.Stream, want ...string) {
	t.Helper()
	got, err := readOut(t, s)
	if err != nil {
		got = append(got, strings.TrimSuffix(failureText(err), "\n"))
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

func ollamaLines(lines ...string) *ollamaStream {
	return ollamaFrom(strings.NewReader(strings.Join(lines, "\n")), &ollamaPlan{})
}

func events(datas ...string) *openAIStream {
	var b strings.Builder
	for _, d := range datas {
		fmt.Fprintf(&b, "data: %s\n\n", d)
	}
	return eventsFrom(strings.NewReader(b.String()))
}

const ollamaDone = `{"message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","prompt_eval_count":3,"eval_count":2}`

func TestAKilledRunnersErrorLineIsAMidStreamFailure(t *testing.T) {
	wantChunks(t, ollamaLines(
		`{"message":{"role":"assistant","content":" 187"},"done":false}`,
		`{"error":"an error was encountered while running the model: unexpected EOF"}`),
		"text= 187",
		"failure mid_stream status=200 code=runtime_error caller=false may_run=false: an error was encountered while running the model: unexpected EOF")
}

func TestAnErrorLineBeforeContentMayBeRetried(t *testing.T) {
	wantChunks(t, ollamaLines(`{"error":"llama runner process has terminated"}`),
		"failure before_open status=200 code=runtime_error caller=false may_run=false: llama runner process has terminated")
	wantChunks(t, ollamaLines(`{"error":"detokenize error: no such token"}`),
		"failure before_open status=200 code=runtime_error caller=true may_run=false: detokenize error: no such token")
}

func TestAnEndWithoutDoneIsAFailure(t *testing.T) {
	wantChunks(t, ollamaLines(`{"message":{"content":"a"},"done":false}`, ``),
		"text=a", "failure mid_stream status=200 code=cut caller=false may_run=false: the runtime ended its answer without an end marker")
	wantChunks(t, ollamaLines(``),
		"failure before_open status=200 code=cut caller=false may_run=false: the runtime ended its answer without an end marker")
	wantChunks(t, events(`{"choices":[{"delta":{"content":"a"},"finish_reason":null}]}`),
		"text=a", "failure mid_stream status=200 code=cut caller=false may_run=false: the runtime ended its answer without an end marker")
}

func TestAMalformedFrameIsNotRelayed(t *testing.T) {
	for _, bad := range []string{`{"message":{"content":"b"`, `<html>`, `[1]`, `"text"`, `{"message":{"content":"\x"},"done":false}`, `{"unrelated":1}`} {
		wantChunks(t, ollamaLines(`{"message":{"content":"a"},"done":false}`, bad, ollamaDone),
			"text=a", "failure mid_stream status=200 code=malformed_frame caller=false may_run=false: "+
				map[bool]string{true: "the runtime sent a line that is no part of a completion", false: "the runtime sent a line that is no JSON object"}[bad == `{"unrelated":1}`])
	}
	wantChunks(t, ollamaLines(`<html>`),
		"failure invalid status=200 code=malformed_frame caller=false may_run=false: the runtime sent a line that is no JSON object")
	wantChunks(t, events(`{"choices":[{"delta":{"content":"a"}}]}`, `{"choices":`),
		"text=a", "failure mid_stream status=200 code=malformed_frame caller=false may_run=false: the runtime sent an event that is no JSON object")
}

func TestParallelCallsAllWithIndexZeroStayApart(t *testing.T) { // protocols.md 8.1
	wantChunks(t, ollamaLines(
		`{"message":{"tool_calls":[{"function":{"index":0,"name":"a","arguments":{"x":1}}},{"function":{"index":0,"name":"b","arguments":{}}}]},"done":false}`,
		`{"message":{"tool_calls":[{"function":{"name":"c","arguments":null}}]},"done":false}`,
		ollamaDone),
		`tool[0 id="" name="a" args={"x":1}] tool[1 id="" name="b" args={}]`,
		`tool[2 id="" name="c" args={}]`,
		"finish=tool_calls in=3 out=2 cached=-1 reasoning=-1 final")
	wantChunks(t, events(
		`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"x1","function":{"name":"a","arguments":""}}]}}]}`,
		`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"k\":"}}]}}]}`,
		`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"a","arguments":"1}"}}]}}]}`,
		`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"x2","function":{"name":"b","arguments":"{}"}}]}}]}`,
		`{"choices":[{"delta":{},"finish_reason":"stop"}]}`, `[DONE]`),
		`tool[0 id="x1" name="a" args=]`,
		`tool[0 id="" name="" args={"k":]`,
		`tool[0 id="" name="" args=1}]`, // the name comes once, however often it is repeated
		`tool[1 id="x2" name="b" args={}]`,
		`finish=tool_calls`, // W-01
		`finish=tool_calls final`)
}

func TestATurnCutByLengthKeepsLengthThoughACallWasMade(t *testing.T) {
	wantChunks(t, ollamaLines(`{"message":{"tool_calls":[{"function":{"name":"a","arguments":{}}}]},"done":true,"done_reason":"length"}`),
		`tool[0 id="" name="a" args={}] finish=length in=-1 out=-1 cached=-1 reasoning=-1 final`)
}

func TestEveryThinkingDeltaIsRead(t *testing.T) { // W-12
	wantChunks(t, ollamaLines(
		`{"message":{"content":"","thinking":"a"}}`, `{"message":{"content":"","thinking":"b"}}`, `{"message":{"content":"","thinking":"c"}}`,
		`{"message":{"content":"d"}}`, ollamaDone),
		"thinking=a", "thinking=b", "thinking=c", "text=d", "finish=stop in=3 out=2 cached=-1 reasoning=-1 final")
	wantChunks(t, events(
		`{"choices":[{"delta":{"reasoning_content":"a"}}]}`, `{"choices":[{"delta":{"reasoning":"b","content":null}}]}`,
		`{"choices":[{"delta":{"reasoning":"c","reasoning_content":"c"}}]}`, `{"choices":[{"delta":{"content":"d"},"finish_reason":"stop"}]}`, `[DONE]`),
		"thinking=a", "thinking=b", "thinking=c", "text=d finish=stop", "finish=stop final")
}

func TestUsageOnlyFramesAndMissingDoneAreAccepted(t *testing.T) {
	s := events(
		`{"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}`,
		`{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":1,"completion_tokens_details":{"reasoning_tokens":0}}}`)
	wantChunks(t, s, "text=a finish=stop", "in=5 out=1 cached=-1 reasoning=0", "finish=stop final")
	if notes := s.Notes(); len(notes) != 1 {
		t.Errorf("notes %q", notes)
	}
}

func TestDoneWithoutAReasonEndsAnAnswer(t *testing.T) {
	wantChunks(t, events(`{"choices":[{"delta":{"content":"a"}}]}`, `[DONE]`), "text=a", "finish=stop final")
	wantChunks(t, events(`[DONE]`),
		"failure invalid status=200 code=malformed_frame caller=false may_run=false: the runtime ended its stream without a completion")
}

func TestErrorFramesOfBothShapesAreFailures(t *testing.T) {
	wantChunks(t, events(`{"choices":[{"delta":{"content":"a"}}]}`, `{"error":{"code":500,"message":"boom","type":"server_error"}}`),
		"text=a", "failure mid_stream status=200 code=runtime_error caller=false may_run=false: boom")
	wantChunks(t, eventsFrom(strings.NewReader("error: {\"code\":500,\"message\":\"boom\"}\n\n")),
		"failure before_open status=200 code=runtime_error caller=false may_run=false: boom")
}

func TestASwallowedCallIsNoted(t *testing.T) {
	s := ollamaLines(`{"message":{"content":""},"done":true,"done_reason":"stop","eval_count":16}`)
	wantChunks(t, s, "finish=stop in=-1 out=16 cached=-1 reasoning=-1 final")
	if n := s.Notes(); len(n) != 1 || !strings.Contains(n[0], "swallowed") {
		t.Errorf("notes %q", n)
	}
}

func TestReasoningThatUsedUpTheLimitIsNoted(t *testing.T) { // W-14
	s := ollamaLines(`{"message":{"thinking":"hm"}}`, `{"message":{"content":""},"done":true,"done_reason":"length","eval_count":64}`)
	wantChunks(t, s, "thinking=hm", "finish=length in=-1 out=64 cached=-1 reasoning=-1 final")
	if n := s.Notes(); len(n) != 1 || !strings.Contains(n[0], "reasoning") {
		t.Errorf("notes %q", n)
	}
}

func heldTo(plan *ollamaPlan, lines ...string) *ollamaStream {
	return ollamaFrom(strings.NewReader(strings.Join(lines, "\n")), plan)
}

func ofOne() *ollamaPlan { return &ollamaPlan{callName: "a", callable: []string{"a"}} }
func ofAny() *ollamaPlan { return &ollamaPlan{callAny: true, callable: []string{"a", "b"}} }

func TestTextHeldToACallBecomesTheCall(t *testing.T) {
	wantChunks(t, heldTo(ofOne(), `{"message":{"content":"{\"zone\""}}`, `{"message":{"content":":\"UTC\"}"}}`, ollamaDone),
		"(nothing)", "(nothing)", `tool[0 id="" name="a" args={"zone":"UTC"}] finish=tool_calls in=3 out=2 cached=-1 reasoning=-1 final`)
	wantChunks(t, heldTo(ofAny(), `{"message":{"content":"{\"name\":\"b\","}}`, `{"message":{"content":"\"arguments\":{\"x\":1}}"}}`, ollamaDone),
		"(nothing)", "(nothing)", `tool[0 id="" name="b" args={"x":1}] finish=tool_calls in=3 out=2 cached=-1 reasoning=-1 final`)
	// Ollama's own call stands.
	wantChunks(t, heldTo(ofOne(), `{"message":{"content":"","tool_calls":[{"function":{"name":"a","arguments":{"x":1}}}]}}`, ollamaDone),
		`tool[0 id="" name="a" args={"x":1}]`, "finish=tool_calls in=3 out=2 cached=-1 reasoning=-1 final")
}

func TestACallThatTheLimitCutIsShownAsFarAsItCame(t *testing.T) {
	const end = `{"message":{"content":""},"done":true,"done_reason":"length"}`
	wantChunks(t, heldTo(ofOne(), `{"message":{"content":"{\"zone\":"}}`, end),
		"(nothing)", `tool[0 id="" name="a" args={"zone":] finish=length in=-1 out=-1 cached=-1 reasoning=-1 final`)
	wantChunks(t, heldTo(ofAny(), `{"message":{"content":"{\"name\":"}}`, end),
		"(nothing)", `text={"name": finish=length in=-1 out=-1 cached=-1 reasoning=-1 final`)
	wantChunks(t, heldTo(ofOne(), end), "finish=length in=-1 out=-1 cached=-1 reasoning=-1 final")
}

// Whoever requires a call runs what comes: words are none.
func TestWordsWhereACallIsRequiredAreNoAnswer(t *testing.T) {
	for said, plan := range map[string]func() *ollamaPlan{
		`x`: ofOne, `{"zone":`: ofOne, `[1]`: ofOne, `"x"`: ofOne, `null`: ofOne, ``: ofOne, `{"a":1} and more`: ofOne,
		`y`: ofAny, `{"name":"c","arguments":{}}`: ofAny, `{"name":"a","arguments":"x"}`: ofAny, `{"name":"a","arguments":[1]}`: ofAny, `{"arguments":{}}`: ofAny,
	} {
		q, _ := json.Marshal(said)
		s := heldTo(plan(), `{"message":{"content":`+string(q)+`}}`, ollamaDone)
		if _, err := s.Next(); err != nil {
			t.Fatalf("%q: %v", said, err)
		}
		_, err := s.Next()
		var f *fleet.Failure
		if !errors.As(err, &f) || f.Class != fleet.FailInvalid || f.Code != CodeMalformed {
			t.Errorf("%q was taken for a call: %v", said, err)
		}
	}
}

func TestCountsAndTimesThatNobodyCanMeanAreUnknown(t *testing.T) {
	for _, n := range []string{"4611686018427387904", "9223372036854775807", "99999999999999999999", "-4611686018427387904", "-1", "1000000001", "1e300", `"7"`} {
		c, err := ollamaLines(`{"message":{"content":"a"},"done":true,"prompt_eval_count":` + n + `,"eval_count":` + n + `,"eval_duration":` + n + `}`).Next()
		if err != nil || *c.Usage != dialect.NoUsage || c.Timings.Decode < 0 || c.Timings.Decode > longestSpan {
			t.Errorf("Ollama, %s: %v, %+v, %+v", n, err, c.Usage, c.Timings)
		}
		s := events(`{"choices":[{"index":0,"delta":{"content":"a"}}]}`, `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":`+n+`,"completion_tokens":`+n+`,"prompt_tokens_details":{"cached_tokens":`+n+`}},"timings":{"predicted_ms":`+n+`}}`, `[DONE]`)
		for c, err = s.Next(); err == nil; c, err = s.Next() {
			if c.Usage != nil && *c.Usage != dialect.NoUsage || c.Timings != nil && (c.Timings.Decode < 0 || c.Timings.Decode > longestSpan) {
				t.Errorf("llama-server, %s: %+v, %+v", n, c.Usage, c.Timings)
			}
		}
	}
}

func TestInfillAnswersInLlamaCppsOwnForm(t *testing.T) {
	wantChunks(t, events(`{"content":"a","stop":false}`, `{"content":"","stop":true,"stop_type":"limit","tokens_predicted":4,"tokens_evaluated":9}`),
		"text=a", "in=9 out=4 cached=-1 reasoning=-1", "finish=length final")
}

func TestVectorsThatAreNoneAreNoAnswer(t *testing.T) {
	for _, bad := range []string{`{"embeddings":[[1,null]]}`, `{"embeddings":["x"]}`, `{"embedding":"x"}`} {
		if _, err := readOut(t, ollamaLines(bad)); err == nil {
			t.Errorf("%s was taken for vectors", bad)
		}
	}
}

func BenchmarkOllamaStream(b *testing.B) {
	var lines strings.Builder
	for range 200 {
		lines.WriteString(`{"model":"qwen3:latest","created_at":"2026-11-29T22:33:28.574924788Z","message":{"role":"assistant","content":" and"},"done":false}` + "\n")
	}
	lines.WriteString(ollamaDone)
	text := lines.String()
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		drainStream(b, ollamaFrom(strings.NewReader(text), &ollamaPlan{native: true}), 201)
	}
}

func BenchmarkEventStream(b *testing.B) {
	var lines strings.Builder
	for range 200 {
		lines.WriteString(`data: {"choices":[{"finish_reason":null,"index":0,"delta":{"content":" and"}}],"created":1795991461,"id":"chatcmpl-QlCAZQl9lpUk4LiTNj8Fddvqovoqr81o","model":"big","system_fingerprint":"b1-80fb11a","object":"chat.completion.chunk"}` + "\n\n")
	}
	lines.WriteString("data: {\"choices\":[{\"finish_reason\":\"stop\",\"index\":0,\"delta\":{}}]}\n\ndata: [DONE]\n\n")
	text := lines.String()
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		drainStream(b, eventsFrom(strings.NewReader(text)), 202)
	}
}

func drainStream(b *testing.B, s dialect.Stream, want int) {
	n := 0
	for {
		_, err := s.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			b.Fatal(err)
		}
		n++
	}
	if n != want {
		b.Fatalf("got %d chunks, want %d", n, want)
	}
	s.Close()
}
