package runtimetest

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzMembers holds the walker against Go's decoder.
func FuzzMembers(f *testing.F) {
	for _, s := range []string{`{}`, `{"a":1}`, ` { "a" : "x\"}" , "b" : [ 1, {"c":"]"} ] } `, `{"a":`, `{"a"}`, `[1]`, `{"a":"\\"}`,
		`{"a":-1.5e3,"b":null,"c":true}`, `{"\u0061":"é🐑"}`, `{"a":1,}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		b := []byte(s)
		var want map[string]json.RawMessage
		if !utf8.ValidString(s) || json.Unmarshal(b, &want) != nil || want == nil {
			eachMember(b, func(_, _ []byte) {}) // must not fall over
			eachElement(b, func([]byte) {})
			return
		}
		got := map[string]bool{}
		if !eachMember(b, func(name, v []byte) {
			n := text(append(append([]byte{'"'}, name...), '"'))
			got[n] = true
			if last, ok := lastOf(b, name); ok && bytes.Equal(last, v) && !bytes.Equal(bytes.TrimSpace(want[n]), v) {
				t.Errorf("%q: member %q is %s, want %s", s, n, v, want[n])
			}
		}) {
			t.Fatalf("%q: not seen as an object", s)
		}
		if len(got) != len(want) {
			t.Errorf("%q: %d members, want %d", s, len(got), len(want))
		}
	})
}

// lastOf is the value of the last member of that name, which is the one Go keeps.
func lastOf(b, name []byte) (last []byte, ok bool) {
	eachMember(b, func(n, v []byte) {
		if bytes.Equal(n, name) {
			last, ok = v, true
		}
	})
	return last, ok
}

func TestEscapedTextReadsBack(t *testing.T) {
	for _, s := range []string{"plain", "quote \" and \\", "line\nbreak\ttab\x00\x1f", "<b>&amp;", "Grüße 世界 🐑", "bad \xff byte"} {
		for _, e := range []escaping{goEscapes, cppEscapes} {
			lit := appendQuoted(nil, s, e)
			want := strings.ToValidUTF8(s, "\ufffd")
			if got := text(lit); got != want {
				t.Errorf("%q became %s, read as %q", s, lit, got)
			}
			if e == goEscapes && bytes.ContainsAny(lit, "<>&") {
				t.Errorf("%s keeps HTML", lit)
			}
		}
	}
}

func TestTokensJoinToTheText(t *testing.T) {
	for s, want := range map[string][]string{
		"node-a answers: one two.": {"node", "-a", " answers", ": one", " two."},
		"世界 a🐑":                    {"世", "界", " a", "🐑"},
		"":                         nil,
		"...":                      {"..."},
	} {
		got := tokens(s)
		if !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
		if strings.Join(got, "") != s {
			t.Errorf("%q: tokens do not join to the text: %q", s, got)
		}
	}
}

// FuzzTokens: nothing is lost or cut inside a rune.
func FuzzTokens(f *testing.F) {
	f.Add("one, two. 世界!")
	f.Fuzz(func(t *testing.T, s string) {
		list := tokens(s)
		if strings.Join(list, "") != s {
			t.Fatalf("%q: %q", s, list)
		}
		for _, p := range list {
			if utf8.ValidString(s) && !utf8.ValidString(p) {
				t.Errorf("%q: a token is cut inside a rune: %q", s, p)
			}
		}
	})
}

func TestInstanceIsAlwaysJSON(t *testing.T) {
	for schema, want := range map[string]string{
		``:                           `{}`,
		`{"type":"string"}`:          `"text"`,
		`{"type":["null","string"]}`: `null`,
		`{"const":{"a":[1]}}`:        `{"a":[1]}`,
		`{"type":"array","items":{"type":"boolean"},"minItems":2}`: `[true,true]`,
		`{"type":"array","minItems":999,"items":{"$ref":"#"}}`:     ``, // cut off by length
		`{"$ref":"#"}`:                           ``, // endless: cut off somewhere
		`{"type":"string","minLength":9}`:        `"textxxxxx"`,
		`{"type":"number","exclusiveMinimum":4}`: `5`,
	} {
		got := instance([]byte(schema))
		if !json.Valid(got) || want != "" && string(got) != want {
			t.Errorf("%s: %s, want %s", schema, got, want)
		}
	}
}
