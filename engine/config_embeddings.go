package engine

import (
	"fmt"
	"slices"
	"strings"

	"bellwether/engine/fleet"
	"bellwether/engine/route"
)

// contracts returns the embedding contracts as the settings say, without
// anchors.
func (c *Config) contracts() map[string]route.Contract {
	if len(c.Embeddings) == 0 {
		return nil
	}
	out := make(map[string]route.Contract, len(c.Embeddings))
	for name, e := range c.Embeddings {
		out[strings.ToLower(name)] = route.Contract{
			Members: slices.Clone(e.Members), Identity: e.Identity, Dimensions: e.Dimensions, Normalized: e.Normalized,
		}
	}
	return out
}

// contractProblem says what is wrong with the embedding contracts, "" when
// nothing is; it begins with the name of the contract.
func (c *Config) contractProblem() string {
	seen := map[string]string{}
	for name := range sortedNames(c.Embeddings) {
		lower := strings.ToLower(name)
		if first, twice := seen[lower]; twice {
			return fmt.Sprintf("%s: differs from %q by case only, which names do not", name, first)
		}
		seen[lower] = name
		if problem := c.wrongContract(name); problem != "" {
			return name + ": " + problem
		}
	}
	return ""
}

func (c *Config) wrongContract(name string) string {
	e := c.Embeddings[name]
	if problem := c.takenName(name); problem != "" {
		return problem
	}
	if len(e.Members) == 0 {
		return "lists no members; name models or deployments (node/runtime/model)"
	}
	for i, m := range e.Members {
		if problem := c.wrongEmbedder(name, m); problem != "" {
			return problem
		}
		if slices.ContainsFunc(e.Members[:i], func(o string) bool { return fleet.SameModel(o, m) }) {
			return fmt.Sprintf("lists %s twice", m)
		}
	}
	if strings.TrimSpace(e.Identity) != e.Identity {
		return "identity begins or ends with a space"
	}
	return c.severalIdentities(e)
}

// takenName: a name has one meaning.
func (c *Config) takenName(name string) string {
	if strings.ContainsAny(name, "*? \t") || strings.HasSuffix(name, ":latest") {
		return "the name of a contract is no pattern, has no space in it, and no :latest behind it"
	}
	if problem := wrongName(name); problem != "" {
		return problem
	}
	if _, taken := aliasNamed(c.Aliases, name); taken {
		return "is an alias too (aliases." + name + "); give one of them another name"
	}
	builtin := route.Policy{Aliases: route.BuiltinAliases()}
	if a, key := builtin.AliasFor(name); a != nil {
		return "is a name for choosing among chat models (" + key + "); give the contract another"
	}
	for alias := range sortedNames(c.Aliases) {
		if slices.ContainsFunc(c.Aliases[alias].Models, func(m string) bool { return strings.EqualFold(m, name) }) {
			return "is a member of the alias " + alias + ", which is for chat models"
		}
	}
	return ""
}

// wrongEmbedder: a member is a model or a deployment, never a name for others.
// A contract that has its own name among its members stands before a model of
// that name, which others may list too.
func (c *Config) wrongEmbedder(contract, member string) string {
	switch {
	case strings.TrimSpace(member) == "":
		return "has a member without a name"
	case strings.ContainsAny(member, "*? \t"):
		return fmt.Sprintf("its member %q is no name; list models (nomic-embed-text) or deployments (node/runtime/model)", member)
	}
	for name, e := range c.Embeddings {
		model := slices.ContainsFunc(e.Members, func(m string) bool { return fleet.SameModel(m, name) })
		if name != contract && !model && strings.EqualFold(name, strings.TrimSuffix(member, ":latest")) {
			return fmt.Sprintf("its member %s is a contract itself; list models or deployments", member)
		}
	}
	if _, ok := aliasNamed(c.Aliases, member); ok {
		return fmt.Sprintf("its member %s is an alias; list models or deployments", member)
	}
	return ""
}

// severalIdentities: members that are declared to be different models need the
// contract's own word. What a pattern over nodes and runtimes covers is seen
// once they report, and then refused at each request.
func (c *Config) severalIdentities(e EmbeddingConfig) string {
	if e.Identity != "" {
		return ""
	}
	var said []string
	for _, m := range e.Members {
		identity := c.declaredIdentity(m)
		if identity != "" && !slices.ContainsFunc(said, func(o string) bool { return fleet.SameIdentity(o, identity) }) {
			said = append(said, identity)
		}
	}
	if len(said) < 2 {
		return ""
	}
	return fmt.Sprintf("its members declare several identities (%s); set identity to the one that its index was made with", strings.Join(said, ", "))
}

// declaredIdentity is what deployments say of a member, the last one counting;
// "" = nothing.
func (c *Config) declaredIdentity(member string) string {
	id, ok := fleet.ParseDeploymentID(member)
	if !ok {
		id = fleet.DeploymentID{Model: member}
	}
	d := fleet.Deployment{ID: id}
	route.Declare(&route.Policy{Declarations: c.declarations()}, &d)
	return d.DeclaredIdentity
}
