package engine

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"bellwether/engine/route"
)

// mostOverlaps bounds what is compared, so that a settings file of thousands of
// patterns is read as fast as any: what lies beyond is told by doctor, of models
// that are installed.
const mostOverlaps = 100_000

// mostNotes are told of each kind: with more there is one mistake behind them all.
const mostNotes = 10

// overlaps says, a sentence each, where two patterns of the settings can stand for
// one name with neither of them naming more of it, and say different things: no
// error, since no such model need ever be there.
func (c *Config) overlaps() []string {
	return slices.Concat(c.declarationOverlaps(), c.aliasOverlaps(), c.coveredMembers())
}

func (c *Config) declarationOverlaps() (out []string) {
	all := c.declarations()
	left := mostOverlaps
	for i := range all {
		for k := range i {
			if left--; left < 0 || len(out) == mostNotes {
				return out
			}
			what, name := all[k].MayClash(&all[i])
			if what == "" {
				continue
			}
			one, two := fmt.Sprintf("deployments[%d]", k), fmt.Sprintf("deployments[%d]", i)
			out = append(out, fmt.Sprintf("%s%s and %s%s say another %s each of models such as %s, and %s names as much of them as %s: neither counts there; let one name more, or both say the same",
				one, c.inLine(one), two, c.inLine(two), what, name, all[i].Match, all[k].Match))
		}
	}
	return out
}

func (c *Config) aliasOverlaps() (out []string) {
	var patterns []string
	merged := c.aliases()
	for name := range sortedNames(merged) {
		if strings.Contains(name, "*") {
			patterns = append(patterns, name)
		}
	}
	tree := newAliasTree(c.Aliases)
	left := mostOverlaps
	for i, second := range patterns {
		for _, first := range patterns[:i] {
			if left--; left < 0 || len(out) == mostNotes {
				return out
			}
			_, ownFirst := tree.named(first)
			_, ownSecond := tree.named(second)
			if len(first) != len(second) || !ownFirst && !ownSecond || reflect.DeepEqual(merged[first], merged[second]) {
				continue
			}
			if name, ok := route.CommonName(first, second); ok {
				out = append(out, fmt.Sprintf("aliases: %s%s and %s%s can both stand for names such as %s, and are equally long: %s counts there, being the first by the alphabet; let one name more",
					first, c.aliasLine(tree, first), second, c.aliasLine(tree, second), name, first))
			}
		}
	}
	return out
}

// coveredMembers are members of aliases that a pattern among the aliases stands
// for: a request for that name has a model chosen, a member of that name is the
// model that is called so.
func (c *Config) coveredMembers() (out []string) {
	own := route.Policy{Aliases: map[string]route.Alias{}}
	for name, a := range c.Aliases {
		if strings.Contains(name, "*") {
			own.Aliases[strings.ToLower(name)] = route.Alias(a)
		}
	}
	if len(own.Aliases) == 0 {
		return nil
	}
	tree, left := newAliasTree(c.Aliases), mostOverlaps
	for _, name := range slices.Sorted(maps.Keys(c.Aliases)) {
		for _, m := range c.Aliases[name].Models {
			if _, named := tree.named(m); named {
				continue
			}
			if left -= len(own.Aliases); left < 0 || len(out) == mostNotes {
				return out
			}
			if a, pattern := own.AliasFor(m); a != nil {
				out = append(out, fmt.Sprintf("aliases.%s%s: its member %s is the model of that name alone, though requests for %s are served by %s: where no machine has such a model, list those of %s instead",
					name, c.aliasLine(tree, name), m, m, pattern, pattern))
			}
		}
	}
	return out
}

// aliasLine names the line of an alias, "" for one that is built in.
func (c *Config) aliasLine(tree *aliasTree, name string) string {
	own, ok := tree.named(name)
	if !ok {
		return ""
	}
	return c.inLine("aliases." + own)
}
