package measure

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Word is a right answer of a word or a few.
type Word struct {
	Is      string   `yaml:"is"`
	Accept  []string `yaml:"accept"`  // other spellings of it
	Options []string `yaml:"options"` // what else could be said; naming two is no answer
}

func (w *Word) example() string { return "Answer: " + w.Is }

func (w *Word) valid() error {
	if plainWords(w.Is) == "" {
		return errors.New("no right word")
	}
	for _, o := range w.Options {
		if slices.Contains(w.right(), plainWords(o)) {
			return fmt.Errorf("%q is both right and an option beside it", o)
		}
	}
	return nil
}

func (w *Word) right() []string {
	out := []string{plainWords(w.Is)}
	for _, a := range w.Accept {
		out = append(out, plainWords(a))
	}
	return out
}

func (w *Word) judge(answer string) string {
	segment, _ := final(answer)
	said := plainWords(segment)
	if slices.Contains(w.right(), said) {
		return ""
	}
	if first, rest, _ := strings.Cut(said, " "); rest != "" && (first == "yes" || first == "no") && (w.Is == "yes" || w.Is == "no") {
		if first == w.Is { // what follows is the reason, and may hold either word
			return ""
		}
		return "says " + first
	}
	for _, o := range w.Options {
		if holdsPhrase(said, plainWords(o)) {
			return fmt.Sprintf("says %s", o)
		}
	}
	// With all that could be said known, a sentence around the one that is said
	// does no harm.
	if len(w.Options) > 0 && len(strings.Fields(said)) <= longestSentence && !negated(said) {
		if slices.ContainsFunc(w.right(), func(r string) bool { return holdsPhrase(said, r) }) {
			return ""
		}
	}
	return "does not say " + w.Is
}

// longestSentence is how many words may state a word.
const longestSentence = 12

func negated(said string) bool {
	return slices.ContainsFunc([]string{"not", "isn't", "cannot", "can't", "never"}, func(n string) bool { return holdsPhrase(said, n) })
}

// plainWords is a text without case, punctuation, articles and extra space.
func plainWords(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '’':
			return '\''
		case unicode.IsLetter(r), unicode.IsDigit(r), unicode.IsMark(r), r == '\'':
			return unicode.ToLower(r)
		}
		return ' '
	}, s)
	words := strings.Fields(s)
	for len(words) > 1 && slices.Contains([]string{"the", "a", "an", "it", "is", "it's", "on"}, words[0]) {
		words = words[1:]
	}
	return strings.Join(words, " ")
}

// holdsPhrase reports whether the words of phrase stand in said one after
// another; both as plainWords gives them.
func holdsPhrase(said, phrase string) bool {
	return phrase != "" && strings.Contains(" "+said+" ", " "+phrase+" ")
}
