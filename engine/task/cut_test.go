package task

import (
	"strings"
	"testing"
	"unicode/utf8"

	"bellwether/engine/dialect"
)

var awkward = []string{
	"", "plain", "a\nb\tc\"d\\e/", `\\\\`, "日本語と English", "\u2028\U0001f600é", strings.Repeat("é\\\n", 200), strings.Repeat("\U0001f600", 300),
}

func TestDecodedIsWhatTheLiteralMeans(t *testing.T) {
	for _, s := range awkward {
		lit := dialect.Quote(s)
		if got := string(ends(nil, inside(lit), 1<<20, 0)); got != strings.ReplaceAll(s, "\r", " ") {
			t.Errorf("%q became %q", s, got)
		}
	}
	if got := string(decode(nil, []byte(`\u00e9\ud83d\ude00\ud83dx`))); got != "é\U0001f600\ufffdx" {
		t.Errorf("escapes became %q", got)
	}
}

// Wherever a text is cut, neither a character nor an escape is.
func TestCutsFallBetweenCharacters(t *testing.T) {
	for _, s := range awkward {
		for _, in := range [][]byte{inside(dialect.Quote(s)), []byte(escapedAll(s))} {
			for head := range min(len(in), 60) {
				for tail := range 12 {
					got := string(ends(nil, in, head, tail))
					first, last, cut := strings.Cut(got, "\n\n")
					if !utf8.ValidString(got) || cut && !strings.Contains(s, "\n") && len(in) > head+tail && tail > 0 && (!strings.HasPrefix(s, first) || !strings.HasSuffix(s, last)) {
						t.Fatalf("%d and %d of %q are %q", head, tail, in, got)
					}
				}
			}
		}
	}
}

// escapedAll writes every character that is no plain letter as \uXXXX.
func escapedAll(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r >= 0x10000:
			r -= 0x10000
			b.WriteString(`\u` + hexOf(0xd800+r>>10) + `\u` + hexOf(0xdc00+r&0x3ff))
		default:
			b.WriteString(`\u` + hexOf(r))
		}
	}
	return b.String()
}

func hexOf(r rune) string {
	const digits = "0123456789abcdef"
	return string([]byte{digits[r>>12&15], digits[r>>8&15], digits[r>>4&15], digits[r&15]})
}
