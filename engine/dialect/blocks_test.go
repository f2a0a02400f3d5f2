package dialect

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf16"

	"pgregory.net/rapid"
)

// reporter is what checks need of a test, a fuzz run or a property.
type reporter interface {
	Helper()
	Fatalf(string, ...any)
}

// checkAnthropicStream insists on the protocol's order: message_start, blocks
// one after another with indexes 0, 1, 2, one terminator or one error.
func checkAnthropicStream(t reporter, events []sseEvent) {
	t.Helper()
	open, next := -1, 0
	for i, e := range events {
		index, _ := e.data["index"].(float64)
		switch e.name {
		case "message_start":
			if i != 0 {
				t.Fatalf("event %d is a second message_start", i)
			}
		case "ping":
		case "content_block_start":
			if open >= 0 || int(index) != next {
				t.Fatalf("event %d opens block %v while %d is open and %d is next", i, index, open, next)
			}
			open = next
		case "content_block_delta":
			if int(index) != open {
				t.Fatalf("event %d: a delta of block %v while %d is open", i, index, open)
			}
		case "content_block_stop":
			if int(index) != open {
				t.Fatalf("event %d closes block %v while %d is open", i, index, open)
			}
			open, next = -1, next+1
		case "message_delta":
			if open >= 0 || i != len(events)-2 {
				t.Fatalf("event %d: message_delta while block %d is open, of %d events", i, open, len(events))
			}
		case "message_stop":
			if i != len(events)-1 || i == 0 || events[i-1].name != "message_delta" {
				t.Fatalf("event %d: message_stop out of place", i)
			}
		case "error":
			if i != len(events)-1 {
				t.Fatalf("event %d: something follows the error", i)
			}
		default:
			t.Fatalf("event %d: unknown %s", i, e.name)
		}
	}
	if last := events[len(events)-1].name; last != "message_stop" && last != "error" {
		t.Fatalf("ends with %s", last)
	}
}

// checkResponsesStream insists on the protocol's order and on one truth in
// deltas, done events, items and the final response.
func checkResponsesStream(t reporter, events []sseEvent) {
	t.Helper()
	var open, text string
	var items []any
	for i, e := range events {
		if n := e.data["sequence_number"]; n != float64(i) {
			t.Fatalf("event %d has sequence number %v", i, n)
		}
		if out, ok := e.data["output_index"]; ok && out != float64(len(items)) {
			t.Fatalf("event %d (%s) is about output %v while %d is next", i, e.name, out, len(items))
		}
		if id, ok := e.data["item_id"]; ok && id != open {
			t.Fatalf("event %d (%s) is about item %v while %q is open", i, e.name, id, open)
		}
		switch {
		case e.name == "response.created" && i != 0, e.name == "response.in_progress" && i == 0:
			t.Fatalf("event %d: %s out of place", i, e.name)
		case e.name == "response.output_item.added":
			if open != "" || dig(e.data, "item", "status") != "in_progress" {
				t.Fatalf("event %d: added while %q is open: %v", i, open, e.data)
			}
			open, text = dig(e.data, "item", "id").(string), ""
		case e.name == "response.output_item.done":
			if dig(e.data, "item", "id") != open || itemText(e.data["item"]) != text {
				t.Fatalf("event %d: item %v, but deltas said %q of %q", i, e.data["item"], text, open)
			}
			items = append(items, e.data["item"])
			open = ""
		case strings.HasSuffix(e.name, ".delta"):
			text += e.data["delta"].(string)
		case strings.HasSuffix(e.name, ".done") && !strings.HasSuffix(e.name, "part.done"):
			if got := doneText(e.data); got != text {
				t.Fatalf("event %d: %s says %q, deltas said %q", i, e.name, got, text)
			}
		case e.name == "response.completed", e.name == "response.incomplete", e.name == "response.failed":
			if i != len(events)-1 || open != "" && e.name != "response.failed" {
				t.Fatalf("event %d: %s while %q is open, of %d", i, e.name, open, len(events))
			}
			if got, want := fmt.Sprint(dig(e.data, "response", "output")), fmt.Sprint(append([]any{}, items...)); got != want {
				t.Fatalf("response holds %s, items were %s", got, want)
			}
		}
	}
	switch last := events[len(events)-1].name; last {
	case "response.completed", "response.incomplete", "response.failed":
	default:
		t.Fatalf("ends with %s", last)
	}
}

func doneText(v any) string {
	for _, name := range []string{"text", "arguments", "input"} {
		if s, ok := dig(v, name).(string); ok {
			return s
		}
	}
	return ""
}

func itemText(item any) string {
	switch dig(item, "type") {
	case "message":
		s, _ := dig(item, "content", 0, "text").(string)
		return s
	case "reasoning":
		s, _ := dig(item, "summary", 0, "text").(string)
		return s
	}
	return doneText(item)
}

// drawChunks draws any sequence of chunks, such as no runtime would send too.
func drawChunks(t *rapid.T) []*Chunk {
	piece := rapid.SampledFrom([]string{"", "", "a", "\"", "\\", "é😀", "\n", " ", "{", "}", "[", "]", `{"a":1}`, `{"input":"x`, `"}`, `{"inp`, `ut":"`, `\u00`, `e9`, "\\n"})
	name := rapid.SampledFrom([]string{"", "", "f", "get_time", "apply_patch", "spawn_agent", "multi_agent_v1.spawn_agent"})
	id := rapid.SampledFrom([]string{"", "", "x", "y"})
	tool := rapid.Custom(func(t *rapid.T) ToolDelta {
		return ToolDelta{Index: rapid.IntRange(0, 2).Draw(t, "index"), ID: id.Draw(t, "id"), Name: name.Draw(t, "name"), Arguments: piece.Draw(t, "arguments")}
	})
	chunk := rapid.Custom(func(t *rapid.T) *Chunk {
		c := &Chunk{Tools: rapid.SliceOfN(tool, 0, 2).Draw(t, "tools")}
		if s := piece.Draw(t, "text"); s != "" {
			c.Text = Quote(s)
		}
		if s := piece.Draw(t, "thinking"); s != "" {
			c.Thinking = Quote(s)
		}
		c.Finish = rapid.SampledFrom([]Finish{FinishNone, FinishNone, FinishStop, FinishLength, FinishTools}).Draw(t, "finish")
		return c
	})
	return rapid.SliceOfN(chunk, 0, 12).Draw(t, "chunks")
}

// drawStream renders drawn chunks with keep-alives between, to an end or a failure.
func drawStream(t *rapid.T, r *Request, chunks []*Chunk) []byte {
	e := NewEncoder(r, streamID())
	var out []byte
	for _, c := range chunks {
		if rapid.Bool().Draw(t, "wait") {
			out = e.KeepAlive(out)
		}
		out = e.Chunk(out, c)
	}
	if rapid.Bool().Draw(t, "fail") {
		out = e.Fail(out, &Problem{Status: 502, Message: "gone"})
	}
	return e.End(out)
}

func TestAnyChunksMakeAWellFormedAnthropicStream(t *testing.T) {
	r := anthropicRequest(t)
	rapid.Check(t, func(t *rapid.T) {
		checkAnthropicStream(t, readEvents(t, drawStream(t, r, drawChunks(t))))
	})
}

func TestAnyChunksMakeAWellFormedResponsesStream(t *testing.T) {
	r := responsesRequest(t)
	rapid.Check(t, func(t *rapid.T) {
		checkResponsesStream(t, readEvents(t, drawStream(t, r, drawChunks(t))))
	})
}

// Whatever the order of the pieces, the blocks hold all that the model wrote.
func TestNoByteOfAnAnswerIsLostInBlocks(t *testing.T) {
	r := anthropicRequest(t)
	rapid.Check(t, func(t *rapid.T) {
		chunks := drawChunks(t)
		got := map[string]string{}
		for _, e := range readEvents(t, streamed(r, chunks, nil)) {
			if e.name != "content_block_delta" {
				continue
			}
			for _, name := range []string{"text", "thinking"} {
				s, _ := dig(e.data, "delta", name).(string)
				got[name] += s
			}
		}
		whole := gather(chunks)
		if got["text"] != whole.Text.String() || got["thinking"] != whole.Thinking.String() {
			t.Fatalf("blocks say %q and %q, the answer %q and %q", got["text"], got["thinking"], whole.Text, whole.Thinking)
		}
	})
}

func TestInterleavedCallsKeepTheirArgumentsApart(t *testing.T) {
	r := anthropicRequest(t)
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 4).Draw(t, "calls")
		rest := make([]string, n)
		for i := range rest {
			rest[i] = fmt.Sprintf(`{"n":%d,"s":"}%d{\"["}`, i, i)
		}
		want := append([]string{}, rest...)
		var chunks []*Chunk
		for i := range rest {
			chunks = append(chunks, toolPiece(i, fmt.Sprint("id", i), fmt.Sprint("f", i), ""))
		}
		for {
			var left []int
			for i := range rest {
				if rest[i] != "" {
					left = append(left, i)
				}
			}
			if left == nil {
				break
			}
			i := rapid.SampledFrom(left).Draw(t, "which")
			k := rapid.IntRange(1, len(rest[i])).Draw(t, "bytes")
			chunks = append(chunks, toolPiece(i, "", "", rest[i][:k]))
			rest[i] = rest[i][k:]
		}
		msg, err := accumulate(streamed(r, chunks, nil))
		if err != nil || len(msg.Content) != n {
			t.Fatalf("%v, %d blocks", err, len(msg.Content))
		}
		for i, b := range msg.Content {
			if b.Name != fmt.Sprint("f", i) || string(b.Input) != want[i] {
				t.Fatalf("block %d is %s(%s), want %s", i, b.Name, b.Input, want[i])
			}
		}
	})
}

// However the arguments are cut, the custom tool's text comes out as it went in.
func TestCustomInputIsItsTextHoweverItIsCut(t *testing.T) {
	r := responsesRequest(t)
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.String().Draw(t, "input")
		args := `{"input":` + string(Quote(want)) + `}`
		if rapid.Bool().Draw(t, "ascii") {
			args = asciiEscaped(args)
		}
		chunks := []*Chunk{toolPiece(0, "", "apply_patch", "")}
		for rest := args; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "bytes")
			for n < len(rest) && rest[n]&0xC0 == 0x80 {
				n++ // runtimes send whole characters
			}
			chunks = append(chunks, toolPiece(0, "", "", rest[:n]))
			rest = rest[n:]
		}
		events := readEvents(t, streamed(r, chunks, nil))
		checkResponsesStream(t, events)
		if got := dig(events[len(events)-1].data, "response", "output", 0, "input"); got != want {
			t.Fatalf("input %q, want %q", got, want)
		}
	})
}

// asciiEscaped writes JSON as Python does by default.
func asciiEscaped(s string) string {
	var b strings.Builder
	for _, c := range s {
		if c < 0x80 {
			b.WriteRune(c)
			continue
		}
		for _, u := range utf16.Encode([]rune{c}) {
			fmt.Fprintf(&b, `\u%04x`, u)
		}
	}
	return b.String()
}
