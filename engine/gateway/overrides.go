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

func wrongHeader(name, value string, known []string) *dialect.Problem {
	no := false
	return &dialect.Problem{Status: http.StatusBadRequest, Code: "invalid_header", Param: name, Retry: &no,
		Message: "The header " + name + " says " + printable(value) + ", which means nothing here.",
		Remedy:  "Leave it out, or send one of: " + strings.Join(known, ", ") + "."}
}
