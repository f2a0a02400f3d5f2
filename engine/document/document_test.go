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
		"a broken one":           {"a: [\n", 1, "did not find"},
		"a broken second one":    {"a: 1\n---\nb: 'x\n", 0, ""},
		"a tab":                  {"a: 1\n\tb: 2\n", 2, ""},
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
