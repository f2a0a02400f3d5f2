package route

import (
	"maps"
	"slices"
	"strings"

	"bellwether/engine/fleet"
)

// Alias is a client-visible name for a set of models.
type Alias struct {
	Profile string
	// Models are its members: names, or ids of deployments. None = every chat
	// model of the fleet that has the tags; such an alias is called open.
	Models        []string
	Tags          []string
	RequireVision bool
	Locality      string
	PinnedOrder   bool // the first member that can serve, instead of the best ranked
}

// open reports whether the alias takes its members from what is installed.
func (a *Alias) open() bool { return len(a.Models) == 0 }

// BuiltinAliases returns the names every fleet answers to unless its owner
// gives them another meaning: auto in three tempers, and the names of Claude,
// which coding agents insist on, by tier.
func BuiltinAliases() map[string]Alias {
	return map[string]Alias{
		"auto":           {Profile: ProfileBalanced},
		"auto:fast":      {Profile: ProfileFast},
		"auto:quality":   {Profile: ProfileQuality},
		"claude-*haiku*": {Profile: ProfileFast},
		"claude-*opus*":  {Profile: ProfileQuality},
		"claude-*":       {Profile: ProfileBalanced},
	}
}

// MergeAliases lays an owner's aliases over the built-in ones. A pattern of the
// owner's replaces the built-in names it covers: who says what claude-* means
// says it for every tier.
func MergeAliases(owners map[string]Alias) map[string]Alias {
	all := BuiltinAliases()
	for name := range owners {
		for builtin := range all {
			if strings.Contains(name, "*") && glob(name, builtin) {
				delete(all, builtin)
			}
		}
	}
	maps.Copy(all, owners)
	return all
}

// Profiles of the built-in aliases; an owner may add more.
const (
	ProfileFast     = "fast"
	ProfileBalanced = "balanced"
	ProfileQuality  = "quality"
)

// AliasFor returns the alias a name stands for and under which key, nil if it
// stands for none. An exact key wins, then auto:balanced as auto, then the
// pattern (claude-*) with the most letters. A ":latest" that some clients add
// to every name is not part of an alias.
func (p *Policy) AliasFor(name string) (alias *Alias, key string) {
	if len(p.Aliases) == 0 {
		return nil, ""
	}
	n := strings.TrimSuffix(strings.ToLower(name), ":latest")
	if n == "auto:balanced" {
		if a, ok := p.Aliases[n]; ok {
			return &a, n
		}
		n = "auto"
	}
	if a, ok := p.Aliases[n]; ok {
		return &a, n
	}
	for k := range p.Aliases {
		if strings.Contains(k, "*") && (len(k) > len(key) || len(k) == len(key) && k < key) && glob(k, n) {
			key = k
		}
	}
	if key == "" {
		return nil, ""
	}
	a := p.Aliases[key]
	return &a, key
}

func (j *judge) aliasFor(name string) (*Alias, string) { return j.p.AliasNamed(j.v.Fleet, name) }

// AliasNamed is AliasFor but for models of the fleet that are really called so:
// one that is installed wins over a pattern, not over an alias of exactly its
// name. So does a deployment that is asked for by its id.
func (p *Policy) AliasNamed(f *fleet.Snapshot, name string) (*Alias, string) {
	a, key := p.AliasFor(name)
	if a == nil || !strings.Contains(key, "*") {
		return a, key
	}
	w := want{name: name, canon: fleet.CanonicalModel(name)}
	for i := range f.Nodes {
		n := &f.Nodes[i]
		if slices.ContainsFunc(n.Deployments, func(d fleet.Deployment) bool { return w.matches(d.ID.Model) }) {
			return nil, ""
		}
	}
	if deploymentNamed(f, name) != nil {
		return nil, ""
	}
	return a, key
}

// expandOpen adds every model of the fleet that an open alias may mean, by
// name: those with its tags that are not known to be no chat models. What else
// is in a model's way is told model by model.
func (j *judge) expandOpen(a *Alias, called string, fallback bool) {
	var names []string
	seen := map[string]bool{}
	for i := range j.v.Fleet.Nodes {
		n := &j.v.Fleet.Nodes[i]
		for k := range n.Deployments {
			d := &n.Deployments[k]
			if d.Can(fleet.CapChat).Support == fleet.No || !hasTags(d, a.Tags) {
				continue
			}
			name := oneName(d)
			if canon := fleet.CanonicalModel(name); !seen[canon] {
				seen[canon] = true
				names = append(names, name)
			}
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		return strings.Compare(fleet.CanonicalModel(a), fleet.CanonicalModel(b))
	})
	for _, name := range names {
		j.add(want{name: name, alias: a, called: called, fallback: fallback})
	}
}

// oneName is the name of a model that several runtimes serve from one file: the
// one with a tag, else the first.
func oneName(d *fleet.Deployment) string {
	if len(d.AlsoNamed) == 0 {
		return d.ID.Model
	}
	return slices.MinFunc(append([]string{d.ID.Model}, d.AlsoNamed...), func(a, b string) int {
		if tagA, tagB := strings.Contains(a, ":"), strings.Contains(b, ":"); tagA != tagB {
			if tagA {
				return -1
			}
			return 1
		}
		return strings.Compare(a, b)
	})
}

func hasTags(d *fleet.Deployment, tags []string) bool {
	for _, t := range tags {
		if !slices.Contains(d.Tags, t) {
			return false
		}
	}
	return true
}

// Members returns the deployments an alias may mean, in the fleet's order,
// whatever else is in their way.
func (a *Alias) Members(f *fleet.Snapshot) []*fleet.Deployment {
	wants := make([]want, len(a.Models))
	for i, m := range a.Models {
		wants[i].canon = fleet.CanonicalModel(m)
	}
	var out []*fleet.Deployment
	for i := range f.Nodes {
		for k := range f.Nodes[i].Deployments {
			d := &f.Nodes[i].Deployments[k]
			named := a.open() && d.Can(fleet.CapChat).Support != fleet.No
			for w := range wants {
				named = named || wants[w].means(d) || strings.EqualFold(a.Models[w], d.ID.String())
			}
			if named && hasTags(d, a.Tags) && (!a.RequireVision || d.Can(fleet.CapVision).Support == fleet.Yes) {
				out = append(out, d)
			}
		}
	}
	return out
}

// Choosable returns the aliases as names a person may pick from a list, sorted.
// Of the patterns only the families of Claude have names of their own.
func (p *Policy) Choosable() []string {
	var out []string
	for name := range p.Aliases {
		if !strings.Contains(name, "*") {
			out = append(out, name)
		}
	}
	if _, auto := p.Aliases["auto"]; auto && !slices.Contains(out, "auto:balanced") {
		out = append(out, "auto:balanced")
	}
	for _, name := range []string{"claude-haiku", "claude-sonnet", "claude-opus"} {
		if _, exact := p.Aliases[name]; !exact {
			if a, _ := p.AliasFor(name); a != nil {
				out = append(out, name)
			}
		}
	}
	slices.Sort(out)
	return out
}

// AliasMembers says which deployments of the fleet an alias may choose among,
// by id, and which of the models it lists no machine has. What else is in a
// deployment's way depends on the request.
func (p *Policy) AliasMembers(key string, f *fleet.Snapshot) (all []fleet.DeploymentID, absent []string) {
	a, ok := p.Aliases[key]
	if !ok {
		return nil, nil
	}
	has := make([]bool, len(a.Models))
	for i := range f.Nodes {
		n := &f.Nodes[i]
		for k := range n.Deployments {
			d := &n.Deployments[k]
			if d.Disabled || !hasTags(d, a.Tags) || a.RequireVision && d.Can(fleet.CapVision).Support != fleet.Yes {
				continue
			}
			member := a.open() && d.Can(fleet.CapChat).Support != fleet.No
			for m, name := range a.Models {
				if isMember(name, n, d) {
					member, has[m] = true, true
				}
			}
			if member {
				all = append(all, d.ID)
			}
		}
	}
	slices.SortFunc(all, fleet.DeploymentID.Compare)
	for m, name := range a.Models {
		if !has[m] {
			absent = append(absent, name)
		}
	}
	return all, absent
}
