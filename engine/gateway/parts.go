package gateway

import (
	"context"
	"fmt"
	"sync"
	"time"

	"bellwether/engine/dialect"
	"bellwether/engine/fleet"
	"bellwether/engine/route"
)

// partOf is what a part of a batch reports to the exchange of the whole: how it
// ended. A part has a grant, retries and evidence of its own; client and record
// are the whole's.
type partOf struct {
	first, last int // inputs, last not included
	outcome     fleet.Outcome
	problem     *dialect.Problem
}

// split returns the parts a large batch of embeddings is served in, nil for
// what stays whole: the choice is route.Split's, on the picture of the moment.
func (x *exchange) split() []*exchange {
	e := x.req.Embed
	if e == nil || len(e.Inputs) < 2 || x.req.LoadOnly || x.proto == dialect.OllamaEmbeddings {
		return nil
	}
	if !route.Splittable(len(e.Inputs)) {
		return nil // most requests: the picture need not be taken
	}
	x.bind()
	v := x.g.Dispatcher.View()
	if v == nil {
		return nil
	}
	v.Now = time.Now()
	policy := x.g.Policy()
	n, space := route.Split(v, policy, route.Decide(v, policy, &x.query), len(e.Inputs))
	if n < 2 {
		return nil
	}
	sizes := make([]int, len(e.Inputs))
	for i, t := range e.Inputs {
		sizes[i] = len(t)
	}
	parts := make([]*exchange, 0, n)
	first := 0
	for i, last := range route.Cuts(sizes, n) {
		parts = append(parts, x.newPart(i+1, first, last, space))
		first = last
	}
	return parts
}

// newPart makes the exchange of the k-th part, from 1.
func (x *exchange) newPart(k, first, last int, space string) *exchange {
	req := x.req.Part(first, last)
	p := &exchange{g: x.g, ident: x.ident, proto: x.proto, id: fmt.Sprintf("%s.%d", x.id, k), start: x.start, req: req,
		out: &responder{}, part: &partOf{first: first, last: last}}
	p.query = x.query
	p.query.Request, p.query.Part = p.id, k
	own := x.g.Read(req, x.meta())
	n := &p.query.Needs
	n.Tokens, n.InputTotal, n.Space = own.Tokens, own.InputTotal, space
	return p
}

// together serves a batch in its parts. One that fails after its retries fails
// the whole, and a client that leaves ends all of them.
func (x *exchange) together(ctx context.Context, parts []*exchange) {
	x.g.metrics.inFlight.Inc()
	defer x.g.metrics.inFlight.Dec()
	all, cancel := context.WithCancel(ctx)
	defer cancel()
	var group sync.WaitGroup
	failed := make(chan *exchange, len(parts)) // so that none waits for a reader
	panicked := make(chan any, len(parts))
	for _, p := range parts {
		p.asked = &asking{ctx: all}
		group.Go(func() {
			defer func() {
				if v := recover(); v != nil { // it is the handler's, as of any request
					panicked <- v
					cancel()
				}
			}()
			p.await(all)
			if p.part.problem != nil || p.asked.Reply == nil {
				failed <- p
				cancel()
			}
		})
	}
	group.Wait()
	x.gatherParts(parts)
	select {
	case v := <-panicked:
		panic(v)
	case first := <-failed:
		x.partFailed(ctx, first)
	default:
		x.answerParts(ctx, parts)
	}
}

// gatherParts makes the whole's facts of those of its parts: places and
// attempts of the first, sums and longest times of all.
func (x *exchange) gatherParts(parts []*exchange) {
	a := &x.attempt
	for _, p := range parts {
		if x.decision == nil {
			x.decision = p.decision
		}
		if x.grant == nil {
			x.decision, x.grant, x.granted, x.served, a.began, a.usage = p.decision, p.grant, p.granted, p.served, p.attempt.began, p.attempt.usage
		} else if p.grant != nil {
			a.usage = sumUsage(a.usage, p.attempt.usage)
		}
		a.timings = longest(a.timings, p.attempt.timings)
		a.load, a.first, x.queued = max(a.load, p.attempt.load), max(a.first, p.attempt.first), max(x.queued, p.queued)
		x.steps, x.retries = append(x.steps, p.steps...), x.retries+p.retries
		x.mayRun = x.mayRun || p.mayRun
		for _, e := range p.edits {
			x.edits = addOnce(x.edits, e)
		}
		x.parts = append(x.parts, p.inRecord())
	}
}

func (p *exchange) inRecord() route.RecordPart {
	r := route.RecordPart{First: p.part.first, Last: p.part.last - 1, Outcome: p.part.outcome, Retries: p.retries,
		QueueMs: ms(p.queued), Usage: recordUsage(p.attempt.usage)}
	if p.grant != nil {
		r.Deployment = p.grant.Deployment.String()
		r.TookMs = ms(p.asked.Took)
	}
	return r
}

// partFailed ends the whole for the part that failed first.
func (x *exchange) partFailed(ctx context.Context, p *exchange) {
	if ctx.Err() != nil || p.part.problem == nil {
		x.left()
		x.closeWith(fleet.OutcomeClientDisconnected, nil)
		return
	}
	x.fail(p.part.problem)
	x.closeWith(p.part.outcome, p.part.problem)
}

// answerParts puts the vectors of all parts in the order of the inputs.
func (x *exchange) answerParts(ctx context.Context, parts []*exchange) {
	reply := &dialect.Reply{Finish: parts[0].asked.Reply.Finish, Usage: x.attempt.usage, Vectors: make([][]float32, 0, len(x.req.Embed.Inputs))}
	if t := x.attempt.timings; t != nil {
		reply.Timings = *t
	}
	for _, p := range parts {
		reply.Vectors = append(reply.Vectors, p.asked.Reply.Vectors...)
	}
	f := oneSpace(parts)
	if f == nil {
		f = checkVectors(x.promised(), reply.Vectors)
	}
	if f != nil {
		problem := x.failureProblem(f)
		x.fail(problem)
		x.closeWith(fleet.OutcomeFailed, problem)
		return
	}
	x.ident.Model = parts[0].ident.Model
	if err := x.sendWhole(reply); err != nil || ctx.Err() != nil {
		x.closeWith(fleet.OutcomeClientDisconnected, nil)
		return
	}
	x.closeWith(fleet.OutcomeOK, nil)
}

// oneSpace makes sure that no part was answered by other weights than another:
// by known ones that are the same, or by one deployment.
func oneSpace(parts []*exchange) *fleet.Failure {
	first := parts[0].served
	for _, p := range parts[1:] {
		identity, known := p.served.KnownIdentity()
		if p.grant.Deployment == parts[0].grant.Deployment && route.SpaceOf(p.served) == route.SpaceOf(first) || known && first.HasIdentity(identity) {
			continue
		}
		return &fleet.Failure{Class: fleet.FailInvalid, Code: codeVectors,
			Message: fmt.Sprintf("its weights changed while a batch was served: %s and %s", route.SpaceOf(first), route.SpaceOf(p.served))}
	}
	return nil
}

func sumUsage(a, b dialect.Usage) dialect.Usage {
	sum := func(a, b int) int {
		if a < 0 || b < 0 {
			return -1 // one unknown makes the sum unknown
		}
		return a + b
	}
	return dialect.Usage{Input: sum(a.Input, b.Input), Output: sum(a.Output, b.Output), Cached: sum(a.Cached, b.Cached), Reasoning: sum(a.Reasoning, b.Reasoning)}
}

func longest(a, b *dialect.Timings) *dialect.Timings {
	if a == nil || b == nil {
		if a == nil {
			return b
		}
		return a
	}
	return &dialect.Timings{Total: max(a.Total, b.Total), Load: max(a.Load, b.Load), Prefill: max(a.Prefill, b.Prefill), Decode: max(a.Decode, b.Decode)}
}

func addOnce(all []string, s string) []string {
	for _, o := range all {
		if o == s {
			return all
		}
	}
	return append(all, s)
}
