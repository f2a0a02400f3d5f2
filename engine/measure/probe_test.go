package measure

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"bellwether/engine/dialect"
	"bellwether/engine/evidence"
	"bellwether/engine/fleet"
)

// able answers a probe's questions as a model that can do all of it.
func able(_ int, r *dialect.Request, _ Question) (*Answer, error) {
	text := textOf(r)
	call := func(tool, city string) dialect.ToolCall {
		args, _ := json.Marshal(map[string]string{"city": city})
		return dialect.ToolCall{ID: "c", Name: tool, Arguments: args}
	}
	a := says("")
	switch {
	case r.Embed != nil:
		a.Reply.Vectors = [][]float32{{0.6, 0.8, 0}, {0, 0.6, 0.8}}
	case r.Format.Kind == dialect.FormatJSON:
		a = says(`{"colour":"green"}`)
	case r.Format.Kind == dialect.FormatSchema:
		a = says(`{"animal":"spider","count_of_legs":8}`)
	case r.Think.Set && r.Think.On:
		a = says("6")
		a.Reply.Thinking = dialect.Quote("18 / 3 = 6")
	case strings.Contains(text, "tangerine"):
		a = says("tangerine-4417")
		a.Usage.Input = len(text) / 4
	case strings.Contains(text, "Which colour fills"):
		colour := "red"
		if string(r.Messages[0].Parts[1].Data) == string(plain(paints[1].rgb)) {
			colour = "blue"
		}
		a = says(colour + ".")
	case r.ToolChoice.Mode == dialect.ChoiceNamed:
		a.Reply.Tools = []dialect.ToolCall{call(r.ToolChoice.Name, "Oslo")}
	case strings.Contains(text, "both at once"):
		a.Reply.Tools = []dialect.ToolCall{call("get_weather", "Oslo"), call("get_weather", "Lisbon")}
	case len(r.Tools) > 0:
		a.Reply.Tools = []dialect.ToolCall{call(r.Tools[0].Name, "Oslo, Norway")}
	}
	return a, nil
}

// unless answers as able, but for some questions.
func unless(is func(text string, r *dialect.Request) bool, other func() (*Answer, error)) func(int, *dialect.Request, Question) (*Answer, error) {
	return func(n int, r *dialect.Request, q Question) (*Answer, error) {
		if is(textOf(r), r) {
			return other()
		}
		return able(n, r, q)
	}
}

func probed(ctx context.Context, t *testing.T, tg Target, answer func(int, *dialect.Request, Question) (*Answer, error)) (map[string]Finding, evidence.Probed, *someone) {
	t.Helper()
	who, found := &someone{answer: answer}, map[string]Finding{}
	p := Probe{Target: tg, Ask: who, Watch: func(f Finding) { found[f.Capability] = f }, Now: time.Now}
	got, _ := p.Run(ctx)
	return found, got, who
}

func TestProbeFindsWhatAModelCan(t *testing.T) {
	found, got, who := probed(t.Context(), t, target("m"), able)
	for _, c := range chatChecks {
		if f := found[c.capability]; f.Support != fleet.Yes || f.Reason == "" {
			t.Errorf("%s: %+v", c.capability, f)
		}
	}
	if got.Suite != ProbeSuite || got.At.IsZero() || got.Results[fleet.CapVision] != fleet.Yes || got.Context < 5000 || got.Context > 8192 || got.Dimensions != 0 {
		t.Errorf("got %+v", got)
	}
	if len(who.asked) > 14 {
		t.Errorf("it took %d questions", len(who.asked))
	}
	for _, q := range who.all {
		if !q.Probing || q.App != AppProbe || q.Timeout == 0 {
			t.Fatalf("asked as %+v", q)
		}
	}
}

func TestProbeOfAnEmbeddingModelFindsWidthAndLength(t *testing.T) {
	tg := target("e")
	tg.Deployment.Capabilities = fleet.Capabilities{fleet.CapEmbedding: {Support: fleet.Yes, Source: fleet.SourceRuntime}}
	found, got, who := probed(t.Context(), t, tg, able)
	if got.Dimensions != 3 || got.Norm < 0.999 || got.Norm > 1.001 || len(who.asked) != 1 || found["embedding"].Support != fleet.Yes {
		t.Errorf("%d questions, got %+v", len(who.asked), got)
	}
}

// A no is what was shown, never what was merely not seen.
func TestProbeTellsNoFromUnknown(t *testing.T) {
	text := func() (*Answer, error) { return says("It is sunny, I suppose."), nil }
	refusal := func(words string) func() (*Answer, error) {
		return func() (*Answer, error) {
			return fails(fleet.Failure{Class: fleet.FailStatus, Status: 400, Caller: true, Message: words})
		}
	}
	anyTool := func(_ string, r *dialect.Request) bool { return len(r.Tools) > 0 }
	for name, c := range map[string]struct {
		capability fleet.Capability
		answer     func(int, *dialect.Request, Question) (*Answer, error)
		want       fleet.Tri
	}{
		"text instead of an optional call, twice": {fleet.CapTools, unless(anyTool, text), fleet.Unknown},
		"a runtime that refuses tools":            {fleet.CapTools, unless(anyTool, refusal(`"m" does not support tools`)), fleet.No},
		"a request refused for another reason":    {fleet.CapTools, unless(anyTool, refusal("invalid temperature")), fleet.Unknown},
		"text instead of a required call": {fleet.CapToolChoiceRequired, unless(func(_ string, r *dialect.Request) bool {
			return r.ToolChoice.Mode == dialect.ChoiceRequired
		}, text), fleet.No},
		"text instead of a named call": {fleet.CapToolChoiceRequired, unless(func(_ string, r *dialect.Request) bool {
			return r.ToolChoice.Mode == dialect.ChoiceNamed
		}, text), fleet.No},
		"another tool than the named one": {fleet.CapToolChoiceRequired, unless(func(_ string, r *dialect.Request) bool {
			return r.ToolChoice.Mode == dialect.ChoiceNamed
		}, func() (*Answer, error) {
			a := says("")
			a.Reply.Tools = []dialect.ToolCall{{Name: "get_weather", Arguments: dialect.Raw(`{"city":"Oslo"}`)}}
			return a, nil
		}), fleet.No},
		"words in place of the arguments": {fleet.CapToolChoiceRequired, unless(func(_ string, r *dialect.Request) bool {
			return r.ToolChoice.Mode == dialect.ChoiceRequired
		}, func() (*Answer, error) {
			a := says("")
			a.Reply.Tools = []dialect.ToolCall{{Name: "get_weather", Arguments: dialect.Raw(`x`)}}
			return a, nil
		}), fleet.No},
		"one call where two were asked for": {fleet.CapParallelTools, unless(func(s string, r *dialect.Request) bool { return strings.Contains(s, "both at once") }, func() (*Answer, error) {
			a := says("")
			a.Reply.Tools = []dialect.ToolCall{{Name: "get_weather", Arguments: dialect.Raw(`{"city":"Oslo"}`)}}
			return a, nil
		}), fleet.Unknown},
		"prose instead of required JSON": {fleet.CapJSONObject, unless(func(_ string, r *dialect.Request) bool { return r.Format.Kind == dialect.FormatJSON }, text), fleet.No},
		"JSON cut by the limit": {fleet.CapJSONObject, unless(func(_ string, r *dialect.Request) bool { return r.Format.Kind == dialect.FormatJSON }, func() (*Answer, error) {
			a := says(`{"colour": "gr`)
			a.Reply.Finish = dialect.FinishLength
			return a, nil
		}), fleet.Unknown},
		"JSON that ignores the schema":    {fleet.CapJSONSchema, unless(func(_ string, r *dialect.Request) bool { return r.Format.Kind == dialect.FormatSchema }, func() (*Answer, error) { return says(`{"legs": 8}`), nil }), fleet.No},
		"a model that sees wrong colours": {fleet.CapVision, unless(func(s string, _ *dialect.Request) bool { return strings.Contains(s, "Which colour fills") }, func() (*Answer, error) { return says("Green"), nil }), fleet.No},
		"a model that names no colour":    {fleet.CapVision, unless(func(s string, _ *dialect.Request) bool { return strings.Contains(s, "Which colour fills") }, text), fleet.Unknown},
		"a model that lists all colours":  {fleet.CapVision, unless(func(s string, _ *dialect.Request) bool { return strings.Contains(s, "Which colour fills") }, func() (*Answer, error) { return says("red, blue, green or yellow"), nil }), fleet.Unknown},
		"a runtime that takes no images":  {fleet.CapVision, unless(func(s string, _ *dialect.Request) bool { return strings.Contains(s, "Which colour fills") }, refusal("image input is not supported - hint: if this is unexpected, you may need to provide the mmproj")), fleet.No},
		"a runtime that fails over images": {fleet.CapVision, unless(func(s string, _ *dialect.Request) bool { return strings.Contains(s, "Which colour fills") }, func() (*Answer, error) {
			return fails(fleet.Failure{Class: fleet.FailStatus, Status: 500, Message: "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj"})
		}), fleet.No},
		"a runtime that crashes over images": {fleet.CapVision, unless(func(s string, _ *dialect.Request) bool { return strings.Contains(s, "Which colour fills") }, func() (*Answer, error) {
			return fails(fleet.Failure{Class: fleet.FailStatus, Status: 500, Message: "operation not supported"})
		}), fleet.Unknown},
		"no reasoning, twice":           {fleet.CapThinking, unless(func(_ string, r *dialect.Request) bool { return r.Think.On }, text), fleet.Unknown},
		"a model that refuses to think": {fleet.CapThinking, unless(func(_ string, r *dialect.Request) bool { return r.Think.On }, refusal(`"m" does not support thinking`)), fleet.No},
		"reasoning within the answer":   {fleet.CapThinking, unless(func(_ string, r *dialect.Request) bool { return r.Think.On }, func() (*Answer, error) { return says("<think>six</think>6"), nil }), fleet.No},
	} {
		t.Run(name, func(t *testing.T) {
			found, got, _ := probed(t.Context(), t, target("m"), c.answer)
			if f := found[string(c.capability)]; f.Support != c.want || f.Reason == "" || f.Skipped {
				t.Errorf("found %+v", f)
			}
			if support, said := got.Results[c.capability]; said != (c.want != fleet.Unknown) || said && support != c.want {
				t.Errorf("recorded as %v, %v", support, said)
			}
		})
	}
}

// After a timeout the call may still run: nothing more is asked, and what was
// not asked says so.
func TestProbeStopsAtTheFirstTimeout(t *testing.T) {
	found, got, who := probed(t.Context(), t, target("m"), unless(func(_ string, r *dialect.Request) bool { return r.Format.Kind == dialect.FormatJSON },
		func() (*Answer, error) {
			return fails(fleet.Failure{Class: fleet.FailTimeout, Message: "late", MayRun: true})
		}))
	last := who.asked[len(who.asked)-1]
	if f := found["json_object"]; f.Support != fleet.Unknown || f.Skipped || !strings.Contains(last, "grass") {
		t.Errorf("found %+v, last asked %q", f, last)
	}
	for _, name := range []string{"json_schema", "thinking", "vision", "context"} {
		if f := found[name]; !f.Skipped || !strings.Contains(f.Reason, "may still be running") {
			t.Errorf("%s: %+v", name, f)
		}
	}
	if len(got.Results) != 3 {
		t.Errorf("kept %v", got.Results)
	}
}

func TestProbeDoesNotAskWhatItsOperatorDeclared(t *testing.T) {
	tg := target("m")
	tg.Deployment.Capabilities[fleet.CapVision] = fleet.Claim{Support: fleet.No, Source: fleet.SourceOperator}
	found, got, who := probed(t.Context(), t, tg, able)
	if f := found["vision"]; !f.Skipped || got.Results[fleet.CapVision] != fleet.Unknown {
		t.Errorf("found %+v", f)
	}
	for _, q := range who.asked {
		if strings.Contains(q, "Which colour fills") {
			t.Error("it was asked")
		}
	}
}

// A probe that nobody answered is none: it has no time, and one reason.
func TestAProbeThatGotNoAnswerEstablishesNothing(t *testing.T) {
	embedding := target("e")
	embedding.Deployment.Capabilities = fleet.Capabilities{fleet.CapEmbedding: {Support: fleet.Yes, Source: fleet.SourceRuntime}}
	late := func() (*Answer, error) {
		return fails(fleet.Failure{Class: fleet.FailTimeout, Message: "late", MayRun: true})
	}
	for name, c := range map[string]struct {
		target Target
		answer func() (*Answer, error)
		told   int // findings
		asked  int
	}{
		"paused":               {target("m"), func() (*Answer, error) { return refused(fleet.CodePaused) }, 0, 1},
		"paused, of embedding": {embedding, func() (*Answer, error) { return refused(fleet.CodePaused) }, 0, 1},
		"no memory":            {target("m"), func() (*Answer, error) { return refused(fleet.CodeMemory) }, 0, 2}, // it waited for some
		"late":                 {target("m"), late, 1, 1},
		"a runtime that fails": {target("m"), func() (*Answer, error) {
			return fails(fleet.Failure{Class: fleet.FailStatus, Status: 500, Message: "broke"})
		}, len(chatChecks), 7},
	} {
		who, told := &someone{answer: func(int, *dialect.Request, Question) (*Answer, error) { return c.answer() }}, 0
		p := Probe{Target: c.target, Ask: who, Watch: func(Finding) { told++ }, Now: time.Now}
		got, err := p.Run(t.Context())
		if err == nil || !got.At.IsZero() || len(got.Results) != 0 || told != c.told || len(who.asked) != c.asked {
			t.Errorf("%s: %+v, %v; %d findings of %d questions", name, got, err, told, len(who.asked))
		}
	}
	n := 0
	p := Probe{Target: target("m"), Watch: func(Finding) {}, Now: time.Now, Ask: &someone{answer: func(i int, r *dialect.Request, q Question) (*Answer, error) {
		if n++; n > 1 {
			return refused(fleet.CodePaused)
		}
		return able(i, r, q)
	}}}
	if got, err := p.Run(t.Context()); err == nil || got.At.IsZero() || got.Results[fleet.CapTools] != fleet.Yes {
		t.Errorf("paused after an answer: %+v, %v", got, err)
	}
}

func TestContextIsStepwiseAndBounded(t *testing.T) {
	long := target("m")
	long.Deployment.LoadedContext, long.Bandwidth = 262144, 400
	found, got, who := probed(t.Context(), t, long, able)
	if got.Context < 20000 || got.Context > mostContext || !strings.Contains(found["context"].Reason, "not tried") {
		t.Errorf("context %d: %s", got.Context, found["context"].Reason)
	}
	most := 0
	for _, q := range who.asked {
		most = max(most, len(q)/4)
	}
	if most > mostContext {
		t.Errorf("asked about %d tokens", most)
	}
	// A runtime that cuts what is longer than its real window.
	found, got, _ = probed(t.Context(), t, long, unless(func(s string, _ *dialect.Request) bool { return len(s) > 4*4096 && strings.Contains(s, "tangerine") }, func() (*Answer, error) {
		a := says("I do not know.")
		a.Usage.Input = 4096
		return a, nil
	}))
	if f := found["context"]; got.Context < 1000 || got.Context > 4096 || !strings.Contains(f.Reason, "did not remember") && !strings.Contains(f.Reason, "cuts") {
		t.Errorf("context %d: %s", got.Context, f.Reason)
	}
	slow := long
	slow.Bandwidth, slow.Deployment.WeightsBytes = 10, 100e9
	if found, got, _ := probed(t.Context(), t, slow, able); got.Context != 0 || !found["context"].Skipped {
		t.Errorf("on a slow machine: %+v", found["context"])
	}
}
