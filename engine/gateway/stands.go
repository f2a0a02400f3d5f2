package gateway

import (
	"net/http"
	"slices"
	"strings"

	"bellwether/engine/dialect"
	"bellwether/engine/fleet"
)

// fewMembers is how many models a refusal names.
const fewMembers = 5

// noModel is the answer to what needs a model of a name that is none: unknown,
// or listed and asked like one, yet a choice among models, of which nothing can
// be unloaded, deleted or copied. do says what was to be done.
func (g *Gateway) noModel(name, do string) *dialect.Problem {
	var what string
	if c, _ := g.Policy().ContractFor(name); c != nil {
		what = "an embedding contract, which stands for the replicas of a model and is none itself"
	} else if a, _ := g.Policy().AliasFor(name); a != nil {
		what = "an alias, which stands for a choice among models and is none itself"
	} else {
		return g.missing(name)
	}
	no := false
	p := &dialect.Problem{Status: http.StatusBadRequest, Code: "not_a_model", Param: "model", Retry: &no,
		Message: printable(name) + " is " + what + ": there is nothing to " + do + ".",
		Remedy:  "Name a model, as GET /api/tags lists them."}
	if l, ok := g.findAlias(name, false); ok {
		if names := namesOf(l.deployments, do == "unload"); names != "" {
			p.Remedy = "Name a model: " + names + "."
		}
	}
	return p
}

// namesOf lists a few models, those in memory only where loaded says so and some
// are: they are what an unload is about.
func namesOf(list []fleet.Deployment, loaded bool) string {
	var all, inMemory []string
	for i := range list {
		all = append(all, list[i].ID.Model)
		if list[i].Residency == fleet.Loaded {
			inMemory = append(inMemory, list[i].ID.Model)
		}
	}
	if loaded && len(inMemory) > 0 {
		all = inMemory
	}
	slices.Sort(all)
	all = slices.Compact(all)
	more := ""
	if len(all) > fewMembers {
		all, more = all[:fewMembers], " ..."
	}
	return strings.Join(all, ", ") + more
}
