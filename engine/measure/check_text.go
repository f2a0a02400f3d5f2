package measure

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Summary is what a summary must say, must not say, and how long it may be.
type Summary struct {
	// Facts must each be there in one of their wordings.
	Facts [][]string `yaml:"facts"`
	// Forbid must not be there: what the text does not say, or says otherwise.
	Forbid   []string `yaml:"forbid"`
	MaxWords int      `yaml:"max_words"`
	Begins   string   `yaml:"begins"` // "" = however it likes
}

func (s *Summary) example() string { return "" }

func (s *Summary) valid() error {
	if len(s.Facts) == 0 || s.MaxWords == 0 {
		return errors.New("a summary needs facts and a limit")
	}
	return nil
}

func (s *Summary) judge(answer string) string {
	said := searchable(answer)
	if n := countWords(answer); n > s.MaxWords {
		return fmt.Sprintf("has %d words, %d are allowed", n, s.MaxWords)
	}
	if !strings.HasPrefix(said, searchable(s.Begins)) {
		return fmt.Sprintf("does not begin with %q", s.Begins)
	}
	return missesOrSays(said, s.Facts, s.Forbid)
}

var listMark = regexp.MustCompile(`^(\d+[.)]|[-*•–—])$`)

// countWords counts what stands between spaces, but for the marks of a list.
func countWords(text string) (n int) {
	for w := range strings.FieldsSeq(text) {
		if !listMark.MatchString(w) {
			n++
		}
	}
	return n
}

// Translation is what a translation must hold.
type Translation struct {
	// Script is that of the target language: latin, cyrillic, han, japanese,
	// hangul, arabic, devanagari.
	Script string     `yaml:"script"`
	Terms  [][]string `yaml:"terms"`  // each in one of its wordings
	Forbid []string   `yaml:"forbid"` // false friends, words left as they were
	// Most is the longest it may be, in characters; 0 = three times Right.
	Most int `yaml:"most"`
}

func (t *Translation) example() string { return "" }

func (t *Translation) valid() error {
	switch {
	case scripts[t.Script] == nil:
		return fmt.Errorf("unknown script %q", t.Script)
	case len(t.Terms) == 0 || t.Most == 0:
		return errors.New("a translation needs terms and a limit")
	}
	return nil
}

var scripts = map[string][]*unicode.RangeTable{
	"latin": {unicode.Latin}, "cyrillic": {unicode.Cyrillic}, "han": {unicode.Han},
	"japanese": {unicode.Han, unicode.Hiragana, unicode.Katakana}, "hangul": {unicode.Hangul},
	"arabic": {unicode.Arabic}, "devanagari": {unicode.Devanagari},
}

// leastInScript is the share of letters that must be of the target's script: a
// name or a unit may stay as it is.
const leastInScript = 0.7

func (t *Translation) judge(answer string) string {
	answer = strings.TrimSpace(answer)
	if n := utf8.RuneCountInString(answer); n > t.Most {
		return fmt.Sprintf("is %d characters long, more than a translation takes", n)
	}
	letters, own := 0, 0
	for _, r := range answer {
		if !unicode.IsLetter(r) {
			continue
		}
		letters++
		if unicode.In(r, scripts[t.Script]...) {
			own++
		}
	}
	if float64(own) < leastInScript*float64(letters) || own == 0 {
		return "is not written in " + t.Script
	}
	return missesOrSays(searchable(answer), t.Terms, t.Forbid)
}

func missesOrSays(said string, facts [][]string, forbid []string) string {
	for _, f := range facts {
		if !holdsAny(said, f) {
			return fmt.Sprintf("does not say %q", f[0])
		}
	}
	for _, f := range forbid {
		if holdsAny(said, []string{f}) {
			return fmt.Sprintf("says %q", f)
		}
	}
	return ""
}

// holdsAny reports whether one of the wordings is said. One beginning with a
// letter or digit must begin where a word does (scripts without spaces have no
// such place), one ending in "." must end there too: "4." is not in "40".
func holdsAny(said string, wordings []string) bool {
	for _, w := range wordings {
		whole := strings.HasSuffix(w, ".")
		w = searchable(strings.TrimSuffix(w, "."))
		for from := 0; ; {
			i := strings.Index(said[from:], w)
			if i < 0 || w == "" {
				break
			}
			at := from + i
			before, _ := utf8.DecodeLastRuneInString(said[:at])
			after, _ := utf8.DecodeRuneInString(said[at+len(w):])
			first, _ := utf8.DecodeRuneInString(w)
			if !(joins(before) && joins(first)) && !(whole && joins(after)) {
				return true
			}
			from = at + len(w)
		}
	}
	return false
}

// joins reports whether a rune continues a word of a script with spaces.
func joins(r rune) bool {
	return unicode.IsDigit(r) || unicode.In(r, unicode.Latin, unicode.Cyrillic)
}

// searchable is a text as wordings are looked for: lower case, single spaces,
// plain quotes and dashes, no separators within numbers.
func searchable(s string) string {
	s = norm.NFC.String(s) // Hindi's dotted letters have two spellings
	s = strings.NewReplacer("’", "'", "‘", "'", "“", `"`, "”", `"`, "–", "-", "—", "-", "‑", "-", "\u00a0", " ", "\u202f", " ", "*", "", "ё", "е", "Ё", "Е").Replace(s)
	s = strings.Join(strings.Fields(strings.ToLower(s)), " ")
	var b strings.Builder
	runes := []rune(s)
	for i, r := range runes {
		if (r == ',' || r == ' ') && i > 0 && i+3 < len(runes) && unicode.IsDigit(runes[i-1]) && threeDigits(runes[i+1:]) {
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// threeDigits reports whether exactly three digits come next.
func threeDigits(r []rune) bool {
	for i := range 3 {
		if i >= len(r) || !unicode.IsDigit(r[i]) {
			return false
		}
	}
	return len(r) == 3 || !unicode.IsDigit(r[3])
}
