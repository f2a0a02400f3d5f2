package gateway

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"bellwether/engine/dialect"
	"bellwether/engine/fleet"
	"bellwether/engine/route"
)

// AskOptions say where a request of our own may go and how it is treated.
type AskOptions struct {
	// Deployment is the only one that may answer; zero = whatever the request's
	// model name stands for.
	Deployment fleet.DeploymentID
	App        string // name in records and fairness, like bellwether/eval
	Task       string // what it is about, where its asker knows; "" = as read
	// Timeout is for everything: waiting, loading, answering; 0 = the fleet's.
	// A call that runs into it may still run: its deployment is held as any is.
	Timeout    time.Duration
	Batch      bool // class batch: apps go first
	NoHold     bool // refused at once where it would have to wait for a change
	NoFallback bool // the named model and no other
	NoRetry    bool // one attempt
	Probing    bool // see route.Query.Probing
}

// Asked is what came of a request of our own.
type Asked struct {
	ID         string             // of its record
	Reply      *dialect.Reply     // nil on an error
	Deployment fleet.DeploymentID // of the last attempt; zero = it got no place
	Usage      dialect.Usage      // negative counts are unknown
	Timings    dialect.Timings    // as the runtime measured; 0 = not given
	Queued     time.Duration      // waiting for a place
	Load       time.Duration      // part of TTFT and Took
	TTFT       time.Duration      // dispatch to first content; with an unstreamed request, to the end
	Took       time.Duration      // dispatch to end; 0 with an error
	Notes      []string
	// Failure is how the last attempt failed; nil with a Reply. With an error and
	// no Failure the request never reached a runtime.
	Failure *fleet.Failure
}

// asking is where an exchange without a client puts its answer.
type asking struct {
	Asked
	ctx     context.Context
	own     bool // no app is behind it
	timeout time.Duration
	once    bool
	over    <-chan time.Time // the time for waiting has passed
	problem *dialect.Problem
}

// askGrace is how much longer than its timeout a request of ours may take, so
// that it is the agent's deadline that ends a call, which then counts as one
// that may still run.
const askGrace = 500 * time.Millisecond

// Ask makes a request of our own: it is placed, reserves, waits its turn, is
// validated, completed and recorded as any app's, with no client behind it.
// r is not changed and must not be while Ask runs. The error is a
// *dialect.Problem; what is known besides stands in Asked, which is never nil.
// The end of ctx gives the request up.
func (g *Gateway) Ask(ctx context.Context, r *dialect.Request, o AskOptions) (*Asked, error) {
	now := time.Now()
	own := *r
	own.Protocol = cmp.Or(own.Protocol, dialect.OpenAIChat)
	if o.Deployment != (fleet.DeploymentID{}) {
		own.Model = o.Deployment.String()
	}
	x := &exchange{g: g, proto: own.Protocol, id: newID(now), start: now, req: &own, out: &responder{}}
	x.query = route.Query{
		Request: x.id, Model: own.Model, Origin: g.NodeID, Arrived: now, Attempt: 1, NoHold: o.NoHold, Probing: o.Probing,
		Needs: g.Read(&own, route.Meta{KeyName: o.App, KeyBatch: o.Batch, ToolKey: g.ToolKey}),
	}
	n := &x.query.Needs
	n.NoFallback, n.Timeout = o.NoFallback, o.Timeout
	if o.Task != "" {
		n.PrimaryTask, n.Tasks, n.Clear = o.Task, map[string]float64{o.Task: 1}, true
	}
	x.query.Fallbacks = route.FallbackModels(&own, "")
	x.parsed = time.Since(now)
	x.asked = &asking{Asked: Asked{ID: x.id, Usage: dialect.NoUsage}, ctx: ctx, own: true, timeout: o.Timeout, once: o.NoRetry}
	if o.Timeout > 0 {
		timer := time.NewTimer(o.Timeout)
		defer timer.Stop()
		x.asked.over = timer.C
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.Timeout+askGrace)
		defer cancel()
	}
	x.await(ctx)
	return x.answer()
}

// answer gathers what the exchange has seen.
func (x *exchange) answer() (*Asked, error) {
	a := &x.asked.Asked
	a.Queued, a.Notes = x.queued, x.notes
	if x.grant != nil {
		a.Deployment = x.grant.Deployment
		a.Usage, a.Load, a.TTFT = x.attempt.usage, x.attempt.load, x.attempt.first
		if t := x.attempt.timings; t != nil {
			a.Timings = *t
		}
	}
	if p := x.asked.problem; p != nil {
		a.Reply, a.Failure = nil, x.last
		return a, p
	}
	return a, nil
}

// once reports whether a failed attempt is the last one whatever failed.
func (x *exchange) once() bool { return x.asked != nil && x.asked.once }

// waited is when a request of ours has waited long enough for a place; nil,
// which never comes, for all others: their holds and queues have ends.
func (x *exchange) waited() <-chan time.Time {
	if x.asked == nil {
		return nil
	}
	return x.asked.over
}

// gaveUp ends a request of ours that got no place in its time.
func (x *exchange) gaveUp() {
	x.ticket.Abandon("no place in its time")
	p, outcome := x.asked.tooLate(), fleet.OutcomeHeldOut
	if x.last != nil {
		p, outcome = x.failureProblem(x.last), fleet.OutcomeFailed
	}
	x.fail(p)
	x.closeWith(outcome, p)
}

// got takes a validated answer.
func (x *exchange) got(r *dialect.Reply) {
	x.asked.Reply, x.asked.Took = r, time.Since(x.attempt.began)
}

// givenUp is what an asker is told whose context ended, or whose time did.
func (a *asking) givenUp() *dialect.Problem {
	if a.ctx.Err() == nil {
		return a.tooLate()
	}
	no := false
	return &dialect.Problem{Status: statusClientLeft, Code: "cancelled", Message: "The request was given up.", Retry: &no}
}

func (a *asking) tooLate() *dialect.Problem {
	yes := true
	return &dialect.Problem{Status: http.StatusGatewayTimeout, Code: "timeout", Retry: &yes,
		Message: "There was no answer within " + a.timeout.String() + "."}
}
