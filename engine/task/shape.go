package task

import (
	"bytes"
	"math"
	"math/bits"
	"unicode/utf8"
)

func decodeRune(b []byte) (rune, int) { return utf8.DecodeRune(b) }

func lastRune(b []byte) rune { r, _ := utf8.DecodeLastRune(b); return r }

// inverseRoots of small numbers.
var inverseRoots = func() (t [1024]float32) {
	for i := range t {
		t[i] = float32(1 / math.Sqrt(float64(max(i, 1))))
	}
	return t
}()

func inverseRoot(n int) float32 { return inverseRoots[min(n, len(inverseRoots)-1)] }

// shape is what the characters of a text show without being read: code,
// numbers, formulas, lists, dialogues, tables, scripts.
type shape struct {
	size, digits, numbers, symbols, lines, indents, fences, codeLines, questions int
	options, speakers, commaLines, formulas, quotes, operators                   int
	headScript, restScript                                                       script
	endsAsked, endsColon, headAsked                                              bool
	turns                                                                        int
	code                                                                         bool
	hasTail, hasBody                                                             int
}

// script is the writing most letters of a text belong to.
type script uint8

const (
	scriptNone script = iota
	scriptLatin
	scriptCyrillic
	scriptArabic
	scriptIndic
	scriptHan
	scriptKana
	scriptHangul
	scriptOther
	scripts int = iota
)

func (s *shape) read(in *Input, user []byte, z *zones) {
	u := bytes.TrimSpace(user)
	*s = shape{size: len(u), turns: in.Turns, code: in.Code}
	s.count(u)
	s.eachLine(u)
	s.headScript = scriptOf(z.head)
	rest := z.body
	if len(rest) < 8 {
		rest = z.tail
	}
	s.restScript = scriptOf(rest)
	s.hasBody, s.hasTail = len(z.body), len(z.tail)
	s.endsAsked = endsWith(u, "?", "？", "؟")
	s.endsColon = endsWith(u, ":", "：")
	s.headAsked = bytes.ContainsAny(z.head, "?？؟")
}

func endsWith(b []byte, marks ...string) bool {
	for _, m := range marks {
		if bytes.HasSuffix(b, []byte(m)) {
			return true
		}
	}
	return false
}

// count counts characters, byte by byte.
func (s *shape) count(u []byte) {
	inNumber := false
	for i := 0; i < len(u); i++ {
		c := u[i]
		k := charKind[c]
		if k&charDigit != 0 {
			s.digits++
			if !inNumber {
				s.numbers++
			}
			inNumber = true
			continue
		}
		inNumber = inNumber && (c == '.' || c == ',')
		if k == 0 {
			continue
		}
		switch {
		case k&charCode != 0:
			s.symbols++
		case c == '?':
			s.questions++
		case c == '"':
			s.quotes++
		}
		if k&charOperator != 0 {
			s.operators++
		}
		if c == '`' && i+2 < len(u) && u[i+1] == '`' && u[i+2] == '`' {
			s.fences++
			i += 2
		}
		if c == '\\' && i+1 < len(u) && u[i+1]|0x20 >= 'a' && u[i+1]|0x20 <= 'z' || c == '$' && i+1 < len(u) && u[i+1] > '9' {
			s.formulas++
		}
	}
}

const (
	charDigit uint8 = 1 << iota
	charCode
	charOperator
	charOther
)

var charKind = func() (t [256]uint8) {
	for c := '0'; c <= '9'; c++ {
		t[c] = charDigit
	}
	for _, c := range "{}[]();=<>_|&#~@" {
		t[c] |= charCode
	}
	for _, c := range "+*/^=%" {
		t[c] |= charOperator
	}
	for _, c := range "?\"`\\$" {
		t[c] |= charOther
	}
	return t
}()

// eachLine looks at how lines begin and end.
func (s *shape) eachLine(u []byte) {
	for len(u) > 0 && s.lines < 200 {
		line := u
		if i := bytes.IndexByte(u, '\n'); i >= 0 {
			line, u = u[:i], u[i+1:]
		} else {
			u = nil
		}
		if len(line) == 0 {
			continue
		}
		s.lines++
		s.line(line)
	}
}

func (s *shape) line(line []byte) {
	if line[0] == '\t' || len(line) > 4 && string(line[:4]) == "    " {
		s.indents++
	}
	line = bytes.TrimSpace(line)
	if len(line) < 2 {
		return
	}
	switch last := line[len(line)-1]; last {
	case ';', '{', '}':
		s.codeLines++
	case ')', ',', '>', ']':
		if codeStart(line) {
			s.codeLines++
		}
	case ':':
		if codeStart(line) {
			s.codeLines += 2
		}
	default:
		if codeStart(line) {
			s.codeLines++
		}
	}
	if isOption(line) {
		s.options++
	}
	if isSpeaker(line) {
		s.speakers++
	}
	if bytes.Count(line[:min(len(line), 120)], []byte(",")) >= 3 || bytes.Count(line[:min(len(line), 120)], []byte("|")) >= 2 {
		s.commaLines++
	}
}

var codeStarts = [...]string{
	"def ", "class ", "import ", "from ", "#include", "#define", "return", "if (", "if(", "for (", "for(", "while ", "public ",
	"private ", "static ", "const ", "let ", "var ", "func ", "function ", "package ", "using ", "int ", "void ", "@", "//",
	"/*", "<?", "<div", "<html", "<!DOCTYPE", "</", "SELECT ", "INSERT ", "CREATE ", "UPDATE ", "print(", "console.", "elif ",
	"else:", "try:", "except", ">>>", "$ ", "#!/", "Traceback", "  File \"", "File \"", "at ", "struct ", "fn ", "pub ", "use ",
	"async ", "await ", "self.", "double ", "float ", "string ", "template", "namespace ", "FROM ", "RUN ", "COPY ",
}

func codeStart(line []byte) bool {
	for _, s := range &codeStarts {
		if line[0] == s[0] && len(line) > len(s) && string(line[:len(s)]) == s {
			return true
		}
	}
	return false
}

// isOption: "A) ...", "(B) ...", "c. ..." of a question with answers to choose.
func isOption(line []byte) bool {
	i := 0
	if line[0] == '(' {
		i = 1
	}
	if len(line) < i+3 {
		return false
	}
	c, d := line[i]|0x20, line[i+1]
	return c >= 'a' && c <= 'h' && (d == ')' || d == '.')
}

// isSpeaker: "Name: what they say".
func isSpeaker(line []byte) bool {
	i := bytes.IndexByte(line[:min(len(line), 28)], ':')
	return i >= 2 && len(line) > i+4 && line[i+1] == ' ' && bytes.Count(line[:i], []byte(" ")) <= 1
}

// scriptOf looks at the first letters of a text.
func scriptOf(b []byte) script {
	var n [scripts]int
	seen := 0
	for i := 0; i < len(b) && seen < 120; {
		c := b[i]
		if c < utf8.RuneSelf {
			if c|0x20 >= 'a' && c|0x20 <= 'z' {
				n[scriptLatin]++
				seen++
			}
			i++
			continue
		}
		r, size := utf8.DecodeRune(b[i:])
		i += size
		if s := scriptOfRune(r); s != scriptNone {
			n[s] += 2
			seen++
		}
	}
	best := scriptNone
	for s, k := range n {
		if k > n[best] {
			best = script(s)
		}
	}
	if best == scriptHan && n[scriptKana] > 0 {
		return scriptKana
	}
	return best
}

func scriptOfRune(r rune) script {
	switch {
	case r < 0xc0:
		return scriptNone
	case r < 0x370:
		return scriptLatin
	case r >= 0x400 && r < 0x530:
		return scriptCyrillic
	case r >= 0x600 && r < 0x780:
		return scriptArabic
	case r >= 0x900 && r < 0xe00:
		return scriptIndic
	case r >= 0x3040 && r < 0x3100:
		return scriptKana
	case r >= 0x3400 && r < 0xa000:
		return scriptHan
	case r >= 0xac00 && r < 0xd7b0:
		return scriptHangul
	case r >= 0x2000 && r < 0x3040, r >= 0xfe00:
		return scriptNone
	}
	return scriptOther
}

// step of a count, so that few features cover any size.
func level(n int) uint64 { return uint64(min(bits.Len(uint(n)), 7)) }

// emit adds what the shape shows as features.
func (s *shape) emit(f *Features) {
	n := uint64(0)
	say := func(v uint64) {
		n++
		f.add(n<<16 ^ v<<1 ^ 0x7f4a7c159e3779b9)
	}
	flag := func(b bool) {
		if b {
			say(1)
		} else {
			n++
		}
	}
	some := func(k int) {
		if k > 0 {
			say(level(k))
		} else {
			n++
		}
	}
	size := max(s.size, 1)
	say(level(s.size / 64))
	some(s.numbers)
	some(s.digits * 100 / size)
	some(s.symbols * 100 / size)
	some(s.operators)
	some(s.formulas)
	some(s.fences)
	some(s.codeLines)
	some(s.codeLines * 8 / max(s.lines, 1))
	some(s.indents)
	some(min(s.questions, 4))
	some(s.options)
	some(s.speakers)
	some(s.commaLines)
	some(s.quotes)
	say(level(s.lines))
	flag(s.endsAsked)
	flag(s.endsColon)
	flag(s.headAsked)
	flag(s.code)
	flag(s.turns > 1)
	some(s.hasBody / 64)
	some(s.hasTail / 32)
	say(uint64(s.headScript))
	flag(s.restScript != scriptNone && s.restScript != s.headScript)
	flag(s.numbers >= 2 && s.endsAsked)
	flag(s.numbers == 0 && s.endsAsked)
	flag(s.numbers == 0 && s.symbols == 0)
	flag(s.codeLines > 2 && s.hasBody == 0)
}
