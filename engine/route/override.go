package route

import (
	"maps"
	"slices"
	"strings"

	"bellwether/engine/dialect"
)

// OverrideProblem refuses headers of a request that ask for what does not exist:
// a word that is passed over in silence is taken for granted by whoever sent it.
// header returns one by its name, "" = it was not sent; nil when all mean something.
func OverrideProblem(header func(name string) string, p *Policy) *dialect.Problem {
	if word := header("X-Fleet-Profile"); word != "" {
		if _, ok := p.Profiles[strings.ToLower(word)]; !ok {
			return wrongHeader("X-Fleet-Profile", word, slices.Sorted(maps.Keys(p.Profiles))...)
		}
	}
	if word := header("X-Fleet-Locality"); word != "" {
		if w := strings.ToLower(word); w != "fleet" && w != "this_node" {
			return wrongHeader("X-Fleet-Locality", word, "fleet", "this_node")
		}
	}
	if word := header("X-Fleet-Priority"); word != "" {
		if _, ok := ClassOf(word); !ok {
			return wrongHeader("X-Fleet-Priority", word, "interactive", "batch")
		}
	}
	if word := header("X-Fleet-No-Fallback"); word != "" {
		return FlagProblem("X-Fleet-No-Fallback", word)
	}
	return nil
}

// FlagProblem refuses a header that is to be on or off and is neither; nil when
// its word is one of those that FlagOf knows.
func FlagProblem(name, word string) *dialect.Problem {
	if _, ok := FlagOf(word); ok {
		return nil
	}
	return wrongHeader(name, word, "true", "false", "1", "0", "yes", "no", "on", "off")
}

func wrongHeader(name, word string, known ...string) *dialect.Problem {
	return &dialect.Problem{Status: 400, Code: "invalid_header", Param: name, Retry: no(),
		Message: "The header " + name + " says " + plain(word, 120) + ", which means nothing here.",
		Remedy:  "Leave it out, or send one of: " + strings.Join(known, ", ") + "."}
}
