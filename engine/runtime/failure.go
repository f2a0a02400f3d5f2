package runtime

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"regexp"
	"strings"
	"unicode/utf8"

	"bellwether/engine/dialect"
	"bellwether/engine/fleet"
)

// Codes of failures that callers of this package branch on.
const (
	CodeModelNotFound   = "model_not_found"         // not on this runtime; another may have it
	CodeContextExceeded = "context_length_exceeded" // the prompt does not fit the loaded context
	CodeLoading         = "loading"                 // the runtime is still loading its model
	CodeBusy            = "runtime_busy"            // the runtime's own queue is full
	CodeUnauthorized    = "runtime_unauthorized"    // the runtime refuses our key or our address
	CodeUnsupported     = "unsupported"             // this runtime cannot do that
	CodeMalformed       = "malformed_frame"         // a frame that is no JSON of the expected form
	CodeCut             = "cut"                     // the answer ended before its end marker
	CodeOurselves       = "ourselves"               // a Bellwether answers at the runtime's address
	CodeRuntimeError    = "runtime_error"           // the runtime's own words follow
)

// dialFailure is for calls that never left.
func dialFailure(ctx context.Context, err error) error {
	if f := ended(ctx, false); f != nil {
		return f
	}
	why := "connection failed"
	switch text := err.Error(); {
	case strings.Contains(text, "refused"):
		why = "connection refused"
	case strings.Contains(text, "no such host"):
		why = "its host name is unknown"
	case strings.Contains(text, "timeout"):
		why = "no answer to the connection attempt"
	case strings.Contains(text, "certificate"), strings.Contains(text, "tls:"):
		why = "its TLS certificate is not accepted"
	}
	return &fleet.Failure{Class: fleet.FailConnect, Message: "the runtime cannot be reached: " + why}
}

// openFailure is for calls that left and got no response head. When the peer
// itself ended the connection, its work on the call is over; only a call that
// we gave up may still run.
func openFailure(ctx context.Context, err error, sent bool) error {
	if f := ended(ctx, sent); f != nil {
		return f
	}
	msg := "the runtime closed the connection before it answered"
	if errors.Is(err, errHeadTooLong) || strings.Contains(err.Error(), "malformed") {
		msg = "the runtime's answer is not HTTP"
	}
	return &fleet.Failure{Class: fleet.FailBeforeOpen, Message: msg}
}

// readFailure is for a body that breaks off. content says whether some of the
// answer had been passed on.
func (x *exchange) readFailure(err error, content bool) error {
	if f := ended(x.ctx, true); f != nil {
		return f
	}
	if x.aborts.Load() {
		return &fleet.Failure{Class: fleet.FailCancelled, Message: "the call was ended", MayRun: true}
	}
	f := &fleet.Failure{Class: fleet.FailBeforeOpen, Code: CodeCut, Status: x.status}
	if content {
		f.Class = fleet.FailMidStream
	}
	switch {
	case errors.Is(err, errLineTooLong):
		f.Class, f.Code, f.Message = fleet.FailInvalid, CodeMalformed, "the runtime sent a frame of more than 64 MiB"
	case err == io.EOF:
		f.Message = "the runtime ended its answer without an end marker"
	default:
		f.Message = "the connection to the runtime broke off"
	}
	return f
}

// ended is the failure of a call whose context ended: the cause where the
// canceller gave a *fleet.Failure (a deadline of the agent), else timeout or
// cancelled. nil while the context lives.
func ended(ctx context.Context, mayRun bool) *fleet.Failure {
	if ctx.Err() == nil {
		return nil
	}
	var given *fleet.Failure
	switch cause := context.Cause(ctx); {
	case errors.As(cause, &given):
		f := *given
		f.MayRun = mayRun
		return &f
	case errors.Is(cause, context.DeadlineExceeded):
		return &fleet.Failure{Class: fleet.FailTimeout, Message: "the deadline of the call passed", MayRun: mayRun}
	default:
		return &fleet.Failure{Class: fleet.FailCancelled, Message: "the call was cancelled", MayRun: mayRun}
	}
}

// statusFailure turns a response that is no success into a Failure. Whatever
// the body is (JSON of either shape, text, a web page), the status is kept.
func (x *exchange) statusFailure() error {
	defer x.abort()
	body, err := io.ReadAll(io.LimitReader(x, 64<<10))
	if err != nil && ended(x.ctx, true) != nil {
		return ended(x.ctx, true)
	}
	f := x.remote.refused(x.status, x.contentType, body)
	f.RetryAfter = x.retryAfter
	return f
}

// refused reads an error answer, as failureOf does.
func (r *remote) refused(status int, contentType string, body []byte) *fleet.Failure {
	f := failureOf(status, contentType, body)
	f.Message = r.withoutKey(f.Message)
	return f
}

// said reads an error that came in place of an answer, or in its midst.
func (r *remote) said(v dialect.Raw) said {
	s := errorValue(v, 0)
	s.text = r.withoutKey(s.text)
	return s
}

// withoutKey takes our key out of a runtime's words: some say which key it is
// that they refuse.
func (r *remote) withoutKey(words string) string {
	if key := r.key(); key != "" {
		return strings.ReplaceAll(words, key, "(key)")
	}
	return words
}

// failureOf reads an error answer:
//  1. 404, and 400 "model ... not found": the model is missing here;
//  2. 408: asked again elsewhere; 429 and "server busy": back-pressure;
//  3. 503 while loading: back-pressure too, with its own code;
//  4. 401, 403: this runtime's settings are wrong, not the request;
//  5. any other 4xx, 501, and what says so whatever its status: the request is
//     at fault and would be everywhere;
//  6. the rest: the runtime failed.
func failureOf(status int, contentType string, body []byte) *fleet.Failure {
	said := errorText(status, contentType, body)
	f := &fleet.Failure{Class: fleet.FailStatus, Status: status, Code: CodeRuntimeError, Message: said.text}
	lower := strings.ToLower(said.text)
	missing := strings.Contains(lower, "model") && strings.Contains(lower, "not found")
	switch {
	case missing && (status == 404 || status == 400):
		f.Code = CodeModelNotFound
	case status == 404 || status == 405:
		f.Code = CodeUnsupported
	case status == 408:
	case status == 429:
		f.Class, f.Code = fleet.FailBackPressure, CodeBusy
	case strings.Contains(lower, "model limit reached"): // a router whose models are all busy, as 500
		f.Class, f.Code = fleet.FailBackPressure, CodeBusy
	case status == 503 && strings.Contains(lower, "loading model"):
		f.Class, f.Code = fleet.FailBackPressure, CodeLoading
	case status == 503 && (strings.Contains(lower, "server busy") || strings.Contains(lower, "maximum pending")):
		f.Class, f.Code = fleet.FailBackPressure, CodeBusy
	case status == 401 || status == 403:
		f.Code = CodeUnauthorized
		if said.text == "" {
			f.Message = "the runtime refuses calls from this address or with this key"
		}
	case said.kind == "exceed_context_size_error" || strings.Contains(lower, "exceeds the available context") || strings.Contains(lower, "exceeds the context length"),
		strings.Contains(lower, "tokens) is too large to process"): // an embedding's input, by llama-server, as 500
		f.Code, f.Caller = CodeContextExceeded, true
		f.Tokens, f.Context = said.counts()
	case status >= 400 && status < 500, said.callers():
		f.Caller = true
	case status == 501:
		f.Code, f.Caller = CodeUnsupported, true
	case status < 400:
		f.Class, f.Message = fleet.FailInvalid, "the runtime answered "+statusText(status)+" instead of a completion"
	}
	if f.Message == "" {
		f.Message = "the runtime answered " + statusText(status)
	}
	return f
}

func statusText(status int) string {
	if t := http.StatusText(status); t != "" {
		return t
	}
	return "an unknown status"
}

// said is what an error body says.
type said struct {
	text, kind string
	object     dialect.Raw // what the words were a member of
}

// reCounts finds the counts of a prompt that is too long, and of what there is,
// in the words of runtimes that do not give them as members.
var reCounts = regexp.MustCompile(`\((\d+) tokens\)(?:.*?size:? \(?(\d+))?`)

// counts are the prompt's tokens and the context's, 0 = not said.
func (s *said) counts() (tokens, context int) {
	tokens, context = count(s.object.Get("n_prompt_tokens")), count(s.object.Get("n_ctx"))
	if m := reCounts.FindStringSubmatch(s.text); tokens <= 0 && m != nil {
		tokens, context = count(dialect.Raw(m[1])), count(dialect.Raw(m[2]))
	}
	return max(0, tokens), max(0, context)
}

// reCallers finds the words for a caller's mistake that runtimes answer as a
// failure of their own: Ollama an option's type, a template and a context of the
// caller's (the ids of another model's tokens), llama-server turns and tools, and
// Ollama again whatever the llama-server under it refuses.
var reCallers = regexp.MustCompile(`^option "\w+" must be of |^detokenize error|^template: |^undefined template|^invalid format|^Failed to parse (?:messages|tools?\b)|Jinja Exception|\binput is not supported|\btype:invalid_request_error`)

// callers reports whether the words are of a mistake in the request.
func (s *said) callers() bool {
	return s.kind == "invalid_request_error" || reCallers.MatchString(s.text)
}

// errorText finds the words in an error body: {"error":"text"}, {"error":
// {"message","type"}}, either nested as a string in the first, or plain text.
// A web page is not quoted.
func errorText(status int, contentType string, body []byte) said {
	body = bytes.TrimSpace(body)
	if !validJSON(body) {
		if len(body) == 0 || strings.Contains(contentType, "html") || body[0] == '<' {
			return said{}
		}
		return said{text: tidy(string(body))}
	}
	return errorValue(dialect.Raw(body), 0)
}

func errorValue(v dialect.Raw, depth int) said {
	switch v.Kind() {
	case '"':
		text := dialect.Text(v).String()
		if depth < 3 && strings.HasPrefix(text, "{") && validJSON([]byte(text)) {
			return errorValue(dialect.Raw(text), depth+1)
		}
		return said{text: tidy(text)}
	case '{':
		if inner := v.Get("error"); !inner.None() && depth < 3 {
			return errorValue(inner, depth+1)
		}
		if msg := v.Get("message"); msg.Kind() == '"' {
			s := errorValue(msg, depth+1)
			if kind := v.Get("type"); s.kind == "" && kind.Kind() == '"' {
				s.kind = dialect.Text(kind).String()
			}
			if s.object == nil {
				s.object = v
			}
			return s
		}
	}
	return said{}
}

// A runtime's words may name its address and its files; neither concerns a
// client, nor may reach a log (routing.md 14).
var (
	reAddress = regexp.MustCompile(`(?i)(?:\b(?:https?|tcp|unix)://[^\s"']+|\b(?:dial|read|write) tcp [^\s"']+|\blocalhost:\d+|\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b|\[[0-9a-f:.]*:[0-9a-f:.]*(?:%\w+)?\](?::\d+)?)`)
	rePath    = regexp.MustCompile(`(^|[\s"'=(:,\[])(?:~|\.{1,2})?(?:/[\w.@+\-]+){2,}/?|(^|[\s"'=(,\[])(?:[A-Za-z]:\\|\\\\)[^\s"']+`)
)

const messageMost = 1000

// tidy makes a runtime's words fit to be shown: one line, bounded, without
// addresses and file names.
func tidy(s string) string {
	if len(s) > 4*messageMost {
		s = s[:4*messageMost]
	}
	s = strings.ToValidUTF8(s, "\uFFFD")
	s = strings.Map(func(r rune) rune {
		if r < 0x20 || r == 0x7f {
			return ' '
		}
		return r
	}, s)
	s = reAddress.ReplaceAllString(s, "(address)")
	s = rePath.ReplaceAllString(s, "${1}${2}(file)")
	s = strings.TrimSpace(s)
	if len(s) <= messageMost {
		return s
	}
	s = s[:messageMost]
	for !utf8.ValidString(s) {
		s = s[:len(s)-1]
	}
	return s + "…"
}
