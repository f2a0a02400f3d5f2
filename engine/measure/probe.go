package measure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	"bellwether/engine/dialect"
	"bellwether/engine/evidence"
	"bellwether/engine/fleet"
)

// AppProbe is the app that a probe's requests count as.
const AppProbe = "bellwether/probe"

// ProbeSuite names the questions of this version.
const ProbeSuite = "probe/2"

// Finding is what asking showed of one thing a deployment may be able to do.
type Finding struct {
	Deployment fleet.DeploymentID `json:"deployment"`
	Name       string             `json:"name"` // of the deployment, for people
	// Capability is one of fleet's, or context, dimensions, norm; "" = all that is
	// missing, since the probe ended early.
	Capability string    `json:"capability"`
	Support    fleet.Tri `json:"support"` // unknown = nothing was established
	Value      float64   `json:"value,omitempty"`
	Reason     string    `json:"reason"`
	Skipped    bool      `json:"skipped,omitempty"` // it was not asked
}

// Probe establishes what one deployment can do, by asking it. What it finds
// describes abilities; who a model is, an answer cannot tell. Run may be called
// once.
type Probe struct {
	Target Target
	// Current returns the deployment as it is known now, nil if it is gone: once
	// asked, its runtime has loaded it and can tell with which context. nil = as
	// in Target.
	Current func() *fleet.Deployment
	Book    *evidence.Book
	Ask     Asker
	// Watch is told of every finding; it must not block for long.
	Watch func(Finding)
	Now   func() time.Time

	found   evidence.Probed
	answers int    // questions that got one
	stopped string // why nothing more is asked
	failed  error  // of the last question that got no answer
}

// Other things a probe finds out beside fleet's capabilities.
const (
	findContext    = "context"
	findDimensions = "dimensions"
	findNorm       = "norm"
)

// outcome is what one question showed.
type outcome struct {
	support fleet.Tri
	reason  string
	value   float64
	skipped bool
}

// check is one thing to find out.
type check struct {
	capability string
	ask        func(p *Probe, ctx context.Context) outcome
}

// chatChecks are those of models that answer, the cheapest and most asked for
// first: what comes after a timeout is not asked.
var chatChecks = []check{
	{string(fleet.CapTools), (*Probe).tools},
	{string(fleet.CapToolChoiceRequired), (*Probe).toolChoice},
	{string(fleet.CapParallelTools), (*Probe).parallelTools},
	{string(fleet.CapJSONObject), (*Probe).jsonObject},
	{string(fleet.CapJSONSchema), (*Probe).jsonSchema},
	{string(fleet.CapThinking), (*Probe).thinking},
	{string(fleet.CapVision), (*Probe).vision},
	{findContext, (*Probe).context},
}

// Run asks and returns what was established, and why it ended before its end,
// nil if it did not. Where no question got an answer nothing was established:
// At is zero, and the error says why. What an operator declared is not asked.
func (p *Probe) Run(ctx context.Context) (evidence.Probed, error) {
	p.found = evidence.Probed{Suite: ProbeSuite, Results: map[fleet.Capability]fleet.Tri{}}
	d := &p.Target.Deployment
	if d.Can(fleet.CapEmbedding).Support != fleet.Yes && d.Can(fleet.CapChat).Support != fleet.No {
		for _, c := range chatChecks {
			p.note(c.capability, p.one(ctx, c))
		}
	}
	if d.Can(fleet.CapEmbedding).Support == fleet.Yes || d.Can(fleet.CapChat).Support == fleet.No {
		p.embedding(ctx)
	}
	switch {
	case p.answers == 0:
		return p.found, p.failed
	case p.stopped == "":
		p.failed = nil // what else failed was told
	}
	p.found.At = p.Now()
	return p.found, p.failed
}

func (p *Probe) one(ctx context.Context, c check) outcome {
	claim := p.Target.Deployment.Can(fleet.Capability(c.capability))
	switch {
	case p.stopped != "":
		return skip("%s", p.stopped)
	case claim.Source == fleet.SourceOperator:
		return skip("its operator declared it: %s", claim.Support)
	}
	return c.ask(p, ctx)
}

// note keeps and tells an outcome, but for what is left out since nothing was
// answered: that has one reason, which is Run's error.
func (p *Probe) note(capability string, o outcome) {
	switch {
	case o.skipped && p.stopped != "" && p.answers == 0:
		return
	case o.support == fleet.Unknown:
	case capability == findContext:
		p.found.Context = int(o.value)
	case capability == findDimensions:
		p.found.Dimensions = int(o.value)
	case capability == findNorm:
		p.found.Norm = o.value
	default:
		p.found.Results[fleet.Capability(capability)] = o.support
	}
	p.Watch(Finding{Deployment: p.Target.Deployment.ID, Name: p.Target.Name(), Capability: capability,
		Support: o.support, Value: o.value, Reason: o.reason, Skipped: o.skipped})
}

func yes(format string, args ...any) outcome {
	return outcome{support: fleet.Yes, reason: fmt.Sprintf(format, args...)}
}

func no(format string, args ...any) outcome {
	return outcome{support: fleet.No, reason: fmt.Sprintf(format, args...)}
}

func unclear(format string, args ...any) outcome {
	return outcome{reason: fmt.Sprintf(format, args...)}
}

func skip(format string, args ...any) outcome {
	return outcome{reason: fmt.Sprintf(format, args...), skipped: true}
}

// probeTime is how long one question may take, its model's load included.
const probeTime = 3 * time.Minute

// ask puts one question. A nil reply comes with what that means:
//
//  1. the runtime refuses and says that it or the model cannot do that: no;
//  2. it ran out of its time: unknown, the deployment is held as after any such
//     call, and nothing more is asked of it;
//  3. the machine is not ours at present, or we are told to stop: likewise;
//  4. anything else: unknown.
func (p *Probe) ask(ctx context.Context, r *dialect.Request) (*Answer, outcome) {
	a, err := patient(ctx, p.Ask, r, Question{Deployment: p.Target.Deployment.ID, App: AppProbe, Timeout: probeTime, Probing: true})
	if err == nil {
		p.answers++
		return a, outcome{}
	}
	var problem *dialect.Problem
	errors.As(err, &problem)
	f := a.Failure
	if f != nil && refuses(f) { // 1
		p.answers++
		return nil, no("the runtime refuses it: %s", f.Message)
	}
	p.failed = err
	switch {
	case f != nil && f.Class == fleet.FailTimeout, problem != nil && problem.Code == "timeout": // 2
		p.stopped = "an earlier question ran out of its time, and may still be running"
		return nil, unclear("no answer came in time")
	case ctx.Err() != nil: // 3
		p.stopped = "it was given up"
		return nil, skip("it was given up")
	case f == nil:
		p.stopped = err.Error()
		return nil, skip("%s", err)
	default: // 4
		return nil, unclear("the request failed: %s", f.Message)
	}
}

// refuses reports whether a runtime says that it or the model cannot do what
// was asked. There is no other sign of it than words: the status is 400 as for
// any other mistake, and llama-server gives 500 for images it has no eyes for,
// which is believed only where the words name the thing.
func refuses(f *fleet.Failure) bool {
	switch {
	case f.Class != fleet.FailStatus:
		return false
	case f.Caller && f.Code == "unsupported":
		return true
	case f.Caller && f.Status >= 400 && f.Status < 500:
		return saysUnsupported.MatchString(f.Message)
	default:
		return namesUnsupported.MatchString(f.Message)
	}
}

var (
	saysUnsupported  = regexp.MustCompile(`(?i)(does not|doesn't|do not|not|no)\s+support|unsupported|not\s+(?:available|implemented|enabled|allowed)|requires?\s+--\w+|--jinja|--mmproj|without\s+mmproj|cannot\s+(?:be used|handle|process)|multimodal`)
	namesUnsupported = regexp.MustCompile(`(?i)(image|vision|audio|multimodal|tool|thinking|schema|grammar)\w*( input)?( is| are)? (not supported|unsupported)|does not support (image|vision|audio|multimodal|tool|thinking)`)
)

// embedding asks for two vectors: their width and length.
func (p *Probe) embedding(ctx context.Context) {
	r := &dialect.Request{Protocol: dialect.OpenAIEmbeddings, Embed: &dialect.Embed{Inputs: []dialect.Text{
		dialect.Quote("The ferry leaves at noon."), dialect.Quote("Er hat die Rechnung schon bezahlt."),
	}}}
	a, o := p.ask(ctx, r)
	if a == nil {
		p.note(string(fleet.CapEmbedding), o)
		return
	}
	v := a.Reply.Vectors
	if len(v) != 2 || len(v[0]) == 0 || len(v[0]) != len(v[1]) {
		p.note(string(fleet.CapEmbedding), unclear("the answer holds %d vectors for 2 texts", len(v)))
		return
	}
	p.note(string(fleet.CapEmbedding), yes("it made a vector of each of two texts"))
	p.note(findDimensions, outcome{support: fleet.Yes, value: float64(len(v[0])), reason: fmt.Sprintf("vectors have %d numbers", len(v[0]))})
	n, m := length(v[0]), length(v[1])
	if difference := (n - m) / cmp.Or(max(n, m), 1); difference > 0.01 || difference < -0.01 {
		p.note(findNorm, unclear("the two vectors have different lengths, %.4g and %.4g: they are not normalised", n, m))
		return
	}
	p.note(findNorm, outcome{support: fleet.Yes, value: n, reason: fmt.Sprintf("vectors have a length of %.4g", n)})
}
