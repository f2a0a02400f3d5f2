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
	for _, h := range []struct {
		name  string
		known []string
		means func(word string) bool
	}{
		{"X-Fleet-Profile", slices.Sorted(maps.Keys(p.Profiles)), func(w string) bool { _, ok := p.Profiles[strings.ToLower(w)]; return ok }},
		{"X-Fleet-Locality", []string{"fleet", "this_node"}, func(w string) bool { w = strings.ToLower(w); return w == "fleet" || w == "this_node" }},
		{"X-Fleet-Priority", []string{"interactive", "batch"}, func(w string) bool { _, ok := ClassOf(w); return ok }},
		{"X-Fleet-No-Fallback", []string{"true", "false", "1", "0", "yes", "no", "on", "off"}, func(w string) bool { _, ok := FlagOf(w); return ok }},
	} {
		if word := header(h.name); word != "" && !h.means(word) {
			return &dialect.Problem{Status: 400, Code: "invalid_header", Param: h.name, Retry: no(),
				Message: "The header " + h.name + " says " + plain(word, 120) + ", which means nothing here.",
				Remedy:  "Leave it out, or send one of: " + strings.Join(h.known, ", ") + "."}
		}
	}
	return nil
}
