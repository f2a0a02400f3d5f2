package dialect

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestTextKeepsWhatAStringSays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.String().Draw(t, "s")
		lit := Quote(s)
		if !IsText(lit) {
			t.Fatalf("Quote(%q) = %s is no literal", s, lit)
		}
		if got := lit.String(); got != s {
			t.Fatalf("decoded %q, want %q", got, s)
		}
		if got, want := lit.Len(), utf8.RuneCountInString(s); got != want {
			t.Fatalf("Len(%s) = %d, want %d", lit, got, want)
		}
		if !lit.Is(s) || lit.Is(s+"x") {
			t.Fatalf("Is is wrong about %s", lit)
		}
	})
}

func TestConcatJoinsWithoutDecoding(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOf(rapid.String()).Draw(t, "parts")
		sep := rapid.String().Draw(t, "sep")
		var lits []Text
		var b TextBuilder
		for _, p := range parts {
			lits = append(lits, Quote(p))
			b.AddString(p)
		}
		if got, want := Concat(lits...).String(), strings.Join(parts, ""); got != want {
			t.Fatalf("Concat = %q, want %q", got, want)
		}
		if got, want := Join(sep, lits...).String(), strings.Join(parts, sep); got != want {
			t.Fatalf("Join = %q, want %q", got, want)
		}
		if got, want := b.Text().String(), strings.Join(parts, ""); got != want {
			t.Fatalf("builder = %q, want %q", got, want)
		}
	})
}

func TestTextEdges(t *testing.T) {
	for _, c := range []struct {
		lit  Text
		s    string
		n    int
		bare bool
	}{
		{nil, "", 0, true},
		{Text(`""`), "", 0, true},
		{Text(`"a"`), "a", 1, false},
		{Text(`"\n\"\\\/"`), "\n\"\\/", 4, false},
		{Text(`"\ud83d\ude00"`), "😀", 1, false},
		{Text(`"\u00e9é"`), "éé", 2, false},
	} {
		if got := c.lit.String(); got != c.s {
			t.Errorf("%s means %q, want %q", c.lit, got, c.s)
		}
		if got := c.lit.Len(); got != c.n {
			t.Errorf("%s has %d characters, want %d", c.lit, got, c.n)
		}
		if c.lit.Empty() != c.bare {
			t.Errorf("%s empty: %v", c.lit, c.lit.Empty())
		}
	}
	if IsText([]byte(`"a" "b"`)) || IsText([]byte(`"a`)) || IsText([]byte(`1`)) || IsText(nil) || IsText([]byte("\"a\nb\"")) {
		t.Error("what is no literal passed for one")
	}
	if !Text(`"x-anthropic: 1"`).HasPrefix("x-anthropic:") || Text(`"x"`).HasPrefix("xy") {
		t.Error("HasPrefix is wrong")
	}
}

// An emoji cut between two frames comes as two lone surrogates; together they
// are the emoji again (W-24).
func TestSurrogatesCutBetweenFramesComeTogether(t *testing.T) {
	if got := Concat(Text(`"a\ud83d"`), Text(`"\ude00b"`)).String(); got != "a😀b" {
		t.Errorf("got %q", got)
	}
}

func TestInvalidUTF8BecomesReplacementCharacters(t *testing.T) {
	if got := string(AppendString(nil, "a\xffb")); got != "\"a\ufffdb\"" {
		t.Errorf("got %q", got)
	}
}

func TestTheBuildersTextDoesNotChangeLater(t *testing.T) {
	var b TextBuilder
	b.AddString("one")
	first := b.Text()
	b.Add(Text(`" two"`))
	if first.String() != "one" || b.Text().String() != "one two" {
		t.Errorf("got %s then %s", first, b.Text())
	}
}
