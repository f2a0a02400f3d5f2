package route

import (
	"encoding/binary"
	"math"

	"bellwether/engine/dialect"
)

// Characters a token holds, by script, and what is counted beside the text
// (routing.md 2). The estimate is calibrated per model from the prompt tokens
// runtimes report, so what matters here is that it is fast and steady.
const (
	latinPerToken = 4.0
	codePerToken  = 3.2
	cjkPerToken   = 1.5
	otherPerToken = 2.5 // Cyrillic, Greek, Arabic, Hebrew, Indic, Thai

	perMessage = 4 // tokens of a template around a message
	perTool    = 8 // tokens of a template around a tool

	codeShare = 0.08 // of sampled characters being symbols or digits: it is code
)

// tally counts characters by script.
type tally struct{ latin, code, cjk, other int }

func (t *tally) tokens() float64 {
	return float64(t.latin)/latinPerToken + float64(t.code)/codePerToken +
		float64(t.cjk)/cjkPerToken + float64(t.other)/otherPerToken
}

const (
	segment  = 2048 // bytes judged together: prose or code
	sampled  = 64   // bytes looked at ...
	sampleOf = 256  // ... of so many
	highBits = 0x8080808080808080
)

// text counts a JSON string literal without decoding it: eight bytes a step
// while they are plain ASCII, byte by byte around escapes and other scripts.
func (t *tally) text(lit dialect.Text) {
	if len(lit) < 2 {
		return
	}
	b := lit[1 : len(lit)-1]
	for len(b) > segment {
		n := segment + t.segment(b, segment)
		b = b[min(n, len(b)):]
	}
	t.segment(b, len(b))
}

// value counts a JSON value by its own text, as code.
func (t *tally) value(raw []byte) { t.code += len(raw) }

// segment counts the first n bytes and returns how far the last character
// reached beyond them.
func (t *tally) segment(b []byte, n int) (beyond int) {
	ascii, i := 0, 0
	for i < n {
		for i+8 <= n {
			x := binary.LittleEndian.Uint64(b[i:])
			if x&highBits != 0 || hasBackslash(x) {
				break
			}
			ascii += 8
			i += 8
		}
		for end := min(i+8, n); i < end; {
			switch c := b[i]; {
			case c == '\\':
				i += t.escape(b[i:], &ascii)
			case c < 0x80:
				ascii++
				i++
			default:
				i += t.rune(c)
			}
		}
	}
	if looksLikeCode(b[:n]) {
		t.code += ascii
	} else {
		t.latin += ascii
	}
	return i - n
}

// hasBackslash reports whether one of the eight bytes is a backslash.
func hasBackslash(x uint64) bool {
	const ones, slashes = 0x0101010101010101, 0x5c5c5c5c5c5c5c5c
	y := x ^ slashes
	return (y-ones)&^y&highBits != 0
}

// escape counts one escaped character and returns the bytes it takes.
func (t *tally) escape(b []byte, ascii *int) int {
	if len(b) < 6 || b[1] != 'u' {
		*ascii++
		return 2
	}
	c := rune(hex(b[2]))<<12 | rune(hex(b[3]))<<8 | rune(hex(b[4]))<<4 | rune(hex(b[5]))
	switch {
	case c < 0x80:
		*ascii++
	case c < 0x370:
		t.latin++
	case c < 0x1100, c >= 0x1200 && c < 0x2e80:
		t.other++
	case c >= 0xdc00 && c < 0xe000: // second half of a pair, counted with the first
	default:
		t.cjk++
	}
	return 6
}

func hex(c byte) byte {
	switch {
	case c >= '0' && c <= '9':
		return c - '0'
	default:
		return (c | 0x20 - 'a' + 10) & 15
	}
}

// rune counts a character by its leading UTF-8 byte and returns its length.
func (t *tally) rune(lead byte) int {
	switch {
	case lead < 0xc0: // inside a character: not valid text, counted with its lead
		return 1
	case lead < 0xcd:
		t.latin++
		return 2
	case lead < 0xe0:
		t.other++
		return 2
	case lead < 0xe1: // Indic, Thai, Lao
		t.other++
		return 3
	case lead == 0xe1, lead == 0xe2: // Georgian, Vietnamese; punctuation, symbols
		t.other++
		return 3
	case lead < 0xf0:
		t.cjk++
		return 3
	default:
		t.cjk++
		return 4
	}
}

// looksLikeCode samples a segment for symbols and digits.
func looksLikeCode(b []byte) bool {
	marks, seen := 0, 0
	for start := 0; start < len(b); start += sampleOf {
		window := b[start:min(start+sampled, len(b))]
		for i := 0; i < len(window); i++ {
			if c := window[i]; c == '\\' && i+1 < len(window) && window[i+1] == 'u' {
				i += 5 // an escaped letter: its digits are none of the text's
			} else {
				marks += int(codeMark[c])
			}
			seen++
		}
	}
	return float64(marks) > codeShare*float64(seen)
}

// codeMark is 1 for characters that prose has few of.
var codeMark = func() (m [256]uint8) {
	for _, c := range []byte("{}()[];=<>_/\\|&*+#@$%^~`0123456789") {
		m[c] = 1
	}
	return m
}()

// Kinds of text: a model's counts of one say little of another.
const (
	textProse = "prose"
	textCode  = "code" // and whatever else has many digits and symbols, as base64 has
	textCJK   = "cjk"
	textOther = "other"
)

// kind is the kind of text that most of the tokens are of.
func (t *tally) kind() string {
	kind, most := textProse, float64(t.latin)/latinPerToken
	if n := float64(t.code) / codePerToken; n > most {
		kind, most = textCode, n
	}
	if n := float64(t.cjk) / cjkPerToken; n > most {
		kind, most = textCJK, n
	}
	if n := float64(t.other) / otherPerToken; n > most {
		kind = textOther
	}
	return kind
}

func (t *tally) add(o tally) {
	t.latin, t.code, t.cjk, t.other = t.latin+o.latin, t.code+o.code, t.cjk+o.cjk, t.other+o.other
}

// estimate returns the prompt tokens of a request, uncalibrated, and the kind of
// its text. Embedding inputs are read one by one, so the longest is what a
// context must hold. A schema of the answer is no part of the prompt: runtimes
// hold the answer to it as a grammar.
func estimate(r *dialect.Request) (input, total int, kind string) {
	var t tally
	if r.Embed != nil {
		for _, in := range r.Embed.Inputs {
			var one tally
			one.text(in)
			n := ceil(one.tokens())
			input = max(input, n)
			total += n
			t.add(one)
		}
		return input, total, t.kind()
	}
	extra := 0
	if r.Instructions != nil && !systemFirst(r.Messages) {
		t.text(r.Instructions)
		extra += perMessage
	}
	for i := range r.Messages {
		m := &r.Messages[i]
		extra += perMessage + imageTokens(m.Parts)
		t.message(m)
	}
	if p := r.Prompt; p != nil {
		t.text(p.Text)
		t.text(p.Suffix)
		t.text(p.System)
		t.value(p.Context)
		extra += perMessage + imageTokens(p.Images)
	}
	if r.ToolChoice.Mode != dialect.ChoiceNone {
		for i := range r.Tools {
			extra += perTool
			t.tool(&r.Tools[i])
		}
	}
	n := ceil(t.tokens()) + extra
	return n, n, t.kind()
}

// systemFirst reports whether the instructions already stand as a message.
func systemFirst(ms []dialect.Message) bool {
	return len(ms) > 0 && ms[0].Role == dialect.RoleSystem
}

func (t *tally) message(m *dialect.Message) {
	for i := range m.Parts {
		if p := &m.Parts[i]; p.Kind == dialect.PartText {
			t.text(p.Text)
		}
	}
	t.text(m.Thinking)
	for i := range m.ToolCalls {
		c := &m.ToolCalls[i]
		t.code += len(c.Name)
		t.value(c.Arguments)
	}
}

func (t *tally) tool(tool *dialect.Tool) {
	t.code += len(tool.Name)
	t.text(tool.Description)
	t.value(tool.Parameters)
}

func ceil(f float64) int { return int(math.Ceil(f - 1e-9)) }
