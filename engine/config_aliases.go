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
	tree := newAliasTree(c.Aliases)
	for name, a := range c.Aliases {
		alias := route.Alias(a)
		alias.Models = tree.models(name)
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
	}
	tree := newAliasTree(c.Aliases)
	profiles := c.profiles()
	for name := range sortedNames(c.Aliases) {
		if problem := c.wrongAlias(tree, profiles, name); problem != "" {
			return name + ": " + problem
		}
	}
	if loop := tree.loop(); loop != nil {
		return loop[0] + ": is its own member: " + strings.Join(loop, " -> ")
	}
	return ""
}

func (c *Config) wrongAlias(tree *aliasTree, profiles map[string]route.Weights, name string) string {
	a := c.Aliases[name]
	if problem := wrongName(name); problem != "" {
		return problem
	}
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
		if problem := tree.wrongMember(name, m); problem != "" {
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
func (t *aliasTree) wrongMember(alias, member string) string {
	if strings.TrimSpace(member) == "" {
		return "has a member without a name"
	}
	if strings.Contains(member, "*") {
		return fmt.Sprintf("its member %q is a pattern; list models by name, or choose by tags", member)
	}
	if strings.EqualFold(alias, member) {
		return "" // the model of that name: an alias may stand before it
	}
	if inner, ok := t.named(member); ok {
		if len(t.of[inner].Models) == 0 {
			return fmt.Sprintf("its member %s chooses among all models; list models instead", member)
		}
		return ""
	}
	if a, _ := t.builtin.AliasFor(member); a != nil {
		return fmt.Sprintf("its member %s chooses among all models; list models instead", member)
	}
	if strings.HasPrefix(strings.ToLower(member), "auto:") {
		return fmt.Sprintf("its member %s does not exist; auto:fast, auto:balanced and auto:quality do", member)
	}
	return ""
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
	inner, ok := aliasNamed(c.Aliases, name)
	return ok && slices.ContainsFunc(c.Aliases[inner].Models, func(m string) bool { return strings.EqualFold(m, inner) })
}
