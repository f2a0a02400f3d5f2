package document

import (
	"errors"
	"strings"
	"testing"
)

func TestOneDocumentIsReadWhereverEmptyOnesStand(t *testing.T) {
	for name, text := range map[string]string{
		"alone":             "a: 1\n",
		"dashes before":     "# settings\n---\na: 1\n",
		"dashes after":      "a: 1\n---\n",
		"an end":            "a: 1\n...\n",
		"comments after":    "a: 1\n---\n# nothing\n",
		"an empty one":      "---\n---\na: 1\n",
		"another's newline": "---\r\na: 1\r\n---\r\n",
	} {
		root, err := Read([]byte(text))
		if err != nil || root == nil || len(root.Content) != 2 || root.Content[0].Value != "a" {
			t.Errorf("%s: %v, %v", name, root, err)
		}
	}
	for name, text := range map[string]string{"nothing": "", "comments": "# a: 1\n", "dashes": "---\n# a: 1\n"} {
		if root, err := Read([]byte(text)); err != nil || root != nil && !empty(root) {
			t.Errorf("%s: %v, %v", name, root, err)
		}
	}
}

func TestWhatIsNoDocumentIsToldWithItsLine(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		line int
		says string
	}{
		"a second one":           {"a: 1\n---\nb: 2\n", 3, "the first (which begins in line 1), or delete it"},
		"after an end":           {"a: 1\n...\n---\n# more\nb: 2\n", 5, "a second document"},
		"after an empty one":     {"---\na: 1\n---\n---\nb: 2\n", 5, "begins in line 2"},
		"one that is no mapping": {"a: 1\n---\nb\n", 3, "a second document"},
		"a broken one":           {"a: [\n", 1, "write ] after"},
		"a broken second one":    {"a: 1\n---\nb: 'x\n", 3, "is not closed"},
		"a tab":                  {"a: 1\n\tb: 2\n", 2, "use spaces"},
	} {
		_, err := Read([]byte(c.text))
		var e *Error
		if !errors.As(err, &e) || c.line > 0 && e.Line != c.line || !strings.Contains(e.Problem, c.says) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if in := e.In("x.yaml"); !strings.HasPrefix(in, "x.yaml:") || strings.Contains(in, "yaml: line") {
			t.Errorf("%s: in a file it says %q", name, in)
		}
	}
}

// Whoever writes settings need not know YAML's own words: the line is the one
// that is wrong, it is shown, and what to write is said.
func TestYAMLsErrorsAreToldInPlainWords(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"\ta: 1\n", `x.yaml:1: "\ta: 1": it is indented with a tab: use spaces`},
		{"a:\n\tb: 1\n", `x.yaml:2: "\tb: 1": it is indented with a tab: use spaces`},
		{"a: 1\r\n\tb: 2\r\n", `x.yaml:2: "\tb: 2": it is indented with a tab: use spaces`},
		{"b: 1\nlisten: [\n\n", `x.yaml:2: "listen: [": a list that [ began, here or before, is not ended`},
		{"b: {\n", `x.yaml:1: "b: {": an entry that { began, here or before, is not ended`},
		{"r:\n  - {name: a, url: x\n  - {name: b}\n", `x.yaml:2: "  - {name: a, url: x": an entry that { began`},
		{"a: b: c\n", `x.yaml:1: "a: b: c": a second colon`},
		{"a: 1\nb\nc: 1\n", `x.yaml:2: "b": it has no colon`},
		{"a:\n  - b\n - c\n", `x.yaml:3: " - c": it does not fit the lines before`},
		{"a: 'x\n", `x.yaml:1: "a: 'x": a quote that was opened`},
		{"a: @x\n", `x.yaml:1: "a: @x": a value may not begin with @`},
		{"b: 1\na: *x\n", `x.yaml:2: "a: *x": a value that begins with *`},
		{`a: "c:\dir"`, `x.yaml:1: "a: \"c:\\dir\"": a backslash`},
		{"b: 1\na: \xff\n", `x.yaml:2: "a: \xff": it is no UTF-8 text`},
		{"a: ]\n", `x.yaml:1: "a: ]": a value is missing, or a ] or }`},
		{"{name: a, key: 12345678\n", `x.yaml:1: "{name: a, key: (hidden)": an entry`}, // no key is shown
		{"api_key: '1234\n", `x.yaml:1: "api_key: (hidden)": a quote`},
		{"a: [" + strings.Repeat("x", 200), `x.yaml:1: "a: [` + strings.Repeat("x", 73) + `..."`},
	} {
		_, err := Read([]byte(c.text))
		var e *Error
		if !errors.As(err, &e) || !strings.HasPrefix(e.In("x.yaml"), c.want) {
			t.Errorf("%q:\n got %v\nwant %s", c.text, err, c.want)
		}
	}
}

func FuzzAnyTextIsReadOrToldWithALine(f *testing.F) {
	f.Add([]byte("a: [\n"))
	f.Add([]byte("\xff\n\t"))
	f.Fuzz(func(t *testing.T, text []byte) {
		_, err := Read(text)
		var e *Error
		if err != nil && (!errors.As(err, &e) || e.Line < 1 || e.Problem == "") {
			t.Errorf("%q: %v", text, err)
		}
	})
}
