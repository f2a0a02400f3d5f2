package runtime

// deepest is how deep values may stand in each other.
const deepest = 10_000

// validJSON reports whether b is one JSON value. Names may stand twice, and
// bytes need not be UTF-8: a runtime's slip is no reason to lose an answer. It
// looks at every frame of every stream, where the general decoder, which has
// options and a state for what comes next, took as long as all other work on it.
func validJSON(b []byte) bool {
	i, ok := validValue(b, blanks(b, 0), 0)
	return ok && blanks(b, i) == len(b)
}

// validValue checks the value that begins at i and returns where it ends.
func validValue(b []byte, i, depth int) (int, bool) {
	if i >= len(b) || depth > deepest {
		return i, false
	}
	switch c := b[i]; c {
	case '{':
		return validMembers(b, i+1, depth+1)
	case '[':
		return validElements(b, i+1, depth+1)
	case '"':
		return validString(b, i+1)
	case 't':
		return validWord(b, i, "true")
	case 'f':
		return validWord(b, i, "false")
	case 'n':
		return validWord(b, i, "null")
	default:
		return validNumber(b, i)
	}
}

// validMembers checks an object from behind its brace.
func validMembers(b []byte, i, depth int) (int, bool) {
	i = blanks(b, i)
	if i < len(b) && b[i] == '}' {
		return i + 1, true
	}
	for {
		if i >= len(b) || b[i] != '"' {
			return i, false
		}
		var ok bool
		if i, ok = validString(b, i+1); !ok {
			return i, false
		}
		if i = blanks(b, i); i >= len(b) || b[i] != ':' {
			return i, false
		}
		if i, ok = validValue(b, blanks(b, i+1), depth); !ok {
			return i, false
		}
		var more bool
		if i, more, ok = another(b, i, '}'); !more {
			return i, ok
		}
	}
}

// validElements checks an array from behind its bracket.
func validElements(b []byte, i, depth int) (int, bool) {
	i = blanks(b, i)
	if i < len(b) && b[i] == ']' {
		return i + 1, true
	}
	for {
		var more, ok bool
		if i, ok = validValue(b, i, depth); !ok {
			return i, false
		}
		if i, more, ok = another(b, i, ']'); !more {
			return i, ok
		}
	}
}

// another looks behind a member or element: a comma, and i is where the next
// one begins, or the end.
func another(b []byte, i int, end byte) (next int, more, ok bool) {
	i = blanks(b, i)
	switch {
	case i >= len(b):
		return i, false, false
	case b[i] == ',':
		return blanks(b, i+1), true, true
	}
	return i + 1, false, b[i] == end
}

// validString checks a string from behind its first quote.
func validString(b []byte, i int) (int, bool) {
	for i < len(b) {
		switch c := b[i]; {
		case c == '"':
			return i + 1, true
		case c < ' ':
			return i, false
		case c == '\\':
			n := validEscape(b[i+1:])
			if n == 0 {
				return i, false
			}
			i += 1 + n
		default:
			i++
		}
	}
	return i, false
}

// validEscape returns how many bytes an escape has behind its backslash, 0 if
// it is none.
func validEscape(b []byte) int {
	if len(b) == 0 {
		return 0
	}
	switch b[0] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 1
	case 'u':
		if len(b) >= 5 && isHex(b[1]) && isHex(b[2]) && isHex(b[3]) && isHex(b[4]) {
			return 5
		}
	}
	return 0
}

func validWord(b []byte, i int, word string) (int, bool) {
	if len(b)-i < len(word) || string(b[i:i+len(word)]) != word {
		return i, false
	}
	return i + len(word), true
}

func validNumber(b []byte, i int) (int, bool) {
	if i < len(b) && b[i] == '-' {
		i++
	}
	from := i
	if i = digits(b, i); i == from || b[from] == '0' && i > from+1 {
		return i, false
	}
	if i < len(b) && b[i] == '.' {
		from = i + 1
		if i = digits(b, from); i == from {
			return i, false
		}
	}
	if i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		from = i
		if i = digits(b, from); i == from {
			return i, false
		}
	}
	return i, true
}

func digits(b []byte, i int) int {
	for i < len(b) && b[i] >= '0' && b[i] <= '9' {
		i++
	}
	return i
}

// blanks returns where what follows white space begins.
func blanks(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}
