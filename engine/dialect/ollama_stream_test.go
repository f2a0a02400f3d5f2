package dialect

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
)

type ollamaMessage struct {
	Content   string `json:"content"`
	Thinking  string `json:"thinking"`
	ToolCalls []struct {
		ID       string `json:"id"`
		Function struct {
			Index     int               `json:"index"`
			Name      string            `json:"name"`
			Arguments map[string]string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

type ollamaAnswer struct {
	Model      string        `json:"model"`
	CreatedAt  time.Time     `json:"created_at"`
	Message    ollamaMessage `json:"message"`
	Response   string        `json:"response"`
	Done       bool          `json:"done"`
	DoneReason string        `json:"done_reason"`
	Error      string        `json:"error"`
}

type fataler interface{ Fatalf(string, ...any) }

func ollamaLines(t fataler, stream []byte) (lines []ollamaAnswer) {
	for line := range bytes.Lines(stream) {
		var a ollamaAnswer
		if err := json.Unmarshal(line, &a); err != nil {
			t.Fatalf("line %s: %v", line, err)
		}
		lines = append(lines, a)
	}
	return lines
}

func readOllamaStream(t fataler, stream []byte, whole *Reply) {
	var text, thinking strings.Builder
	calls := map[int]string{}
	lines := ollamaLines(t, stream)
	for i, a := range lines {
		text.WriteString(a.Message.Content)
		thinking.WriteString(a.Message.Thinking)
		for _, c := range a.Message.ToolCalls {
			args, _ := json.Marshal(c.Function.Arguments)
			calls[c.Function.Index] = string(args)
		}
		if a.Done != (i == len(lines)-1) {
			t.Fatalf("line %d of %d is done: %v", i, len(lines), a.Done)
		}
	}
	if text.String() != whole.Text.String() || thinking.String() != whole.Thinking.String() || len(calls) != len(whole.Tools) {
		t.Fatalf("read %q, %q, %d calls; want %s, %s, %d", text.String(), thinking.String(), len(calls), whole.Text, whole.Thinking, len(whole.Tools))
	}
	for i, c := range whole.Tools {
		if calls[i] != string(c.Arguments) {
			t.Fatalf("call %d has %s, want %s", i, calls[i], c.Arguments)
		}
	}
}

func TestOllamaCallsGoOutWhole(t *testing.T) {
	e := NewEncoder(&Request{Protocol: OllamaChat}, streamID())
	var sizes []int
	var out []byte
	for _, c := range []*Chunk{
		toolPiece(0, "u1", "f", ""), toolPiece(0, "", "", `{"a":"}`), toolPiece(1, "u2", "g", `{}`), toolPiece(0, "", "", `"}`),
		toolPiece(2, "u3", "h", ""), finished(FinishTools, NoUsage),
	} {
		out = e.Chunk(out, c)
		sizes = append(sizes, bytes.Count(out, []byte("\n")))
	}
	out = e.End(out)
	want := `{"model":"Qwen3:8B","created_at":"2026-11-29T22:33:38Z","message":{"role":"assistant","content":"","tool_calls":[{"id":"call_ours1","function":{"index":1,"name":"g","arguments":{}}}]},"done":false}
{"model":"Qwen3:8B","created_at":"2026-11-29T22:33:38Z","message":{"role":"assistant","content":"","tool_calls":[{"id":"call_ours0","function":{"index":0,"name":"f","arguments":{"a":"}"}}}]},"done":false}
{"model":"Qwen3:8B","created_at":"2026-11-29T22:33:38Z","message":{"role":"assistant","content":"","tool_calls":[{"id":"call_ours2","function":{"index":2,"name":"h","arguments":{}}}]},"done":false}
{"model":"Qwen3:8B","created_at":"2026-11-29T22:33:38Z","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop"}
`
	if string(out) != want {
		t.Errorf("got\n%swant\n%s", out, want)
	}
	if sizes[1] != 0 || sizes[2] != 1 || sizes[3] != 2 {
		t.Errorf("lines after each piece: %v", sizes)
	}
}

func TestOllamaLinesHoldNoRawLineBreak(t *testing.T) {
	out := streamed(&Request{Protocol: OllamaChat}, []*Chunk{toolPiece(0, "", "f", "{\n  \"a\": \"x\"\n}"), finished(FinishStop, NoUsage)}, nil)
	if lines := ollamaLines(t, out); len(lines) != 2 || lines[0].Message.ToolCalls[0].Function.Arguments["a"] != "x" {
		t.Errorf("got %s", out)
	}
}

// Arguments that are no object are kept where the tool's schema refuses them;
// a call cut by the length limit is left out, as Ollama's own parser does.
func TestOllamaCallsThatNeverBecameWhole(t *testing.T) {
	half := []*Chunk{toolPiece(0, "", "f", `{"a":`)}
	for finish, want := range map[Finish]string{FinishStop: `"arguments":{"_raw":"{\"a\":"}`, FinishLength: ""} {
		r := &Request{Protocol: OllamaChat}
		chunks := append(half[:1:1], finished(finish, NoUsage))
		for kind, out := range map[string][]byte{"stream": streamed(r, chunks, nil), "whole": EncodeReply(r, streamID(), gather(chunks))} {
			ollamaLines(t, out)
			if got := bytes.Contains(out, []byte(`tool_calls`)); got != (want != "") || !bytes.Contains(out, []byte(want)) {
				t.Errorf("%s %s: %s", finish, kind, out)
			}
		}
	}
}

func TestOllamaKeepAliveIsAnEmptyLineOfContent(t *testing.T) {
	for p, want := range map[Protocol]string{
		OllamaChat:     `{"model":"Qwen3:8B","created_at":"2026-11-29T22:33:38Z","message":{"role":"assistant","content":""},"done":false}` + "\n",
		OllamaGenerate: `{"model":"Qwen3:8B","created_at":"2026-11-29T22:33:38Z","response":"","done":false}` + "\n",
	} {
		if got := string(NewEncoder(&Request{Protocol: p}, streamID()).KeepAlive(nil)); got != want {
			t.Errorf("%s: %s", p, got)
		}
	}
}

func TestOllamaFailureIsALineAndNothingAfterIt(t *testing.T) {
	p := &Problem{Status: 502, Message: "The runtime ended in mid-answer.", Remedy: "Try again."}
	e := NewEncoder(&Request{Protocol: OllamaChat}, streamID())
	out := e.Fail(e.Chunk(nil, say("half")), p)
	out = e.End(e.Chunk(e.KeepAlive(e.Fail(out, p)), say("more")))
	lines := ollamaLines(t, out)
	if len(lines) != 2 || lines[1].Error != "The runtime ended in mid-answer. Try again." || bytes.Contains(out, []byte(`"done":true`)) {
		t.Errorf("got %s", out)
	}
}

// A client of Ollama on an Ollama sees the runtime's own bytes, but for the
// name it asked by; the end line is held until the end is validated.
func TestNativeFramesPassByteForByteButForTheModelsName(t *testing.T) {
	id := streamID()
	id.Model = "tiny"
	frame := `{"x":[{"model":"no"}],  "model" : "tiny:latest","message":{"role":"assistant","content":"\u0061"},"done":false,"new_field":1}`
	last := `{"model":"tiny","done":true,"done_reason":"stop"}`
	e := NewEncoder(&Request{Protocol: OllamaChat}, id)
	out := e.Chunk(nil, &Chunk{Native: []byte(frame + "\n"), Text: Text(`"a"`)})
	if want := strings.Replace(frame, "tiny:latest", "tiny", 1) + "\n"; string(out) != want {
		t.Errorf("got  %swant %s", out, want)
	}
	native := []byte(last)
	if held := e.Chunk(out, &Chunk{Native: native, Final: true}); len(held) != len(out) {
		t.Errorf("the end went out before it was validated: %s", held[len(out):])
	}
	copy(native, "overwritten by the next frame")
	if got := string(e.End(out)[len(out):]); got != last+"\n" {
		t.Errorf("end %s", got)
	}
	fails := NewEncoder(&Request{Protocol: OllamaChat}, id)
	out = fails.Chunk(nil, &Chunk{Native: []byte(last), Final: true})
	if out = fails.Fail(out, &Problem{Message: "Bad end."}); string(out) != `{"error":"Bad end."}`+"\n" {
		t.Errorf("got %s", out)
	}
}

func TestNativeWholeAnswersKeepTheirBytes(t *testing.T) {
	body := `{"model":"tiny:latest","embeddings":[[0.69034150]],"total_duration":1}`
	id := streamID()
	rep := gather([]*Chunk{{Native: []byte(body), Vectors: [][]float32{{0.6903415}}, Final: true}})
	if got, want := string(EncodeReply(&Request{Protocol: OllamaEmbed}, id, rep)), strings.Replace(body, "tiny:latest", "Qwen3:8B", 1); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	two := gather([]*Chunk{{Native: []byte(body)}, {Native: []byte(body), Final: true}})
	if two.Native != nil {
		t.Error("the last of several frames passed for a whole answer")
	}
}

func TestGenerateFillsResponse(t *testing.T) { // W-13
	r := &Request{Protocol: OllamaGenerate}
	chunks := []*Chunk{think("hm"), say("an answer"), {Finish: FinishStop, Context: Raw(`[1,2]`), Usage: &Usage{6, 2, -1, -1}, Timings: &Timings{Total: 9, Decode: 5}, Final: true}}
	want := `{"model":"Qwen3:8B","created_at":"2026-11-29T22:33:38Z","response":"an answer","thinking":"hm","done":true,"done_reason":"stop","context":[1,2],"total_duration":9,"prompt_eval_count":6,"eval_count":2,"eval_duration":5}`
	if got := string(EncodeReply(r, streamID(), gather(chunks))); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	lines := ollamaLines(t, streamed(r, chunks, nil))
	if len(lines) != 3 || lines[1].Response != "an answer" || !lines[2].Done {
		t.Errorf("stream %+v", lines)
	}
}

func TestOllamaLinesAreStampedByTheClockOfTheIdentity(t *testing.T) {
	id := streamID()
	now := id.Created
	id.Now = func() time.Time { now = now.Add(1500 * time.Millisecond); return now }
	e := NewEncoder(&Request{Protocol: OllamaChat}, id)
	out := e.End(e.Chunk(nil, say("a")))
	lines := ollamaLines(t, out)
	if got := lines[0].CreatedAt.Sub(id.Created); got != 1500*time.Millisecond {
		t.Errorf("first line at %v", got)
	}
	if !bytes.Contains(out, []byte(`"total_duration":4500000000`)) {
		t.Errorf("the time it took is not measured: %s", out)
	}
}

func TestOllamaReasons(t *testing.T) {
	for f, want := range map[Finish]string{FinishStop: "stop", FinishTools: "stop", FinishStopSeq: "stop", FinishLength: "length", FinishLoad: "load", FinishUnload: "unload", FinishNone: "stop"} {
		if got := ollamaReason(f); got != want {
			t.Errorf("%s becomes %s, want %s", f, got, want)
		}
	}
}
