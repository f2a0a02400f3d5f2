package runtimetest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// FakeModel is one model a Fake has. Only Name is required.
type FakeModel struct {
	Name       string // "qwen3:8b"; without a tag ":latest" is meant
	Digest     string // 64 hex digits; "" = derived from the name
	Family     string // "" = llama
	Quant      string // "" = Q4_K_M
	Parameters int64  // parameter count; 0 = derived from Size
	Size       int64  // bytes of the model file; 0 = 4 MiB
	Context    int    // tokens the model was trained for; 0 = 32768
	NumCtx     int    // num_ctx of its Modelfile; 0 = the runtime's default
	// Capabilities in Ollama's words: completion, tools, thinking, vision,
	// embedding, insert. nil = completion.
	Capabilities   []string
	Think          bool // short for the capability thinking
	EmbeddingWidth int  // numbers in a vector (embedding models) or hidden size; 0 = 256

	KVBytesPerToken int64   // memory of one token of context; 0 = Size/65536, at least 1 KiB
	Overhead        int64   // compute buffers of a loaded model; 0 = 10 MiB
	CharsPerToken   float64 // how its tokenizer counts; 0 = 4

	PrefillRate, DecodeRate, LoadBytesPerSecond float64 // 0 = the config's

	Tokens int                    // words of the default answer; 0 = 10, negative = it never stops by itself
	Script []Answer               // first one whose Match fits is the answer
	Reply  func(Question) *Answer // asked after Script; nil result = the default answer
	// Strength is the share of the exam's items it answers right, by task; "" = at
	// all others. Asked after Script and before Reply.
	Strength map[string]float64
	Broken   string // every load fails with this reason
	Path     string // the model file; "" = /models/<name>.gguf (llama-server), a blob by its digest (Ollama)
	// Modified is when the file was written; zero = a fixed day.
	Modified time.Time
}

// Answer is a scripted answer.
type Answer struct {
	Match    string   // substring of the last user message; "" = any
	Text     string   // what the model says
	Pieces   []string // Text cut in tokens, instead of Text
	Thinking string   // said before Text, unless the request forbids thinking
	Calls    []Call   // tool calls, after Text; Ollama swallows those to tools not declared beside others
	Reason   string   // "" = stop
	Times    int      // how often it is given; 0 = without limit
}

// Call is one tool call of a scripted answer.
type Call struct {
	Name      string
	Arguments string // a JSON object
}

// Question is what a Reply function may look at.
type Question struct {
	Path     string // of the request
	Model    string // the model's full name
	Last     string // text of the last user message or prompt
	LastRole string // role of the last message
	Messages int
	Tools    []string // names
	Images   int
	Body     []byte // as received; not to be changed
}

// model is a FakeModel with its defaults filled in. Immutable, except given,
// which the fake's mutex guards.
type model struct {
	FakeModel
	full     string // name with tag (Ollama), or as it is (llama-server)
	short    string // without the tag
	key      string // how it is found: full in lower case
	created  time.Time
	speech   []piece // thinking and text of the default answer, cut and escaped
	thoughts []piece
	given    []int // how often each scripted answer was given
}

var someDay = time.Date(2026, 11, 1, 9, 30, 0, 123456789, time.UTC)

func newModel(m FakeModel, kind string, created time.Time) (*model, error) {
	if m.Name == "" {
		return nil, fmt.Errorf("fake runtime: a model has no name")
	}
	orSet(&m.Family, "llama")
	orSet(&m.Quant, "Q4_K_M")
	orSet(&m.Size, 4<<20)
	orSet(&m.Parameters, m.Size*8/5) // about 5 bits a weight
	orSet(&m.Context, 32768)
	orSet(&m.EmbeddingWidth, 256)
	orSet(&m.KVBytesPerToken, max(1024, m.Size>>16))
	orSet(&m.Overhead, 10<<20)
	orSet(&m.CharsPerToken, 4)
	orSet(&m.Tokens, 10)
	orSet(&m.Path, "/models/"+strings.NewReplacer(":", "-", "/", "_").Replace(m.Name)+".gguf")
	if m.Modified.IsZero() {
		m.Modified = someDay
	}
	if m.Digest == "" {
		sum := sha256.Sum256([]byte(m.Name))
		m.Digest = hex.EncodeToString(sum[:])
	}
	if m.Capabilities == nil {
		m.Capabilities = []string{"completion"}
	}
	if m.Think && !slices.Contains(m.Capabilities, "thinking") {
		m.Capabilities = append(slices.Clip(m.Capabilities), "thinking")
	}
	full := m.Name
	if kind == Ollama {
		full = fullName(m.Name)
	}
	made := &model{FakeModel: m, full: full, short: strings.TrimSuffix(full, ":latest"),
		key: strings.ToLower(full), created: created, given: make([]int, len(m.Script))}
	made.speech = cut(defaultText(made.short, m.Tokens, 0), escaping(kind == Ollama))
	if made.can("thinking") {
		made.thoughts = cut("First I count: 1 2 3.", escaping(kind == Ollama))
	}
	return made, nil
}

func orSet[T comparable](v *T, value T) {
	var zero T
	if *v == zero {
		*v = value
	}
}

// fullName adds Ollama's default tag.
func fullName(name string) string {
	if i := strings.LastIndexByte(name, ':'); i > strings.LastIndexByte(name, '/') {
		return name
	}
	return name + ":latest"
}

// registryName is how Ollama's scheduler names a model in its errors.
func registryName(name string) string {
	full := fullName(name)
	switch strings.Count(full, "/") {
	case 0:
		return "registry.ollama.ai/library/" + full
	case 1:
		return "registry.ollama.ai/" + full
	}
	return full
}

func (m *model) can(capability string) bool { return slices.Contains(m.Capabilities, capability) }

// resident is the memory the model takes with slots slots of ctx tokens each.
func (m *model) resident(ctx, slots int) int64 {
	return m.Size + m.KVBytesPerToken*int64(ctx)*int64(slots) + m.Overhead
}

// loadTime is how long reading the file takes.
func (m *model) loadTime(rate float64) time.Duration {
	if m.LoadBytesPerSecond > 0 {
		rate = m.LoadBytesPerSecond
	}
	if rate <= 0 {
		return 0
	}
	return time.Duration(float64(m.Size) / rate * float64(time.Second))
}

// parameterSize is the count in Ollama's words: 520K, 2.30M, 8.0B.
func parameterSize(n int64) string {
	switch f := float64(n); {
	case n >= 1e9:
		return strconv.FormatFloat(f/1e9, 'f', 1, 64) + "B"
	case n >= 1e6:
		return strconv.FormatFloat(f/1e6, 'f', 2, 64) + "M"
	case n >= 1e3:
		return strconv.FormatFloat(f/1e3, 'f', 0, 64) + "K"
	}
	return strconv.FormatInt(n, 10)
}

// words are what a default answer counts with.
var words = strings.Fields("one two three four five six seven eight nine ten")

// defaultText is "<model> answers: one two three ..." of n words; negative n
// stands for an endless one, of which these are the first. The seed chooses
// the word it begins with.
func defaultText(name string, n int, seed int) string {
	if n < 0 {
		n = len(words)
	}
	var b strings.Builder
	b.WriteString(name)
	b.WriteString(" answers:")
	for i := range n {
		b.WriteByte(' ')
		b.WriteString(words[(i+seed%len(words)+len(words))%len(words)])
	}
	b.WriteByte('.')
	return b.String()
}

// piece is one token of an answer: its text, and that as the inside of a JSON
// literal, ready to be written.
type piece struct {
	text string
	lit  []byte
}

// cut splits s as a small tokenizer would: what stands before a word goes with
// it, what follows the last word stays with that, and every rune beyond ASCII
// is a token of its own.
func cut(s string, e escaping) []piece {
	return quotePieces(tokens(s), e)
}

func quotePieces(list []string, e escaping) []piece {
	pieces := make([]piece, len(list))
	for i, t := range list {
		pieces[i] = piece{text: t, lit: appendEscaped(nil, t, e)}
	}
	return pieces
}

func tokens(s string) []string {
	var out []string
	start, inWord := 0, false
	for i := 0; i < len(s); {
		r, width := utf8.DecodeRuneInString(s[i:])
		isWord := r < utf8.RuneSelf && (r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '_')
		switch {
		case r >= utf8.RuneSelf:
			if i > start {
				out = append(out, s[start:i])
			}
			out = append(out, s[i:i+width])
			start = i + width
		case inWord && !isWord:
			out = append(out, s[start:i])
			start = i
		}
		inWord = isWord
		i += width
	}
	if start >= len(s) {
		return out
	}
	if rest := s[start:]; len(rest) == 1 && len(out) > 0 && !inWord && rest != " " && rest != "\n" {
		out[len(out)-1] += rest // a closing full stop
		return out
	}
	return append(out, s[start:])
}
