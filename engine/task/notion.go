package task

import (
	_ "embed"
	"math/bits"
	"strings"
)

// notion is a set of meanings, one bit each. A word of any language that
// stands for one says what its sisters in the other languages say: what is
// learned of "who" and "older" in one holds in all.
type notion uint32

// The notions and their words: [name], then words of ten languages, at most
// two characters of scripts without spaces. word* stands for all words that
// begin so, with as many letters as a stem has.
//
//go:embed notions.txt
var notionWords string

// notionSlots is a power of two well above the number of words.
const notionSlots = 1 << 13

// notionSlot is a word's place in the table; hash 0 = nobody's.
type notionSlot struct {
	hash uint64
	of   notion
}

// notionMarks has a bit for what a word's hash begins with, eight to a slot:
// most words are in no notion, and one look at a small table says so.
var notionMarks [notionSlots * 8 / 64]uint64

// notionTable is looked up for every word of a request: no map.
var notionTable, notionNames = func() (t *[notionSlots]notionSlot, names []string) {
	t = new([notionSlots]notionSlot)
	for line := range strings.Lines(notionWords) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "[") {
			names = append(names, strings.Trim(line, "[]"))
			continue
		}
		for _, w := range strings.Fields(line) {
			h := hashOf(w)
			if stem, ok := strings.CutSuffix(w, "*"); ok {
				h = hashOf(stem) ^ stemSalt
			}
			i := h >> 51
			for t[i].hash != 0 && t[i].hash != h {
				i = (i + 1) % notionSlots
			}
			notionMarks[h>>54] |= 1 << (h >> 48 & 63)
			t[i].hash = h
			t[i].of |= 1 << (len(names) - 1)
		}
	}
	return t, names
}()

func notionOf(h uint64) notion {
	if notionMarks[h>>54]>>(h>>48&63)&1 == 0 {
		return 0
	}
	for i := h >> 51; ; i = (i + 1) % notionSlots {
		switch notionTable[i].hash {
		case h:
			return notionTable[i].of
		case 0:
			return 0
		}
	}
}

// notionOfWord looks a word up: itself, its stem, and what is left when the
// article is taken off its beginning (Arabic) or the endings off its end
// (Korean).
func notionOfWord(b []byte, t *token) notion {
	if n := notionOf(t.hash); n != 0 {
		return n
	}
	if t.stem != 0 {
		if n := notionOf(t.stem); n != 0 {
			return n
		}
	}
	if !t.inner {
		return 0
	}
	return notionInside(b[t.start:t.end])
}

const (
	articleAlif = 'ا'
	articleLam  = 'ل'
)

// notionInside looks up the parts of a word that glues others onto it.
func notionInside(word []byte) notion {
	h, bare := uint64(hashStart), uint64(hashStart)
	var first, second rune
	for i, n := 0, 0; i < len(word); {
		r, size := decodeRune(word[i:])
		i += size
		if r = fold(r); r == 0 {
			continue
		}
		h = step(h, r)
		switch n++; n {
		case 1:
			first = r
		case 2:
			second = r
		default:
			bare = step(bare, r)
		}
		if n >= 2 && n <= 3 && r >= 0xac00 {
			if of := notionOf(h); of != 0 {
				return of
			}
		}
	}
	if first == articleAlif && second == articleLam {
		return notionOf(bare)
	}
	return 0
}

// notionOfSigns looks up two characters that follow each other, then the last.
func notionOfSigns(b []byte, t, last *token) notion {
	if last.kind == sign && last.end == t.start {
		if n := notionOf(step(last.hash, lastRune(b[t.start:t.end]))); n != 0 {
			return n
		}
	}
	return notionOf(t.hash)
}

// noticed is what the sentences of the user's text mean.
type noticed struct {
	first, last notion // the first and last sentence of what is asked
	all, body   notion // all of what is asked, and what it is asked of
	sentences   int
	part        userPart
}

// userPart is the part of the request whose sentences are taken.
type userPart uint8

const (
	inAsked   userPart = iota // head and tail
	inBody                    // between them
	elsewhere                 // not the user's turn
)

// sentence takes the notions of the next sentence.
func (n *noticed) sentence(of notion) {
	switch n.part {
	case inAsked:
		if n.sentences++; n.sentences == 1 {
			n.first = of
		}
		n.last = of
		n.all |= of
	case inBody:
		n.body |= of
	}
}

// emit adds what was noticed as features of the shape: which notions a
// sentence has whatever its words.
func (n *noticed) emit(f *Features) {
	few := uint64(0)
	if n.sentences == 1 {
		few = 1
	}
	for at, of := range [...]notion{n.first, n.last, n.all, n.body} {
		for ; of != 0; of &= of - 1 {
			bit := uint64(bits.TrailingZeros32(uint32(of)))
			f.add((bit<<8|uint64(at)<<1|few)*hashPrime ^ tagNotion)
		}
	}
	if f.shape.numbers >= 2 {
		for of := n.last; of != 0; of &= of - 1 {
			f.add((uint64(bits.TrailingZeros32(uint32(of)))<<8|8)*hashPrime ^ tagNotion)
		}
	}
}

// meaning adds the notions of a word, and with which ones they follow the
// last word that has any.
func (f *Features) meaning(of notion, w *window) {
	for ; of != 0; of &= of - 1 {
		bit := uint64(of & -of)
		f.add(bit ^ tagNotion)
		for before := w.meaning; before != 0; before &= before - 1 {
			f.add((uint64(before&-before)*hashPrime ^ bit) ^ tagNotion)
		}
	}
}
