package dialect

import (
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
)

// EncodeProblem renders a problem as the body of a response that is not 2xx,
// in the envelope of the client's protocol. requestID goes where the protocol
// carries one (Anthropic).
func EncodeProblem(p Protocol, prob *Problem, requestID string) (contentType string, body []byte) {
	switch {
	case p == Anthropic || p == AnthropicCount:
		_, body = anthropicError(prob, requestID)
	case p.ollama():
		body = appendOllamaError(nil, prob)
	default:
		body = appendOpenAIError(nil, prob)
	}
	return ReplyContentType(p), body
}

// ProblemHeaders calls set for each header that tells SDKs when, and whether,
// to try again: Retry-After (whole seconds, rounded up), retry-after-ms, and
// x-should-retry, which overrules an SDK's own table of statuses.
func ProblemHeaders(prob *Problem, set func(name, value string)) {
	if d := prob.RetryAfter; d > 0 {
		set("Retry-After", strconv.FormatInt(int64((d+time.Second-1)/time.Second), 10))
		set("Retry-After-Ms", strconv.FormatInt(int64((d+time.Millisecond-1)/time.Millisecond), 10))
	}
	if prob.Retry != nil {
		set("X-Should-Retry", strconv.FormatBool(*prob.Retry))
	}
}

// CodeContextLength is the code of a prompt that does not fit; each protocol
// words it as its clients expect, since some compact their history by it.
const CodeContextLength = "context_length_exceeded"

// appendOpenAIError appends {"error":{...}}; also the data of a frame in mid-stream.
func appendOpenAIError(dst []byte, p *Problem) []byte {
	dst = append(dst, `{"error":{"message":`...)
	dst = AppendString(dst, openAIErrorText(p))
	dst = append(dst, `,"type":`...)
	dst = AppendString(dst, openAIErrorType(p.Status))
	dst = append(dst, `,"param":`...)
	dst = appendStringOrNull(dst, p.Param)
	dst = append(dst, `,"code":`...)
	dst = appendStringOrNull(dst, p.Code)
	dst = appendDetails(dst, p)
	return append(dst, "}}"...)
}

// openAIErrorText words a context overflow as OpenAI does: clients look for the
// sentence where they do not look at the code. It has the message's numbers.
func openAIErrorText(p *Problem) string {
	if p.Code != CodeContextLength || p.MaxTokens <= 0 {
		return p.Text()
	}
	return strings.TrimSpace("This model's maximum context length is " + strconv.Itoa(p.MaxTokens) + " tokens. However, your request needs " +
		strconv.Itoa(p.Tokens) + " tokens" + p.counted() + ". " + p.Remedy)
}

// openAIErrorType names the class of an error. SDKs branch on the status;
// these are the names that Ollama and llama-server use.
func openAIErrorType(status int) string {
	switch {
	case status == 401:
		return "authentication_error"
	case status == 403:
		return "permission_error"
	case status == 404:
		return "not_found_error"
	case status == 429:
		return "rate_limit_error"
	case status >= 400 && status < 500:
		return "invalid_request_error"
	}
	return "api_error"
}

// appendOllamaError appends {"error":"text"}; also the line that ends a stream.
func appendOllamaError(dst []byte, p *Problem) []byte {
	dst = append(dst, `{"error":`...)
	dst = AppendString(dst, p.Text())
	dst = appendDetails(dst, p)
	return append(dst, '}')
}

func appendStringOrNull(dst []byte, s string) []byte {
	if s == "" {
		return append(dst, "null"...)
	}
	return AppendString(dst, s)
}

// appendDetails adds the facts behind a problem. They are for machines; a
// client that does not know them loses nothing.
func appendDetails(dst []byte, p *Problem) []byte {
	if p.Details == nil {
		return dst
	}
	b, err := json.Marshal(p.Details, json.Deterministic(true))
	if err != nil {
		return dst
	}
	dst = append(dst, `,"details":`...)
	return append(dst, b...)
}
