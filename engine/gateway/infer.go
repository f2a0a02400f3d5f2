package gateway

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"bellwether/engine/dialect"
	"bellwether/engine/fleet"
	"bellwether/engine/queue"
	"bellwether/engine/route"
)

// exchange is one inference request from its bytes to its last byte. One
// goroutine owns it: the request's own.
type exchange struct {
	g     *Gateway
	w     http.ResponseWriter
	r     *http.Request
	who   caller
	proto dialect.Protocol
	id    string // newID
	start time.Time

	req    *dialect.Request
	query  route.Query
	out    *responder
	ticket *queue.Ticket

	ident    dialect.Identity
	decision *route.Decision
	granted  *route.Decision // the one behind the last attempt
	grant    *fleet.Grant
	served   *fleet.Deployment // as of the grant; never changed
	queued   time.Duration
	parsed   time.Duration // reading and understanding the request
	last     *fleet.Failure
	outside  *route.Exclusion // why the weights that answered may not answer for the contract
	attempt  attempt
	steps    []route.FailoverStep
	retries  int // attempts made after the first
	edits    []string
	notes    []string
	mayRun   bool

	// asked is set for our own requests (Ask) and for parts of a batch: the answer
	// goes in there.
	asked *asking
	part  *partOf            // set for a part of a batch
	parts []route.RecordPart // of a batch that was split, for its record
}

// infer serves one inference endpoint.
func (g *Gateway) infer(w http.ResponseWriter, r *http.Request, proto dialect.Protocol, who caller) {
	now := time.Now()
	x := &exchange{g: g, w: w, r: r, who: who, proto: proto, id: newID(now), start: now}
	ids := append(make([]fact, 0, 2), fact{"X-Fleet-Request-Id", x.id})
	switch proto {
	case dialect.Anthropic, dialect.AnthropicCount:
		ids = append(ids, fact{"Request-Id", wireID(x.id)})
	case dialect.OpenAIChat, dialect.OpenAICompletion, dialect.OpenAIResponses, dialect.OpenAIEmbeddings:
		ids = append(ids, fact{"X-Request-Id", wireID(x.id)})
	}
	setFacts(w.Header(), ids)
	if p := x.read(); p != nil {
		g.refuse(w, proto, p, x.id)
		return
	}
	switch {
	case proto == dialect.AnthropicCount:
		x.countTokens()
	case x.req.LoadOnly && unloads(x.req.KeepAlive):
		x.unload()
	default:
		x.run(r.Context())
	}
}

// read takes the body in and turns it into a query. Nothing is kept of a
// request that cannot be understood.
func (x *exchange) read() *dialect.Problem {
	body, p := readBody(x.w, x.r, x.g.live.Load().MaxBody, x.g.BodyPatience)
	if p != nil {
		return p
	}
	if x.req, p = dialect.Parse(x.proto, body); p != nil {
		return p
	}
	if p = x.g.checkAsked(x.req.Model); p != nil {
		return p
	}
	if p = x.g.items.resolve(x.req, x.start); p != nil {
		return p
	}
	began := time.Now()
	if p = x.fetchImages(x.r.Context()); p != nil {
		return p
	}
	fetched := time.Since(began)
	x.query = route.Query{
		Request: x.id, Model: x.req.Model, Needs: x.g.Read(x.req, x.meta()),
		Origin: x.g.NodeID, Arrived: x.start, Attempt: 1,
	}
	if p = route.OverrideProblem(x.r.Header.Get, x.g.Policy()); p != nil {
		return p
	}
	x.query.Fallbacks = route.FallbackModels(x.req, x.r.Header.Get("X-Fleet-Fallbacks"))
	x.parsed = time.Since(x.start) - fetched
	return nil
}

// meta gathers what headers and the caller's key say about the request.
func (x *exchange) meta() route.Meta {
	m := route.Meta{
		Header: x.r.Header.Get, KeyName: x.who.app(), MayPull: x.who.loopback || x.who.mayManage(), ToolKey: x.g.ToolKey,
	}
	if k := x.who.key; k != nil {
		m.KeyBatch, m.KeyLimit = k.Batch, k.Limit
	}
	return m
}

// run gets grants until one attempt ends the request.
func (x *exchange) run(ctx context.Context) {
	policy := x.g.Policy()
	x.ident = dialect.Identity{ID: x.id, Model: x.req.Model, Created: x.start, Now: time.Now, InputEstimate: x.query.Needs.Tokens.Input,
		ToolCallID: x.toolCallID}
	var enc dialect.Encoder
	if x.req.Stream {
		enc = dialect.NewEncoder(x.req, x.ident)
	}
	x.out = newResponder(x.w, enc, x.facts)
	x.out.openAfter(policy.OpenAfter)
	defer x.out.stop()
	if parts := x.split(); parts != nil {
		x.together(ctx, parts)
		return
	}
	x.classify(ctx)
	x.await(ctx)
}

// bind gives an embedding contract its anchor before the first request to it
// is placed, if it can have one.
func (x *exchange) bind() {
	if c, name := x.g.Policy().ContractFor(x.query.Model); c != nil && c.Anchor == nil && x.g.Bind != nil {
		x.g.Bind(name)
	}
}

// await takes grants until one attempt ends the request, and completes and
// records it once.
func (x *exchange) await(ctx context.Context) {
	if x.part == nil {
		x.g.metrics.inFlight.Inc()
		defer x.g.metrics.inFlight.Dec()
		x.bind()
	}
	x.ticket = x.g.Dispatcher.Submit(&x.query)
	defer func() {
		if p := recover(); p != nil { // a handler's panic must not keep a slot
			x.ticket.Abandon("internal error")
			panic(p)
		}
	}()
	for {
		select {
		case <-ctx.Done():
			x.ticket.Abandon("client gone")
			x.left()
			x.close(fleet.OutcomeClientDisconnected, nil)
			return
		case <-x.waited():
			x.gaveUp()
			return
		case a := <-x.ticket.C():
			x.decision, x.queued = a.Decision, a.Queued
			if a.Grant == nil {
				x.refused(a)
				return
			}
			x.grant, x.granted = a.Grant, a.Decision
			if x.serve(ctx, a.Grant) {
				return
			}
		}
	}
}

// toolCallID names the n-th tool call of the answer: by the id the results find
// back to the model that made it.
func (x *exchange) toolCallID(n int) string {
	id := route.MintToolCallID(x.g.ToolKey, x.served.Identity(), x.id, n)
	if x.proto == dialect.Anthropic {
		return route.AnthropicToolCallID(id)
	}
	return id
}

// identify sets what the answer says of itself, now that it is known who serves
// it: the model's name where it is to be that of the deployment, and for
// Anthropic's message_start the prompt as that model counts.
func (x *exchange) identify(g *fleet.Grant) {
	name, estimate := x.ident.Model, x.ident.InputEstimate
	if x.g.live.Load().ResponseModel == "deployment" {
		name = g.Deployment.Model
	}
	if x.proto == dialect.Anthropic {
		estimate = x.granted.InputTokens(&x.query)
	}
	if name != x.ident.Model || estimate != x.ident.InputEstimate {
		x.ident.Model, x.ident.InputEstimate = name, estimate
		x.out.rename(func() dialect.Encoder { return dialect.NewEncoder(x.req, x.ident) })
	}
}

// serve makes one attempt with a grant; done is false when another grant is
// to be waited for.
func (x *exchange) serve(ctx context.Context, g *fleet.Grant) (done bool) {
	if !x.ticket.Used(*g) {
		return false // it went back unused meanwhile
	}
	x.served = x.g.deployment(g.Deployment)
	x.identify(g)
	x.attempt = attempt{began: time.Now()}
	before := x.retries
	x.retries = g.Attempt - 1
	err := x.try(ctx, g)
	var refusal *fleet.Refusal
	if errors.As(err, &refusal) {
		x.retries = before
		x.ticket.Refused(*g, refusal)
		return false
	}
	if err == nil {
		x.complete(fleet.OutcomeOK, nil, false)
		return true
	}
	f := asFailure(err)
	if ctx.Err() != nil || x.out.broken() {
		x.left()
		x.complete(fleet.OutcomeClientDisconnected, &fleet.Failure{Class: fleet.FailCancelled, Message: "the client left", MayRun: f.MayRun}, false)
		return true
	}
	if f.Class != fleet.FailConnect { // that one is tried elsewhere or waits, see queue
		x.last = f
	}
	if !x.out.body && retryable(f) && !x.once() {
		x.steps = append(x.steps, route.FailoverStep{Deployment: g.Deployment, Failure: *f, AfterMs: ms(time.Since(x.attempt.began))})
		x.mayRun = x.mayRun || f.MayRun
		c := x.completed(fleet.OutcomeFailed, f, true)
		x.g.Dispatcher.Completed(c)
		x.g.Learn(c, x.served)
		x.ticket.Retry(*g, *f, false)
		return false
	}
	p := x.failureProblem(f)
	x.fail(p)
	x.complete(outcomeOf(f, x.out.body), f, false)
	return true
}

// unknownDeployment stands for one that left the fleet with its grant under way.
var unknownDeployment = new(fleet.Deployment)

// deployment returns a deployment of the fleet as it is now; it is part of the
// snapshot and must not be changed.
func (g *Gateway) deployment(id fleet.DeploymentID) *fleet.Deployment {
	if n := g.Fleet().Node(id.Node); n != nil {
		if d := n.Deployment(id); d != nil {
			return d
		}
	}
	return unknownDeployment
}

// statusClientLeft is what proxies answer to a connection that was given up.
const statusClientLeft = 499

// left answers a client that gave its connection up before a byte was out. One
// that only closed its sending half still reads: silence would reach it as an
// empty 200.
func (x *exchange) left() {
	if x.asked != nil {
		x.asked.problem = x.asked.givenUp()
		return
	}
	x.out.failUnopened(x.g, x.proto, &dialect.Problem{Status: statusClientLeft, Code: "client_left",
		Message: "The connection was closed while the answer was waited for, so the request was given up.",
		Remedy:  "Keep it open in both directions until the answer is there."}, x.id)
}

// retryable reports whether another attempt may cure a failure: not when the
// request itself is at fault, unless it was too long for one context and its
// runtime said by how much.
func retryable(f *fleet.Failure) bool {
	return (!f.Caller || f.Tokens > 0) && f.Class != fleet.FailCancelled
}

// Codes of failures, as the adapters give them, that decide how a request ended.
const (
	codeCut       = "cut"             // the answer ended before its end marker
	codeMalformed = "malformed_frame" // a frame that is no part of a completion
	codeMissing   = "model_not_found" // deleted behind our back
	codeDenied    = "runtime_unauthorized"
)

// outcomeOf names how an attempt that failed for good ended.
func outcomeOf(f *fleet.Failure, content bool) fleet.Outcome {
	switch {
	case content && (f.Class == fleet.FailInvalid || f.Code == codeMalformed):
		return fleet.OutcomeStreamInvalidAfterCommit
	case content && f.Class == fleet.FailMidStream && f.Code == codeCut:
		return fleet.OutcomeTruncated
	case f.Caller, f.Class == fleet.FailContract && f.Code != codeVectors:
		return fleet.OutcomeRefused
	default:
		return fleet.OutcomeFailed
	}
}

// refused ends a request that got no grant. When an attempt had failed before,
// its failure is what the client needs to know.
func (x *exchange) refused(a queue.Answer) {
	p := route.RefusalProblem(a.Decision, &x.query, a.HeldOut)
	outcome := fleet.OutcomeRefused
	switch {
	case x.last != nil && x.last.Tokens > 0 && a.Decision.RefuseCode == route.RefuseContext:
		// Nothing holds what was counted: the refusal has the numbers of the nearest.
	case x.last != nil:
		p = x.failureProblem(x.last)
		outcome = outcomeOf(x.last, false)
	case a.HeldOut:
		outcome = fleet.OutcomeHeldOut
	case a.Decision.RefuseCode == route.RefuseAppLimit:
		p.RetryAfter = cmp.Or(x.g.Policy().RetryAfter, p.RetryAfter)
	case a.Decision.RefuseCode == route.RefuseAskPull && x.g.AskPull != nil:
		x.g.AskPull(x.req.Model, x.query.Needs.App)
	}
	if p.Code == dialect.CodeContextLength {
		p.Param = x.promptParam()
	}
	x.fail(p)
	x.closeWith(outcome, p)
}

// fail tells the client, or whoever of us asks.
func (x *exchange) fail(p *dialect.Problem) {
	if x.asked != nil {
		x.asked.problem = p
		return
	}
	x.out.fail(x.g, x.proto, p, x.id)
}

// facts appends the X-Fleet headers of an answer; none before a grant.
func (x *exchange) facts(facts []fact) []fact {
	if x.decision == nil || x.grant == nil {
		return facts
	}
	d := x.grant.Deployment
	facts = append(facts,
		fact{"X-Fleet-Node", x.nodeName(d.Node)},
		fact{"X-Fleet-Deployment", x.g.Fleet().Called(d)},
		fact{"X-Fleet-Served-Model", d.Model},
		fact{"X-Fleet-Requested-Model", x.req.Model},
		fact{"X-Fleet-Queue-Ms", strconv.FormatInt(x.queued.Milliseconds(), 10)})
	if x.decision.Profile != "" {
		facts = append(facts, fact{"X-Fleet-Profile", x.decision.Profile})
	}
	for i := range x.decision.Candidates {
		if c := &x.decision.Candidates[i]; c.Deployment == d {
			facts = append(facts, fact{"X-Fleet-Score", strconv.FormatFloat(c.NodeScore, 'f', 1, 64)})
			if c.Signals.SessionAffinity > 0 {
				facts = append(facts, fact{"X-Fleet-Affinity", "session"})
			}
			break
		}
	}
	if x.retries > 0 {
		facts = append(facts, fact{"X-Fleet-Retries", strconv.Itoa(x.retries)})
	}
	if x.decision.Fallback {
		facts = append(facts, fact{"X-Fleet-Fallback", d.Model})
	}
	return facts
}

func (x *exchange) nodeName(id string) string { return x.g.Fleet().NameOf(id) }

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
