package runtime

import (
	"io"
	"strconv"
	"sync/atomic"
	"time"

	"bellwether/engine/dialect"
	"bellwether/engine/fleet"
)

// answer is what the streams of all adapters share: the exchange they read,
// whether the answer has begun, and how it ended. Next runs on one goroutine;
// Close on any.
type answer struct {
	x       *exchange
	text    bool // some text has come
	thought bool // some reasoning has come
	calls   int  // tool calls begun
	final   atomic.Bool
	failed  error
	notes   []string
}

// begun reports whether the answer had content: from then on a failure is one
// of mid-stream.
func (a *answer) begun() bool { return a.text || a.thought || a.calls > 0 }

// over returns what Next must return without reading, nil to go on.
func (a *answer) over() error {
	if a.failed != nil {
		return a.failed
	}
	if a.final.Load() {
		return io.EOF
	}
	return nil
}

// fail ends the call.
func (a *answer) fail(err error) error {
	a.failed = err
	a.x.abandon()
	return err
}

// broken is the end of the body where none should be.
func (a *answer) broken(err error) error { return a.fail(a.x.readFailure(err, a.begun())) }

// malformed is a frame that is not what it should be: a 200 that is no
// completion, or a stream broken from there on.
func (a *answer) malformed(what string) error {
	f := &fleet.Failure{Class: fleet.FailInvalid, Status: a.x.status, Code: CodeMalformed, Message: what}
	if a.begun() {
		f.Class = fleet.FailMidStream
	}
	return a.fail(f)
}

// said is the runtime's own error in place of the rest of the answer. The
// runtime has ended its work on the call by saying so.
func (a *answer) said(v dialect.Raw) error {
	words := a.x.remote.said(v)
	f := &fleet.Failure{Class: fleet.FailBeforeOpen, Status: a.x.status, Code: CodeRuntimeError, Message: words.text}
	if a.begun() {
		f.Class = fleet.FailMidStream
	}
	f.Caller = words.callers()
	if words.kind == "exceed_context_size_error" {
		f.Code, f.Caller = CodeContextExceeded, true
		f.Tokens, f.Context = words.counts()
	}
	if f.Message == "" {
		f.Message = "the runtime reported an error without words"
	}
	return a.fail(f)
}

// Close ends the call. After the end marker it leaves the connection fit for
// the next one; before, it cuts it (or lets it run out, with Target.Drain).
func (a *answer) Close() {
	if a.final.Load() {
		a.x.settle()
		return
	}
	a.x.abandon()
}

// Notes says what was remarkable about the answer; complete after Final.
func (a *answer) Notes() []string { return a.notes }

// remark looks at a finished answer for the two ways to be empty at a price.
func (a *answer) remark(finish dialect.Finish, u *dialect.Usage) {
	if a.text || a.calls > 0 || u == nil || u.Output <= 1 {
		return
	}
	if a.thought {
		a.notes = append(a.notes, "no answer text: all "+strconv.Itoa(u.Output)+" tokens went into reasoning")
		return
	}
	if finish != dialect.FinishLoad && finish != dialect.FinishUnload {
		a.notes = append(a.notes, "empty answer though "+strconv.Itoa(u.Output)+" tokens were spent: the runtime may have swallowed a call of an undeclared tool")
	}
}

// What no runtime can mean: sums of such numbers overflow, and a rate or a price
// made from one is worth nothing.
const (
	mostTokens  = 1_000_000_000      // of one request
	longestSpan = 7 * 24 * time.Hour // of one part of it
)

// count reads a whole number of the metadata, -1 (unknown) when it is none, is
// negative or over mostTokens.
func count(v dialect.Raw) int {
	n, err := strconv.Atoi(string(v))
	if err != nil || n < 0 || n > mostTokens {
		return -1
	}
	return n
}

// span reads a time in units, 0 (not given) when it is none, is negative or
// over longestSpan.
func span(v dialect.Raw, unit time.Duration) time.Duration {
	f, err := strconv.ParseFloat(string(v), 64)
	f *= float64(unit)
	if err != nil || !(f >= 0 && f <= float64(longestSpan)) { // NaN is neither
		return 0
	}
	return time.Duration(f)
}

// vector reads an array of numbers; ok is false when one is not a number.
func vector(v dialect.Raw) (out []float32, ok bool) {
	if v.Kind() != '[' {
		return nil, false
	}
	out = make([]float32, 0, 1+len(v)/12)
	for _, e := range dialect.Elements(v) {
		f, err := strconv.ParseFloat(string(e), 32)
		if err != nil {
			return nil, false
		}
		out = append(out, float32(f))
	}
	return out, true
}

// openAILogprobs gives token probabilities the members that OpenAI's clients
// expect in every entry: bytes (null where unknown) and top_logprobs.
func openAILogprobs(v dialect.Raw) dialect.Raw {
	if v.Kind() != '[' {
		return nil
	}
	w := newBuilder(len(v) + 64)
	logprobList(w, v, true)
	return w.b
}

func logprobList(w *builder, v dialect.Raw, top bool) {
	w.open('[')
	for _, e := range dialect.Elements(v) {
		w.open('{')
		for _, name := range [...]string{"token", "logprob", "bytes"} {
			w.key(name)
			w.raw(e.Get(name))
		}
		if top {
			w.key("top_logprobs")
			logprobList(w, e.Get("top_logprobs"), false)
		}
		w.shut('}')
	}
	w.shut(']')
}
