package dialect

import (
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
