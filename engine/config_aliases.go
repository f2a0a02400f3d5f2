package engine

import (
	"fmt"
	"slices"
	"strings"

	"bellwether/engine/fleet"
	"bellwether/engine/gateway"
	"bellwether/engine/route"
)

// aliases returns the owner's aliases over the built-in ones. Members that are
// aliases themselves are replaced by theirs, so that the router looks up one
// name and no more.
func (c *Config) aliases() map[string]route.Alias {
	owners := make(map[string]route.Alias, len(c.Aliases))
	for name, a := range c.Aliases {
		alias := route.Alias(a)
		alias.Models = c.membersOf(name, nil)
		owners[strings.ToLower(name)] = alias
	}
	return route.MergeAliases(owners)
}

// profiles returns the owner's profiles over those that come with the engine.
func (c *Config) profiles() map[string]route.Weights {
	profiles := route.DefaultPolicy().Profiles
	for name, w := range c.Routing.Profiles {
		profiles[name] = route.Weights(w)
	}
	return profiles
}

// usualProfile is what an entry of routing.profiles starts as: the profile of its
// name that comes with the engine, else the one that is used where none is named.
// A weight that is to count nothing is said, as 0.
func usualProfile(name string) any {
	usual := route.DefaultPolicy().Profiles
	w, known := usual[name]
	if !known {
		w = usual[route.ProfileBalanced]
	}
	return ProfileConfig(w)
}

// membersOf lists the models an alias comes down to, each once, in order. above
// are the aliases it is a member of; Validate has refused loops.
func (c *Config) membersOf(name string, above []string) []string {
	var out []string
	above = append(above, name)
	for _, m := range c.Aliases[name].Models {
		members := []string{m}
		if inner, ok := c.aliasNamed(m); ok && !slices.Contains(above, inner) {
			members = c.membersOf(inner, above)
		}
		for _, m := range members {
			if !slices.ContainsFunc(out, func(o string) bool { return fleet.SameModel(o, m) }) {
				out = append(out, m)
			}
		}
	}
	return out
}

// aliasNamed finds an owner's alias by a member's name, in the owner's spelling.
func (c *Config) aliasNamed(member string) (name string, ok bool) {
	for name := range c.Aliases {
		if strings.EqualFold(name, member) {
			return name, true
		}
	}
	return "", false
}

// aliasProblem says what is wrong with the aliases, "" when nothing is; it
// begins with the name of the alias.
func (c *Config) aliasProblem() string {
	seen := map[string]string{}
	for name := range sortedNames(c.Aliases) {
		lower := strings.ToLower(name)
		if first, twice := seen[lower]; twice {
			return fmt.Sprintf("%s: differs from %q by case only, which names do not", name, first)
		}
		seen[lower] = name
		if problem := c.wrongAlias(name); problem != "" {
			return name + ": " + problem
		}
		if loop := c.aliasLoop(name, nil); loop != nil {
			return name + ": is its own member: " + strings.Join(loop, " -> ")
		}
	}
	return ""
}

func (c *Config) wrongAlias(name string) string {
	a := c.Aliases[name]
	if problem := wrongName(name); problem != "" {
		return problem
	}
	profiles := c.profiles()
	if _, known := profiles[a.Profile]; a.Profile != "" && !known {
		return fmt.Sprintf("there is no profile %q; known: %s", a.Profile, strings.Join(slices.Collect(sortedNames(profiles)), ", "))
	}
	if len(a.Models) == 0 && len(a.Tags) == 0 && a.Profile == "" && a.Locality == "" && !a.RequireVision {
		return "names neither models, tags nor a profile"
	}
	if len(a.Models) == 0 && a.PinnedOrder {
		return "pinned_order is the order of models, and it lists none"
	}
	for _, m := range a.Models {
		if problem := c.wrongMember(name, m); problem != "" {
			return problem
		}
	}
	return ""
}

// wrongName: a name nobody can ask for is a mistake. A pattern's * stands for
// what it may stand for.
func wrongName(name string) string {
	if gateway.AskableModel(strings.ReplaceAll(name, "*", "x")) {
		return ""
	}
	return fmt.Sprintf("no request can ask for that name: it is made of letters (a-z), digits and . _ - + @, in parts joined by / and :, and at most %d bytes long", gateway.MaxModelName)
}

// wrongMember: a member is a model, a deployment, or an alias with a list.
func (c *Config) wrongMember(alias, member string) string {
	if strings.TrimSpace(member) == "" {
		return "has a member without a name"
	}
	if strings.Contains(member, "*") {
		return fmt.Sprintf("its member %q is a pattern; list models by name, or choose by tags", member)
	}
	if strings.EqualFold(alias, member) {
		return "" // the model of that name: an alias may stand before it
	}
	if inner, ok := c.aliasNamed(member); ok {
		if len(c.Aliases[inner].Models) == 0 {
			return fmt.Sprintf("its member %s chooses among all models; list models instead", member)
		}
		return ""
	}
	builtin := route.Policy{Aliases: route.BuiltinAliases()}
	if a, _ := builtin.AliasFor(member); a != nil {
		return fmt.Sprintf("its member %s chooses among all models; list models instead", member)
	}
	if strings.HasPrefix(strings.ToLower(member), "auto:") {
		return fmt.Sprintf("its member %s does not exist; auto:fast, auto:balanced and auto:quality do", member)
	}
	return ""
}

// aliasLoop returns the way from an alias back to itself, nil if there is none.
func (c *Config) aliasLoop(name string, above []string) []string {
	above = append(slices.Clip(above), name)
	for _, m := range c.Aliases[name].Models {
		inner, ok := c.aliasNamed(m)
		if !ok || inner == name {
			continue
		}
		if inner == above[0] {
			return append(above, inner)
		}
		if slices.Contains(above, inner) {
			continue // a loop further down, told of its own aliases
		}
		if loop := c.aliasLoop(inner, above); loop != nil {
			return loop
		}
	}
	return nil
}

// classifierProblem: what classifies is asked before a model is chosen, so its
// name must not be one that is chosen for. A deployment is meant by its id, even
// where a pattern covers it.
func (c *Config) classifierProblem() string {
	name := c.Routing.Classifier.Deployment
	if name == "" {
		return ""
	}
	if _, id := fleet.ParseDeploymentID(name); id {
		return ""
	}
	what := c.standsFor(name)
	if what == "" {
		return ""
	}
	return fmt.Sprintf("%s is %s: choosing a model would begin with choosing one; name a small model that is installed (small:1b), or one deployment (node/runtime/model)", name, what)
}

// standsFor says what a name stands for that is no model's own, "" for any other.
func (c *Config) standsFor(name string) string {
	p := route.Policy{Aliases: c.aliases(), Contracts: c.contracts()}
	if _, key := p.ContractFor(name); key != "" {
		return "the embedding contract " + key
	}
	a, key := p.AliasFor(name)
	switch {
	case a == nil && strings.HasPrefix(strings.ToLower(name), "auto:"):
		return "no way of choosing there is"
	case a == nil:
		return ""
	case strings.EqualFold(strings.TrimSuffix(name, ":latest"), key):
		return "an alias"
	default:
		return "an alias (" + key + ")"
	}
}

// ownMember reports whether an alias stands before the model of its own name.
func (c *Config) ownMember(name string) bool {
	inner, ok := c.aliasNamed(name)
	return ok && slices.ContainsFunc(c.Aliases[inner].Models, func(m string) bool { return strings.EqualFold(m, inner) })
}
