package task

import "math/bits"

// Buckets is the number of weights each task has. Features share them by hash.
const Buckets = 53 << 10

// group is a part of a request whose features are weighed together, so that a
// long text says no more than a short one.
type group uint8

const (
	groupHead group = iota
	groupTail
	groupBody
	groupEarlier
	groupSystem
	groupShape
	groups int = iota
)

// weightOf is the length of a group's features taken together; of shapes, of
// each feature.
var weightOf = [groups]float32{groupHead: 1, groupTail: 0.8, groupBody: 0.5, groupEarlier: 0.5, groupSystem: 0.4, groupShape: 0.12}

// most features of a group that are looked at; more say nothing new.
var mostOf = [groups]int{groupHead: 900, groupTail: 600, groupBody: 900, groupEarlier: 200, groupSystem: 300, groupShape: 100}

// Features are the buckets of a request, by group, each at most once.
type Features struct {
	seen    [Buckets / 64]uint64
	buckets []uint16
	ends    [groups]int // of each group in buckets
	group   group
	shape   shape
	notions noticed
}

// Groups calls do with each group's buckets and the weight of each of them.
func (f *Features) Groups(do func(buckets []uint16, weight float32)) {
	at := 0
	for g, end := range f.ends {
		if n := end - at; n > 0 {
			w := weightOf[g]
			if group(g) != groupShape {
				w *= inverseRoot(n)
			}
			do(f.buckets[at:end], w)
		}
		at = end
	}
}

// add adds a feature to the group at hand.
func (f *Features) add(h uint64) {
	h = (h ^ uint64(f.group)*0x9e3779b97f4a7c15) * 0xbf58476d1ce4e5b9
	h ^= h >> 31
	high, _ := bits.Mul64(h*0x94d049bb133111eb, Buckets)
	if bit := uint64(1) << (high & 63); f.seen[high>>6]&bit == 0 {
		f.seen[high>>6] |= bit
		f.buckets = append(f.buckets, uint16(high))
	}
}

func (f *Features) begin(g group) { f.group = g }

// end closes the group.
func (f *Features) end(g group) {
	for ; int(g) < groups; g++ {
		f.ends[g] = len(f.buckets)
	}
}

func (f *Features) room() bool {
	at := 0
	if f.group > 0 {
		at = f.ends[f.group-1]
	}
	return len(f.buckets)-at < mostOf[f.group]
}

// Extract fills f with the features of a request.
func (f *Features) Extract(in *Input) {
	f.reset()
	user := withoutAddresses(in.User)
	z := split(user)
	f.user(&z)
	f.begin(groupEarlier)
	f.text(in.Earlier, plain)
	f.end(groupEarlier)
	f.begin(groupSystem)
	f.text(in.System, plain)
	f.end(groupSystem)
	f.begin(groupShape)
	f.shape.read(in, user, &z)
	f.shape.emit(f)
	f.notions.emit(f)
	f.end(groupShape)
}

func (f *Features) reset() {
	f.buckets = f.buckets[:0]
	f.seen = [Buckets / 64]uint64{}
	f.ends = [groups]int{}
	f.notions = noticed{}
}

// user adds the three parts of the user's text.
func (f *Features) user(z *zones) {
	f.begin(groupHead)
	f.text(z.head, full)
	f.end(groupHead)
	f.begin(groupTail)
	f.text(z.tail, full)
	f.end(groupTail)
	f.notions.part = inBody
	f.begin(groupBody)
	f.text(z.body, plain)
	f.notions.part = elsewhere
	f.end(groupBody)
}

// detail says which features of the words are taken.
type detail uint8

const (
	plain detail = iota // words, and pairs of signs
	full                // pairs of words, stems, first and last words too
)

// tags keep the sorts of features apart.
const (
	tagPair   = 0x1d8e4e27c47d124f
	tagSkip   = 0x6c8e9cf570932bd5
	tagFirst  = 0x3c6ef372fe94f82b
	tagLast   = 0x1f83d9abfb41bd6b
	tagStem   = 0x5be0cd19137e2179
	tagInner  = 0x510e527fade682d1
	tagClass  = 0x2545f4914f6cdd1d
	tagNotion = 0x452821e638d01377
)

// text adds the features of a text, sentence by sentence.
func (f *Features) text(b []byte, d detail) {
	var w, said window
	for i := 0; i < len(b) && f.room(); {
		w = window{first: w.first}
		i += f.sentence(b[i:], d, &w)
		if w.last.kind != none {
			said = w
			f.notions.sentence(w.meant)
		}
	}
	if d == full && said.last.kind != none {
		f.add(said.last.hash ^ tagLast)
		f.add((said.last.hash ^ said.last2.hash*hashPrime) ^ tagLast)
	}
}

// window is what is remembered of a sentence's words.
type window struct {
	last, last2, last3 token
	first              int    // words so far, up to 3
	meant              notion // by the sentence
	meaning            notion // of the last word that has one
}

const sentenceMost = 240 // bytes; a longer one is cut

// sentence adds the features of the first sentence of b and returns its size.
func (f *Features) sentence(b []byte, d detail, w *window) (size int) {
	for i := 0; i < len(b); {
		t := next(b, i)
		if t.kind == none {
			return len(b)
		}
		if n := breakIn(b, i, t.start); n > 0 && w.last.kind != none {
			return n
		}
		if t.start > sentenceMost && t.kind != sign {
			return t.start
		}
		i = t.end
		if t.kind == mark {
			if breakSize(b[t.start:]) > 0 && w.last.kind != none {
				return t.end
			}
			f.mark(&t, w)
			continue
		}
		if t.kind == sign {
			t.class, t.notion = classOfSigns(b, &t, &w.last), notionOfSigns(b, &t, &w.last)
		} else if t.kind == word {
			t.notion = notionOfWord(b, &t)
		}
		f.token(b, &t, d, w)
	}
	return len(b)
}

// breakIn returns the end of a line break among the spaces from i to to.
func breakIn(b []byte, i, to int) int {
	for ; i < to; i++ {
		if b[i] == '\n' {
			return i + 1
		}
	}
	return 0
}

// mark adds signs that mean something beside words: operators, currency.
func (f *Features) mark(t *token, w *window) {
	switch t.hash {
	case '=', '+', '*', '/', '^', '%', '$', '<', '>', '{', '[', '\\', '|', '_', '#', '~', '×', '÷', '√', '∑', '€', '£', '₹', '¥', '元':
		f.add(t.hash ^ tagInner)
	}
	if t.hash != '-' && t.hash != '\'' && t.hash != 0x2019 {
		w.last3, w.last2, w.last = w.last2, w.last, token{hash: t.hash}
	}
}

func (f *Features) token(b []byte, t *token, d detail, w *window) {
	pair := step(w.last.hash, rune(t.hash)) ^ t.hash
	f.add(t.hash)
	w.meant |= t.notion
	if t.kind == sign {
		f.add(pair ^ tagPair)
	}
	if d == full {
		f.detailed(b, t, w, pair)
	}
	w.last3, w.last2, w.last = w.last2, w.last, *t
}

func (f *Features) detailed(b []byte, t *token, w *window, pair uint64) {
	if t.kind != sign {
		f.add(pair ^ tagPair)
	}
	if w.last2.hash != 0 {
		f.add((w.last2.hash*hashPrime ^ t.hash) ^ tagSkip)
		if t.kind == sign {
			f.add((pair*hashPrime ^ w.last2.hash) ^ tagPair)
		}
	}
	if t.stem != 0 {
		f.add(t.stem ^ tagStem)
	}
	if t.inner {
		f.inner(b[t.start:t.end])
	}
	for c := t.class & (language | program); c != 0; c &= c - 1 {
		f.add(uint64(c&-c) ^ tagClass)
		f.add((w.last.hash*hashPrime ^ uint64(c&-c)) ^ tagClass)
	}
	if t.notion != 0 {
		f.meaning(t.notion, w)
		w.meaning = t.notion
	}
	if w.first < 3 {
		w.first++
		f.add((t.hash ^ uint64(w.first)) ^ tagFirst)
		if w.first == 2 {
			f.add((pair ^ 7) ^ tagFirst)
		}
	}
}

// inner adds the pairs and triples of letters inside a word.
func (f *Features) inner(b []byte) {
	var h [3]uint64 // hashes that began one, two, three letters ago
	n := 0
	for i := 0; i < len(b); {
		t, size := decodeRune(b[i:])
		i += size
		if t = fold(t); t == 0 {
			continue
		}
		h[2], h[1], h[0] = step(h[1], t), step(h[0], t), step(hashStart, t)
		n++
		if n >= 2 && t >= 0xac00 {
			f.add(h[1] ^ tagInner)
		}
		if n >= 3 {
			f.add(h[2] ^ tagInner ^ 1)
		}
	}
}
