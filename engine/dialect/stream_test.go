package dialect

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
)

var rewriteStreams = flag.Bool("rewrite-streams", false, "write the golden streams of testdata/streams anew")

// streamID is the identity of every answer in these tests.
func streamID() Identity {
	return Identity{
		ID: "0123456789abcdef0123456789abcdef", Model: "Qwen3:8B", Created: time.Unix(1795991618, 0).UTC(),
		ToolCallID:    func(n int) string { return "call_ours" + strconv.Itoa(n) },
		InputEstimate: 12,
	}
}

func say(s string) *Chunk   { return &Chunk{Text: Quote(s)} }
func think(s string) *Chunk { return &Chunk{Thinking: Quote(s)} }
func toolPiece(index int, id, name, arguments string) *Chunk {
	return &Chunk{Tools: []ToolDelta{{Index: index, ID: id, Name: name, Arguments: arguments}}}
}
func finished(f Finish, u Usage) *Chunk { return &Chunk{Finish: f, Usage: &u, Final: true} }

// streamCases are the streams whose rendering is kept in testdata/streams.
var streamCases = []struct {
	name   string
	chunks []*Chunk
	fail   *Problem
}{
	{name: "text", chunks: []*Chunk{say("Hel"), say("lo \"you\"\n"), finished(FinishStop, Usage{9, 4, -1, -1})}},
	{name: "empty", chunks: []*Chunk{finished(FinishStop, Usage{9, 0, -1, -1})}},
	{name: "thinking then text then thinking", chunks: []*Chunk{
		think("First"), think(" I count"), say("It is "), think("wait"), say("42."), finished(FinishStop, Usage{9, 14, 3, -1})}},
	{name: "text then a call", chunks: []*Chunk{
		say("I look."), toolPiece(0, "up1", "get_time", `{"zone":"UTC"}`), finished(FinishStop, Usage{156, 16, -1, -1})}},
	{name: "interleaved parallel calls", chunks: []*Chunk{
		toolPiece(0, "up1", "get_time", `{"zone":`), toolPiece(1, "up2", "get_rain", `{"ci`), toolPiece(0, "", "", `"UTC"}`),
		toolPiece(1, "", "", `ty":"Ulm"}`), finished(FinishTools, Usage{156, 32, 100, 0})}},
	{name: "a call without arguments", chunks: []*Chunk{toolPiece(0, "up1", "get_time", ""), finished(FinishTools, Usage{9, 3, -1, -1})}},
	{name: "cut by length", chunks: []*Chunk{say("Once upon"), finished(FinishLength, Usage{9, 2, -1, -1})}},
	{name: "a stop sequence", chunks: []*Chunk{say("a, b"), {Finish: FinishStopSeq, StopSeq: "END", Usage: &Usage{9, 2, -1, -1}, Final: true}}},
	{name: "no usage", chunks: []*Chunk{say("twelve bytes"), {Finish: FinishStop, Final: true}}},
	{name: "failed in mid-stream", chunks: []*Chunk{think("hm"), say("Half an")}, fail: &Problem{
		Status: 502, Code: "upstream_failed", Message: "The runtime ended in mid-answer.", Remedy: "Try again."}},
	{name: "failed before content", fail: &Problem{
		Status: 400, Code: CodeContextLength, Message: "The prompt is too long.", Tokens: 9004, MaxTokens: 2048}},
}

// streamed runs a whole answer through the request's encoder.
func streamed(r *Request, chunks []*Chunk, fail *Problem) []byte {
	e := NewEncoder(r, streamID())
	out := e.Open(nil)
	for _, c := range chunks {
		out = e.Chunk(out, c)
	}
	if fail != nil {
		return e.Fail(out, fail)
	}
	return e.End(out)
}

func goldenStream(t *testing.T, file string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", "streams", strings.ReplaceAll(file, " ", "-"))
	if *rewriteStreams {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; run with -rewrite-streams and read the diff\ngot:\n%s", path, got)
	}
}

// sseEvent is one record of a stream with event names.
type sseEvent struct {
	name string
	data map[string]any
}

// readEvents takes a stream apart and insists on its form: an event line, one
// data line that holds one JSON object, a blank line; comments only between.
func readEvents(t reporter, stream []byte) []sseEvent {
	t.Helper()
	var events []sseEvent
	lines := strings.Split(string(stream), "\n")
	for i := 0; i < len(lines); {
		switch {
		case strings.HasPrefix(lines[i], ":"), lines[i] == "" && i == len(lines)-1:
			i++
			continue
		case i+2 >= len(lines) || lines[i+2] != "":
			t.Fatalf("line %d: no whole record: %q", i, lines[i])
		}
		name, isEvent := strings.CutPrefix(lines[i], "event: ")
		data, isData := strings.CutPrefix(lines[i+1], "data: ")
		if !isEvent || !isData {
			t.Fatalf("line %d: expected event and data, got %q, %q", i, lines[i], lines[i+1])
		}
		e := sseEvent{name: name}
		if err := json.Unmarshal([]byte(data), &e.data); err != nil {
			t.Fatalf("line %d: %v in %s", i, err, data)
		}
		if e.data["type"] != name {
			t.Fatalf("line %d: event %s carries type %v", i, name, e.data["type"])
		}
		events = append(events, e)
		i += 3
	}
	return events
}

func dig(v any, path ...any) any {
	for _, step := range path {
		switch step := step.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[step]
		case int:
			l, _ := v.([]any)
			if step >= len(l) {
				return nil
			}
			v = l[step]
		}
	}
	return v
}

func mustParse(t testing.TB, p Protocol, body string) *Request {
	t.Helper()
	r, prob := Parse(p, []byte(body))
	if prob != nil {
		t.Fatalf("Parse: %v", prob)
	}
	return r
}
