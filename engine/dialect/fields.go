package dialect

import (
	"math"
	"strconv"
)

// The getters below read one member into a field of a Request. A null leaves
// the field as it was, as if the member were absent; a value of another type
// is a fault that names the member and both types.

// text reads a string and keeps it as the literal it is.
func (m Member) text(into *Text) *fault {
	switch m.Value.Kind() {
	case 'n', 0xff:
	case '"':
		*into = Text(m.Value)
	default:
		return wrong("a string", m.Value).in(m.Name)
	}
	return nil
}

// str reads a string and decodes it.
func (m Member) str(into *string) *fault {
	var t Text
	if f := m.text(&t); f != nil || t == nil {
		return f
	}
	*into = t.String()
	return nil
}

func (m Member) boolean(into *bool) *fault {
	switch m.Value.Kind() {
	case 'n', 0xff:
	case 't', 'f':
		*into = m.Value[0] == 't'
	default:
		return wrong("true or false", m.Value).in(m.Name)
	}
	return nil
}

func (m Member) maybeBool(into **bool) *fault {
	if m.Value.None() {
		return nil
	}
	b := new(bool)
	if f := m.boolean(b); f != nil {
		return f
	}
	*into = b
	return nil
}

func (m Member) float(into **float64) *fault {
	switch m.Value.Kind() {
	case 'n', 0xff:
		return nil
	case '0':
		v, err := strconv.ParseFloat(string(m.Value), 64)
		if err != nil || math.IsInf(v, 0) {
			return (&fault{what: "the number is out of range"}).in(m.Name)
		}
		*into = &v
		return nil
	}
	return wrong("a number", m.Value).in(m.Name)
}

// integer reads a whole number; 256.0 is one (some languages write it so).
func (m Member) integer(into **int64) *fault {
	if v, err := strconv.ParseInt(string(m.Value), 10, 64); err == nil {
		*into = &v
		return nil
	}
	var f *float64
	if bad := m.float(&f); bad != nil || f == nil {
		return bad
	}
	if *f != math.Trunc(*f) || math.Abs(*f) > 1<<53 {
		return (&fault{what: "expected a whole number, got " + string(m.Value)}).in(m.Name)
	}
	v := int64(*f)
	*into = &v
	return nil
}

func (m Member) maybeInt(into **int) *fault {
	var v *int64
	if f := m.integer(&v); f != nil || v == nil {
		return f
	}
	n := int(*v)
	*into = &n
	return nil
}

// wholeAs reads a whole number into one that has a value for "not said".
func (m Member) wholeAs(into *int) *fault {
	var v *int
	if f := m.maybeInt(&v); f != nil || v == nil {
		return f
	}
	*into = *v
	return nil
}

// int32 checks for a number that a runtime can hold in 32 bits. It cuts off what
// is behind the point.
func (m Member) int32() *fault {
	var v *float64
	if f := m.float(&v); f != nil || v == nil {
		return f
	}
	if *v < math.MinInt32 || *v > math.MaxInt32 {
		return (&fault{what: "the number is out of range"}).in(m.Name)
	}
	return nil
}

// atLeast reads a whole number that may not be smaller.
func (m Member) atLeast(least int, into *int) *fault {
	n := least
	if f := m.wholeAs(&n); f != nil {
		return f
	}
	if n < least {
		return (&fault{what: "expected a whole number of at least " + strconv.Itoa(least) + ", got " + string(m.Value)}).in(m.Name)
	}
	return m.wholeAs(into)
}

// count reads how many of something are wanted: none, or more.
func (m Member) count(into *int) *fault { return m.atLeast(0, into) }

// limit reads a number of tokens. -1 is how clients of LM Studio and llama.cpp
// write that there is none (their examples do): it is not said. The runtimes
// take other numbers below 1 for no limit too, which nobody can mean by them.
func (m Member) limit(into **int) *fault {
	if string(m.Value) == "-1" {
		return nil
	}
	f := m.tokens(into)
	if f != nil {
		f.remedy = "Leave it out for no limit."
	}
	return f
}

// tokens reads a number of tokens, at least one.
func (m Member) tokens(into **int) *fault {
	if m.Value.None() {
		return nil
	}
	n := new(int)
	if f := m.atLeast(1, n); f != nil {
		return f
	}
	*into = n
	return nil
}

// strings reads a list of strings; one string is a list of one.
func (m Member) strings(into *[]string) *fault {
	switch m.Value.Kind() {
	case 'n', 0xff:
		return nil
	case '"':
		*into = []string{Text(m.Value).String()}
		return nil
	case '[':
	default:
		return wrong("a string or an array of strings", m.Value).in(m.Name)
	}
	var list []string
	for i, v := range Elements(m.Value) {
		if v.Kind() != '"' {
			return wrong("a string", v).at(i).in(m.Name)
		}
		list = append(list, Text(v).String())
	}
	*into = list
	return nil
}

// object checks that the value is an object; null is none and no fault.
func (m Member) object() *fault {
	if !m.Value.None() && m.Value.Kind() != '{' {
		return wrong("an object", m.Value).in(m.Name)
	}
	return nil
}

// array checks that the value is an array; null is an empty one.
func (m Member) array() *fault {
	if !m.Value.None() && m.Value.Kind() != '[' {
		return wrong("an array", m.Value).in(m.Name)
	}
	return nil
}

// each reads an array element by element; a fault gets the element's path.
func (m Member) each(read func(i int, v Raw) *fault) *fault {
	if f := m.array(); f != nil {
		return f
	}
	for i, v := range Elements(m.Value) {
		if f := read(i, v); f != nil {
			return f.at(i).in(m.Name)
		}
	}
	return nil
}

// fields reads an object member by member; a fault gets the object's path.
// It refuses what is no object, null apart.
func fields(v Raw, read func(Member) *fault) *fault {
	switch v.Kind() {
	case '{':
	case 'n', 0xff:
		return nil
	default:
		return wrong("an object", v)
	}
	for m := range Members(v) {
		if f := read(m); f != nil {
			return f
		}
	}
	return nil
}
