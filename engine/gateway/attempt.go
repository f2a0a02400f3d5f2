package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"bellwether/engine/dialect"
	"bellwether/engine/fleet"
	"bellwether/engine/route"
)

// attempt is what one run on one deployment has shown so far.
type attempt struct {
	began   time.Time
	first   time.Duration // to first content, 0 = none yet
	load    time.Duration
	usage   dialect.Usage
	timings *dialect.Timings
	finish  dialect.Finish
	text    bool // text or a call was seen
	thought bool // reasoning was seen
	one     dialect.OneCall
}

// try runs the request once and relays its answer. A nil error means a
// validated completion, fully written to the client.
func (x *exchange) try(ctx context.Context, g *fleet.Grant) error {
	x.attempt.usage = dialect.NoUsage
	run, err := x.g.Nodes.Do(ctx, *g, x.req)
	if err != nil {
		return err
	}
	defer run.Close()
	defer run.Recycle()
	x.edits, x.attempt.load = run.Edits(), run.LoadTime()
	if x.req.Stream && x.asked == nil {
		return x.relay(run)
	}
	return x.gather(ctx, run)
}

// relay passes a stream on, chunk by chunk. What is not content waits until
// content or the end comes: until then the request can still move elsewhere.
func (x *exchange) relay(run Running) error {
	for {
		c, err := x.next(run)
		if err != nil {
			return err
		}
		if says(c) || x.out.body {
			if err := x.out.chunk(c, c.Final || run.Buffered()); err != nil {
				return &fleet.Failure{Class: fleet.FailCancelled, Message: "the client left"}
			}
		}
		if c.Final {
			if err := x.out.end(); err != nil {
				return &fleet.Failure{Class: fleet.FailCancelled, Message: "the client left"}
			}
			if a, ok := x.out.enc.(dialect.Answer); ok {
				x.keep(a.Answer())
			}
			return nil
		}
	}
}

// next returns the answer's next chunk, held to what the client allows. A model
// makes several calls at once though it was told not to, and most runtimes
// cannot be told: the first one is passed on. What the others were to do, the
// model asks for when it sees its turn with that one.
func (x *exchange) next(run Running) (*dialect.Chunk, error) {
	c, err := run.Next()
	if err != nil {
		return nil, brokenEnd(err)
	}
	if x.query.Needs.SingleCall {
		x.attempt.one.Keep(c)
		if n := x.attempt.one.LeftOut(); c.Final && n > 0 {
			x.edits = append(x.edits, fmt.Sprintf("parallel_tool_calls: the first call is passed on, and %d more left out", n))
		}
	}
	x.note(c)
	return c, nil
}

// says reports whether a chunk is part of the answer, as opposed to a sign of
// life: such a one commits the stream.
func says(c *dialect.Chunk) bool {
	return c.HasContent() || c.Finish != dialect.FinishNone || c.Usage != nil || c.Final
}

// gather collects a whole answer and sends it in one piece.
func (x *exchange) gather(ctx context.Context, run Running) error {
	var col dialect.Collector
	for {
		c, err := x.next(run)
		if err != nil {
			return err
		}
		col.Add(c)
		if c.Final {
			break
		}
	}
	reply := col.Reply()
	if x.req.Embed != nil && !x.req.LoadOnly {
		if f := x.checkVectors(ctx, reply.Vectors); f != nil {
			return f
		}
	}
	if x.asked != nil {
		x.got(reply)
		return nil
	}
	if err := x.sendWhole(reply); err != nil {
		return &fleet.Failure{Class: fleet.FailCancelled, Message: "the client left"}
	}
	if x.proto == dialect.OpenAIResponses {
		x.keep(dialect.ResponseAnswer(x.req, &x.ident, reply))
	}
	return nil
}

// keep remembers a Responses answer for later requests that refer to it,
// unless the client asked not to (store: false).
func (x *exchange) keep(id string, output []dialect.Raw) {
	if x.req.Store == nil || *x.req.Store {
		x.g.items.put(id, x.start, x.req.Items, output)
	}
}

// note takes from a chunk what the record wants.
func (x *exchange) note(c *dialect.Chunk) {
	a := &x.attempt
	if a.first == 0 && (c.HasContent() || c.Held) {
		a.first = time.Since(a.began)
		x.ticket.Began(*x.grant, a.began.Add(a.first), a.first)
	}
	if c.HasContent() {
		a.text = a.text || len(c.Text) > 2 || len(c.Tools) > 0
		a.thought = a.thought || len(c.Thinking) > 2
	}
	if c.Usage != nil {
		a.usage = *c.Usage
	}
	if c.Timings != nil {
		a.timings = c.Timings
	}
	if c.Finish != dialect.FinishNone {
		a.finish = c.Finish
	}
	if !c.Final || x.req.Embed != nil {
		return
	}
	switch {
	case a.text || x.req.LoadOnly:
	case a.thought && a.finish == dialect.FinishLength:
		x.notes = append(x.notes, "thinking_used_all_output: the whole output limit went into reasoning; raise max_tokens or lower the reasoning effort")
	case a.thought:
		x.notes = append(x.notes, "only_thought: the answer is reasoning and nothing else")
	case a.usage.Output > 1:
		x.notes = append(x.notes, fmt.Sprintf("empty_answer: %d tokens were generated and none was shown (a call of an undeclared tool is swallowed by some runtimes)", a.usage.Output))
	}
}

// brokenEnd names an end that came without the runtime's end marker.
func brokenEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return &fleet.Failure{Class: fleet.FailMidStream, Code: codeCut, Message: "the runtime ended its answer without an end marker"}
	}
	return err
}

func asFailure(err error) *fleet.Failure {
	var f *fleet.Failure
	if errors.As(err, &f) {
		return f
	}
	return &fleet.Failure{Class: fleet.FailBeforeOpen, Message: "the node could not run the request", MayRun: true}
}

// failureProblem says to the client what failed for good.
func (x *exchange) failureProblem(f *fleet.Failure) *dialect.Problem {
	yes, no := true, false
	node := x.nodeName(x.grant.Deployment.Node)
	where := fmt.Sprintf("%s on %s (%s)", x.grant.Deployment.Model, node, x.grant.Deployment.Runtime)
	p := &dialect.Problem{Status: http.StatusBadGateway, Code: "upstream_" + string(f.Class), Retry: &yes, RetryAfter: cmp.Or(f.RetryAfter, x.g.Policy().RetryAfter)}
	switch {
	case f.Tokens > 0:
		x.tooLong(p, f)
		return p
	case f.Caller:
		p.Status, p.Code, p.Message, p.Retry, p.RetryAfter = f.Status, f.Code, f.Message, &no, 0
		p.Code = cmp.Or(p.Code, "invalid_request")
		if p.Code == dialect.CodeContextLength {
			p.Param = x.promptParam()
		}
		if p.Code == route.RefuseField { // found in the answer, see checkVectors
			p.Param = "dimensions"
		}
		if p.Status < 400 || p.Status > 499 {
			p.Status = http.StatusBadRequest
		}
		return p
	case f.Class == fleet.FailBackPressure:
		p.Status, p.Code = http.StatusTooManyRequests, "runtime_queue_full"
		p.Message = "The queue of " + where + " is full."
		p.Remedy = "Try again in a moment, or give the runtime more parallel slots."
		p.Message += x.onlyOne()
		return p
	case f.Code == codeMissing:
		p.Status, p.Code, p.Param, p.Retry, p.RetryAfter = http.StatusNotFound, f.Code, "model", &no, 0
		p.Message = where + " is no longer there."
		p.Remedy = "GET /v1/models lists the names."
	case f.Code == codeDenied:
		p.Code, p.Retry, p.RetryAfter = codeDenied, &no, 0
		p.Message = fmt.Sprintf("%s refuses Bellwether's calls (%d): %s.", where, f.Status, strings.TrimSuffix(f.Message, "."))
		p.Remedy = "Set api_key of " + x.grant.Deployment.Runtime + " under runtimes in the settings of " + node + " to the key the runtime asks for."
		if x.served.Kind == "ollama" {
			p.Remedy = "A cloud model needs `ollama signin` on " + node + "; where a proxy in front of it asks for a key, set api_key of " + x.grant.Deployment.Runtime + " under runtimes in the settings."
		}
	case f.Class == fleet.FailTimeout:
		p.Status, p.Code = http.StatusGatewayTimeout, "timeout"
		p.Message = where + " did not answer in time: " + f.Message + "."
		p.Remedy = "See routing.timeouts, or use a smaller model."
	case f.Class == fleet.FailContract && f.Code != codeVectors:
		x.foreignVectors(p, f)
	case f.Code == codeVectors:
		p.Code, p.Retry, p.RetryAfter = codeVectors, &no, 0
		p.Message = where + " answered with vectors that are not what they must be: " + f.Message + "."
		p.Remedy = "Check what that runtime serves under this name, and what embeddings declares of it."
	case f.Class == fleet.FailInvalid:
		p.Code = "upstream_bad_response"
		p.Message = where + " answered with something that is no completion: " + f.Message + "."
		p.Remedy = "Check that the runtime serves this model; bellwether decisions shows the attempt."
	case f.Class == fleet.FailCancelled: // by its owner or its end: not the model's fault
		p.Status, p.Code = http.StatusServiceUnavailable, "cancelled"
		p.Message = node + " ended the request: " + strings.TrimSuffix(f.Message, ".") + "."
		p.Remedy = "Try again in a moment."
	case f.Class == fleet.FailLoad:
		p.Status, p.Code = http.StatusServiceUnavailable, "load_failed"
		p.Message = where + ": " + f.Message + "."
		p.Remedy = "Free memory on " + node + " or choose a smaller model."
	default:
		if f.Class == fleet.FailStatus && f.Status >= http.StatusInternalServerError {
			p.Status = f.Status // what a client would see at the runtime itself
		}
		p.Message = where + " failed: " + strings.TrimSuffix(f.Message, ".") + "."
		p.Remedy = "The request was not answered elsewhere; try again, and see bellwether doctor if it goes on."
	}
	if x.retries > 0 {
		p.Message += fmt.Sprintf(" %d attempts were made.", 1+x.retries)
	}
	p.Message += x.onlyOne()
	return p
}

// tooLong says to the client what the runtime counted, where no larger context
// could be had for it.
func (x *exchange) tooLong(p *dialect.Problem, f *fleet.Failure) {
	no := false
	most := max(f.Context, 1)
	p.Status, p.Code, p.Param, p.Retry, p.RetryAfter = http.StatusBadRequest, dialect.CodeContextLength, x.promptParam(), &no, 0
	p.Tokens, p.MaxTokens = f.Tokens, most
	p.Message = fmt.Sprintf("this prompt has %d tokens, and the context of %s holds %d.", f.Tokens, x.grant.Deployment.Model, most)
	p.Remedy = fmt.Sprintf("Shorten the prompt by at least %d tokens, or use a model with a larger context.", max(1, f.Tokens-most))
	if x.req.Embed != nil { // the limit may be another than the context, which only its words tell
		p.Remedy += " Its runtime says: " + strings.TrimSuffix(f.Message, ".") + "."
	}
	if d := x.decision; d.Verdict != route.Serve && d.Decisive != nil && d.Decisive.Code == fleet.CodeMemory {
		why, _ := route.Sentences(*d.Decisive)
		p.Remedy += " A larger one of this model has no room: " + why
	}
}

// promptParam is the member of the request that is too long.
func (x *exchange) promptParam() string {
	switch {
	case x.req.Embed != nil, x.proto == dialect.OpenAIResponses:
		return "input"
	case x.req.Prompt != nil:
		return "prompt"
	default:
		return "messages"
	}
}

// onlyOne says why no other model was tried, where the client wanted that.
func (x *exchange) onlyOne() string {
	if x.asked != nil || !x.query.Needs.NoFallback {
		return ""
	}
	return " No other model was tried: the request forbids it (X-Fleet-No-Fallback)."
}

// foreignVectors is the answer to a request for a contract that nobody may
// answer for now: the one a request gets that comes when this is known.
func (x *exchange) foreignVectors(p *dialect.Problem, f *fleet.Failure) {
	no := false
	p.Status, p.Code, p.Retry, p.RetryAfter = http.StatusServiceUnavailable, f.Code, &no, 0
	p.Message = strings.TrimSuffix(f.Message, ".") + "."
	p.Remedy = "See bellwether doctor."
	if x.outside != nil {
		_, p.Remedy = route.Sentences(*x.outside)
	}
}

// complete closes the attempt and the request with it.
func (x *exchange) complete(o fleet.Outcome, f *fleet.Failure, retry bool) {
	c := x.completed(o, f, retry)
	x.g.Dispatcher.Completed(c)
	x.g.Learn(c, x.served)
	x.close(o, f)
}

func (x *exchange) completed(o fleet.Outcome, f *fleet.Failure, retry bool) fleet.Completed {
	a := &x.attempt
	c := fleet.Completed{
		Grant: x.grant.ID, Request: x.id, Deployment: x.grant.Deployment, Outcome: o, Failure: f,
		Took: time.Since(a.began), TTFT: a.first, Load: a.load,
		Input: a.usage.Input, Output: a.usage.Output, Cached: a.usage.Cached, Reasoning: a.usage.Reasoning,
		Estimate: x.measured(f), Text: x.query.Needs.Text, Task: x.query.Needs.PrimaryTask,
		Truncated: a.finish == dialect.FinishLength, Validated: o == fleet.OutcomeOK, Retry: retry,
		Internal: x.asked != nil && x.asked.own,
	}
	if a.timings != nil {
		c.Prefill, c.Decode = a.timings.Prefill, a.timings.Decode
	}
	if f != nil && f.Class == fleet.FailTimeout && a.first == 0 {
		c.Slower = x.granted.Plan.Slower(c.Took)
	}
	return c
}

// measured is the estimate that the runtime's count may be held against, 0 =
// none. It teaches how this model's tokens relate to text, so:
//  1. not from images or sound, nor from a short prompt among the schemas of
//     its tools: they would pass for text that is cheap;
//  2. not from a prompt over the context that may have been cut, and was then
//     counted cut; one that was refused as too long was counted whole.
func (x *exchange) measured(f *fleet.Failure) int {
	n := &x.query.Needs
	estimate := n.InputTotal
	if n.Images > 0 || n.AudioIn || n.NeedsTools && estimate < 2000 {
		return 0
	}
	context := cmp.Or(x.grant.Context, x.served.LoadedContext, x.served.MaxContext)
	if counted := f != nil && f.Tokens > 0; !counted && context > 0 && estimate > context {
		return 0
	}
	return estimate
}

// close writes the record of a request that had a grant or was left.
func (x *exchange) close(o fleet.Outcome, f *fleet.Failure) {
	var p *dialect.Problem
	if f != nil && o != fleet.OutcomeClientDisconnected {
		p = x.failureProblem(f)
	}
	x.closeWith(o, p)
}

func (x *exchange) closeWith(o fleet.Outcome, p *dialect.Problem) {
	if x.part != nil { // the whole's record tells of it
		x.part.outcome, x.part.problem = o, p
		return
	}
	a := &x.attempt
	decision := x.decision
	if decision == nil { // the client left before there was one
		decision = new(route.Decision)
	}
	rec := route.ToRecord(decision, &x.query)
	rec.Protocol = string(x.proto)
	if x.grant != nil {
		rec.Node = x.nodeName(x.grant.Deployment.Node)
	}
	rec.Edits = append(append([]string{}, x.req.Dropped...), x.edits...)
	rec.Notes = append(rec.Notes, x.notes...)
	rec.Parts = x.parts
	rec.Failover, rec.Retries, rec.MayHaveRun = x.steps, x.retries, x.mayRun
	if x.granted != nil { // a refusal after an attempt does not know why no other place was tried
		rec.FailoverAllowed, rec.FailoverNote = x.granted.FailoverAllowed, x.granted.FailoverNote
	}
	rec.Outcome, rec.Status = o, http.StatusOK
	if p != nil {
		rec.Problem = p.Text()
		if !x.out.body && !x.out.isLate() {
			rec.Status = p.Status
		}
	}
	rec.Timing = route.Timing{QueueMs: ms(x.queued), LoadMs: ms(a.load), TTFTMs: ms(a.first), TotalMs: ms(time.Since(x.start))}
	rec.Timings = a.timings
	rec.Usage = recordUsage(a.usage)
	rec.OverheadMs = ms(x.parsed)
	x.g.Record(rec)
	x.g.metrics.finished(rec)
}

func recordUsage(u dialect.Usage) *route.RecordUsage {
	var kept []int // all in one piece
	known := func(n int) *int {
		if n < 0 {
			return nil
		}
		if kept == nil {
			kept = make([]int, 0, 4)
		}
		kept = append(kept, n)
		return &kept[len(kept)-1]
	}
	if u == (dialect.Usage{}) || u == dialect.NoUsage {
		return nil
	}
	return &route.RecordUsage{Input: known(u.Input), Output: known(u.Output), Cached: known(u.Cached), Reasoning: known(u.Reasoning)}
}
