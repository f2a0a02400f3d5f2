package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"bellwether/engine/admin"
	"bellwether/engine/fleet"
)

// A name that is no model's own is told for what it is, with its members and
// filters; so is one that a command needs a model for.
func TestModelsShowTellsWhatANameStandsFor(t *testing.T) {
	t.Parallel()
	var models []string
	for i := range 12 {
		models = append(models, "-m", fmt.Sprintf("chat-%02d=40MB,ctx=8192,caps=completion+tools", i))
	}
	f := fakeRuntime(t, "ollama", append(models, "-m", "words=10MB,caps=embedding,width=8")...)
	h := newHome(t, `
aliases:
  coder: {models: [chat-03, absent, chat-01], pinned_order: true, locality: this_node}
  eyes: {require_vision: true, tags: [seeing]}
  gpt-*: {models: [chat-02]}
  chat-05: {models: [chat-06]}
embeddings:
  wiki: {members: [words, missing]}
`, map[string]*fake{"ollama": f})
	h.serve(t, anywhere)
	until(t, "the models are seen", func() bool { return len(decode[[]admin.ModelStatus](t, h.run(t, "models", "--json").out)) == 13 })

	h.run(t, "models", "show", "auto").ends(t, exitDone).says(t, "auto is an alias, there from the start: it chooses among every chat model, by the profile balanced",
		"12 deployments at present: studio/ollama/chat-00", "and 2 more").lacks(t, "words", h.status(t).Node.ID)
	h.run(t, "models", "show", "auto:balanced").ends(t, exitDone).says(t, "auto:balanced is an alias (auto)")
	h.run(t, "models", "show", "claude-sonnet-4-5").ends(t, exitDone).says(t, "is an alias (claude-*)")
	h.run(t, "models", "show", "gpt-4o").ends(t, exitDone).says(t, "gpt-4o is an alias (gpt-*): it chooses among chat-02", "1 deployment at present: studio/ollama/chat-02")
	h.run(t, "models", "show", "coder").ends(t, exitDone).says(t, "it takes the first that can serve of chat-03, absent, chat-01", "Only models on the machine that asks",
		"2 deployments at present", "On no machine: absent")
	h.run(t, "models", "show", "eyes").ends(t, exitDone).says(t, "Only models with the tags seeing, that see", "No deployment at present")
	h.run(t, "models", "show", "wiki").ends(t, exitDone).says(t, "wiki is an embedding contract of words, missing", "1 replica at present: studio/ollama/words", "On no machine: missing")
	h.run(t, "models", "show", "chat-05").ends(t, exitDone).says(t, "chat-05 is an alias: it chooses among chat-06", "chat-05:latest on ollama")
	h.run(t, "models", "show", "studio/ollama/chat-04:latest").ends(t, exitDone).says(t, "on ollama").lacks(t, "alias")
	h.run(t, "models", "show", "nobody").ends(t, exitRefused).says(t, "no model nobody is here")

	got := decode[admin.NameStatus](t, h.run(t, "models", "show", "coder", "--json").ends(t, exitDone).out)
	if got.Alias == nil || strings.Join(got.Alias.Models, " ") != "chat-03 absent chat-01" || !got.Alias.PinnedOrder || len(got.Alias.Deployments) != 2 || got.Contract != nil {
		t.Errorf("--json: %+v", got)
	}
	h.run(t, "models", "load", "auto").ends(t, exitRefused).says(t, "auto is an alias and no model; name one that it may choose: studio/ollama/chat-00")
	h.run(t, "models", "unload", "wiki").ends(t, exitRefused).says(t, "wiki is an embedding contract and no model; name one of its members: words, missing")
	h.run(t, "probe", "auto:fast").ends(t, exitRefused).says(t, "auto:fast stands for a choice and is no model", "bellwether models show auto:fast")
}

func TestModelsAreListedInTheOrderOfTheirNumbers(t *testing.T) {
	named := func(name string) admin.ModelStatus {
		return admin.ModelStatus{Deployment: fleet.DeploymentID{Model: name}}
	}
	s := &admin.Status{Runtimes: []admin.RuntimeStatus{
		{Models: []admin.ModelStatus{named("m-10"), named("m-109"), named("m-9")}},
		{Models: []admin.ModelStatus{named("a")}},
	}}
	var got []string
	for _, m := range modelsOf(s) {
		got = append(got, m.Deployment.Model)
	}
	if want := []string{"m-9", "m-10", "m-109", "a"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
