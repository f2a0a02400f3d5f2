package evidence

import (
	"math"
	"os"
	"strings"
	"testing"

	"bellwether/engine/fleet"
)

// shipped reads the catalogue that the program comes with.
func shipped(t testing.TB) *Catalogue {
	t.Helper()
	var all *Catalogue
	for _, name := range []string{"models.yaml", "priors.yaml"} {
		text, err := os.ReadFile("../../assets/catalogue/" + name)
		if err != nil {
			t.Fatal(err)
		}
		c, err := ParseCatalogue(name, text)
		if err != nil {
			t.Fatal(err)
		}
		all = all.With(c)
	}
	return all
}

// seen is a deployment as a runtime reports it.
func seen(kind, model, family string, billions float64) *fleet.Deployment {
	return &fleet.Deployment{
		ID:   fleet.DeploymentID{Node: "studio", Runtime: kind, Model: model},
		Kind: kind, Family: family, Parameters: math.Round(billions * 1e9),
	}
}

func nameOf(e *Entry) string {
	if e == nil {
		return "-"
	}
	return e.Name
}

func TestModelsAreFoundUnderTheNamesRuntimesReport(t *testing.T) {
	c := shipped(t)
	for _, tt := range []struct {
		kind, model, family string
		billions            float64
		want                string
	}{
		// Ollama's library
		{"ollama", "qwen3:8b", "qwen3", 8.2, "qwen3:8b"},
		{"ollama", "qwen3:8b-q4_K_M", "qwen3", 8.2, "qwen3:8b"},
		{"ollama", "Qwen3:8B-FP16", "qwen3", 8.2, "qwen3:8b"},
		{"ollama", "library/qwen3:8b", "qwen3", 8.2, "qwen3:8b"},
		{"ollama", "qwen3:30b-a3b-instruct-2507-q4_K_M", "qwen3moe", 30.5, "qwen3:30b-instruct-2507"},
		{"ollama", "qwen3:30b-a3b-q8_0", "qwen3moe", 30.5, "qwen3:30b"},
		{"ollama", "qwen2.5-coder:7b-instruct-q5_K_M", "qwen2", 7.6, "qwen2.5-coder:7b"},
		{"ollama", "llama3.1:8b-instruct-q4_0", "llama", 8.0, "llama3.1:8b"},
		{"ollama", "gemma3:27b-it-qat", "gemma3", 27.4, "gemma3:27b"},
		{"ollama", "gemma3n:e4b-it-q8_0", "gemma3n", 6.9, "gemma3n:e4b"},
		{"ollama", "mistral:7b-instruct-v0.3-q4_K_M", "llama", 7.2, "mistral:7b"},
		{"ollama", "llama3.2-vision:11b", "mllama", 10.7, "llama3.2-vision:11b"},
		{"ollama", "granite4:tiny-h", "granitehybrid", 6.9, "granite4:tiny-h"},
		{"ollama", "phi4-reasoning:plus", "phi3", 14.7, "phi4-reasoning:14b-plus"},
		{"ollama", "deepseek-r1:8b", "qwen3", 8.2, "deepseek-r1:8b"},
		{"ollama", "deepseek-r1:8b", "llama", 8.0, "deepseek-r1:8b-llama-distill"},
		// without a size: the one of the reported size
		{"ollama", "qwen3:latest", "qwen3", 8.19, "qwen3:8b"},
		{"ollama", "qwen3", "qwen3", 14.77, "qwen3:14b"},
		{"ollama", "llama3.2:latest", "llama", 3.21, "llama3.2:3b"},
		{"ollama", "gpt-oss:latest", "gptoss", 20.9, "gpt-oss:20b"},
		{"ollama", "mixtral:latest", "llama", 46.7, "mixtral:8x7b"},
		{"ollama", "llama4:latest", "llama4", 108.6, "llama4:scout"},
		{"ollama", "gemma3n:latest", "gemma3n", 6.9, "gemma3n:e4b"},
		{"ollama", "qwen3-next:latest", "qwen3next", 79.7, "qwen3-next:80b-thinking"},
		{"ollama", "command-r:latest", "command-r", 32.3, "command-r:35b"},
		{"ollama", "nomic-embed-text:latest", "nomic-bert", 0.137, "nomic-embed-text:v1.5"},
		{"ollama", "mxbai-embed-large:latest", "bert", 0.334, "mxbai-embed-large:335m"},
		// Hugging Face, through either runtime
		{"ollama", "hf.co/unsloth/Qwen3-8B-GGUF:Q4_K_M", "qwen3", 8.2, "qwen3:8b"},
		{"ollama", "hf.co/bartowski/Meta-Llama-3.1-8B-Instruct-GGUF:latest", "llama", 8.0, "llama3.1:8b"},
		{"ollama", "huggingface.co/Qwen/Qwen2.5-Coder-32B-Instruct-GGUF:Q3_K_L", "qwen2", 32.8, "qwen2.5-coder:32b"},
		{"llama-server", "unsloth/Qwen3-8B-GGUF:Q4_K_M", "", 8.19, "qwen3:8b"},
		{"llama-server", "unsloth/Qwen3-30B-A3B-Instruct-2507-GGUF:UD-Q4_K_XL", "", 30.5, "qwen3:30b-instruct-2507"},
		{"llama-server", "ggml-org/gpt-oss-20b-GGUF", "", 20.9, "gpt-oss:20b"},
		{"llama-server", "ggml-org/gemma-3-4b-it-GGUF:Q8_0", "", 3.9, "gemma3:4b"},
		// files
		{"llama-server", "Qwen3-8B-Q4_K_M.gguf", "", 8.19, "qwen3:8b"},
		{"llama-server", "Qwen3-8B-Q4_K_M", "", 8.19, "qwen3:8b"},
		{"llama-server", "/models/Meta-Llama-3.1-8B-Instruct.Q4_K_M.gguf", "", 8.03, "llama3.1:8b"},
		{"llama-server", `C:\models\Mistral-7B-Instruct-v0.3.IQ4_XS.gguf`, "", 7.25, "mistral:7b"},
		{"llama-server", "google_gemma-3-27b-it-Q4_K_M", "", 27.0, "gemma3:27b"},
		{"llama-server", "Qwen_Qwen3-32B-IQ2_XXS", "", 32.8, "qwen3:32b"},
		{"llama-server", "mistralai_Mistral-Small-3.2-24B-Instruct-2506-Q4_K_M", "", 23.6, "mistral-small3.2:24b"},
		{"llama-server", "gpt-oss-20b-mxfp4", "", 20.9, "gpt-oss:20b"},
		{"llama-server", "gpt-oss-120b-MXFP4_MOE-00001-of-00003.gguf", "", 117, "gpt-oss:120b"},
		{"llama-server", "ggml-org_gemma-3-4b-it-GGUF_gemma-3-4b-it-Q4_K_M.gguf", "", 3.9, "gemma3:4b"},
		{"llama-server", "DeepSeek-R1-Distill-Qwen-7B-Q4_K_M", "", 7.6, "deepseek-r1:7b"},
		{"llama-server", "nomic-embed-text-v1.5.f16", "", 0.137, "nomic-embed-text:v1.5"},
		{"llama-server", "bge-m3-q8_0.gguf", "", 0.567, "bge-m3:567m"},
		{"llama-server", "all-MiniLM-L6-v2-Q8_0", "", 0.0227, "all-minilm:22m"},
		{"llama-server", "Phi-4-mini-instruct.i1-Q6_K", "", 3.84, "phi4-mini:3.8b"},
		{"llama-server", "Qwen3-VL-8B-Instruct-UD-Q4_K_XL", "", 8.2, "qwen3-vl:8b-instruct"},
		{"llama-server", "gemma-3-12b-it-qat-q4_0.gguf", "", 11.8, "gemma3:12b"},
		// other runtimes
		{"lmstudio", "qwen/qwen3-8b", "", 0, "qwen3:8b"},
		{"lmstudio", "google/gemma-3-12b", "", 0, "gemma3:12b"},
		{"lmstudio", "ibm/granite-4-h-tiny", "", 0, "granite4:tiny-h"},
		{"llama-server", "llama3.1-8b", "", 8.03, "llama3.1:8b"}, // an alias somebody chose
		{"lmstudio", "text-embedding-nomic-embed-text-v1.5", "", 0, "nomic-embed-text:v1.5"},
		{"mlx", "mlx-community/Qwen3-8B-4bit", "", 0, "qwen3:8b"},
		{"vllm", "Qwen/Qwen2.5-7B-Instruct-AWQ", "", 0, "qwen2.5:7b"},
		{"vllm", "Qwen/Qwen2.5-7B-Instruct-GPTQ-Int4", "", 0, "qwen2.5:7b"},
		{"vllm", "meta-llama/Llama-3.3-70B-Instruct", "", 0, "llama3.3:70b"},
	} {
		if got := nameOf(c.Find(seen(tt.kind, tt.model, tt.family, tt.billions))); got != tt.want {
			t.Errorf("%s (%s, %.3gB): got %s, want %s", tt.model, tt.family, tt.billions, got, tt.want)
		}
	}
}

func TestOtherModelsGetNothingOfThoseListed(t *testing.T) {
	c := shipped(t)
	for _, tt := range []struct {
		why, model, family string
		billions           float64
	}{
		{"a fine-tune", "dolphin-llama3.1:8b", "llama", 8.0},
		{"a fine-tune", "Dolphin3.1-Llama3.1-8B-Q4_K_M", "", 8.0},
		{"a fine-tune", "Qwen3-8B-abliterated-Q4_K_M", "qwen3", 8.2},
		{"a fine-tune", "huihui_ai/qwen3-abliterated:8b", "qwen3", 8.2},
		{"a fine-tune", "hf.co/mradermacher/Qwen3-8B-Uncensored-GGUF:Q4_K_M", "qwen3", 8.2},
		{"somebody's own", "somebody/qwen3:8b", "qwen3", 8.2},
		{"somebody's own", "somebody/qwen3", "qwen3", 8.2},
		{"a base model", "Qwen2.5-7B-Q4_K_M", "", 7.6},
		{"a base model", "llama3:8b-text-q4_0", "llama", 8.0},
		{"a base model", "gemma-3-4b-pt-Q8_0", "gemma3", 4.3},
		{"another family under the name", "qwen3:8b", "llama", 8.0},
		{"another size under the name", "qwen3:8b", "qwen3", 14.8},
		{"another size under the name", "Qwen3-8B-Q4_K_M", "", 0.6},
		{"a size nobody listed", "qwen3:latest", "qwen3", 20},
		{"no size known", "qwen3", "qwen3", 0},
		{"a merge", "qwen3-8b-llama-3.1-8b-merge", "", 8.0},
		{"an alias", "gpt-4", "", 8.2},
		{"a part of a name", "qwen3-8", "", 8.2},
		{"nothing", "model", "", 0},
		{"a packing alone", "ggml-model-q4_0.gguf", "", 8.0},
	} {
		d := seen("ollama", tt.model, tt.family, tt.billions)
		if e := c.Find(d); e != nil {
			t.Errorf("%s, %s, is taken for %s", tt.model, tt.why, e.Name)
		}
		if c.Tell(d); len(d.Priors) > 0 {
			t.Errorf("%s, %s, has priors", tt.model, tt.why)
		}
	}
}

func TestAFamilyNobodyKnowsRulesOutNothing(t *testing.T) {
	d := seen("ollama", "qwen3:8b", "qwen3-as-a-later-runtime-calls-it", 8.2)
	if got := nameOf(shipped(t).Find(d)); got != "qwen3:8b" {
		t.Errorf("got %s", got)
	}
}

func TestAFineTuneKeepsItsArchitecturesActiveParameters(t *testing.T) {
	c := shipped(t)
	d := seen("ollama", "my-own-finetune:latest", "qwen3moe", 30.5)
	c.Tell(d)
	if d.ActiveParams != 3.3e9 || len(d.Priors) > 0 || len(d.Capabilities) > 0 || d.MaxContext != 0 {
		t.Errorf("got active %g, priors %v, capabilities %v, context %d", d.ActiveParams, d.Priors, d.Capabilities, d.MaxContext)
	}
	dense := seen("ollama", "my-own-finetune:latest", "qwen3", 8.2)
	if c.Tell(dense); dense.ActiveParams != 0 {
		t.Errorf("a dense model got %g active parameters", dense.ActiveParams)
	}
}

func TestTheRuntimesWordComesBeforeTheCatalogues(t *testing.T) {
	c := shipped(t)
	d := seen("ollama", "qwen3:8b", "qwen3", 8.2)
	d.MaxContext, d.EmbeddingWidth = 12345, 4096
	d.Capabilities = fleet.Capabilities{
		fleet.CapTools: {Support: fleet.No, Source: fleet.SourceRuntime},
		fleet.CapChat:  {Support: fleet.Yes, Source: fleet.SourceRuntime},
	}
	reported := d.Capabilities
	c.Tell(d)
	if d.MaxContext != 12345 || d.Parameters != 8.2e9 || d.EmbeddingWidth != 4096 {
		t.Errorf("got context %d, parameters %g, width %d", d.MaxContext, d.Parameters, d.EmbeddingWidth)
	}
	if got := d.Can(fleet.CapTools); got != (fleet.Claim{Support: fleet.No, Source: fleet.SourceRuntime}) {
		t.Errorf("tools: got %v", got)
	}
	if got := d.Can(fleet.CapThinking); got != (fleet.Claim{Support: fleet.Yes, Source: fleet.SourceCatalogue}) {
		t.Errorf("thinking: got %v", got)
	}
	if len(reported) != 2 {
		t.Error("the runtime's own map was changed")
	}
	bare := seen("vllm", "Qwen/Qwen3-8B", "", 0)
	if c.Tell(bare); bare.MaxContext != 40960 || bare.Parameters != 8.19e9 || bare.Family != "qwen3" {
		t.Errorf("where nothing is reported: got context %d, parameters %g, family %s", bare.MaxContext, bare.Parameters, bare.Family)
	}
}

func TestEmbeddingModelsDoNotChat(t *testing.T) {
	d := seen("vllm", "BAAI/bge-m3", "", 0)
	shipped(t).Tell(d)
	if d.Can(fleet.CapEmbedding).Support != fleet.Yes || d.Can(fleet.CapChat).Support != fleet.No || d.EmbeddingWidth != 1024 {
		t.Errorf("got %v, width %d", d.Capabilities, d.EmbeddingWidth)
	}
}

func TestOllamaAloneSerialises(t *testing.T) {
	c := shipped(t)
	d := seen("ollama", "qwen3-vl:8b", "qwen3vl", 8.8)
	if c.Tell(d); d.Slots != 1 {
		t.Errorf("on ollama: got %d slots", d.Slots)
	}
	d = seen("llama-server", "Qwen3-VL-8B-Thinking-Q4_K_M", "", 8.8)
	if c.Tell(d); d.Slots != 0 {
		t.Errorf("on llama-server: got %d slots", d.Slots)
	}
}

func TestEverythingWrongIsToldWithItsLine(t *testing.T) {
	_, err := ParseCatalogue("catalogue.yaml", []byte(`models:
  - name: mine:8b
    parameters: 8
    colour: red
    capabilities: [tool, chat]
    priors: {code: 0.5 me, math: 1.5 me, chat: 0.5, reasoning: x}
  - also: [nameless]
  - name: other
    also: [mine:8b-q4_K_M]
    context: -1
    thinking: sometimes
    active: 9B
    parameters: 8B
    parameters: 9B
  - just text
extra: 1
`))
	if err == nil {
		t.Fatal("it was accepted")
	}
	want := []string{
		`catalogue.yaml:3: mine:8b: parameters: "8" is no number of parameters`,
		`catalogue.yaml:4: mine:8b: colour is no field`,
		`catalogue.yaml:5: mine:8b: capabilities: "tool" is not one of chat, embedding, tools`,
		`catalogue.yaml:6: mine:8b: priors: "code" is no task; there are coding, math`,
		`catalogue.yaml:6: mine:8b: priors: math: "1.5 me" does not begin with a number from 0 to 1`,
		`catalogue.yaml:6: mine:8b: priors: chat: says not where 0.5 comes from`,
		`catalogue.yaml:6: mine:8b: priors: reasoning: "x" does not begin`,
		`catalogue.yaml:7: an entry needs a name`,
		`catalogue.yaml:10: other: context: "-1" is no whole number`,
		`catalogue.yaml:11: other: thinking: "sometimes" is not one of always, switch, effort, prompt`,
		`catalogue.yaml:14: other: parameters is given twice, first in line 13`,
		`catalogue.yaml:8: other: active (9e+09) is more than parameters (8e+09)`,
		`catalogue.yaml:8: other: the name mine:8b-q4_K_M is taken by mine:8b (catalogue.yaml:2)`,
		`catalogue.yaml:15: an entry has the form`,
		`catalogue.yaml:16: extra is no part of a catalogue`,
	}
	got := strings.Split(err.Error(), "\n")
	for i, w := range want {
		if i >= len(got) || !strings.HasPrefix(got[i], w) {
			t.Errorf("line %d of the error: got %q, want %q...", i, at(got, i), w)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d errors, want %d:\n%s", len(got), len(want), err)
	}
}

func at(s []string, i int) string {
	if i < len(s) {
		return s[i]
	}
	return ""
}

func TestWhatIsNoYAMLNamesItsLine(t *testing.T) {
	for text, want := range map[string]string{
		"models:\n  - name: [":          "catalogue.yaml:",
		"models:\n\t- name: a":          "catalogue.yaml:2: ",
		"- name: a":                     "catalogue.yaml:1: a catalogue begins with models:",
		"models: qwen3:8b":              "catalogue.yaml:1: models must be a list",
		"models:\n  - name: '*a'":       `catalogue.yaml:2: *a: "*a" would match nearly every name`,
		"models:\n  - name: 'abc[d'":    `catalogue.yaml:2: abc[d: "abc[d" is no pattern`,
		"models:\n  - name: [a, b]":     "catalogue.yaml:2: an entry needs a name",
		"models:\n  - name: q4_k_m":     `catalogue.yaml:2: q4_k_m: "q4_k_m" is no model's name`,
		"models:\n  - name: a\n  name:": "catalogue.yaml:",

		"models:\n  - name: abc\n---\nmodels:\n  - name: abd":           "catalogue.yaml:4: a second document begins here",
		"models:\n  - name: abc\n    priors: {math: 0.5 me; 2026}":      "catalogue.yaml:3: abc: priors: math: a source is one line",
		"models:\n  - name: abc\n    priors: {math: \"0.5 me\\n2026\"}": "catalogue.yaml:3: abc: priors: math: a source is one line",
		"models:\n  - name: abc\n    priors: {math: .nan me}":           `catalogue.yaml:3: abc: priors: math: ".nan me" does not begin`,
		"models:\n  - &a {name: abc}\n  - *a":                           "catalogue.yaml:3: an entry has the form",
		"models:\n  - name: abc\n    <<: {context: 1}":                  "catalogue.yaml:3: abc: << is no field",
	} {
		_, err := ParseCatalogue("catalogue.yaml", []byte(text))
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: got %v, want %s...", text, err, want)
		}
	}
	for _, text := range []string{"", "# only a comment\n", "models:\n"} {
		if c, err := ParseCatalogue("catalogue.yaml", []byte(text)); err != nil || len(c.Entries()) != 0 {
			t.Errorf("%q: got %v, %v", text, c, err)
		}
	}
}

func TestAnOwnersCatalogueAddsAndCompletes(t *testing.T) {
	own, err := ParseCatalogue("catalogue.yaml", []byte(`models:
  - name: qwen3:8b
    also: [house-model]
    priors: {coding: 0.9 my own tests 2026-11}
  - name: our-tune:8b
    also: ["our-tune-v*", "our-*"]
    parameters: 8B
    priors: {any: 0.8 my own tests 2026-11}
  - name: our-tune-v2-large
    also: ["our-tune-v2-*"]
`))
	if err != nil {
		t.Fatal(err)
	}
	base := shipped(t)
	c := base.With(own)
	for model, want := range map[string]string{
		"qwen3:8b": "qwen3:8b", "Qwen3-8B-Q4_K_M": "qwen3:8b", "house-model": "qwen3:8b",
		"our-tune-v1-Q4_K_M.gguf": "our-tune:8b", "our-tune-v2-small": "our-tune-v2-large", "our-other": "our-tune:8b",
		"llama3.1:8b": "llama3.1:8b",
	} {
		if got := nameOf(c.Find(seen("ollama", model, "", 0))); got != want {
			t.Errorf("%s: got %s, want %s", model, got, want)
		}
	}
	d, before := seen("ollama", "qwen3:8b", "qwen3", 8.2), seen("ollama", "qwen3:8b", "qwen3", 8.2)
	c.Tell(d)
	base.Tell(before)
	if got := d.Priors["coding"]; got != (fleet.Prior{Value: 0.9, Provenance: "my own tests 2026-11"}) {
		t.Errorf("coding: got %v", got)
	}
	if d.MaxContext != 40960 || len(d.Priors) < len(before.Priors) || d.Priors["chat"] != before.Priors["chat"] {
		t.Errorf("what the owner did not say was lost: context %d, %v", d.MaxContext, d.Priors)
	}
	if before.Priors["coding"].Value == 0.9 {
		t.Error("the catalogue below was changed")
	}
	if len(c.Entries()) != len(base.Entries())+2 {
		t.Errorf("%d entries of %d and 2 new ones", len(c.Entries()), len(base.Entries()))
	}
}

func TestTheShippedCatalogueHoldsWhatItPromises(t *testing.T) {
	all := shipped(t).Entries()
	if len(all) < 110 {
		t.Errorf("%d models", len(all))
	}
	withPriors, bare := 0, 0
	for _, e := range all {
		if e.Parameters == 0 || len(e.Capabilities) == 0 {
			t.Errorf("%s (%s) lacks parameters or capabilities", e.Name, e.Place)
		}
		if e.Context == 0 || e.Licence == "" {
			bare++ // what nobody published stays unknown
		}
		embeds := false
		for _, c := range e.Capabilities {
			embeds = embeds || c == fleet.CapEmbedding
		}
		if embeds != (e.Dimensions > 0) {
			t.Errorf("%s (%s): dimensions %d", e.Name, e.Place, e.Dimensions)
		}
		if len(e.Priors) > 0 {
			withPriors++
		}
		for task, p := range e.Priors {
			if p.Value < 0.2 || p.Value > 0.95 || len(strings.Fields(p.Provenance)) < 2 {
				t.Errorf("%s: %s: %v", e.Name, task, p)
			}
		}
	}
	if bare > len(all)/20 {
		t.Errorf("%d models lack context or licence", bare)
	}
	if withPriors < 80 {
		t.Errorf("%d models have priors", withPriors)
	}
}

func TestANilCatalogueKnowsNothing(t *testing.T) {
	var c *Catalogue
	d := seen("ollama", "qwen3:8b", "qwen3", 8.2)
	c.Tell(d)
	if d.Priors != nil || d.Capabilities != nil || c.Find(d) != nil {
		t.Errorf("got %v", d)
	}
}

func FuzzPackingNeverChangesAName(f *testing.F) {
	for _, s := range []string{"qwen3-8b", "Qwen_Qwen3-8B", "--", "q", "i-q4", "v0.3", "google_gemma"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if strings.ContainsAny(name, ":/\\") || strings.TrimSpace(name) != name || strings.Contains(name, "-gguf_") {
			t.Skip()
		}
		name += "-8b"
		plain := spell(name)
		for _, packed := range []string{name + "-Q4_K_M.gguf", name + "-GGUF:Q8_0", "publisher/" + name + "-IQ2_XXS", name + "-4bit"} {
			if got := spell(packed); got.form() != plain.form() {
				t.Errorf("%q is %q, packed as %q it is %q", name, plain.form(), packed, got.form())
			}
		}
	})
}

func FuzzACatalogueIsReadOrRefused(f *testing.F) {
	f.Add([]byte("models:\n  - name: a:8b\n    also: [b, 'c*']\n    priors: {any: 0.5 me 2026}\n"))
	f.Add([]byte("models: &m\n  - name: a\n    family: *m\n"))
	f.Add([]byte("a: &a [*a]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := ParseCatalogue("catalogue.yaml", text)
		if (c == nil) != (err != nil) {
			t.Fatalf("got %v and %v", c, err)
		}
		if err != nil {
			if !strings.HasPrefix(err.Error(), "catalogue.yaml") {
				t.Errorf("no place in %q", err)
			}
			return
		}
		for _, e := range c.Entries() {
			if c.Find(seen("vllm", strings.ReplaceAll(e.Name, "*", "x"), "", 0)) == nil && !spell(e.Name).owned {
				t.Errorf("%q is listed and not found", e.Name)
			}
		}
	})
}

func BenchmarkFind(b *testing.B) {
	c := shipped(b)
	d := seen("llama-server", "unsloth/Qwen3-30B-A3B-Instruct-2507-GGUF:UD-Q4_K_XL", "", 30.5)
	b.ReportAllocs()
	for b.Loop() {
		if c.Find(d) == nil {
			b.Fatal("not found")
		}
	}
}

func BenchmarkParse(b *testing.B) {
	text, err := os.ReadFile("../../assets/catalogue/models.yaml")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ParseCatalogue("models.yaml", text); err != nil {
			b.Fatal(err)
		}
	}
}
