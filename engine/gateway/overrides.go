package gateway

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"bellwether/engine/dialect"
	"bellwether/engine/route"
)

// checkOverrides refuses headers that ask for what does not exist: a word that
// is passed over in silence is taken for granted by whoever sent it.
func (x *exchange) checkOverrides() *dialect.Problem {
	n := &x.query.Needs
	if p := n.Profile; p != "" {
		profiles := x.g.Policy().Profiles
		if _, ok := profiles[p]; !ok {
			return wrongHeader("X-Fleet-Profile", p, slices.Sorted(maps.Keys(profiles)))
		}
	}
	if n.Locality != "" && n.Locality != "fleet" && n.Locality != "this_node" {
		return wrongHeader("X-Fleet-Locality", n.Locality, []string{"fleet", "this_node"})
	}
	if word := x.r.Header.Get("X-Fleet-Priority"); word != "" {
		if _, ok := route.ClassOf(word); !ok {
			return wrongHeader("X-Fleet-Priority", word, []string{"interactive", "batch"})
		}
	}
	return nil
}

// Headers that are on or off, and the words for it.
var (
	flags     = []string{"X-Fleet-No-Fallback", "X-Fleet-Local"}
	flagWords = []string{"true", "false", "1", "0", "yes", "no", "on", "off"}
)

// checkFlags refuses a request with a header that is neither on nor off.
func checkFlags(h http.Header) *dialect.Problem {
	for _, name := range flags {
		for _, word := range h[name] {
			if _, ok := route.FlagOf(word); !ok {
				return wrongHeader(name, word, flagWords)
			}
		}
	}
	return nil
}

func wrongHeader(name, value string, known []string) *dialect.Problem {
	no := false
	return &dialect.Problem{Status: http.StatusBadRequest, Code: "invalid_header", Param: name, Retry: &no,
		Message: "The header " + name + " says " + printable(value) + ", which means nothing here.",
		Remedy:  "Leave it out, or send one of: " + strings.Join(known, ", ") + "."}
}
