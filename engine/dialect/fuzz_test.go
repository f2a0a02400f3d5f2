package dialect

import (
	stdjson "encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

var allProtocols = []Protocol{
	OpenAIChat, OpenAICompletion, OpenAIResponses, OpenAIEmbeddings, Anthropic, AnthropicCount,
	OllamaChat, OllamaGenerate, OllamaEmbed, OllamaEmbeddings,
}

// FuzzParse feeds any bytes to every protocol. It must not panic; what it takes
// must hold the model that the most lenient reader (Go's decoder, which Ollama
// uses) reads, texts and values that are valid JSON, and texts that survive
// the way through an answer.
func FuzzParse(f *testing.F) {
	files, _ := filepath.Glob("testdata/recorded/*/*.txt")
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		_, body, _ := strings.Cut(string(b), "\n\n")
		body, _, _ = strings.Cut(body, "\n----- response")
		if len(body) < 2000 {
			f.Add([]byte(withModel(strings.TrimSpace(body))))
		}
	}
	for _, s := range []string{
		`{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"a\ud83d"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}}]}]}`,
		`{"model":"m","messages":[{"role":"assistant","tool_calls":[{"id":"1","function":{"name":"f","arguments":"{\"a\":"}}]},{"role":"tool","tool_call_id":"1","content":null}]}`,
		`{"model":"m","tool_choice":{"type":"allowed_tools","tools":[{"name":"f"}]},"tools":[{"function":{"name":"f"}}],"messages":[{"role":"user"}]}`,
		`{"model":"m","Model":"n"}`, `{"MODEL":"m","prompt":"","keep_alive":-1}`, `{"model":"m","input":["a",[1]]}`,
		`{"model":"m","input":[{"type":"function_call","call_id":"1","name":"f","arguments":""},{"type":"function_call_output","call_id":"1","output":"x"}]}`,
		`{"model":"m","max_tokens":5,"system":[{"type":"text","text":"s"}],"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":[{"type":"text","text":"x"}]}]}]}`,
		"{\"model\":\"m\",\"prompt\":\"\xff\",\"options\":{\"num_ctx\":1e3,\"stop\":[\"\"]}}",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, p := range allProtocols {
			r, prob := Parse(p, body)
			if prob != nil {
				if prob.Status < 400 || prob.Status > 599 || prob.Message == "" {
					t.Errorf("%s: problem %+v", p, prob)
				}
				_, b := EncodeProblem(p, prob, "req_1")
				if !jsontext.Value(b).IsValid() {
					t.Errorf("%s: error body %s", p, b)
				}
				continue
			}
			checkParsed(t, p, r, body)
		}
	})
}

func checkParsed(t *testing.T, p Protocol, r *Request, body []byte) {
	t.Helper()
	var lenient struct{ Model, Name string }
	if err := stdjson.Unmarshal(body, &lenient); err == nil {
		want := lenient.Model
		if want == "" && p.ollama() {
			want = lenient.Name
		}
		if r.Model != want {
			t.Errorf("%s: model %q, another reader has %q", p, r.Model, want)
		}
	}
	if r.Model == "" {
		t.Errorf("%s: no model", p)
	}
	var all Collector
	var want strings.Builder
	for text := range r.Texts() {
		if !IsText(text) {
			t.Errorf("%s: %s is no literal", p, []byte(text))
		}
		all.Add(&Chunk{Text: text})
		want.WriteString(text.String())
	}
	rep := all.Reply()
	var out struct {
		Choices []struct{ Message struct{ Content string } }
	}
	answer := EncodeReply(&Request{Protocol: OpenAIChat}, streamID(), rep)
	if err := stdjson.Unmarshal(answer, &out); err != nil || out.Choices[0].Message.Content != want.String() {
		t.Errorf("%s: texts %q came back as %s (%v)", p, want.String(), answer, err)
	}
	for _, v := range rawsOf(r) {
		if v != nil && !jsontext.Value(v).IsValid() {
			t.Errorf("%s: %s is no JSON", p, v)
		}
	}
}

func rawsOf(r *Request) (all []Raw) {
	all = append(all, r.KeepAlive, r.Format.Schema, r.Sampling.LogitBias)
	for _, m := range append(r.Members[:len(r.Members):len(r.Members)], r.Options...) {
		all = append(all, m.Value)
	}
	for _, tool := range r.Tools {
		all = append(all, tool.Parameters)
	}
	for _, m := range r.Messages {
		for _, c := range m.ToolCalls {
			all = append(all, c.Arguments)
		}
	}
	return all
}
