package runtime

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"bellwether/engine/dialect"
	"bellwether/engine/fleet"
)

func TestARuntimesWordsLoseAddressesAndFiles(t *testing.T) {
	for in, want := range map[string]string{
		"model 'x' not found": "model 'x' not found",
		"registry.ollama.ai/library/tiny:latest does not support tools": "registry.ollama.ai/library/tiny:latest does not support tools",
		"hf.co/a/b:Q4 is missing":                                 "hf.co/a/b:Q4 is missing",
		`Post "http://127.0.0.1:41234/completion": EOF`:           `Post "(address)": EOF`,
		"dial tcp 127.0.0.1:41234: connect: connection refused":   "(address) connect: connection refused",
		"open /root/.ollama/models/blobs/sha256-ab: no such file": "open (file): no such file",
		"open C:\\Users\\me\\x.gguf: denied":                      "open (file) denied",
		"at ~/models/a.gguf":                                      "at (file)",
		"host [fe80::1%en0]:80 and [::1]:11434":                   "host (address) and (address)",
		"listening on localhost:8080 and 10.1.2.3":                "listening on (address) and (address)",
		"and/or 1/2 <|end|> 3.5":                                  "and/or 1/2 <|end|> 3.5",
		"a\nb\x00c":                                               "a b c",
		"cut \xff here":                                           "cut \uFFFD here",
	} {
		if got := tidy(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
	long := tidy(strings.Repeat("日", 5000))
	if len(long) > messageMost+3 || !utf8.ValidString(long) {
		t.Errorf("a long text became %d bytes", len(long))
	}
}

// llama-server 0.4 says so of an embedding's input, as a 500.
func TestAnInputOverTheBatchIsTheCallersError(t *testing.T) {
	f := failureOf(500, "application/json", []byte(`{"error":{"code":500,"message":"input (8002 tokens) is too large to process. increase the physical batch size (current batch size: 512)","type":"server_error"}}`))
	if f.Code != CodeContextExceeded || !f.Caller || f.Tokens != 8002 || f.Context != 512 {
		t.Errorf("got %+v", f)
	}
}

// All of them are answered with 500, though the same request fails everywhere and
// the next one is served.
func TestACallersMistakeIsNoFaultOfARuntimeWhateverItsStatus(t *testing.T) {
	for _, words := range []string{
		`option "stop" must be of type array`, `option "stop" must be of an array of strings`,
		`detokenize error: vector::_M_range_check: __n (which is 999999) >= this->size() (which is 270)`,
		`template: :1: unclosed action`, `undefined template specified`,
		`invalid format: "5"; expected "json" or a valid JSON Schema object`,
		`Failed to parse tools: Missing tool function`, `Failed to parse messages: key 'text' not found`,
		`Failed to parse tool call arguments as JSON: syntax error`,
		`image input is not supported - hint: if this is unexpected, you may need to provide the mmproj`,
		`llama-server chat error: map[code:400 message:Error: Jinja Exception: roles must alternate type:invalid_request_error]`,
	} {
		if f := failureOf(500, "application/json", dialect.AppendString(nil, words)); !f.Caller {
			t.Errorf("%q is the runtime's fault: %+v", words, f)
		}
	}
	for _, words := range []string{"llama-server process has terminated: exit status 1", "CUDA out of memory", "unexpected EOF"} {
		if f := failureOf(500, "application/json", dialect.AppendString(nil, words)); f.Caller {
			t.Errorf("%q is the caller's: %+v", words, f)
		}
	}
}

func TestARefusalOfALongPromptTellsItsCounts(t *testing.T) {
	const words = "request (29605 tokens) exceeds the available context size (16384 tokens), try increasing it"
	for name, c := range map[string]struct {
		body            string
		tokens, context int
	}{
		"llama-server": {`{"error":{"code":400,"message":"` + words + `","type":"exceed_context_size_error","n_prompt_tokens":29605,"n_ctx":16384}}`, 29605, 16384},
		"Ollama":       {`{"error":"{\"error\":{\"code\":400,\"message\":\"` + words + `\",\"type\":\"exceed_context_size_error\",\"n_prompt_tokens\":29605,\"n_ctx\":16384}}"}`, 29605, 16384},
		"words alone":  {`{"error":"` + words + `"}`, 29605, 16384},
		"no counts":    {`{"error":"the input length exceeds the context length"}`, 0, 0},
		"nonsense":     {`{"error":{"message":"x","type":"exceed_context_size_error","n_prompt_tokens":-3,"n_ctx":"many"}}`, 0, 0},
	} {
		f := failureOf(400, "application/json", []byte(c.body))
		if f.Code != CodeContextExceeded || f.Tokens != c.tokens || f.Context != c.context {
			t.Errorf("%s: got %+v, want %d of %d", name, f, c.tokens, c.context)
		}
	}
}

// A llama-server router whose models are all busy: 500, and nothing is broken.
func TestARouterAtItsModelLimitIsBusy(t *testing.T) {
	f := failureOf(500, "application/json", []byte(`{"error":{"code":500,"message":"model limit reached, try again later","type":"server_error"}}`))
	if f.Class != fleet.FailBackPressure || f.Code != CodeBusy {
		t.Errorf("got %+v", f)
	}
}

func TestNestedErrorsAreUnwrapped(t *testing.T) {
	f := failureOf(400, "application/json", []byte(`{"error":"{\"error\":{\"code\":400,\"message\":\"request (9 tokens) exceeds the available context size (5 tokens)\",\"type\":\"exceed_context_size_error\"}}"}`))
	if f.Code != CodeContextExceeded || !f.Caller || !strings.HasPrefix(f.Message, "request (9 tokens)") {
		t.Errorf("got %+v", f)
	}
	deep := `{"error":"x"}`
	for range 10 {
		deep = `{"error":` + deep + `}`
	}
	if f := failureOf(500, "", []byte(deep)); f.Message == "" || f.Class != fleet.FailStatus {
		t.Errorf("got %+v", f)
	}
}

// However a runtime tells the key that it refuses, nobody reads it.
func TestARuntimesWordsLoseOurKey(t *testing.T) {
	const key = "open/sesame+1"
	for _, kind := range []string{KindOllama, KindLlamaServer} {
		for _, status := range []int{200, 401, 500} {
			url, _ := counted(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(status)
				_, _ = io.WriteString(w, `{"error":{"message":"no such key: Bearer open\/ses\u0061me+1"}}`+"\n")
			})
			a, err := New(Target{Name: "r", Kind: kind, URL: url, APIKey: key})
			if err != nil {
				t.Fatal(err)
			}
			call := Call{Request: &dialect.Request{Protocol: dialect.OllamaChat, Model: "m"}, Model: "m", Deployment: &fleet.Deployment{Kind: kind}}
			told := map[string]error{"load": a.Load(t.Context(), "m", LoadOptions{})}
			_, told["inventory"] = a.Inventory(t.Context())
			stream, _, err := a.Do(t.Context(), call)
			if err == nil {
				_, err = stream.Next()
				stream.Close()
			}
			told["chat"] = err
			for what, err := range told {
				if err == nil && status != 200 || what == "chat" && !strings.Contains(fmt.Sprint(err), "no such key: Bearer (key)") || strings.Contains(fmt.Sprint(err), "sesame") {
					t.Errorf("%s, %d, %s: %v", kind, status, what, err)
				}
			}
		}
	}
}

func FuzzFailures(f *testing.F) {
	f.Add(500, "text/plain", []byte(`open /a/b: x`))
	f.Add(404, "", []byte(`{"error":"model not found"}`))
	f.Add(200, "text/html", []byte(`<html>`))
	f.Fuzz(func(t *testing.T, status int, kind string, body []byte) {
		got := failureOf(status, kind, body)
		if got.Message == "" || len(got.Message) > messageMost+3 || !utf8.ValidString(got.Message) || strings.ContainsAny(got.Message, "\r\n\x00") {
			t.Fatalf("not fit to be shown: %q", got.Message)
		}
	})
}
