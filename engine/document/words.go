package document

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// unreadable says in plain words why a text is no YAML. The library's message,
// "yaml: line 3: did not find expected key", is all that it gives.
func unreadable(text []byte, err error) *Error {
	lines := bytes.Split(text, []byte("\n"))
	said := strings.TrimPrefix(err.Error(), "yaml: ")
	line := 1 // the library counts from 0 and leaves that out
	if at, rest, ok := strings.Cut(strings.TrimPrefix(said, "line "), ": "); ok {
		if n, err := strconv.Atoi(at); err == nil {
			line, said = n, rest
		}
		if parsed(said) && line > 0 {
			line++ // its parser counts from 0, its scanner from 1
		}
	}
	if strings.Contains(said, "UTF-8") || strings.Contains(said, "control characters") {
		line = oddLine(lines)
	}
	if name, ok := anchorIn(said); ok {
		line = 1 + max(0, bytes.Count(text[:max(0, bytes.Index(text, []byte("*"+name)))], []byte("\n")))
	}
	for line = min(max(line, 1), len(lines)); line > 1 && len(bytes.TrimSpace(lines[line-1])) == 0; {
		line-- // the end of the text: what is wrong began before
	}
	return &Error{Line: line, Text: quoted(lines, line-1), Problem: plainWords(said, string(lines[line-1]))}
}

// parsed reports whether a message is of the library's parser.
func parsed(said string) bool {
	return strings.HasPrefix(said, "did not find expected ") || strings.Contains(said, "duplicate %") || strings.Contains(said, "incompatible") || strings.Contains(said, "tag handle")
}

func anchorIn(said string) (string, bool) {
	rest, ok := strings.CutPrefix(said, "unknown anchor '")
	name, _, end := strings.Cut(rest, "'")
	return name, ok && end
}

// oddLine is the first line with what no text holds, 0 if none.
func oddLine(lines [][]byte) int {
	for i, l := range lines {
		if !utf8.Valid(l) || bytes.ContainsFunc(l, func(r rune) bool { return unicode.IsControl(r) && r != '\t' && r != '\r' }) {
			return i + 1
		}
	}
	return 0
}

// plainWords says what is wrong with a line, and what to write.
func plainWords(said, line string) string {
	indent := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
	has := func(parts ...string) bool {
		for _, p := range parts {
			if strings.Contains(said, p) {
				return true
			}
		}
		return false
	}
	open := func(begin, end string) bool { return strings.Count(line, begin) > strings.Count(line, end) }
	switch {
	case has("tab character"), has("cannot start any token") && strings.Contains(indent, "\t"):
		return "it is indented with a tab: use spaces"
	case has("cannot start any token"):
		return "a value may not begin with @, % or `: put it in quotes"
	case has("mapping values are not allowed"):
		return "a second colon, or a line that is indented further than the one before: put a value with \": \" in quotes, and begin settings of one section in one column"
	case has("could not find expected ':'"):
		return "it has no colon: write key: value"
	case has("expected ',' or ']'"), has("expected node content") && open("[", "]"):
		return "a list that [ began, here or before, is not ended: write ] after its last entry, and commas between them"
	case has("expected ',' or '}'"), has("expected node content") && open("{", "}"):
		return "an entry that { began, here or before, is not ended: write } after its last value, and commas between them"
	case has("expected node content"):
		return "a value is missing, or a ] or } ends what nothing began"
	case has("expected key", "expected '-' indicator", "expected <document start>"):
		return "it does not fit the lines before: begin what belongs together in one column, and mind quotes that end within a value"
	case has("block sequence entries are not allowed"):
		return "a list's - begins on a line of its own"
	case has("unexpected end of stream"):
		return "a quote that was opened, here or before, is not closed: write the same quote at the end of the value"
	case has("escape"):
		return "a backslash in double quotes means something else: use single quotes"
	case has("unknown anchor"):
		return "a value that begins with * stands for another part of the file, and there is none of that name: put it in quotes"
	case has("UTF-8", "Unicode"):
		return "it is no UTF-8 text: save the file as UTF-8"
	case has("control characters"):
		return "it has a character that no text has: delete it"
	}
	return "it is no YAML: " + said
}

// secret finds what may be a key: it is not shown.
var secret = regexp.MustCompile(`(?i)((?:key|token|secret|password)["']?\s*:\s*).+`)

// widest is the longest line shown whole.
const widest = 80

// quoted is the text of a line as errors show it, tabs as \t.
func quoted(lines [][]byte, i int) string {
	line := strings.TrimRight(string(lines[i]), " \r")
	if strings.TrimSpace(line) == "" {
		return ""
	}
	if !strings.Contains(line, ":") && i > 0 && secret.Match(append(bytes.Clone(lines[i-1]), "x"...)) {
		return "(hidden)" // a key of several lines
	}
	line = secret.ReplaceAllString(line, "$1(hidden)")
	if r := []rune(line); len(r) > widest {
		line = string(r[:widest-3]) + "..."
	}
	return strconv.Quote(line)
}
