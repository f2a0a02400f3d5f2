package desktop

import "strings"

// The pieces of the Windows entry that are plain text and bytes, so that they
// are tested everywhere.

// commandLine joins arguments as the C runtime's rules take them apart.
func commandLine(args []string) string {
	var out []string
	for _, a := range args {
		out = append(out, quoteArgument(a))
	}
	return strings.Join(out, " ")
}

// quoteArgument puts an argument into quotes where it needs them. Backslashes
// count only before a quote, where they are doubled.
func quoteArgument(a string) string {
	if a != "" && !strings.ContainsAny(a, " \t\"") {
		return a
	}
	var b strings.Builder
	b.WriteByte('"')
	slashes := 0
	for _, r := range a {
		switch r {
		case '\\':
			slashes++
			b.WriteRune(r)
			continue
		case '"':
			b.WriteString(strings.Repeat(`\`, slashes+1))
		}
		slashes = 0
		b.WriteRune(r)
	}
	b.WriteString(strings.Repeat(`\`, slashes))
	b.WriteByte('"')
	return b.String()
}

// splitCommandLine takes a command line apart by the same rules.
func splitCommandLine(s string) (args []string) {
	var arg strings.Builder
	quoted, any := false, false
	for i := 0; i < len(s); {
		slashes := 0
		for i < len(s) && s[i] == '\\' {
			slashes++
			i++
		}
		atQuote := i < len(s) && s[i] == '"'
		if slashes > 0 {
			any = true
			if atQuote {
				arg.WriteString(strings.Repeat(`\`, slashes/2))
			} else {
				arg.WriteString(strings.Repeat(`\`, slashes))
			}
		}
		switch {
		case i == len(s):
		case atQuote && slashes%2 == 1:
			arg.WriteByte('"')
			i++
		case atQuote:
			quoted, any = !quoted, true
			i++
		case !quoted && (s[i] == ' ' || s[i] == '\t'):
			if any {
				args = append(args, arg.String())
			}
			arg.Reset()
			any = false
			i++
		default:
			arg.WriteByte(s[i])
			any = true
			i++
		}
	}
	if any {
		args = append(args, arg.String())
	}
	return args
}

// switchedOff reads what Task Manager and the Settings app keep of an entry
// besides it: an odd first byte means that its user switched it off. No value
// means that nobody touched it.
func switchedOff(approved []byte) bool { return len(approved) > 0 && approved[0]&1 == 1 }
