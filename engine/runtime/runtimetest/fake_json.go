package runtimetest

import (
	"bytes"
	"encoding/json"
	"strconv"
	"unicode/utf8"
)

// The readers below walk JSON without decoding it, since a fake that decodes
// a 1 MB prompt would be the slowest part of every benchmark. They accept what
// is well formed; what is not is told by wellFormed in the words of Go's own
// decoder, which are the words Ollama answers with.

// eachMember calls visit with every name (without quotes) and value of the
// object b, and reports whether b was one.
func eachMember(b []byte, visit func(name, value []byte)) bool {
	i := space(b, 0)
	if i >= len(b) || b[i] != '{' {
		return false
	}
	i = space(b, i+1)
	if i < len(b) && b[i] == '}' {
		return true
	}
	for i < len(b) {
		end := skip(b, i)
		if end < 0 || b[i] != '"' {
			return false
		}
		name := b[i+1 : end-1]
		i = space(b, end)
		if i >= len(b) || b[i] != ':' {
			return false
		}
		i = space(b, i+1)
		if end = skip(b, i); end < 0 {
			return false
		}
		visit(name, b[i:end])
		i = space(b, end)
		if i >= len(b) || b[i] != ',' {
			return i < len(b) && b[i] == '}'
		}
		i = space(b, i+1)
	}
	return false
}

// eachElement calls visit with every element of the array b, and reports
// whether b was one.
func eachElement(b []byte, visit func(value []byte)) bool {
	i := space(b, 0)
	if i >= len(b) || b[i] != '[' {
		return false
	}
	i = space(b, i+1)
	if i < len(b) && b[i] == ']' {
		return true
	}
	for i < len(b) {
		end := skip(b, i)
		if end < 0 {
			return false
		}
		visit(b[i:end])
		i = space(b, end)
		if i >= len(b) || b[i] != ',' {
			return i < len(b) && b[i] == ']'
		}
		i = space(b, i+1)
	}
	return false
}

// member is the value of one member of the object b, nil when absent.
func member(b []byte, name string) []byte {
	var found []byte
	eachMember(b, func(n, v []byte) {
		if string(n) == name {
			found = v
		}
	})
	return found
}

func space(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// skip returns the index after the value that starts at i, -1 when it has no end.
func skip(b []byte, i int) int {
	if i >= len(b) {
		return -1
	}
	switch b[i] {
	case '"':
		return skipString(b, i)
	case '{', '[':
		return skipNested(b, i)
	case ',', ':', '}', ']':
		return -1
	}
	j := i
	for j < len(b) && b[j] != ',' && b[j] != '}' && b[j] != ']' && b[j] > ' ' {
		j++
	}
	return j
}

func skipString(b []byte, i int) int {
	for j := i + 1; j < len(b); {
		k := bytes.IndexByte(b[j:], '"')
		if k < 0 {
			return -1
		}
		j += k + 1
		slashes := 0
		for s := j - 2; s > i && b[s] == '\\'; s-- {
			slashes++
		}
		if slashes%2 == 0 {
			return j
		}
	}
	return -1
}

func skipNested(b []byte, i int) int {
	depth := 0
	for j := i; j < len(b); j++ {
		switch b[j] {
		case '"':
			end := skipString(b, j)
			if end < 0 {
				return -1
			}
			j = end - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return j + 1
			}
		}
	}
	return -1
}

// checkedSize is the body size up to which syntax is fully checked: beyond
// it the check would cost more than the answer.
const checkedSize = 64 << 10

// wellFormed returns nil or the syntax error of Go's decoder.
func wellFormed(b []byte) error {
	if len(b) <= checkedSize && json.Valid(b) {
		return nil
	}
	if len(b) > checkedSize && skip(b, space(b, 0)) > 0 {
		return nil
	}
	var v json.RawMessage
	return json.NewDecoder(bytes.NewReader(b)).Decode(&v)
}

// kind is the first byte of a value, 'n' for null and for an absent one.
func kind(v []byte) byte {
	if len(v) == 0 {
		return 'n'
	}
	return v[0]
}

// text is the string value of a literal, "" for anything else.
func text(v []byte) string {
	if len(v) < 2 || v[0] != '"' {
		return ""
	}
	if bytes.IndexByte(v, '\\') < 0 {
		return string(v[1 : len(v)-1])
	}
	var s string
	_ = json.Unmarshal(v, &s)
	return s
}

// whole is the value as an integer, or otherwise when it is none.
func whole(v []byte, otherwise int) int {
	if len(v) == 0 || v[0] == 'n' {
		return otherwise
	}
	f, err := strconv.ParseFloat(string(v), 64)
	if err != nil {
		return otherwise
	}
	return int(f)
}

func isTrue(v []byte) bool { return len(v) == 4 && v[0] == 't' }

// texts reads a string or a list of strings.
func texts(v []byte) []string {
	if kind(v) == '"' {
		return []string{text(v)}
	}
	var list []string
	eachElement(v, func(e []byte) { list = append(list, text(e)) })
	return list
}

// Escaping follows the writer that is imitated: Go escapes <, > and & and
// llama.cpp's library does not.
type escaping bool

const (
	goEscapes   escaping = true
	cppEscapes  escaping = false
	lowerHex             = "0123456789abcdef"
	replacement          = `\ufffd`
)

// appendQuoted appends s as a JSON literal.
func appendQuoted(b []byte, s string, e escaping) []byte {
	b = append(b, '"')
	b = appendEscaped(b, s, e)
	return append(b, '"')
}

// appendEscaped appends s as the inside of a JSON literal.
func appendEscaped(b []byte, s string, e escaping) []byte {
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && n == 1 {
				b = append(append(b, s[start:i]...), replacement...)
				i++
				start = i
				continue
			}
			i += n
			continue
		}
		if c >= ' ' && c != '"' && c != '\\' && (!bool(e) || c != '<' && c != '>' && c != '&') {
			i++
			continue
		}
		b = append(b, s[start:i]...)
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, '\\', 'n')
		case '\r':
			b = append(b, '\\', 'r')
		case '\t':
			b = append(b, '\\', 't')
		default:
			b = append(b, '\\', 'u', '0', '0', lowerHex[c>>4], lowerHex[c&15])
		}
		i++
		start = i
	}
	return append(b, s[start:]...)
}

func appendInt(b []byte, n int) []byte { return strconv.AppendInt(b, int64(n), 10) }

func appendFloat(b []byte, f float64) []byte { return strconv.AppendFloat(b, f, 'g', -1, 64) }
