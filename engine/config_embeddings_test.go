package engine

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"bellwether/engine/route"
)

func TestWrongEmbeddingContractIsToldWithItsLine(t *testing.T) {
	for name, c := range map[string]struct{ text, line, says string }{
		"no members":       {"embeddings:\n  wiki: {dimensions: 3}\n", "config.yaml:2", "members is missing"},
		"none listed":      {"embeddings:\n  a: {members: [m]}\n  wiki: {members: []}\n", "config.yaml:3", "embeddings.wiki: lists no members"},
		"no dimensions":    {"embeddings:\n  wiki:\n    members: [m]\n    dimensions: 0\n", "config.yaml:4", "a whole number from 1 to 1000000"},
		"fewer than none":  {"embeddings:\n  wiki: {members: [m], dimensions: -3}\n", "config.yaml:2", "a whole number from 1"},
		"misspelt":         {"embeddings:\n  wiki: {members: [m], identiy: x}\n", "config.yaml:2", "did you mean identity"},
		"an alias's name":  {"aliases:\n  Wiki: {models: [m]}\nembeddings:\n  wiki: {members: [m]}\n", "config.yaml:4", "embeddings.wiki: is an alias too"},
		"auto":             {"embeddings:\n  auto: {members: [m]}\n", "config.yaml:2", "a name for choosing among chat models (auto)"},
		"auto:fast":        {"embeddings:\n  auto:fast: {members: [m]}\n", "config.yaml:2", "a name for choosing among chat models"},
		"a claude":         {"embeddings:\n  claude-vec: {members: [m]}\n", "config.yaml:2", "a name for choosing among chat models (claude-*)"},
		"a pattern's name": {"embeddings:\n  wiki*: {members: [m]}\n", "config.yaml:2", "is no pattern"},
		"twice":            {"embeddings:\n  Wiki: {members: [m]}\n  wiki: {members: [m]}\n", "config.yaml:3", "by case only"},
		"a loop":           {"embeddings:\n  a: {members: [b]}\n  b: {members: [a]}\n", "config.yaml:2", "its member b is a contract itself"},
		"an alias within":  {"aliases:\n  fast: {models: [m]}\nembeddings:\n  wiki: {members: [fast]}\n", "config.yaml:4", "its member fast is an alias"},
		"within an alias":  {"aliases:\n  fast: {models: [wiki]}\nembeddings:\n  wiki: {members: [m]}\n", "config.yaml:4", "is a member of the alias fast"},
		"a pattern":        {"embeddings:\n  wiki: {members: ['nomic*']}\n", "config.yaml:2", `its member "nomic*" is no name`},
		"an empty name":    {"embeddings:\n  wiki: {members: [m, '']}\n", "config.yaml:2", "a member without a name"},
		"a member twice":   {"embeddings:\n  wiki: {members: [nomic, 'Nomic:latest']}\n", "config.yaml:2", "lists Nomic:latest twice"},
		"several identities": {"deployments:\n  - {match: a.gguf, identity: v1}\n  - {match: b.gguf, identity: v2}\nembeddings:\n  wiki: {members: [a.gguf, b.gguf]}\n",
			"config.yaml:5", "its members declare several identities (v1, v2); set identity"},
	} {
		_, err := loadText(t, c.text)
		var wrong *SettingError
		if !errors.As(err, &wrong) || wrong.Where != c.line || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v\nwant %s ... %s", name, err, c.line, c.says)
		}
	}
}

func TestEmbeddingContractsAreRead(t *testing.T) {
	c, err := loadText(t, `
deployments:
  - {match: a.gguf, identity: v1}
  - {match: b.gguf, identity: v2}
  - {match: c.gguf, identity: V1}
embeddings:
  text-embedding-3-small: {members: [nomic-embed-text, bench/llama-server/nomic.gguf], identity: sha256:0a109f422b47, dimensions: 768, normalized: true}
  nomic-embed-text: {members: [nomic-embed-text]}
  settled: {members: [a.gguf, b.gguf], identity: v2}
  one: {members: [a.gguf]}
`)
	if err != nil {
		t.Fatal(err)
	}
	p := c.PolicyWith(&FleetPolicy{Revision: 1, Anchors: map[string]route.Anchor{
		"one": {Identity: "v1", Source: route.AnchorBound}, "settled": {Identity: "v1", Source: route.AnchorBound},
	}})
	small := p.Contracts["text-embedding-3-small"]
	if small.Dimensions != 768 || !small.Normalized || len(small.Members) != 2 || small.Anchor.Identity != "sha256:0a109f422b47" || small.Anchor.Source != route.AnchorDeclared {
		t.Errorf("got %+v", small)
	}
	if one := p.Contracts["one"]; one.Anchor == nil || one.Anchor.Source != route.AnchorBound {
		t.Errorf("recorded: %+v", one)
	}
	if a := p.Contracts["settled"].Anchor; a.Identity != "v2" { // what is declared now counts before what was bound
		t.Errorf("declared: %+v", a)
	}
	if p.Contracts["nomic-embed-text"].Anchor != nil {
		t.Error("bound to nothing known")
	}
	if got, _ := p.ContractFor("Text-Embedding-3-Small:latest"); got == nil || !slices.Equal(got.Members, small.Members) {
		t.Errorf("by any spelling: %+v", got)
	}
	if p.Hash == c.Policy().Hash {
		t.Error("the hash does not tell what the contracts are bound to")
	}
}
