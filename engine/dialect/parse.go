package dialect

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Parse reads a request's body (decompressed) in its endpoint's protocol. The
// Request aliases body, which must not be changed afterwards. Unknown fields
// are never an error: they stay in Members. What is wrong is a Problem with
// status 400 that names the field.
func Parse(p Protocol, body []byte) (*Request, *Problem) {
	r, f := parse(p, body)
	if f != nil {
		return nil, f.problem()
	}
	return r, nil
}

func parse(p Protocol, body []byte) (*Request, *fault) {
	checked, mended, f := checkJSON(body)
	if f != nil {
		return nil, f
	}
	r := &Request{Protocol: p, Body: checked}
	if mended {
		r.drop("invalid Unicode became U+FFFD")
	}
	if f := r.readMembers(); f != nil {
		return nil, f
	}
	if f := r.readCommon(); f != nil {
		return nil, f
	}
	switch p {
	case OpenAIChat:
		f = parseChat(r)
	case OpenAICompletion:
		f = parseCompletion(r)
	case OpenAIEmbeddings:
		f = parseEmbeddings(r)
	case OpenAIResponses:
		f = parseResponses(r)
	case Anthropic, AnthropicCount:
		f = parseAnthropic(r)
	case OllamaChat:
		f = parseOllamaChat(r)
	case OllamaGenerate:
		f = parseOllamaGenerate(r)
	case OllamaEmbed, OllamaEmbeddings:
		f = parseOllamaEmbed(r)
	default:
		f = &fault{what: "no request can be made in the protocol " + string(p), status: 404}
	}
	if f != nil {
		return nil, f
	}
	return r, nil
}

// guarded are the top-level names that a runtime may read whatever their case
// (Ollama does). In another spelling they are taken as these; in two spellings
// they are refused, since router and runtime could read different ones.
var guarded = [...]string{
	"model", "name", "messages", "prompt", "input", "stream", "options", "tools", "images", "system",
	"template", "suffix", "raw", "think", "format", "keep_alive", "context", "max_tokens", "truncate",
}

// readMembers lists the body's top-level members.
func (r *Request) readMembers() *fault {
	body := Raw(bytes.TrimSpace(r.Body))
	if body.Kind() != '{' {
		return wrong("a JSON object as the request body", body)
	}
	r.Members = make([]Member, 0, 8)
	for m := range Members(body) {
		m.Name = canonicalName(m.Name)
		for _, g := range guarded {
			if m.Name == g && r.Member(g) != nil {
				return (&fault{what: "the name stands twice in different spellings, which runtimes read differently"}).in(g)
			}
		}
		r.Members = append(r.Members, m)
	}
	return nil
}

// canonicalName returns the guarded name that a name is another spelling of,
// by the rule of Go's own decoder (Unicode simple folding), else the name.
func canonicalName(name string) string {
	for i := range len(name) {
		if c := name[i]; c >= 'A' && c <= 'Z' || c >= utf8.RuneSelf {
			for _, g := range guarded {
				if strings.EqualFold(name, g) {
					return g
				}
			}
			return name
		}
	}
	return name
}

// Member returns the body's top-level member of that name, nil when absent.
func (r *Request) Member(name string) Raw {
	for i := range r.Members {
		if r.Members[i].Name == name {
			return r.Members[i].Value
		}
	}
	return nil
}

// readCommon reads what every protocol writes the same way.
func (r *Request) readCommon() *fault {
	r.Stream = r.Protocol.ollama() && r.Protocol != OllamaEmbed && r.Protocol != OllamaEmbeddings
	for _, m := range r.Members {
		var f *fault
		switch m.Name {
		case "model":
			f = m.str(&r.Model)
		case "stream":
			f = m.boolean(&r.Stream)
		case "fallback_models":
			f = m.strings(&r.Fallbacks)
		}
		if f != nil {
			return f
		}
	}
	if r.Model == "" && r.Protocol.ollama() {
		if f := (Member{"name", r.Member("name")}).str(&r.Model); r.Member("name") != nil && f != nil {
			return f // old clients say name
		}
	}
	if r.Model == "" {
		return &fault{what: "model is required", code: "model_required"}
	}
	for _, name := range r.Fallbacks {
		if f := checkModel(name).in("fallback_models"); f != nil {
			return f
		}
	}
	return checkModel(r.Model).in("model")
}

// checkModel refuses what no runtime's model can be called. Paths are names
// (llama-server's default one is its file's).
func checkModel(name string) *fault {
	if len(name) > 512 {
		return &fault{what: "the name is longer than 512 bytes"}
	}
	for _, c := range name {
		if c < ' ' || c == 0x7f {
			return &fault{what: "the name holds a control character"}
		}
	}
	return nil
}

func (p Protocol) ollama() bool { return strings.HasPrefix(string(p), "ollama-") }

// maxNotes bounds the notes of one request: they go into its record.
const maxNotes = 64

// drop notes what parsing left out or changed.
func (r *Request) drop(what string) {
	switch n := len(r.Dropped); {
	case n < maxNotes:
		r.Dropped = append(r.Dropped, what)
	case n == maxNotes:
		r.Dropped = append(r.Dropped, "and more")
	}
}

// indexed writes name[i], for notes.
func indexed(name string, i int) string { return name + "[" + strconv.Itoa(i) + "]" }
