package fleet

import (
	"cmp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Natural compares names as people read them: node-2 before node-10, whatever
// the case of letters. Names that read the same stand in the order of their
// bytes, so that only equal ones are equal.
func Natural(a, b string) int {
	for x, y := a, b; ; {
		if x == "" || y == "" {
			return cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(a, b))
		}
		n, m := digits(x), digits(y)
		if n > 0 && m > 0 {
			if c := compareNumbers(x[:n], y[:m]); c != 0 {
				return c
			}
			x, y = x[n:], y[m:]
			continue
		}
		r, n := utf8.DecodeRuneInString(x)
		s, m := utf8.DecodeRuneInString(y)
		if c := cmp.Compare(unicode.ToLower(r), unicode.ToLower(s)); c != 0 {
			return c
		}
		x, y = x[n:], y[m:]
	}
}

// digits is how many bytes of a number a text begins with.
func digits(s string) int {
	n := strings.IndexFunc(s, func(r rune) bool { return r < '0' || r > '9' })
	if n < 0 {
		return len(s)
	}
	return n
}

// compareNumbers compares numbers of any length.
func compareNumbers(a, b string) int {
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}
