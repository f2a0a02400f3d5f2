package task

import (
	"bytes"
	"unicode/utf8"
)

// zones are the parts of a user's text. What is asked stands at the beginning
// or the end; between them, between quotes or fences, and after a colon stands
// what it is asked of.
type zones struct {
	head, tail, body []byte
}

const (
	shortText = 320 // bytes: all of it may be what is asked
	headLeast = 120 // bytes of a long text that its beginning has at least ...
	headMost  = 420 // ... and at most
	tailMost  = 300
	fence     = "```"
)

// split finds the parts.
//
//  1. The head ends before a fence, at a colon after some words, at an empty
//     line, or with the sentence that reaches headLeast.
//  2. The tail is the last line or, of a longer line, its last sentence.
//  3. All between is the body.
func split(u []byte) (z zones) {
	u = bytes.TrimSpace(u)
	cut := headEnd(u)
	z.head = u[:cut]
	rest := u[cut:]
	if len(rest) == 0 {
		return z
	}
	if at := tailStart(rest); at > 0 || cut == 0 {
		z.tail, rest = rest[at:], rest[:at]
	} else if len(u) > shortText && len(rest) <= tailMost {
		z.tail, rest = rest, nil
	}
	z.body = rest
	return z
}

// headEnd returns where the head ends.
func headEnd(u []byte) int {
	words, inWord := 0, false
	for i := 0; i < len(u); {
		c := u[i]
		switch {
		case c == '`' && bytes.HasPrefix(u[i:], []byte(fence)):
			return i
		case c == ':' && words >= 3 && (i+1 == len(u) || u[i+1] <= ' ' || u[i+1] >= utf8.RuneSelf || u[i+1] == '"') && moreThan(u[i+1:], 8):
			return i + 1
		case c == 0xef && bytes.HasPrefix(u[i:], []byte("：")) && words >= 2 && moreThan(u[i+3:], 8):
			return i + 3
		case len(u) > shortText && i >= 24 && isBreak(u[i:]) && (i >= headLeast || blankLine(u[i:])):
			return i + breakSize(u[i:])
		case len(u) > shortText && i >= headMost:
			return boundaryBefore(u, i)
		}
		if c >= 0xe3 { // a character of a script without spaces weighs half a word
			if i%2 == 0 {
				words++
			}
			inWord = false
			i += 3
			continue
		}
		space := c <= ' '
		if !space && !inWord {
			words++
		}
		inWord = !space
		i++
	}
	return len(u)
}

func moreThan(b []byte, n int) bool { return len(bytes.TrimSpace(b)) > n }

// boundaryBefore returns the last place at or before i that cuts no character;
// i itself where there is none in what is no UTF-8.
func boundaryBefore(u []byte, i int) int {
	i = min(i, len(u))
	for b := i; b >= 0 && b > i-utf8.UTFMax; b-- {
		if b == len(u) || utf8.RuneStart(u[b]) {
			return b
		}
	}
	return i
}

// breakSize returns the bytes of the sentence's end at b, 0 = none.
func breakSize(b []byte) int {
	switch c := b[0]; c {
	case '\n':
		return 1
	case '.', '!', '?':
		if len(b) == 1 || b[1] <= ' ' {
			return 1
		}
	case 0xe3: // 。
		if len(b) >= 3 && b[1] == 0x80 && b[2] == 0x82 {
			return 3
		}
	case 0xef: // ！ ？
		if len(b) >= 3 && b[1] == 0xbc && (b[2] == 0x81 || b[2] == 0x9f) {
			return 3
		}
	case 0xe0: // ।
		if len(b) >= 3 && b[1] == 0xa5 && b[2] == 0xa4 {
			return 3
		}
	case 0xd8: // ؟
		if len(b) >= 2 && b[1] == 0x9f {
			return 2
		}
	}
	return 0
}

func isBreak(b []byte) bool { return breakSize(b) > 0 }

func blankLine(b []byte) bool {
	return len(b) > 1 && b[0] == '\n' && b[1] == '\n'
}

// tailStart returns where the last line or sentence of b begins; 0 when b is
// one sentence.
func tailStart(b []byte) int {
	b = bytes.TrimRight(b, " \n\t")
	least := max(0, len(b)-tailMost)
	for i := len(b) - 14; i >= least && i > 0; i-- {
		if b[i] == '\n' {
			return i + 1
		}
	}
	for i := len(b) - 14; i >= least && i > 0; i-- {
		if n := breakSize(b[i:]); n > 0 {
			return i + n
		}
	}
	return 0
}
