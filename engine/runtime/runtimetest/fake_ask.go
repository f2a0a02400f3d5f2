package runtimetest

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// ask is a request to generate or embed, read out of any of the protocols.
// Its byte slices alias the body.
type ask struct {
	path    string
	model   string
	noModel bool // the member is absent or empty
	stream  bool
	body    []byte

	// prompt is what the model reads, as it stood in the body: for counting
	// and for finding out how much of it a slot has cached.
	prompt   []byte
	chars    int
	messages int
	turns    bool   // a messages member was there
	hollow   string // role of a turn with neither content nor calls, "" = none
	role     string // of the turn being read
	lastRole string // of the last turn that is no system text
	lastUser []byte // literal, or joined text in quotes
	images   int

	tools  []tool
	choice string // "" = auto; none, required, or a tool's name after "="
	single bool   // parallel calls are switched off

	format []byte // nil, "json" or a schema
	think  think
	uncut  bool // truncate: false
	max    int  // most output tokens, negative = not said
	stop   []string
	seed   int
	logs   bool
	topLog int
	usage  bool

	numCtx    int
	keepAlive []byte
	raw       bool
	suffix    bool

	inputs     [][]byte // embeddings: literals, or token lists
	dimensions int
	base64     bool
	instruct   []byte // Responses: instructions, for the echo
	rawTools   []byte // Responses: tools, for the echo
	previous   string // Responses: previous_response_id
}

type tool struct {
	name   string
	params []byte
}

// think says whether the request wants reasoning.
type think uint8

const (
	thinkUnset think = iota
	thinkOn
	thinkOff
)

// fault of a body: what Ollama's decoder says about a wrong type.
type typeError struct{ got, field, want string }

func (e typeError) Error() string {
	return fmt.Sprintf("json: cannot unmarshal %s into Go struct field %s of type %s", e.got, e.field, e.want)
}

// goKind names a JSON value as Go's decoder does.
func goKind(v []byte) string {
	switch kind(v) {
	case '"':
		return "string"
	case '{':
		return "object"
	case '[':
		return "array"
	case 't', 'f':
		return "bool"
	case 'n':
		return "null"
	}
	return "number"
}

func (a *ask) read(s string) { a.prompt = append(a.prompt, s...) }

func (a *ask) readRaw(v []byte) {
	a.prompt = append(a.prompt, v...)
	a.chars += len(v)
}

// say adds a turn's text. Literals are counted without their quotes.
func (a *ask) say(role string, literal []byte) {
	a.messages++
	a.role = role
	if role != "system" && role != "developer" {
		a.lastRole = role
	}
	a.read("<|")
	a.read(role)
	a.read("|>")
	if kind(literal) == '"' {
		a.readRaw(literal[1 : len(literal)-1])
	}
	if role == "user" {
		a.lastUser = literal
	}
}

// more adds another part of the same turn.
func (a *ask) more(literal []byte) {
	if kind(literal) != '"' {
		return
	}
	a.readRaw(literal[1 : len(literal)-1])
	if a.role != "user" {
		return
	}
	if len(a.lastUser) < 2 {
		a.lastUser = literal
		return
	}
	joined := append([]byte(nil), a.lastUser[:len(a.lastUser)-1]...)
	a.lastUser = append(joined, literal[1:]...)
}

func (a *ask) addTool(name []byte, params []byte) {
	a.tools = append(a.tools, tool{name: text(name), params: params})
}

// promptTokens is how long the prompt is for the model: its characters, and
// four tokens of template a turn.
func (a *ask) promptTokens(m *model) int {
	return 4*max(a.messages, 1) + int((float64(a.chars)+m.CharsPerToken-1)/m.CharsPerToken)
}

// last is the decoded text of the last user turn.
func (a *ask) last() string { return text(a.lastUser) }

// asksFor reads a wish out of a prompt: "say 40 words" makes the default
// answer 40 words long.
func asksFor(last string) (n int, ok bool) {
	head, _, found := strings.Cut(last, " words")
	if !found {
		return 0, false
	}
	n, err := strconv.Atoi(head[strings.LastIndexByte(head, ' ')+1:])
	return min(n, 100_000), err == nil && n > 0
}

// keepAliveOf reads keep_alive: a number of seconds or a Go duration,
// negative = for ever.
func keepAliveOf(v []byte, otherwise time.Duration) (time.Duration, error) {
	switch kind(v) {
	case 'n':
		return otherwise, nil
	case '"':
		d, err := time.ParseDuration(text(v))
		if err != nil {
			return 0, err
		}
		return orForever(d), nil
	case '{', '[', 't', 'f':
		//lint:ignore ST1005 Ollama's words
		return 0, fmt.Errorf("Unsupported type: '%s'", goKind(v))
	}
	seconds, err := strconv.ParseFloat(string(v), 64)
	if err != nil {
		return 0, err
	}
	return orForever(time.Duration(seconds * float64(time.Second))), nil
}

// forever is what Ollama makes of a negative keep_alive: the year 2319.
const forever = time.Duration(1<<63 - 1)

func orForever(d time.Duration) time.Duration {
	if d < 0 {
		return forever
	}
	return d
}
