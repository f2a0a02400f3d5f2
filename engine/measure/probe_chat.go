package measure

import (
	"context"
	"encoding/json"
	"math"
	"strings"

	"bellwether/engine/dialect"
	"bellwether/engine/fleet"
)

// Output limits of a probe's questions, tokens: models that think take most.
const (
	shortAnswer = 300
	longAnswer  = 1200
)

var weatherTool = dialect.Tool{
	Name: "get_weather", Description: dialect.Quote("Returns the weather of a city right now."),
	Parameters: dialect.Raw(`{"type":"object","properties":{"city":{"type":"string","description":"name of the city"}},"required":["city"]}`),
}

var timeTool = dialect.Tool{
	Name: "get_time", Description: dialect.Quote("Returns the local time of a city."),
	Parameters: dialect.Raw(`{"type":"object","properties":{"city":{"type":"string","description":"name of the city"}},"required":["city"]}`),
}

// with makes a question of one turn with tools.
func (p *Probe) with(text string, mode dialect.ChoiceMode, tools ...dialect.Tool) *dialect.Request {
	r := steady(say(text), &p.Target.Deployment, longAnswer)
	r.Tools, r.ToolChoice.Mode = tools, mode
	return r
}

// tools: a question that only a tool can answer, asked in two ways. A readable
// call is a yes, at once when it says what was asked for. Text instead is a
// choice the model may make, so it never is a no.
func (p *Probe) tools(ctx context.Context) outcome {
	questions := [...]struct{ text, city string }{
		{"What is the weather in Oslo right now? Use the tool.", "oslo"},
		{"Call get_weather for Lisbon. Do not answer in words.", "lisbon"},
	}
	calls, odd := 0, 0
	for _, q := range questions {
		a, o := p.ask(ctx, p.with(q.text, dialect.ChoiceAuto, weatherTool))
		if a == nil {
			return o
		}
		switch city, called := cityOf(a.Reply, weatherTool.Name); {
		case called && strings.Contains(strings.ToLower(city), q.city):
			return yes("it called the tool with the right argument")
		case called:
			calls++
		case len(a.Reply.Tools) > 0:
			odd++
		}
	}
	switch {
	case calls > 0:
		return yes("it called the tool, though with other arguments than asked: it can, if not well")
	case odd > 0:
		return unclear("it made a call that was not asked for, or one that cannot be read")
	default:
		return unclear("twice it answered in words where it might have called the tool")
	}
}

// cityOf reads the argument of the first call, when it is one of that tool.
func cityOf(r *dialect.Reply, tool string) (city string, called bool) {
	if len(r.Tools) == 0 || r.Tools[0].Name != tool {
		return "", false
	}
	var args map[string]any
	if json.Unmarshal(r.Tools[0].Arguments, &args) != nil {
		return "", false
	}
	city, called = args["city"].(string)
	return city, called
}

// toolChoice: a call that is demanded where nothing else calls for it, and one
// of two tools by name. Ignoring either is a no.
func (p *Probe) toolChoice(ctx context.Context) outcome {
	a, o := p.ask(ctx, p.with("Good morning! My name is Ada.", dialect.ChoiceRequired, weatherTool))
	if a == nil {
		return o
	}
	if len(a.Reply.Tools) == 0 {
		if a.Reply.Finish == dialect.FinishLength {
			return unclear("its output ended before a call did")
		}
		return no("it answered in words although a call was required")
	}
	if !isObject(a.Reply.Tools[0].Arguments) {
		return no("what it gave the tool is no JSON object of arguments")
	}
	r := p.with("What is the weather in Oslo?", dialect.ChoiceNamed, weatherTool, timeTool)
	r.ToolChoice.Name = timeTool.Name
	if a, o = p.ask(ctx, r); a == nil {
		return o
	}
	switch {
	case len(a.Reply.Tools) == 0 && a.Reply.Finish == dialect.FinishLength:
		return unclear("its output ended before a call did")
	case len(a.Reply.Tools) == 0:
		return no("it answered in words although a call of a named tool was required")
	case a.Reply.Tools[0].Name != timeTool.Name:
		return no("it called another tool than the named one")
	case !isObject(a.Reply.Tools[0].Arguments):
		return no("what it gave the named tool is no JSON object of arguments")
	}
	return yes("it called a tool when a call was required, and the named one when one was named")
}

// isObject reports whether arguments are an object, or left out.
func isObject(arguments []byte) bool {
	var o map[string]json.RawMessage
	return len(arguments) == 0 || json.Unmarshal(arguments, &o) == nil && o != nil
}

// parallelTools: two calls where two are asked for. A model that makes one at a
// time may do so. Whether it makes one where more are forbidden is not asked:
// the gateway passes on no more than one, whatever the model does.
func (p *Probe) parallelTools(ctx context.Context) outcome {
	if p.found.Results[fleet.CapTools] != fleet.Yes {
		return skip("it was not seen to call a tool at all")
	}
	a, o := p.ask(ctx, p.with("Get the weather of Oslo and the weather of Lisbon, with one call for each, both at once (parallel).", dialect.ChoiceAuto, weatherTool))
	if a == nil {
		return o
	}
	if n := len(a.Reply.Tools); n < 2 {
		return unclear("asked for two calls at once it made %d", n)
	}
	return yes("it made two calls at once when asked")
}

// jsonObject: JSON where the words ask for prose.
func (p *Probe) jsonObject(ctx context.Context) outcome {
	r := steady(say("Which colour has grass? Answer as a JSON object with the member \"colour\"."), &p.Target.Deployment, shortAnswer)
	r.Format = dialect.Format{Kind: dialect.FormatJSON}
	a, o := p.ask(ctx, r)
	if a == nil {
		return o
	}
	var v map[string]any
	switch text := strings.TrimSpace(a.Reply.Text.String()); {
	case a.Reply.Finish == dialect.FinishLength:
		return unclear("its output ended before the JSON did")
	case text == "":
		return unclear("it said nothing")
	case json.Unmarshal([]byte(text), &v) == nil:
		return yes("its answer was a JSON object and nothing else")
	default:
		return no("its answer was not JSON, or not only, although that was required")
	}
}

// jsonSchema: the schema's members, where the question names none.
func (p *Probe) jsonSchema(ctx context.Context) outcome {
	r := steady(say("How many legs does a spider have?"), &p.Target.Deployment, shortAnswer)
	r.Format = dialect.Format{Kind: dialect.FormatSchema, Name: "legs", Schema: dialect.Raw(
		`{"type":"object","properties":{"animal":{"type":"string","maxLength":20},"count_of_legs":{"type":"integer"}},"required":["animal","count_of_legs"],"additionalProperties":false}`)}
	a, o := p.ask(ctx, r)
	if a == nil {
		return o
	}
	text := strings.TrimSpace(a.Reply.Text.String())
	var v map[string]any
	switch err := json.Unmarshal([]byte(text), &v); {
	case a.Reply.Finish == dialect.FinishLength:
		return unclear("its output ended before the JSON did")
	case text == "":
		return unclear("it said nothing")
	case err != nil:
		return no("its answer was not JSON, or not only, although a schema was required")
	}
	_, animal := v["animal"].(string)
	n, count := v["count_of_legs"].(float64)
	if len(v) != 2 || !animal || !count || n != math.Trunc(n) {
		return no("its answer did not keep to the required schema")
	}
	return yes("its answer kept to the schema")
}

// thinking: reasoning in its own channel when it is asked for, in the protocol
// in which a model without one refuses.
func (p *Probe) thinking(ctx context.Context) outcome {
	body := `{"model":"probe","stream":true,"think":true,"options":{"temperature":0,"num_predict":600},"messages":[{"role":"user","content":"Anna has twice as many apples as Ben, together they have 18. How many has Ben?"}]}`
	for range 2 {
		r, problem := dialect.Parse(dialect.OllamaChat, []byte(body))
		if problem != nil {
			return unclear("%s", problem.Text())
		}
		a, o := p.ask(ctx, r)
		if a == nil {
			return o
		}
		if !a.Reply.Thinking.Empty() {
			return yes("its reasoning came apart from its answer")
		}
		if strings.Contains(a.Reply.Text.String(), "</think>") {
			return no("it reasons, but within its answer: its runtime does not keep the two apart")
		}
	}
	return unclear("asked to reason it answered twice without")
}

func length(v []float32) float64 {
	sum := 0.0
	for _, f := range v {
		sum += float64(f) * float64(f)
	}
	return math.Sqrt(sum)
}
