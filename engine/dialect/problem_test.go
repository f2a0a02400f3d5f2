package dialect

import (
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/openai/openai-go/v3"
)

// W-07: an error that is a bare string makes SDKs crash instead of retrying.
func TestProblemsInEveryProtocolsEnvelope(t *testing.T) {
	p := &Problem{Status: 404, Code: "model_not_found", Message: "model 'x' not found.", Remedy: "Pull it.", Param: "model"}
	full := &Problem{Status: 503, Code: "no_capacity", Message: "Every node is paused.", Details: map[string]any{"b": []int{1}, "a": "x"}}
	for _, c := range []struct {
		protocol Protocol
		prob     *Problem
		want     string
	}{
		{OpenAIChat, p, `{"error":{"message":"model 'x' not found. Pull it.","type":"not_found_error","param":"model","code":"model_not_found"}}`},
		{OpenAIModels, full, `{"error":{"message":"Every node is paused.","type":"api_error","param":null,"code":"no_capacity","details":{"a":"x","b":[1]}}}`},
		{OpenAIResponses, &Problem{Status: 400, Message: "No."}, `{"error":{"message":"No.","type":"invalid_request_error","param":null,"code":null}}`},
		{OllamaChat, p, `{"error":"model 'x' not found. Pull it."}`},
		{OllamaChat, &Problem{Message: "model 'x' not found", Remedy: "Pull it."}, `{"error":"model 'x' not found. Pull it."}`},
		{OllamaMeta, full, `{"error":"Every node is paused.","details":{"a":"x","b":[1]}}`},
		{Anthropic, p, `{"type":"error","error":{"type":"not_found_error","message":"model 'x' not found. Pull it."},"request_id":"req_1"}`},
	} {
		kind, body := EncodeProblem(c.protocol, c.prob, "req_1")
		if string(body) != c.want || !strings.HasPrefix(kind, "application/json") {
			t.Errorf("%s: %s %s\nwant %s", c.protocol, kind, body, c.want)
		}
	}
}

func TestOpenAIErrorTypesByStatus(t *testing.T) {
	for status, want := range map[int]string{
		400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 404: "not_found_error", 409: "invalid_request_error",
		413: "invalid_request_error", 422: "invalid_request_error", 429: "rate_limit_error", 500: "api_error", 502: "api_error", 503: "api_error",
	} {
		if got := openAIErrorType(status); got != want {
			t.Errorf("%d is %s, want %s", status, got, want)
		}
	}
}

// Codex and others look at the code; others at the words "maximum context length".
func TestContextOverflowIsWordedForOpenAIClients(t *testing.T) {
	p := &Problem{Status: 400, Code: CodeContextLength, Message: "The prompt is too long.", Remedy: "Shorten it.", Tokens: 9004, MaxTokens: 2048}
	_, body := EncodeProblem(OpenAIChat, p, "")
	var e struct {
		Error openai.Error `json:"error"`
	}
	if err := json.Unmarshal(body, &e); err != nil {
		t.Fatal(err)
	}
	want := "This model's maximum context length is 2048 tokens. However, your request needs 9004 tokens. Shorten it."
	if e.Error.Code != "context_length_exceeded" || e.Error.Message != want {
		t.Errorf("got %s", body)
	}
}

func TestHeadersTellSDKsWhenToComeBack(t *testing.T) {
	yes, no := true, false
	for _, c := range []struct {
		prob *Problem
		want map[string]string
	}{
		{&Problem{}, map[string]string{}},
		{&Problem{RetryAfter: 1500 * time.Millisecond, Retry: &yes}, map[string]string{"Retry-After": "2", "Retry-After-Ms": "1500", "X-Should-Retry": "true"}},
		{&Problem{Retry: &no}, map[string]string{"X-Should-Retry": "false"}},
		{&Problem{RetryAfter: time.Microsecond}, map[string]string{"Retry-After": "1", "Retry-After-Ms": "1"}},
	} {
		got := map[string]string{}
		ProblemHeaders(c.prob, func(name, value string) { got[name] = value })
		if !maps.Equal(got, c.want) {
			t.Errorf("%+v: %v", c.prob, got)
		}
	}
}

func TestDetailsThatCannotBeWrittenAreLeftOut(t *testing.T) {
	_, body := EncodeProblem(OpenAIChat, &Problem{Status: 500, Message: "No.", Details: func() {}}, "")
	var v any
	if err := json.Unmarshal(body, &v); err != nil || strings.Contains(string(body), "details") {
		t.Errorf("%v: %s", err, body)
	}
}

func TestAProblemIsAnError(t *testing.T) {
	var prob *Problem
	if err := error(&Problem{Message: "No.", Remedy: "Do."}); !errors.As(err, &prob) || err.Error() != "No. Do." {
		t.Errorf("%v", err)
	}
}
