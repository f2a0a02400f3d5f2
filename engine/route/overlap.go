package route

import "strings"

// MayClash reports that two declarations of different patterns can cover one model,
// neither more specific than the other, and say what differently of it: Clashes of
// a model by that name would list it. what is "" when they cannot.
func (s *Declaration) MayClash(o *Declaration) (what, name string) {
	if s.specific() != o.specific() || strings.EqualFold(s.Match, o.Match) {
		return "", ""
	}
	if what = s.Contradicts(o); what == "" {
		return "", ""
	}
	name, ok := CommonName(s.Match, o.Match)
	if !ok {
		return "", ""
	}
	return what, name
}

// CommonName returns a short name that both patterns match, ok false when there
// is none. Patterns are those of glob; a letter that may be any is an x.
func CommonName(a, b string) (name string, ok bool) {
	c := common{a: strings.ToLower(a), b: strings.ToLower(b)}
	c.dead = make([]bool, (len(c.a)+1)*(len(c.b)+1))
	ok = c.from(0, 0)
	return string(c.name), ok
}

// common looks for a name along two patterns. Pairs of places from which there is
// none are remembered, so that the work is the product of their lengths.
type common struct {
	a, b string
	dead []bool
	name []byte
}

func (c *common) from(i, k int) bool {
	if i == len(c.a) && k == len(c.b) {
		return true
	}
	here := i*(len(c.b)+1) + k
	if c.dead[here] {
		return false
	}
	starA, starB := i < len(c.a) && c.a[i] == '*', k < len(c.b) && c.b[k] == '*'
	found := false
	switch {
	case starA && (c.from(i+1, k) || starB && c.from(i, k+1)), !starA && starB && c.from(i, k+1):
		found = true
	case starA && k < len(c.b) && !starB:
		found = c.say(c.b[k], i, k+1)
	case starB && i < len(c.a) && !starA:
		found = c.say(c.a[i], i+1, k)
	case !starA && !starB && i < len(c.a) && k < len(c.b) && (c.a[i] == c.b[k] || c.a[i] == '?' || c.b[k] == '?'):
		letter := c.a[i]
		if letter == '?' {
			letter = c.b[k]
		}
		found = c.say(letter, i+1, k+1)
	}
	c.dead[here] = !found
	return found
}

// say takes a letter into the name and goes on.
func (c *common) say(letter byte, i, k int) bool {
	if letter == '?' {
		letter = 'x'
	}
	c.name = append(c.name, letter)
	if c.from(i, k) {
		return true
	}
	c.name = c.name[:len(c.name)-1]
	return false
}
