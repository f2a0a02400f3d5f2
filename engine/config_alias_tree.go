package engine

import (
	"slices"
	"strings"

	"bellwether/engine/fleet"
	"bellwether/engine/route"
)

// aliasTree is the owner's aliases as members of each other. Every alias is
// looked through once, however many ways lead to it: a settings file may hold
// thousands, and one that lists the two before it has a million ways to the first.
type aliasTree struct {
	of      map[string]AliasConfig
	names   map[string]string   // the owner's spelling, by the name in lower case
	done    map[string][]string // models of the aliases looked through; nil = under way
	builtin route.Policy
}

func newAliasTree(aliases map[string]AliasConfig) *aliasTree {
	t := &aliasTree{of: aliases, names: make(map[string]string, len(aliases)), done: make(map[string][]string, len(aliases))}
	for name := range aliases {
		t.names[strings.ToLower(name)] = name
	}
	t.builtin.Aliases = route.BuiltinAliases()
	return t
}

// named finds an alias by a member's name, in the owner's spelling.
func (t *aliasTree) named(member string) (name string, ok bool) {
	name, ok = t.names[strings.ToLower(member)]
	return name, ok
}

// aliasNamed is the same for one name alone.
func aliasNamed(aliases map[string]AliasConfig, member string) (name string, ok bool) {
	for name := range aliases {
		if strings.EqualFold(name, member) {
			return name, true
		}
	}
	return "", false
}

// models lists what an alias comes down to, each model once, in order. An alias
// that is its own member means the model of its name; Validate has refused
// longer loops.
func (t *aliasTree) models(name string) []string {
	if models, met := t.done[name]; met {
		return models
	}
	t.done[name] = nil
	var out []string
	have := map[string]bool{}
	for _, m := range t.of[name].Models {
		members := []string{m}
		if inner, ok := t.named(m); ok && inner != name {
			members = t.models(inner)
		}
		for _, m := range members {
			if key := fleet.CanonicalModel(m); !have[key] {
				have[key] = true
				out = append(out, m)
			}
		}
	}
	t.done[name] = out
	return out
}

// loop returns a way from an alias over others back to itself, nil if there is
// none. It begins and ends with the first of its names.
func (t *aliasTree) loop() []string {
	clear := map[string]bool{} // no loop begins there
	var way []string
	var follow func(name string) []string
	follow = func(name string) []string {
		if i := slices.Index(way, name); i >= 0 {
			return slices.Clone(way[i:])
		}
		way = append(way, name)
		for _, m := range t.of[name].Models {
			inner, ok := t.named(m)
			if !ok || inner == name || clear[inner] {
				continue
			}
			if loop := follow(inner); loop != nil {
				return loop
			}
		}
		way = way[:len(way)-1]
		clear[name] = true
		return nil
	}
	for name := range sortedNames(t.of) {
		if clear[name] {
			continue
		}
		if loop := follow(name); loop != nil {
			first := slices.Index(loop, slices.Min(loop))
			loop = append(loop[first:], loop[:first]...)
			return append(loop, loop[0])
		}
	}
	return nil
}
