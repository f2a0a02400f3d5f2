package dialect

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// A body is validated once, whole, by checkJSON; after that it is only walked:
// Members and Elements step over values by their brackets and quotes and hand
// out slices of the body. Walking bytes that were not validated is safe (it
// never panics, never leaves the slice) but what it yields means nothing.

// checkJSON validates a whole body: one JSON value, no duplicate names at any
// depth, so that we and a runtime that keeps the first or the last of two can
// never read different requests. Invalid Unicode (a lone surrogate, as
// JavaScript's slice makes it out of an emoji) is mended to U+FFFD in a copy
// and mended is true: some runtimes answer 500 to it.
func checkJSON(body []byte) (checked []byte, mended bool, f *fault) {
	if len(bytes.TrimLeft(body, " \t\r\n")) == 0 {
		return nil, false, &fault{what: "missing request body"}
	}
	if jsontext.Value(body).IsValid() { // with memory of its own that is used again
		return body, false, nil
	}
	err := readWhole(body)
	if readWhole(body, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)) == nil {
		body = mendUnicode(body)
		if err = readWhole(body); err == nil {
			return body, true, nil
		}
	}
	return nil, false, jsonFault(err)
}

func readWhole(b []byte, opts ...jsontext.Options) error {
	dec := jsontext.NewDecoder(bytes.NewBuffer(b), opts...) // a bytes.Buffer is read in place
	if _, err := dec.ReadValue(); err != nil {
		return err
	}
	if _, err := dec.ReadToken(); err != io.EOF {
		return errTrailing
	}
	return nil
}

var errTrailing = errors.New("more follows after the end of the JSON value")

func jsonFault(err error) *fault {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return &fault{what: "the request body is not valid JSON: unexpected EOF"}
	}
	var syntax *jsontext.SyntacticError
	if !errors.As(err, &syntax) {
		return &fault{what: "the request body is not valid JSON: " + err.Error()}
	}
	if errors.Is(err, jsontext.ErrDuplicateName) {
		return &fault{what: fmt.Sprintf("the name %q stands twice in one object, which runtimes read differently", syntax.JSONPointer.LastToken())}
	}
	return &fault{what: fmt.Sprintf("the request body is not valid JSON: %v at byte %d", syntax.Err, syntax.ByteOffset)}
}

// mendUnicode replaces every invalid byte and every lone surrogate escape in
// otherwise valid JSON, as Go's own decoder does.
func mendUnicode(b []byte) []byte {
	out := make([]byte, 0, len(b)+16)
	for len(b) > 0 {
		n := 1
		switch {
		case b[0] == '\\':
			n = escapeSize(b)
			if n == 6 && (isHighSurrogate(b[2:6]) || isLowSurrogate(b[2:6])) {
				out, b = append(out, `\ufffd`...), b[6:]
				continue
			}
		case b[0] >= utf8.RuneSelf:
			var c rune
			if c, n = utf8.DecodeRune(b); c == utf8.RuneError && n == 1 {
				out, b = append(out, "\uFFFD"...), b[1:]
				continue
			}
		}
		out, b = append(out, b[:n]...), b[n:]
	}
	return out
}

// escapeSize is the length of the escape that b begins with: a surrogate pair
// is one of 12 bytes, and 6 with a surrogate is half a pair.
func escapeSize(b []byte) int {
	switch {
	case len(b) < 6 || b[1] != 'u':
		return min(2, len(b))
	case len(b) >= 12 && isHighSurrogate(b[2:6]) && b[6] == '\\' && b[7] == 'u' && isLowSurrogate(b[8:12]):
		return 12
	}
	return 6
}

// Kind is the first byte of a value and so its type: { [ " t f n, 0 for a
// number, or 0xff when absent.
func (v Raw) Kind() byte {
	if len(v) == 0 {
		return 0xff
	}
	switch c := v[0]; c {
	case '{', '[', '"', 't', 'f', 'n':
		return c
	}
	return '0'
}

// None reports whether the value is absent or null.
func (v Raw) None() bool { return len(v) == 0 || v[0] == 'n' }

// Members walks an object's members in order. The values alias v. A value
// that is no object has none.
func Members(v Raw) iter.Seq[Member] {
	return func(yield func(Member) bool) {
		i, ok := into(v, '{')
		for ok && v[i] == '"' {
			end := skipString(v, i)
			name := v[i:end]
			i = skipSpace(v, end)
			if i >= len(v) || v[i] != ':' {
				return
			}
			i = skipSpace(v, i+1)
			end = skipValue(v, i)
			if end == i || !yield(Member{memberName(name), v[i:end]}) {
				return
			}
			i, ok = next(v, end)
		}
	}
}

// Elements walks an array's elements in order. They alias v. A value that is
// no array has none.
func Elements(v Raw) iter.Seq2[int, Raw] {
	return func(yield func(int, Raw) bool) {
		i, ok := into(v, '[')
		for n := 0; ok && v[i] != ']'; n++ {
			end := skipValue(v, i)
			if end == i || !yield(n, v[i:end]) {
				return
			}
			i, ok = next(v, end)
		}
	}
}

// Get returns the value of one member of an object, nil when absent.
func (v Raw) Get(name string) Raw {
	for m := range Members(v) {
		if m.Name == name {
			return m.Value
		}
	}
	return nil
}

// into steps behind an opening bracket to the first thing inside.
func into(v Raw, bracket byte) (int, bool) {
	if len(v) == 0 || v[0] != bracket {
		return 0, false
	}
	i := skipSpace(v, 1)
	return i, i < len(v)
}

// next steps over a comma to the following member or element.
func next(v Raw, i int) (int, bool) {
	i = skipSpace(v, i)
	if i >= len(v) || v[i] != ',' {
		return i, false
	}
	i = skipSpace(v, i+1)
	return i, i < len(v)
}

func skipSpace(v []byte, i int) int {
	for i < len(v) && (v[i] == ' ' || v[i] == '\n' || v[i] == '\r' || v[i] == '\t') {
		i++
	}
	return i
}

// skipString returns the index behind the string that begins at i.
func skipString(v []byte, i int) int {
	i++
	for start := i; ; {
		q := bytes.IndexByte(v[min(i, len(v)):], '"')
		if q < 0 {
			return len(v)
		}
		q += i
		back := q
		for back > start && v[back-1] == '\\' {
			back--
		}
		i = q + 1
		if (q-back)%2 == 0 {
			return i
		}
		start = i
	}
}

// skipValue returns the index behind the value that begins at i; i itself
// when none begins there.
func skipValue(v []byte, i int) int {
	if i >= len(v) {
		return i
	}
	switch v[i] {
	case '"':
		return skipString(v, i)
	case '{', '[':
		for depth := 0; i < len(v); {
			switch v[i] {
			case '"':
				i = skipString(v, i)
				continue
			case '{', '[':
				depth++
			case '}', ']':
				depth--
			}
			i++
			if depth == 0 {
				return i
			}
		}
		return len(v)
	}
	for i < len(v) {
		switch v[i] {
		case ',', ']', '}', ':', ' ', '\n', '\r', '\t':
			return i
		}
		i++
	}
	return i
}

// memberName decodes a name; the frequent ones cost no memory.
func memberName(lit []byte) string {
	if len(lit) < 2 {
		return ""
	}
	in := lit[1 : len(lit)-1]
	switch string(in) {
	case "role":
		return "role"
	case "content":
		return "content"
	case "type":
		return "type"
	case "text":
		return "text"
	case "name":
		return "name"
	case "id":
		return "id"
	case "function":
		return "function"
	case "arguments":
		return "arguments"
	case "tool_calls":
		return "tool_calls"
	case "tool_call_id":
		return "tool_call_id"
	case "tool_use_id":
		return "tool_use_id"
	case "input":
		return "input"
	case "cache_control":
		return "cache_control"
	case "parameters":
		return "parameters"
	case "description":
		return "description"
	case "call_id":
		return "call_id"
	case "output":
		return "output"
	// what every frame of a runtime's stream repeats
	case "message":
		return "message"
	case "model":
		return "model"
	case "created_at":
		return "created_at"
	case "done":
		return "done"
	case "response":
		return "response"
	case "thinking":
		return "thinking"
	case "choices":
		return "choices"
	case "delta":
		return "delta"
	case "index":
		return "index"
	case "finish_reason":
		return "finish_reason"
	case "created":
		return "created"
	case "object":
		return "object"
	case "system_fingerprint":
		return "system_fingerprint"
	}
	if name, known := usualNames[string(in)]; known {
		return name
	}
	return Text(lit).String()
}

// usualNames are the others that most requests and answers have.
var usualNames = func() map[string]string {
	m := map[string]string{}
	for name := range strings.FieldsSeq(`
		messages prompt stream options format tools tool_choice max_tokens max_completion_tokens max_output_tokens
		temperature top_p top_k stop seed user metadata system instructions keep_alive think stream_options
		include_usage response_format reasoning_effort parallel_tool_calls store num_ctx num_predict
		properties required image_url url data source media_type
		done_reason total_duration load_duration prompt_eval_count prompt_eval_duration eval_count eval_duration
		context usage prompt_tokens completion_tokens total_tokens reasoning_content timings`) {
		m[name] = name
	}
	return m
}()
