package dialect

import (
	"bytes"
	"slices"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Quote makes the literal of a Go string. Invalid UTF-8 becomes U+FFFD.
func Quote(s string) Text { return AppendString(nil, s) }

// String decodes the literal. An absent Text is "".
func (t Text) String() string {
	in := t.inner()
	if bytes.IndexByte(in, '\\') < 0 {
		return string(in)
	}
	b, _ := jsontext.AppendUnquote(make([]byte, 0, len(in)), []byte(t))
	return string(b)
}

// Empty reports whether the text is absent or "".
func (t Text) Empty() bool { return len(t) <= 2 }

// Is reports whether the literal means s, decoding only where it must.
func (t Text) Is(s string) bool {
	in := t.inner()
	if bytes.IndexByte(in, '\\') < 0 {
		return string(in) == s
	}
	return t.String() == s
}

// HasPrefix reports whether the decoded text begins with s, a plain prefix
// without quotes, backslashes or control characters.
func (t Text) HasPrefix(s string) bool { return bytes.HasPrefix(t.inner(), []byte(s)) }

// Len counts the text's characters (runes), without decoding it. A surrogate
// pair written as two escapes counts once.
func (t Text) Len() int {
	in := t.inner()
	n := 0
	for {
		i := bytes.IndexByte(in, '\\')
		if i < 0 {
			return n + utf8.RuneCount(in)
		}
		n += utf8.RuneCount(in[:i]) + 1
		in = in[i:]
		in = in[escapeSize(in):]
	}
}

// inner is what stands between the quotes; nil when there is nothing.
func (t Text) inner() []byte {
	if len(t) <= 2 {
		return nil
	}
	return t[1 : len(t)-1]
}

// IsText reports whether b is one valid JSON string literal and nothing else:
// what an adapter must know before it calls foreign bytes a Text.
func IsText(b []byte) bool {
	return len(b) >= 2 && b[0] == '"' && b[len(b)-1] == '"' && jsontext.Value(b).IsValid(jsontext.AllowInvalidUTF8(true))
}

// Concat joins literals into one without decoding them.
func Concat(texts ...Text) Text { return Join("", texts...) }

// Join joins literals with a separator between them, without decoding them.
// Absent texts are skipped, "" is not.
func Join(sep string, texts ...Text) Text {
	var b TextBuilder
	some := false
	for _, t := range texts {
		if t == nil {
			continue
		}
		if some && sep != "" {
			b.AddString(sep)
		}
		some = true
		b.Add(t)
	}
	return b.Text()
}

// TextBuilder gathers literals into one. The zero value is ready; it is not
// to be copied once used.
type TextBuilder struct{ buf []byte }

// Add appends a literal.
func (b *TextBuilder) Add(t Text) {
	if in := t.inner(); in != nil {
		b.buf = append(b.open(len(in)), in...)
	}
}

// AddString appends a Go string.
func (b *TextBuilder) AddString(s string) {
	if s == "" {
		return
	}
	at := len(b.open(len(s)))
	b.buf = AppendString(b.buf, s)
	b.buf = append(b.buf[:at], b.buf[at+1:len(b.buf)-1]...) // without its quotes
}

// Empty reports whether nothing was added.
func (b *TextBuilder) Empty() bool { return len(b.buf) <= 1 }

// Text returns the literal so far, "" when nothing was added. The builder may
// be added to afterwards; the returned text does not change.
func (b *TextBuilder) Text() Text {
	if b.Empty() {
		return Text(`""`)
	}
	return Text(append(bytes.Clone(b.buf), '"'))
}

// open begins the literal, with room for n bytes and both quotes.
func (b *TextBuilder) open(n int) []byte {
	if len(b.buf) == 0 {
		b.buf = append(slices.Grow(b.buf, n+2), '"')
	}
	return b.buf
}

// AppendString appends s as a JSON string literal.
func AppendString(dst []byte, s string) []byte {
	if plain(s) {
		dst = append(dst, '"')
		dst = append(dst, s...)
		return append(dst, '"')
	}
	dst, _ = jsontext.AppendQuote(dst, s) // the error only says that U+FFFD was put in
	return dst
}

// AppendText appends the literal; an absent text is "".
func AppendText(dst []byte, t Text) []byte {
	if len(t) < 2 {
		return append(dst, `""`...)
	}
	return append(dst, t...)
}

// AppendRaw appends the value; an absent value is null.
func AppendRaw(dst []byte, v Raw) []byte {
	if len(v) == 0 {
		return append(dst, "null"...)
	}
	return append(dst, v...)
}

// plain reports whether s is printable ASCII that needs no escape.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c >= 0x7f || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

func isHighSurrogate(hex []byte) bool {
	return lower(hex[0]) == 'd' && (hex[1] == '8' || hex[1] == '9' || lower(hex[1]) == 'a' || lower(hex[1]) == 'b')
}

func isLowSurrogate(hex []byte) bool {
	return lower(hex[0]) == 'd' && lower(hex[1]) >= 'c' && lower(hex[1]) <= 'f'
}

func lower(c byte) byte { return c | 0x20 }
