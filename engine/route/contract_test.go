package route

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"bellwether/engine/fleet"
)

const (
	wikiWeights  = "0a109f422b47e3a30ba2b10eca18548e944e8a23073ee3f3e947efcf3c45e59f"
	otherWeights = "c6e2d4cae5bd12b4a5b7d8e9f0a1b2c3d4e5f60718293a4b5c6d7e8f9a0b1c2d"
)

// anyEmbedders writes a fleet of embedding models of all sorts: right, wrong and
// unknown weights, loaded and not, on machines in all states.
func anyEmbedders(random *rand.Rand) string {
	pick := func(of ...string) string { return of[random.IntN(len(of))] }
	var b strings.Builder
	for i := range 1 + random.IntN(5) {
		fmt.Fprintf(&b, "node n%d memory 64GB%s\n  pool unified limit 60GB free %s\n", i, pick("", "", " paused", " offline", " bandwidth 400"), pick("50GB", "100MB"))
		for _, kind := range []string{"ollama", "llama-server"} {
			fmt.Fprintf(&b, "  runtime %s pool unified%s\n", kind, pick("", "", " down"))
			for _, name := range []string{"nomic", "second", "stranger"} {
				identity := pick(" digest "+wikiWeights, " digest "+otherWeights, " declares "+wikiWeights[:12], " declares v2", "",
					" digest "+otherWeights+" declares "+wikiWeights)
				fmt.Fprintf(&b, "  model %s/%s%s weights 274MB%s slots %d width 768 caps embed\n", kind, name, identity, pick("", " loaded 8192"), 1+random.IntN(4))
			}
		}
	}
	return b.String()
}

// Whatever the fleet is like and whatever failed before: what a contract is
// served by has the identity of its anchor and is a member, and nothing is
// fetched or swapped for it. The order of nodes changes nothing.
func TestNothingButReplicasEverServesAContract(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 9))
	verdicts := map[Verdict]int{}
	for round := range 3000 {
		text := anyEmbedders(random)
		contract := "contract wiki members nomic,n0/ollama/second anchor " + wikiWeights[:12+random.IntN(52)] + " source bound\npolicy model_fallback true auto_pull on\n"
		ask := fmt.Sprintf("ask wiki role embedding may_pull fallbacks stranger,nomic attempt %d", 1+random.IntN(3))
		if random.IntN(2) == 0 {
			ask += " failed n0/ollama/nomic"
		}
		s, err := ReadScenario(contract + text + ask + "\n")
		if err != nil {
			t.Fatal(err)
		}
		step := &s.Steps[0]
		d := Decide(step.View, step.Policy, &step.Query)
		verdicts[d.Verdict]++
		for _, c := range d.Candidates {
			dep := deploymentOf(step.View.Fleet, c.Deployment)
			if !dep.HasIdentity(wikiWeights) || dep.ID.Model != "nomic" && dep.ID.String() != "n0/ollama/second" {
				t.Fatalf("round %d: %s is no replica\n%s\n%s", round, dep.ID, d.Explain(), text)
			}
		}
		switch d.Verdict {
		case Serve:
			if !slices.ContainsFunc(d.Candidates, func(c Candidate) bool { return c.Deployment == d.Chosen }) || d.Fallback {
				t.Fatalf("round %d: %s", round, d.Explain())
			}
		case Pull:
			t.Fatalf("round %d: %s", round, d.Explain())
		}
		turned := *step.View
		f := *turned.Fleet
		f.Nodes = slices.Clone(f.Nodes)
		slices.Reverse(f.Nodes)
		turned.Fleet = &f
		if again := Decide(&turned, step.Policy, &step.Query); again.Explain() != d.Explain() {
			t.Fatalf("round %d: the order of nodes matters:\n%s\n%s", round, d.Explain(), again.Explain())
		}
	}
	if verdicts[Serve] < 500 || verdicts[Refuse] < 100 || verdicts[Hold] < 100 {
		t.Errorf("too few of a kind: %v", verdicts)
	}
}

// A retry of a plain embedding model never changes the space it began in.
func TestRetryOfAPlainEmbeddingModelKeepsItsSpace(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 9))
	served := 0
	for round := range 2000 {
		s, err := ReadScenario(anyEmbedders(random) + "ask nomic role embedding fallbacks second attempt 2 failed n0/ollama/nomic\n")
		if err != nil {
			t.Fatal(err)
		}
		step := &s.Steps[0]
		d := Decide(step.View, step.Policy, &step.Query)
		if d.Verdict != Serve {
			continue
		}
		served++
		began := deploymentOf(step.View.Fleet, fleet.DeploymentID{Node: "n0", Runtime: "ollama", Model: "nomic"})
		if now := deploymentOf(step.View.Fleet, d.Chosen); SpaceOf(now) != SpaceOf(began) && !now.HasIdentity(SpaceOf(began)) {
			t.Fatalf("round %d: from %s to %s\n%s", round, SpaceOf(began), SpaceOf(now), d.Explain())
		}
	}
	if served < 200 {
		t.Errorf("only %d were served", served)
	}
}

// Clients get the reason and the remedy, and are told whether to ask again.
func TestRefusalsOfContractsSayWhatToDo(t *testing.T) {
	node := "node studio memory 64GB\n  pool unified limit 60GB free 50GB\n  runtime ollama pool unified\n"
	for name, c := range map[string]struct {
		text, ask, code string
		status          int
		retry           bool
		says            []string
	}{
		"chat": {"contract wiki members nomic anchor " + wikiWeights + "\n" + node + "  model ollama/nomic digest " + wikiWeights + " caps embed\n", "ask wiki",
			"unsupported_capability", 400, false, []string{"does not support chat", "Ask for a chat model"}},
		"dimensions": {"contract wiki members nomic dimensions 768 anchor " + wikiWeights + "\n" + node + "  model ollama/nomic digest " + wikiWeights + " caps embed\n", "ask wiki role embedding dimensions 5",
			"unsupported_contract_option", 400, false, []string{"the vectors of wiki have 768 dimensions, 5 were asked for", "Leave dimensions out"}},
		"dimensions of what it is bound to": {"contract wiki members nomic anchor " + wikiWeights + "\n" + node + "  model ollama/nomic digest " + wikiWeights + " width 768 caps embed\n", "ask wiki role embedding dimensions 5",
			"unsupported_contract_option", 400, false, []string{"the vectors of wiki have 768 dimensions, 5 were asked for", "Leave dimensions out"}},
		"absent": {"contract wiki members nomic\n" + node, "ask wiki role embedding", "model_not_found", 404, false, []string{"model 'wiki' not found", "none of the members of wiki is installed: nomic"}},
		"unknown": {"contract wiki members nomic\n" + node + "  model ollama/nomic caps embed\n", "ask wiki role embedding", "contract_unbound", 503, true,
			[]string{"wiki is bound to no model yet", "deployments[].identity", "embeddings.wiki.identity"}},
		"several": {"contract wiki members nomic,second\n" + node + "  model ollama/nomic declares v1 caps embed\n  model ollama/second declares v2 caps embed\n", "ask wiki role embedding",
			"contract_unbound", 503, true, []string{"declare several identities (v1, v2)", "Set embeddings.wiki.identity"}},
		"differs": {"contract wiki members nomic anchor " + wikiWeights + "\n" + node + "  model ollama/nomic digest " + otherWeights + " caps embed\n", "ask wiki role embedding",
			"contract_unavailable", 503, false, []string{"is c6e2d4cae5bd, while the vectors of wiki are of 0a109f422b47", "set embeddings.wiki.identity to c6e2d4cae5bd"}},
		"being bound": {"contract wiki members nomic\n" + node + "  model ollama/nomic digest " + wikiWeights + " caps embed\n", "ask wiki role embedding",
			"contract_unbound", 503, true, []string{"wiki is being bound to 0a109f422b47", "Try again"}},
	} {
		s, err := ReadScenario(c.text + c.ask + "\n")
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		step := &s.Steps[0]
		p := RefusalProblem(Decide(step.View, step.Policy, &step.Query), &step.Query, false)
		if p.Status != c.status || p.Code != c.code || p.Retry == nil || *p.Retry != c.retry || c.retry && p.RetryAfter == 0 {
			t.Errorf("%s: %d %s, retry %v after %s: %s", name, p.Status, p.Code, p.Retry, p.RetryAfter, p.Text())
		}
		for _, says := range c.says {
			if !strings.Contains(p.Text(), says) {
				t.Errorf("%s: %q lacks %q", name, p.Text(), says)
			}
		}
	}
}

// A name is written as it is, also where a sentence begins with it.
func TestSentencesKeepNamesAsTheyAre(t *testing.T) {
	node := "node studio memory 64GB\n  pool unified limit 60GB free 50GB\n  runtime ollama pool unified\n"
	for text, want := range map[string]string{
		"contract wiki members nomic anchor " + wikiWeights + "\n" + node + "  model ollama/nomic digest " + wikiWeights + " caps embed\nask wiki":                 "wiki does not support chat.",
		"contract wiki members nomic anchor " + wikiWeights + "\n" + node + "  model ollama/nomic digest " + otherWeights + " caps embed\nask wiki role embedding": "nomic on studio is c6e2d4cae5bd,",
		node + "  model ollama/tiny caps llm\nask tiny role embedding":                                                                                             "tiny makes no embeddings.",
		node + "  model ollama/tiny caps llm\nask tiny remote_image":                                                                                               "The request links to an image",
		node + "  model ollama/tiny caps llm\nask tiny vision":                                                                                                     "It is not known whether tiny",
		node + "  model ollama/tiny caps llm disabled\nask tiny":                                                                                                   "tiny is switched off",
		node + "  model ollama/tiny weights 5GB caps llm\nask tiny timeout 1ms":                                                                                    "tiny needs about",
	} {
		if _, p := refused(t, text, false); !strings.HasPrefix(p.Message, want) {
			t.Errorf("%q does not begin with %q", p.Message, want)
		}
	}
}
