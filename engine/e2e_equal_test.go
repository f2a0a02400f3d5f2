package engine

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"bellwether/engine/dialect"
	"bellwether/engine/runtime/runtimetest"
)

// What a client sees through the door is what it would see at the runtime
// itself, field by field: every key, every type, every value, every record in
// its order. Only what dialect.Differences lists may differ, and every entry
// that can be provoked is.

// same is one request that is made at the runtime, twice, and through the door.
// What differs between the two at the runtime (times, ids) is compared by type.
type same struct {
	name    string
	proto   dialect.Protocol
	runtime string
	path    string
	body    string
	fault   *runtimetest.Fault
	status  int // of ours and theirs; 0 = 200
}

func equalities() []same {
	var all []same
	add := func(name string, proto dialect.Protocol, rt, path, body string, status ...int) {
		s := same{name: name, proto: proto, runtime: rt, path: path, body: body}
		if len(status) > 0 {
			s.status = status[0]
		}
		all = append(all, s)
	}
	for _, rt := range []string{"ollama", "llama"} {
		kind, model := "ollama", "chat:1b"
		if rt == "llama" {
			kind, model = "llama-server", "gguf-1b"
		}
		for _, stream := range []string{`,"stream":false`, `,"stream":true`} {
			chat := `{"model":"` + model + `","messages":[{"role":"user","content":"%s"}]` + stream
			add("chat", dialect.OpenAIChat, kind, chatWire.path, fmt.Sprintf(chat, "go")+"}")
			add("chat with usage", dialect.OpenAIChat, kind, chatWire.path, fmt.Sprintf(chat, "go")+`,"stream_options":{"include_usage":true}}`)
			add("chat cut by length", dialect.OpenAIChat, kind, chatWire.path, fmt.Sprintf(chat, "go")+`,"max_tokens":3}`)
			add("chat with stop", dialect.OpenAIChat, kind, chatWire.path, fmt.Sprintf(chat, "go")+`,"stop":["four"]}`)
			add("chat with a tool", dialect.OpenAIChat, kind, chatWire.path, fmt.Sprintf(chat, "two calls")+chatWire.tools+"}")
			add("chat with a schema", dialect.OpenAIChat, kind, chatWire.path, fmt.Sprintf(chat, "go")+`,"response_format":{"type":"json_schema","json_schema":{"name":"x","schema":`+weatherSchema+`}}}`)
			add("chat in cjk", dialect.OpenAIChat, kind, chatWire.path, fmt.Sprintf(chat, "say it in cjk")+"}")
			add("completion", dialect.OpenAICompletion, kind, completionWire.path, `{"model":"`+model+`","prompt":"go"`+stream+"}")
			add("completion with usage", dialect.OpenAICompletion, kind, completionWire.path, `{"model":"`+model+`","prompt":"go","stream_options":{"include_usage":true}`+stream+"}")
			if rt == "llama" {
				add("chat by another spelling", dialect.OpenAIChat, kind, chatWire.path, `{"model":"GGUF-1B","messages":[{"role":"user","content":"go"}]`+stream+"}")
				continue
			}
			add("thinking", dialect.OpenAIChat, kind, chatWire.path, `{"model":"think:1b","messages":[{"role":"user","content":"go"}]`+stream+"}")
			for _, m := range []string{"chat:1b", "think:1b", "plain"} {
				native := `{"model":"` + m + `","messages":[{"role":"user","content":"go"}]` + stream
				add("native chat of "+m, dialect.OllamaChat, kind, "/api/chat", native+"}")
				add("native chat with options of "+m, dialect.OllamaChat, kind, "/api/chat", native+`,"options":{"seed":3,"num_predict":4},"keep_alive":"10m"}`)
				add("native generate of "+m, dialect.OllamaGenerate, kind, "/api/generate", `{"model":"`+m+`","prompt":"go"`+stream+"}")
				add("native load of "+m, dialect.OllamaGenerate, kind, "/api/generate", `{"model":"`+m+`"`+stream+"}")
			}
			add("native chat with a tool", dialect.OllamaChat, kind, "/api/chat", `{"model":"chat:1b","messages":[{"role":"user","content":"two calls"}]`+stream+chatWire.tools+"}")
			add("native chat with a schema", dialect.OllamaChat, kind, "/api/chat", `{"model":"chat:1b","messages":[{"role":"user","content":"go"}],"format":`+weatherSchema+stream+"}")
			add("native generate, raw", dialect.OllamaGenerate, kind, "/api/generate", `{"model":"chat:1b","prompt":"go","raw":true`+stream+"}")
			add("native generate with a suffix", dialect.OllamaGenerate, kind, "/api/generate", `{"model":"chat:1b","prompt":"go","suffix":"end"`+stream+"}")
		}
		add("unknown model", dialect.OpenAIChat, kind, chatWire.path, `{"model":"nobody-has-it","messages":[{"role":"user","content":"x"}]}`, 404)
		add("no JSON", dialect.OpenAIChat, kind, chatWire.path, `{"model":"`+model+`",`, 400)
		add("no messages", dialect.OpenAIChat, kind, chatWire.path, `{"model":"`+model+`"}`, 400)
		add("too long", dialect.OpenAIChat, kind, chatWire.path, `{"model":"`+model+`","messages":[{"role":"user","content":"`+strings.Repeat("word ", 40000)+`"}]}`, 400)
	}
	add("embeddings", dialect.OpenAIEmbeddings, "ollama", "/v1/embeddings", `{"model":"embed:1b","input":["a","b"]}`)
	add("one embedding", dialect.OpenAIEmbeddings, "ollama", "/v1/embeddings", `{"model":"embed:1b","input":"a","encoding_format":"base64"}`)
	add("embeddings with dimensions", dialect.OpenAIEmbeddings, "ollama", "/v1/embeddings", `{"model":"embed:1b","input":"a","dimensions":32}`)
	add("embeddings of a text over the context", dialect.OpenAIEmbeddings, "ollama", "/v1/embeddings", `{"model":"embed:1b","input":"`+strings.Repeat("word ", 40000)+`"}`)
	add("embeddings of token ids", dialect.OpenAIEmbeddings, "ollama", "/v1/embeddings", `{"model":"embed:1b","input":[1,2,3]}`, 400)
	add("native embed", dialect.OllamaEmbed, "ollama", "/api/embed", `{"model":"embed:1b","input":["a","b"]}`)
	add("native embed of nothing", dialect.OllamaEmbed, "ollama", "/api/embed", `{"model":"embed:1b","input":[]}`)
	add("native embeddings", dialect.OllamaEmbeddings, "ollama", "/api/embeddings", `{"model":"embed:1b","prompt":"a"}`)
	add("native unknown model", dialect.OllamaChat, "ollama", "/api/chat", `{"model":"nobody","messages":[{"role":"user","content":"x"}]}`, 404)
	add("native unknown model to embed", dialect.OllamaEmbed, "ollama", "/api/embed", `{"model":"nobody","input":"x"}`, 404)
	add("native chat with a model that embeds", dialect.OllamaChat, "ollama", "/api/chat", `{"model":"embed:1b","messages":[{"role":"user","content":"x"}]}`, 400)
	add("native embed too long", dialect.OllamaEmbed, "ollama", "/api/embed", `{"model":"embed:1b","truncate":false,"input":"`+strings.Repeat("word ", 80000)+`"}`, 400)
	add("native chat too long", dialect.OllamaChat, "ollama", "/api/chat", `{"model":"chat:1b","stream":false,"messages":[{"role":"user","content":"`+strings.Repeat("word ", 80000)+`"}]}`, 400)
	add("native generate too long", dialect.OllamaGenerate, "ollama", "/api/generate", `{"model":"chat:1b","stream":false,"prompt":"`+strings.Repeat("word ", 80000)+`"}`, 400)
	add("native no JSON", dialect.OllamaChat, "ollama", "/api/chat", `{"model"`, 400)
	add("native generate no JSON", dialect.OllamaGenerate, "ollama", "/api/generate", `{"model"`, 400)
	broken := runtimetest.Fault{Break: runtimetest.BreakRunner, After: 3}
	all = append(all, same{name: "broken in mid-stream", proto: dialect.OpenAIChat, runtime: "ollama", path: chatWire.path,
		body: `{"model":"chat:1b","stream":true,"messages":[{"role":"user","content":"go"}]}`, fault: &broken})
	return all
}

// unprovoked are entries that no request of these can show, with the reason.
var unprovoked = map[string]string{
	"ollama-chat message.tool_calls[].id":     "an Ollama's own lines keep theirs; shown by the answers of llama-server in TestOllamaAnswersOfOtherRuntimesHaveTheSameShape",
	"ollama-chat created_at":                  "likewise: a time is compared by its type",
	"ollama-generate created_at":              "likewise",
	"ollama-chat load_duration":               "likewise",
	"ollama-generate load_duration":           "likewise",
	"ollama-generate context":                 "likewise",
	"openai-completions created":              "a second that passes between two requests; a time is compared by its type",
	"openai-chat created":                     "likewise",
	"openai-chat error.param":                 "shown by unknown model where the runtime's is null",
	"openai-chat choices[].delta.content":     "null or \"\" in the role record, taken as one when records are aligned",
	"openai-chat choices[].delta.role":        "likewise",
	"openai-chat choices[].message.reasoning": "no llama-server model here thinks",
	"openai-chat choices[].delta.reasoning":   "no llama-server model here thinks",
}

func TestThroughTheDoorEqualsAtTheRuntime(t *testing.T) {
	r := both.of(t)
	provoked := map[*dialect.Difference]bool{}
	for i, s := range equalities() {
		t.Run(fmt.Sprintf("%d %s %s", i, s.name, s.runtime), func(t *testing.T) {
			r.fresh(t)
			f := r.fakes[map[string]string{"ollama": "ollama", "llama-server": "llama"}[s.runtime]]
			if s.fault != nil {
				f.Inject(*s.fault)
			}
			if s.name == "unknown model" && s.runtime == "llama-server" {
				return // llama-server answers whatever name is asked
			}
			one := ask(t, direct, http.MethodPost, f.URL()+s.path, s.body)
			two := ask(t, direct, http.MethodPost, f.URL()+s.path, s.body)
			ours := r.post(t, s.path, s.body)
			c := comparison{t: t, s: s, provoked: provoked}
			c.compare(one, two, ours)
		})
	}
	for i := range dialect.Differences {
		d := &dialect.Differences[i]
		if _, excused := unprovoked[string(d.Protocol)+" "+d.Field]; !provoked[d] && !excused {
			t.Errorf("nothing showed the difference %s %s %s (%s)", d.Protocol, d.Runtime, d.Field, d.Kind)
		}
	}
}

// direct asks runtimes themselves, each time on a fresh connection: llama-server
// closes those it has served for a while.
var direct = &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DisableCompression: true}}

type comparison struct {
	t        *testing.T
	s        same
	provoked map[*dialect.Difference]bool
}

// allow reports whether a difference is listed.
func (c *comparison) allow(field string, kinds ...dialect.DifferenceKind) bool {
	for i := range dialect.Differences {
		d := &dialect.Differences[i]
		if d.Protocol == c.s.proto && d.Field == field && (d.Runtime == "" || d.Runtime == c.s.runtime) && slices.Contains(kinds, d.Kind) {
			c.provoked[d] = true
			return true
		}
	}
	return false
}

func (c *comparison) compare(one, two, ours *answer) {
	t := c.t
	t.Helper()
	want := c.s.status
	if want == 0 {
		want = 200
	}
	if ours.Status != want || one.Status != want && !c.allow("(status)", dialect.Changed) {
		t.Fatalf("status %d through the door, %d at the runtime, want %d: %s / %s", ours.Status, one.Status, want, ours.Body, one.Body)
	}
	if ours.Status != one.Status && one.Status == http.StatusOK {
		return // refused here, where the runtime answers what was not asked
	}
	media := func(a *answer) string { m, _, _ := strings.Cut(a.Header.Get("Content-Type"), ";"); return m }
	if media(ours) != media(one) {
		t.Errorf("content type %q, at the runtime %q", ours.Header.Get("Content-Type"), one.Header.Get("Content-Type"))
	}
	if m := media(one); m != "text/event-stream" && m != "application/x-ndjson" {
		c.objects(flat(one.json(t)), flat(two.json(t)), flat(ours.json(t)))
		return
	}
	a, b, o := c.aligned(one), c.aligned(two), c.aligned(ours)
	if c.s.fault != nil {
		if !strings.Contains(string(ours.Body), `"error"`) || strings.Contains(string(one.Body), `"error"`) || !c.allow("(record) error", dialect.Added) {
			t.Errorf("a broken stream: ours %s, theirs %s", ours.Body, one.Body)
		}
		return
	}
	if len(a) != len(o) || len(a) != len(b) {
		t.Fatalf("%d records, at the runtime %d:\n%s\n%s", len(o), len(a), ours.Body, one.Body)
	}
	for i := range a {
		if (a[i] == nil) != (o[i] == nil) {
			t.Fatalf("record %d: one is the end marker", i)
		}
		c.objects(a[i], b[i], o[i])
	}
}

// aligned are a stream's records as fields; nil is [DONE]. A first record that
// carries only the role is dropped on both sides, and the role in a first
// content record with it.
func (c *comparison) aligned(a *answer) []map[string]any {
	var out []map[string]any
	for i, r := range a.records(c.t) {
		if r.data == "[DONE]" {
			out = append(out, nil)
			continue
		}
		fields := flat(r.json(c.t))
		if _, empty := fields["choices"]; empty && c.s.proto == dialect.OpenAICompletion && c.s.runtime == "llama-server" {
			c.allow("(record) usage", dialect.Added)
			continue
		}
		if c.s.proto == dialect.OpenAIChat && i == 0 {
			content := fields["choices[0].delta.content"]
			if role := fields["choices[0].delta.role"]; role == "assistant" && (content == nil || content == "") && fields["choices[0].delta.tool_calls[0].index"] == nil && fields["choices[0].delta.reasoning"] == nil {
				c.allow("(record) role", dialect.Added)
				continue
			}
		}
		if c.s.runtime == "ollama" && c.s.proto == dialect.OpenAIChat {
			delete(fields, "choices[0].delta.role")
			if fields["choices[0].delta.content"] == "" {
				delete(fields, "choices[0].delta.content")
			}
		}
		out = append(out, fields)
	}
	return out
}

var index = regexp.MustCompile(`\[\d+\]`)

// objects compares one body or record.
func (c *comparison) objects(one, two, ours map[string]any) {
	t := c.t
	t.Helper()
	for _, at := range slices.Sorted(maps.Keys(one)) {
		field := index.ReplaceAllString(at, "[]")
		mine, here := ours[at]
		switch {
		case !here && c.inside(field, dialect.Omitted):
		case !here:
			t.Errorf("%s is missing; at the runtime it is %v", at, one[at])
		case equal(mine, one[at]):
		case (!equal(one[at], two[at]) || strings.HasSuffix(at, "_duration")) && fmt.Sprintf("%T", mine) == fmt.Sprintf("%T", one[at]): // never twice the same
			c.allow(field, dialect.Changed)
		case c.inside(field, dialect.Changed):
		default:
			t.Errorf("%s is %v; at the runtime it is %v", at, mine, one[at])
		}
	}
	for _, at := range slices.Sorted(maps.Keys(ours)) {
		if _, there := one[at]; !there && !c.inside(index.ReplaceAllString(at, "[]"), dialect.Added, dialect.Changed) {
			t.Errorf("%s is %v; the runtime does not send it", at, ours[at])
		}
	}
}

// inside reports whether the field, or an object it is part of, is listed.
func (c *comparison) inside(field string, kinds ...dialect.DifferenceKind) bool {
	for field != "" {
		if c.allow(field, kinds...) {
			return true
		}
		field = field[:max(0, strings.LastIndexAny(field, ".["))]
	}
	return false
}

func equal(a, b any) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return string(x) == string(y)
}

// flat lists the leaves of a JSON value by path; empty objects and lists are
// leaves.
func flat(v tree) map[string]any {
	out := map[string]any{}
	var walk func(at string, v any)
	walk = func(at string, v any) {
		switch in := v.(type) {
		case map[string]any:
			if len(in) == 0 {
				out[at] = in
			}
			for k, x := range in {
				walk(strings.TrimPrefix(at+"."+k, "."), x)
			}
		case []any:
			if len(in) == 0 {
				out[at] = in
			}
			for i, x := range in {
				walk(fmt.Sprintf("%s[%d]", at, i), x)
			}
		default:
			out[at] = v
		}
	}
	walk("", v.v)
	return out
}

// Where the runtime speaks another protocol, its answers have the shape that
// Ollama's own have: the same keys with the same types, line by line.
func TestOllamaAnswersOfOtherRuntimesHaveTheSameShape(t *testing.T) {
	r := both.of(t)
	for path, body := range map[string]string{
		"/api/chat": `"messages":[{"role":"user","content":"%s"}],"stream":%t`, "/api/generate": `"prompt":"%s","stream":%t`,
	} {
		for _, prompt := range []string{"go", "two calls"} {
			for _, stream := range []bool{false, true} {
				if prompt == "two calls" && path == "/api/generate" {
					continue
				}
				more := ""
				if prompt == "two calls" {
					more = chatWire.tools
				}
				ask1 := func(base, model string) *answer {
					return ask(t, direct, http.MethodPost, base+path, `{"model":"`+model+`",`+fmt.Sprintf(body, prompt, stream)+more+`}`)
				}
				theirs, ours := ask1(r.fakes["ollama"].URL(), "chat:1b"), ask1(r.base, "gguf-1b")
				shapes := func(a *answer) map[string]string {
					out := map[string]string{}
					objects := []tree{}
					if stream {
						objects = a.objects(t)
					} else {
						objects = append(objects, a.ok(t))
					}
					for _, o := range objects {
						for at, v := range flat(o) {
							out[fmt.Sprint(o.at("done"), " ", index.ReplaceAllString(at, "[]"))] = fmt.Sprintf("%T", v)
						}
					}
					return out
				}
				a, b := shapes(theirs), shapes(ours)
				for at, kind := range a {
					field := at[strings.IndexByte(at, ' ')+1:]
					proto := map[string]dialect.Protocol{"/api/chat": dialect.OllamaChat, "/api/generate": dialect.OllamaGenerate}[path]
					if b[at] != kind && dialect.DiffersBy(proto, "llama-server", strings.TrimSuffix(field, "[]")) == nil {
						t.Errorf("%s, %s, stream %v: %s is %q, Ollama's is %s", path, prompt, stream, at, b[at], kind)
					}
				}
				for at := range b {
					if a[at] == "" {
						t.Errorf("%s, %s, stream %v: %s is not in Ollama's: %s", path, prompt, stream, at, ours.Body)
					}
				}
			}
		}
	}
}

// Responses and Messages are translated for every runtime, since the runtimes'
// own versions of them lose things; what is said is the same as at the runtime.
func TestResponsesAndMessagesSayWhatTheRuntimeWouldSay(t *testing.T) {
	r := both.of(t)
	for _, m := range chatModels {
		f := r.fakes[runtimeOf(m)]
		for _, w := range []wire{responsesWire, messagesWire} {
			for _, prompt := range []string{"go", "say it in cjk"} {
				body := w.body(m, prompt, false)
				theirs := w.read(t, ask(t, direct, http.MethodPost, f.URL()+w.path, body), false)
				for _, stream := range []bool{false, true} {
					ours, a := w.say(t, r, m, prompt, stream)
					ours.thoughts = theirs.thoughts
					if ours.text != theirs.text || ours.finish != theirs.finish || ours.input != theirs.input || ours.output != theirs.output {
						t.Errorf("%s %s %s, stream %v: %+v, at the runtime %+v: %s", m, w.name, prompt, stream, ours, theirs, a.Body)
					}
				}
			}
			called := w.read(t, ask(t, direct, http.MethodPost, f.URL()+w.path, w.body(m, "what is the weather", false, w.tools)), false)
			ours, _ := w.say(t, r, m, "what is the weather", true, w.tools)
			if len(ours.calls) != 1 || len(called.calls) != 1 || ours.calls[0].name != called.calls[0].name || !equal(parse(t, []byte(ours.calls[0].arguments)).v, parse(t, []byte(called.calls[0].arguments)).v) {
				t.Errorf("%s %s: calls %+v, at the runtime %+v", m, w.name, ours.calls, called.calls)
			}
		}
	}
}

// Metadata of one Ollama is its own; what we add is named.
func TestMetadataEqualsTheRuntimesOwn(t *testing.T) {
	r := newRig(t, spec{config: quick, fakes: map[string]runtimetest.FakeConfig{"ollama": {GPU: 1, KeepAlive: -1, Models: []runtimetest.FakeModel{
		{Name: "chat:1b", Capabilities: []string{"completion", "tools", "vision"}}, {Name: "think", Think: true}, {Name: "embed:1b", Capabilities: []string{"embedding"}}}}}})
	f := r.fakes["ollama"]
	chatWire.say(t, r, "chat:1b", "load", false)
	r.await(t, "the loaded model to be seen", func() bool {
		return r.get(t, "/api/ps").json(t).len("models") == 1 && r.get(t, "/api/ps").json(t).num("models.0.context_length") > 0
	})
	added := []string{"fleet_nodes", "fleet_node", "context_window"}
	for path, list := range map[string]string{"/api/tags": "models", "/api/ps": "models", "/v1/models": "data", "/api/version": ""} {
		theirs, ours := ask(t, direct, http.MethodGet, f.URL()+path, "").ok(t), r.get(t, path).ok(t)
		a, b := flat(theirs), flat(ours)
		if list != "" {
			a, b = rows(t, theirs, list), rows(t, ours, list)
			maps.DeleteFunc(b, func(at string, _ any) bool { // names for a choice, which one runtime has no need of
				return strings.HasPrefix(at, "auto") || strings.HasPrefix(at, "claude-")
			})
		}
		for at, v := range a {
			if !equal(b[at], v) && !strings.HasSuffix(at, "expires_at") {
				t.Errorf("%s: %s is %v, at the runtime %v", path, at, b[at], v)
			}
		}
		for at := range b {
			if _, there := a[at]; !there && !slices.ContainsFunc(added, func(k string) bool { return strings.Contains(at, "."+k) }) {
				t.Errorf("%s: %s is %v, the runtime does not send it", path, at, b[at])
			}
		}
	}
	for _, m := range []string{"chat:1b", "think", "embed:1b"} {
		body := `{"model":"` + m + `"}`
		if theirs, ours := ask(t, direct, http.MethodPost, f.URL()+"/api/show", body), r.post(t, "/api/show", body); string(theirs.Body) != string(ours.Body) {
			t.Errorf("show of %s: %s, at the runtime %s", m, ours.Body, theirs.Body)
		}
	}
}

// rows are a list's objects by their name, flat: "chat:1b.size".
func rows(t testing.TB, v tree, list string) map[string]any {
	t.Helper()
	out := map[string]any{}
	for i := range v.len(list) {
		row := tree{v.at(fmt.Sprintf("%s.%d", list, i))}
		for at, x := range flat(row) {
			out[or(row.str("name"), row.str("id"))+"."+at] = x
		}
	}
	return out
}
