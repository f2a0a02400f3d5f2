package measure

import "strings"

// block is one fenced part of a Markdown text.
type block struct{ lang, text string }

// fenced returns the fenced blocks of an answer; one that never ends goes to
// the end.
func fenced(answer string) (out []block) {
	var open *block
	var text strings.Builder
	var fence string
	for line := range strings.Lines(answer) {
		t := strings.TrimSpace(line)
		switch {
		case open == nil && (strings.HasPrefix(t, "```") || strings.HasPrefix(t, "~~~")):
			fence = t[:3]
			open = &block{lang: strings.ToLower(strings.TrimLeft(t, "`~"))}
		case open != nil && t != "" && strings.Trim(t, fence) == "" && strings.HasPrefix(t, fence):
			open.text = text.String()
			out = append(out, *open)
			open = nil
			text = strings.Builder{}
		case open != nil:
			text.WriteString(line)
		}
	}
	if open != nil {
		open.text = text.String()
		out = append(out, *open)
	}
	return out
}
