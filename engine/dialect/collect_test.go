package dialect

import (
	"strings"
	"testing"
	"time"
)

func TestCollectorGathersAnAnswer(t *testing.T) {
	var c Collector
	text := []byte(`"a"`)
	c.Add(&Chunk{Text: text, Logprobs: Raw(`[1]`)})
	text[1] = 'x' // the stream reuses its buffer
	c.Add(&Chunk{Thinking: Text(`"t"`), Tools: []ToolDelta{{0, "1", "f", `{"a"`}, {1, "2", "g", ""}}, Logprobs: Raw(`[2,3]`)})
	c.Add(&Chunk{Text: Text(`"\n"`), Tools: []ToolDelta{{0, "", "", `:1}`}, {2, "3", "", "lost"}}})
	usage := Usage{1, 2, 3, 4}
	c.Add(&Chunk{Finish: FinishStop, StopSeq: "END", Usage: &usage, Timings: &Timings{Total: time.Second}, Context: Raw(`[9]`), Vectors: [][]float32{{1}}, Final: true})
	usage.Input = 99
	r := c.Reply()
	if string(r.Text) != `"a\n"` || string(r.Thinking) != `"t"` || string(r.Logprobs) != `[1,2,3]` || string(r.Context) != `[9]` {
		t.Errorf("texts %s %s %s %s", r.Text, r.Thinking, r.Logprobs, r.Context)
	}
	if len(r.Tools) != 2 || string(r.Tools[0].Arguments) != `{"a":1}` || string(r.Tools[1].Arguments) != `{}` || r.Tools[1].ID != "2" {
		t.Errorf("calls %+v", r.Tools)
	}
	if r.Finish != FinishStop || r.StopSeq != "END" || r.Usage != (Usage{1, 2, 3, 4}) || r.Timings.Total != time.Second || len(r.Vectors) != 1 || r.Native != nil {
		t.Errorf("end %+v", r)
	}
}

func TestAnAnswerWithoutUsageHasNone(t *testing.T) {
	var c Collector
	if r := c.Reply(); r.Usage != NoUsage || string(r.Text) != `""` || r.Thinking != nil {
		t.Errorf("nothing is %+v", r)
	}
	c.Add(say("a"))
	if r := c.Reply(); r.Usage != NoUsage {
		t.Errorf("usage %+v", r.Usage)
	}
	c.Add(&Chunk{Usage: &Usage{1, 1, -1, -1}})
	c.Add(say("b"))
	if r := c.Reply(); r.Usage.Input != 1 {
		t.Errorf("a later chunk without usage took it away: %+v", r.Usage)
	}
}

// Some runtimes number every call 0, or leave pieces of one behind another's.
func TestOneCallKeepsTheFirstWhole(t *testing.T) {
	for name, pieces := range map[string][]ToolDelta{
		"by index":    {{0, "1", "f", `{"a"`}, {1, "2", "g", `{}`}, {0, "", "", `:1}`}, {2, "3", "f", `{"a":2}`}},
		"all index 0": {{0, "1", "f", `{"a":1}`}, {0, "2", "g", `{}`}, {0, "3", "f", `{"a":2}`}},
		"without ids": {{0, "", "f", `{"a":1}`}, {0, "", "g", `{}`}, {0, "", "f", `{"a":2}`}},
	} {
		var one OneCall
		var c Collector
		for _, d := range pieces {
			chunk := &Chunk{Text: Text(`"x"`), Tools: []ToolDelta{d}}
			one.Keep(chunk)
			c.Add(chunk)
		}
		r := c.Reply()
		if len(r.Tools) != 1 || r.Tools[0].Name != "f" || string(r.Tools[0].Arguments) != `{"a":1}` || one.LeftOut() != 2 {
			t.Errorf("%s: kept %+v, left out %d", name, r.Tools, one.LeftOut())
		}
		if want := `"` + strings.Repeat("x", len(pieces)) + `"`; string(r.Text) != want {
			t.Errorf("%s: text %s", name, r.Text)
		}
	}
	var one OneCall
	if one.LeftOut() != 0 {
		t.Error("a call was left out of an answer without any")
	}
}
