package task

import (
	"unicode"
	"unicode/utf8"
)

// kind is the sort of a token.
type kind uint8

const (
	none   kind = iota
	word        // of a script that puts spaces between words
	sign        // one character of a script that does not
	number      // digits, with points and commas inside
	mark        // any other character, one at a time
)

// token is one word, number or character of a text.
type token struct {
	kind   kind
	hash   uint64 // of the folded characters
	stem   uint64 // of the first few, 0 = too short to have one
	start  int    // bytes
	end    int
	runes  int
	class  class
	notion notion
	inner  bool // letters inside are features too: Arabic and Hangul glue words together
}

const (
	hashStart = 14695981039346656037
	hashPrime = 1099511628211
)

// step adds a character to a hash.
func step(h uint64, r rune) uint64 { return (h ^ uint64(r)) * hashPrime }

// hashOf hashes a word as the tokenizer does.
func hashOf(s string) uint64 {
	h := uint64(hashStart)
	for _, r := range s {
		if r = fold(r); r > 0 {
			h = step(h, r)
		}
	}
	return h
}

// stemRunes is the length of a stem: endings differ, beginnings mean.
const stemRunes = 5

// stemSalt keeps a stem apart from the word with the same letters.
const stemSalt = 0x5bd1e995

// next reads the token at b[i:]; kind none at the end.
func next(b []byte, i int) token {
	for i < len(b) {
		if plainLetter[b[i]] != 0 {
			return wordAt(b, i)
		}
		r, size := rune(b[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRune(b[i:])
		}
		switch {
		case r <= ' ':
			i += size
			continue
		case isDigit(r):
			return numberAt(b, i)
		case isUnspaced(r):
			h := step(hashStart, r)
			return token{kind: sign, hash: h, start: i, end: i + size, runes: 1}
		case isLetter(r):
			return wordAt(b, i)
		default:
			return token{kind: mark, hash: uint64(r), start: i, end: i + size, runes: 1}
		}
	}
	return token{kind: none, start: i, end: i}
}

// wordAt reads letters. An apostrophe ends a word ("don't" is two), an
// underscore or digit inside does not.
func wordAt(b []byte, i int) token {
	t := token{kind: word, start: i}
	h, runes := uint64(hashStart), 0
	for i < len(b) {
		r, size := rune(plainLetter[b[i]]), 1
		if r == 0 {
			if r, size = letterAt(b[i:], runes > 0); size == 0 {
				break
			}
			t.inner = t.inner || isGlued(r)
			if r = fold(r); r == 0 {
				i += size
				continue
			}
		}
		i += size
		h = step(h, r)
		if runes++; runes == stemRunes {
			t.stem = h ^ stemSalt
		}
	}
	if runes <= stemRunes {
		t.stem = 0
	}
	t.hash, t.runes, t.end = h, runes, max(i, t.start+1)
	t.class = classOf(h)
	return t
}

// letterAt returns what may stand in a word at b beside plain letters; size 0
// = nothing. Digits may stand inside only.
func letterAt(b []byte, inside bool) (r rune, size int) {
	c := b[0]
	if c < utf8.RuneSelf {
		if c == '_' || inside && c >= '0' && c <= '9' {
			return rune(c), 1
		}
		return 0, 0
	}
	r, size = utf8.DecodeRune(b)
	if isUnspaced(r) || !isLetter(r) && !isCombining(r) && !(inside && isDigit(r)) {
		return 0, 0
	}
	return r, size
}

// plainLetter has the small letter of each plain letter, 0 for the rest.
var plainLetter = func() (t [256]byte) {
	for c := 'a'; c <= 'z'; c++ {
		t[c], t[c-0x20] = byte(c), byte(c)
	}
	return t
}()

// classOfSigns is the class of two characters that follow each other.
func classOfSigns(b []byte, t, last *token) class {
	if last.kind != sign || last.end != t.start {
		return 0
	}
	return classOf(step(last.hash, lastRune(b[t.start:t.end])))
}

func numberAt(b []byte, i int) token {
	t := token{kind: number, start: i}
	for i < len(b) {
		r, size := rune(b[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRune(b[i:])
		}
		if !isDigit(r) && !((r == '.' || r == ',') && i+1 < len(b) && b[i+1] >= '0' && b[i+1] <= '9') {
			break
		}
		i += size
		t.runes++
	}
	t.end = i
	t.hash = step(step(hashStart, '#'), rune(min(t.runes, 4)))
	return t
}

func isDigit(r rune) bool {
	if r < utf8.RuneSelf {
		return r >= '0' && r <= '9'
	}
	return r >= 0x660 && r <= 0x669 || r >= 0x966 && r <= 0x96f || r >= 0xff10 && r <= 0xff19
}

func isLetter(r rune) bool {
	if r < utf8.RuneSelf {
		return r|0x20 >= 'a' && r|0x20 <= 'z'
	}
	return unicode.IsLetter(r)
}

// isCombining: vowel signs and accents that follow a letter.
func isCombining(r rune) bool {
	return r >= 0x300 && (unicode.Is(unicode.Mn, r) || unicode.Is(unicode.Mc, r))
}

// isUnspaced: Chinese characters, kana, Thai: words are not told apart by
// spaces, so characters and their pairs are the features.
func isUnspaced(r rune) bool {
	switch {
	case r < 0xe00:
		return false
	case r < 0xe80:
		return true
	case r < 0x3040:
		return false
	case r < 0x3100, r >= 0x3400 && r < 0xa000, r >= 0xf900 && r < 0xfb00, r >= 0x20000 && r < 0x32000:
		return true
	}
	return false
}

// isGlued: Arabic and Hangul write particles and endings onto the word.
func isGlued(r rune) bool {
	return r >= 0x620 && r < 0x700 || r >= 0xac00 && r < 0xd7b0
}

// fold makes letters equal that people write either way: case, accents of
// Latin letters, forms of Arabic ones, the Russian ё. 0 = leave it out.
func fold(r rune) rune {
	switch {
	case r < utf8.RuneSelf:
		if r >= 'A' && r <= 'Z' {
			return r + 0x20
		}
		return r
	case r >= 0xc0 && r < 0x180:
		return rune(latin[r-0xc0])
	case r >= 0x620 && r < 0x6d0:
		return foldArabic(r)
	case r == 'ё', r == 'Ё':
		return 'е'
	case r >= 0x300 && r < 0x370:
		return 0
	}
	return unicode.ToLower(r)
}

func foldArabic(r rune) rune {
	switch {
	case r == 'أ', r == 'إ', r == 'آ':
		return 'ا'
	case r == 'ى':
		return 'ي'
	case r == 'ة':
		return 'ه'
	case r == 0x640, r >= 0x64b && r <= 0x65f:
		return 0
	}
	return r
}

// latin has the base letters of U+00C0 to U+017F.
const latin = "aaaaaaaceeeeiiiidnooooo*ouuuuyts" + "aaaaaaaceeeeiiiidnooooo/ouuuuyty" +
	"aaaaaaccccccccddddeeeeeeeeeegggggggghhhhiiiiiiiiiiiijjkkkllllllllllnnnnnnnnnoooooooorrrrrrssssssssttttttuuuuuuuuuuuuwwyyyzzzzzzs"
