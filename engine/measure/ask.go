package measure

import (
	"cmp"
	"context"
	"errors"
	"time"

	"bellwether/engine/dialect"
	"bellwether/engine/fleet"
)

// Asker places a request of ours and waits for its answer. The error is a
// *dialect.Problem; Answer is never nil and says what is known besides.
type Asker interface {
	Ask(ctx context.Context, r *dialect.Request, q Question) (*Answer, error)
}

// Question says how a request is to be treated. All of ours are of class batch.
type Question struct {
	Deployment fleet.DeploymentID // the only one that may answer
	App        string
	Task       string
	Timeout    time.Duration
	NoHold     bool // refused at once where it would have to wait for a change
	Probing    bool // what is not known of a capability is not in its way
}

// Answer is what came of a question.
type Answer struct {
	Reply      *dialect.Reply // nil on an error
	Usage      dialect.Usage  // negative counts are unknown
	Timings    dialect.Timings
	TTFT, Took time.Duration
	Load       time.Duration  // part of both
	Failure    *fleet.Failure // of the attempt; nil when it got no place
}

// Target is a deployment to ask.
type Target struct {
	Deployment fleet.Deployment
	Node       string  // what people call its node
	Bandwidth  float64 // of that node's memory, GB/s; 0 = unknown
}

// Name is how people call the target: node/runtime/model.
func (t *Target) Name() string {
	id := t.Deployment.ID
	id.Node = cmp.Or(t.Node, id.Node)
	return id.String()
}

// fingerprint names what exactly was asked: a deployment with these weights. A model
// that was pulled again is another make.
func (t *Target) fingerprint() string {
	d := &t.Deployment
	return d.ID.String() + "@" + cmp.Or(d.Digest, d.Kind)
}

// say makes a request of one turn.
func say(text string) *dialect.Request {
	return &dialect.Request{Protocol: dialect.OpenAIChat, Stream: true, Messages: []dialect.Message{turn(text)}}
}

func turn(text string) dialect.Message {
	return dialect.Message{Role: dialect.RoleUser, Parts: []dialect.Part{{Kind: dialect.PartText, Text: dialect.Quote(text)}}}
}

// steady makes answers repeatable as far as the runtime can: no chance in
// choosing tokens, and a fixed seed where that is passed on.
func steady(r *dialect.Request, d *fleet.Deployment, most int) *dialect.Request {
	zero, seed := 0.0, int64(7)
	r.Sampling.Temperature = &zero
	if d.Honour("seed") {
		r.Sampling.Seed = &seed
	}
	r.MaxOutput = &most
	return r
}

// patient asks at once where it may, and waits for its turn where something is
// in the way that may pass.
func patient(ctx context.Context, who Asker, r *dialect.Request, q Question) (*Answer, error) {
	q.NoHold = true
	a, err := who.Ask(ctx, r, q)
	if err == nil || a.Failure != nil || away(err) != "" || ctx.Err() != nil {
		return a, err
	}
	q.NoHold = false
	return who.Ask(ctx, r, q)
}

// away says why a node takes no work of ours until its owner or its state
// changes, "" for what may pass in a moment.
func away(err error) string {
	var p *dialect.Problem
	if !errors.As(err, &p) {
		return ""
	}
	switch {
	case fleet.Code(p.Code).Away():
		return p.Text()
	case p.Code == "shutting_down":
		return "the engine is stopping"
	}
	return ""
}
