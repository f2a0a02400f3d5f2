package dialect

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
)

// exchange is one recording of a real runtime.
type exchange struct {
	path, request string
	status        int
	kind          string // Content-Type
	answer        string
}

func readExchange(t *testing.T, file string) exchange {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(b), "\n----- response\n")
	if !ok {
		t.Fatalf("%s is no recording", file)
	}
	first, body, _ := strings.Cut(head, "\n\n")
	line, _, _ := strings.Cut(first, "\n")
	_, path, _ := strings.Cut(line, " ")
	rest = rest[:strings.LastIndex(rest, "\n----- ")]
	headers, answer, _ := strings.Cut(rest, "\n\n")
	x := exchange{path: path, request: strings.TrimSpace(body), answer: answer}
	for i, h := range strings.Split(headers, "\n") {
		if i == 0 {
			x.status, _ = strconv.Atoi(strings.Fields(h)[1])
		}
		if v, ok := strings.CutPrefix(h, "Content-Type: "); ok {
			x.kind = v
		}
	}
	return x
}

var protocolOf = map[string]Protocol{
	"/v1/chat/completions": OpenAIChat, "/v1/completions": OpenAICompletion, "/v1/embeddings": OpenAIEmbeddings,
	"/api/chat": OllamaChat, "/api/generate": OllamaGenerate, "/api/embed": OllamaEmbed, "/api/embeddings": OllamaEmbeddings,
}

// withModel gives a request to llama-server the model it may leave out there.
func withModel(body string) string {
	if strings.HasPrefix(body, "{") && !strings.Contains(body, `"model"`) {
		return `{"model":"big",` + body[1:]
	}
	return body
}

func testIdentity(model string) Identity {
	return Identity{
		ID: "0123456789abcdef0123456789abcdef", Model: model,
		Created:    time.Date(2026, 11, 29, 22, 33, 28, 574924788, time.UTC),
		ToolCallID: func(n int) string { return "call_ours" + strconv.Itoa(n) },
	}
}

// TestAnswersEqualTheRuntimesButForTheListedDifferences feeds every recorded
// answer through the encoders as an adapter would, and compares what a client
// sees with what it saw at the runtime.
func TestAnswersEqualTheRuntimesButForTheListedDifferences(t *testing.T) {
	used := map[*Difference]bool{}
	files, _ := filepath.Glob("testdata/recorded/*/*.txt")
	if len(files) < 40 {
		t.Fatalf("%d recordings only", len(files))
	}
	for _, file := range files {
		runtime := filepath.Base(filepath.Dir(file))
		t.Run(runtime+"/"+strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			x := readExchange(t, file)
			p := protocolOf[x.path]
			if x.status != 200 {
				compareRefusal(t, x, p, runtime, used)
				return
			}
			r, prob := Parse(p, []byte(withModel(x.request)))
			if prob != nil {
				t.Fatalf("refused what the runtime took: %v", prob)
			}
			chunks := chunksOf(t, p, x, runtime)
			id := testIdentity(r.Model)
			for _, native := range []bool{false, true} {
				if native && (runtime != "ollama" || !p.ollama()) {
					continue
				}
				ours := render(r, id, chunks, native)
				if native {
					if got, want := strings.TrimSpace(ours), strings.TrimSpace(x.answer); got != want {
						t.Errorf("native frames changed:\n got %s\nwant %s", got, want)
					}
					continue
				}
				compareRecords(t, p, runtime, records(p, ours), records(p, x.answer), used)
			}
		})
	}
	// What no recording shows (faults, thinking on llama-server, other runtimes'
	// answers to Ollama clients) has tests of its own.
	unseen := []string{
		"openai-chat (record) error", "openai-chat choices[].delta.tool_calls[].id", "openai-chat choices[].message.reasoning_content",
		"openai-chat choices[].delta.reasoning", "openai-chat choices[].message.reasoning", "openai-embeddings error.message",
		"ollama-chat load_duration", "ollama-generate context", "ollama-generate load_duration",
		"openai-chat (status) of ollama", "ollama-chat (status) of ollama", "ollama-generate (status) of ollama", "openai-chat error.details", "openai-completions usage of llama-server",
		"openai-completions (record) usage", "openai-completions timings", "openai-completions choices[].logprobs",
		"openai-embeddings error.code", "openai-embeddings error.param", "ollama-chat details", "ollama-embed details",
	}
	for i := range Differences {
		d := &Differences[i]
		name := string(d.Protocol) + " " + d.Field
		if used[d] == (slices.Contains(unseen, name) || slices.Contains(unseen, name+" of "+d.Runtime)) {
			t.Errorf("difference %q: seen in a recording %v, listed as unseen %v", name, used[d], !used[d])
		}
		if d.Reason == "" || d.Ours == "" || d.Theirs == "" {
			t.Errorf("difference %s %s says too little", d.Protocol, d.Field)
		}
	}
}

// An Ollama is always asked through /api. Its answer there, rendered for an
// OpenAI client, must be what its own /v1 sends for the same request.
func TestAnswersThroughTheNativeAPIEqualOllamasOwnV1(t *testing.T) {
	for native, v1 := range map[string]string{
		"08-chat-nostream": "13-v1-chat", "08-chat-length": "13-v1-chat-length", "09-chat-tools": "13-v1-chat-tools",
		"10-chat-think-stream": "13-v1-chat-think-stream", "07-generate-stream": "13-v1-completions-stream",
		"08-chat-stream": "13-v1-chat-stream-usage",
	} {
		t.Run(v1, func(t *testing.T) {
			from := readExchange(t, "testdata/recorded/ollama/"+native+".txt")
			to := readExchange(t, "testdata/recorded/ollama/"+v1+".txt")
			chunks := chunksOf(t, protocolOf[from.path], from, "ollama")
			p := protocolOf[to.path]
			r := parsed(t, p, to.request)
			ours := render(r, testIdentity(r.Model), chunks, false)
			compareRecords(t, p, "ollama", records(p, ours), records(p, to.answer), map[*Difference]bool{})
		})
	}
}

func render(r *Request, id Identity, chunks []*Chunk, native bool) string {
	strip := func(c *Chunk) *Chunk {
		if native {
			return c
		}
		plain := *c
		plain.Native = nil
		return &plain
	}
	if !r.Stream {
		var c Collector
		for _, ch := range chunks {
			c.Add(strip(ch))
		}
		return string(EncodeReply(r, id, c.Reply()))
	}
	e := NewEncoder(r, id)
	dst := e.Open(nil)
	for _, ch := range chunks {
		dst = e.Chunk(dst, strip(ch))
	}
	return string(e.End(dst))
}

func compareRefusal(t *testing.T, x exchange, p Protocol, runtime string, used map[*Difference]bool) {
	t.Helper()
	_, prob := Parse(p, []byte(x.request))
	if prob == nil || x.status == 404 {
		// The request is well formed: the router or the runtime refuses it.
		prob = &Problem{Status: x.status, Code: "model_not_found", Message: "model 'nope' not found"}
		if strings.Contains(x.answer, "exceed") {
			prob = &Problem{Status: 400, Code: CodeContextLength, Message: "Too long.", Tokens: 9004, MaxTokens: 2048}
		}
	}
	if prob.Status != x.status {
		want := DiffersBy(p, runtime, "(status)")
		if want == nil {
			t.Errorf("status %d, the runtime says %d", prob.Status, x.status)
		}
		used[want] = true
	}
	kind, body := EncodeProblem(p, prob, "")
	if want, _, _ := strings.Cut(x.kind, ";"); !strings.HasPrefix(kind, want) {
		t.Errorf("Content-Type %q, the runtime says %q", kind, x.kind)
	}
	var ours, theirs any
	mustJSON(t, string(body), &ours)
	mustJSON(t, x.answer, &theirs)
	compareValues(t, p, runtime, "", ours, theirs, used)
}

// chunksOf reads a recorded answer as an adapter would.
func chunksOf(t *testing.T, p Protocol, x exchange, runtime string) []*Chunk {
	t.Helper()
	var chunks []*Chunk
	for _, rec := range records(p, x.answer) {
		if rec == "[DONE]" {
			chunks = append(chunks, &Chunk{Final: true})
			continue
		}
		v := Raw(rec)
		c := &Chunk{Native: []byte(rec), Final: v.Get("done").Kind() == 't' || !strings.Contains(x.kind, "stream") && !strings.Contains(x.kind, "ndjson")}
		if p.ollama() {
			readOllamaAnswer(c, v)
		} else {
			readOpenAIAnswer(c, v)
		}
		chunks = append(chunks, c)
	}
	return chunks
}

func readOllamaAnswer(c *Chunk, v Raw) {
	msg := v.Get("message")
	c.Text, c.Thinking = Text(v.Get("response")), Text(v.Get("thinking"))
	if msg != nil {
		c.Text, c.Thinking = Text(msg.Get("content")), Text(msg.Get("thinking"))
	}
	for i, call := range Elements(msg.Get("tool_calls")) {
		fn := call.Get("function")
		c.Tools = append(c.Tools, ToolDelta{Index: i, ID: "call_ours0", Name: Text(fn.Get("name")).String(), Arguments: string(fn.Get("arguments"))})
	}
	c.Finish, c.Logprobs, c.Context = Finish(Text(v.Get("done_reason")).String()), v.Get("logprobs"), v.Get("context")
	if v.Get("done").Kind() == 't' || v.Get("embeddings") != nil {
		u := NoUsage
		number(v.Get("prompt_eval_count"), &u.Input)
		number(v.Get("eval_count"), &u.Output)
		var n [4]int
		for i, f := range []string{"total_duration", "load_duration", "prompt_eval_duration", "eval_duration"} {
			number(v.Get(f), &n[i])
		}
		c.Usage = &u
		c.Timings = &Timings{time.Duration(n[0]), time.Duration(n[1]), time.Duration(n[2]), time.Duration(n[3])}
	}
	if e := v.Get("embedding"); e != nil {
		c.Vectors = append(c.Vectors, vector(e))
	}
	for _, e := range Elements(v.Get("embeddings")) {
		c.Vectors = append(c.Vectors, vector(e))
	}
}

func readOpenAIAnswer(c *Chunk, v Raw) {
	for _, choice := range Elements(v.Get("choices")) {
		d := choice.Get("delta")
		if d == nil {
			d = choice.Get("message")
		}
		c.Text = textOf(choice.Get("text"))
		if d != nil {
			c.Text = textOf(d.Get("content"))
		}
		c.Thinking = textOf(d.Get("reasoning"))
		for i, call := range Elements(d.Get("tool_calls")) {
			fn := call.Get("function")
			c.Tools = append(c.Tools, ToolDelta{i, Text(call.Get("id")).String(), Text(fn.Get("name")).String(), Text(fn.Get("arguments")).String()})
		}
		c.Finish = Finish(textOf(choice.Get("finish_reason")).String())
	}
	if u := v.Get("usage"); u != nil {
		c.Usage = &Usage{-1, -1, -1, -1}
		number(u.Get("prompt_tokens"), &c.Usage.Input)
		number(u.Get("completion_tokens"), &c.Usage.Output)
		number(u.Get("prompt_tokens_details").Get("cached_tokens"), &c.Usage.Cached)
	}
	for _, e := range Elements(v.Get("data")) {
		c.Vectors = append(c.Vectors, vector(e.Get("embedding")))
	}
}

func textOf(v Raw) Text {
	if v.Kind() != '"' {
		return nil
	}
	return Text(v)
}

func number(v Raw, into *int) {
	if n, err := strconv.Atoi(string(v)); err == nil {
		*into = n
	}
}

func vector(v Raw) (out []float32) {
	for _, e := range Elements(v) {
		f, _ := strconv.ParseFloat(string(e), 32)
		out = append(out, float32(f))
	}
	return out
}

// records cuts a body into what a client reads one by one.
func records(p Protocol, body string) (out []string) {
	for line := range strings.Lines(body) {
		line = strings.TrimSpace(strings.TrimPrefix(line, "data: "))
		if line != "" {
			out = append(out, line)
		}
	}
	return out
}

func compareRecords(t *testing.T, p Protocol, runtime string, ours, theirs []string, used map[*Difference]bool) {
	t.Helper()
	if d := DiffersBy(p, runtime, "(record) role"); d != nil && len(ours) == len(theirs)+1 {
		used[d] = true
		ours = ours[1:]
	}
	if len(ours) != len(theirs) {
		t.Fatalf("%d records, the runtime sent %d\nours:\n%s\ntheirs:\n%s", len(ours), len(theirs), strings.Join(ours, "\n"), strings.Join(theirs, "\n"))
	}
	for i := range ours {
		if ours[i] == theirs[i] {
			continue
		}
		var a, b any
		mustJSON(t, ours[i], &a)
		mustJSON(t, theirs[i], &b)
		compareValues(t, p, runtime, "", a, b, used)
		if t.Failed() {
			t.Fatalf("record %d\n ours   %.400s\n theirs %.400s", i, ours[i], theirs[i])
		}
	}
}

func compareValues(t *testing.T, p Protocol, runtime, path string, ours, theirs any, used map[*Difference]bool) {
	t.Helper()
	explain := func(path string, kind DifferenceKind, what string) {
		d := DiffersBy(p, runtime, path)
		if d == nil || d.Kind != kind && d.Kind != Changed {
			t.Errorf("%s %s: %s, and no entry of Differences says so", path, kind, what)
			return
		}
		used[d] = true
	}
	a, aIs := ours.(map[string]any)
	b, bIs := theirs.(map[string]any)
	if aIs && bIs {
		for name := range b {
			sub := strings.TrimPrefix(path+"."+name, ".")
			if v, ok := a[name]; ok {
				compareValues(t, p, runtime, sub, v, b[name], used)
			} else {
				explain(sub, Omitted, fmt.Sprint(b[name]))
			}
		}
		for name := range a {
			if _, ok := b[name]; !ok {
				explain(strings.TrimPrefix(path+"."+name, "."), Added, fmt.Sprint(a[name]))
			}
		}
		return
	}
	la, aIs := ours.([]any)
	lb, bIs := theirs.([]any)
	if aIs && bIs && len(la) == len(lb) {
		for i := range la {
			compareValues(t, p, runtime, path+"[]", la[i], lb[i], used)
		}
		return
	}
	if f, ok := ours.(float64); ok && strings.Contains(path, "embedding") {
		if g, ok := theirs.(float64); ok && float32(f) == float32(g) {
			return // the same vector, in other digits
		}
	}
	if fmt.Sprint(ours) != fmt.Sprint(theirs) {
		explain(path, Changed, fmt.Sprintf("ours %v, theirs %v", ours, theirs))
	}
}

func mustJSON(t *testing.T, s string, into any) {
	t.Helper()
	if err := json.Unmarshal(bytes.TrimSpace([]byte(s)), into); err != nil {
		t.Fatalf("not JSON (%v): %s", err, s)
	}
}
