package task

import (
	"bytes"
	"unicode/utf8"
)

// ends decodes the two ends of a JSON string literal's inside: at most head
// bytes of its beginning and tail bytes of its end, whole when it is no longer
// than both. Cut texts are joined by an empty line. It appends to dst.
func ends(dst, in []byte, head, tail int) []byte {
	if len(in) <= head+tail {
		return decode(dst, in)
	}
	dst = decode(dst, in[:boundary(in, head)])
	if tail == 0 {
		return dst
	}
	dst = append(dst, "\n\n"...)
	return decode(dst, in[boundary(in, len(in)-tail):])
}

// boundary returns the place at or before at where neither an escape nor a
// character is cut.
func boundary(in []byte, at int) int {
	// The longest thing not to cut is a pair of \uXXXX: look back as far.
	for back := 1; back <= 11 && back <= at; back++ {
		i := at - back
		if in[i] != '\\' || escaped(in, i) {
			continue
		}
		if size := escapeSize(in[i:]); i+size > at {
			at = i
		}
		break
	}
	if i := at - 6; i >= 0 && in[i] == '\\' && escapeSize(in[i:]) == 12 && !escaped(in, i) {
		return i // between the two halves of a pair
	}
	for at > 0 && at < len(in) && !utf8.RuneStart(in[at]) {
		at--
	}
	return at
}

// escaped reports whether the backslash at i is itself escaped: an odd number
// of backslashes stands before it. Long runs count as not.
func escaped(in []byte, i int) bool {
	n := 0
	for k := i - 1; k >= 0 && in[k] == '\\' && n < 64; k-- {
		n++
	}
	return n%2 == 1
}

func escapeSize(b []byte) int {
	switch {
	case len(b) >= 12 && b[1] == 'u' && (b[2]|0x20) == 'd' && bytes.IndexByte([]byte("89abAB"), b[3]) >= 0 && b[6] == '\\' && b[7] == 'u':
		return 12
	case len(b) >= 6 && b[1] == 'u':
		return 6
	default:
		return min(2, len(b))
	}
}

// decode appends the characters of a literal's inside. It never fails: what is
// no escape stands for itself.
func decode(dst, in []byte) []byte {
	for i := 0; i < len(in); {
		c := in[i]
		if c != '\\' || i+1 >= len(in) {
			dst = append(dst, c)
			i++
			continue
		}
		switch c = in[i+1]; c {
		case 'n':
			dst = append(dst, '\n')
		case 't':
			dst = append(dst, '\t')
		case 'r', 'b', 'f':
			dst = append(dst, ' ')
		case 'u':
			if i+6 <= len(in) {
				r, size := unicodeEscape(in[i:])
				dst = utf8.AppendRune(dst, r)
				i += size
				continue
			}
		default:
			dst = append(dst, c)
		}
		i += 2
	}
	return dst
}

func unicodeEscape(b []byte) (r rune, size int) {
	r = hex4(b[2:6])
	if r < 0xd800 || r > 0xdfff {
		return r, 6
	}
	if r < 0xdc00 && len(b) >= 12 && b[6] == '\\' && b[7] == 'u' {
		if low := hex4(b[8:12]); low >= 0xdc00 && low < 0xe000 {
			return (r-0xd800)<<10 + low - 0xdc00 + 0x10000, 12
		}
	}
	return utf8.RuneError, 6
}

func hex4(b []byte) (r rune) {
	for _, c := range b {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		default:
			c = (c | 0x20) - 'a' + 10
		}
		r = r<<4 | rune(c&15)
	}
	return r
}
