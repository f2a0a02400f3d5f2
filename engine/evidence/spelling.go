package evidence

import (
	"slices"
	"strings"
)

// spelling is a model's name as registries, files and runtimes write it, taken
// apart: "hf.co/unsloth/Qwen3-8B-GGUF:Q4_K_M", "Qwen3-8B-Q4_K_M.gguf" and
// "Qwen/Qwen3-8B" have the base qwen3-8b and no tag, "qwen3:8b-q8_0" has the
// base qwen3 and the tag 8b. What says only how the weights are packed is left out.
type spelling struct {
	base, tag string
	// owned says that the name lies in somebody's own namespace and has a tag:
	// what is behind it, only its owner knows.
	owned bool
}

// form is the spelling as the catalogue's index knows it.
func (s spelling) form() string {
	if s.tag == "" {
		return s.base
	}
	return s.base + ":" + s.tag
}

// spell takes a name apart.
func spell(name string) spelling {
	name = strings.ToLower(strings.TrimSpace(name))
	var space string
	if i := strings.LastIndexAny(name, `/\`); i >= 0 {
		space, name = name[:i], name[i+1:]
	}
	name = withoutPart(strings.TrimSuffix(name, ".gguf"))
	if _, file, ok := strings.Cut(name, "-gguf_"); ok {
		name = file // a cache's file: repository and file in one name
	}
	base, tag, _ := strings.Cut(name, ":")
	s := spelling{base: strings.Join(withoutMaker(words(base)), "-"), tag: strings.Join(words(tag), "-")}
	s.owned = s.tag != "" && !publicSpaces[space]
	return s
}

// publicSpaces are where a name with a tag means the library's own model.
var publicSpaces = map[string]bool{"": true, "library": true, "registry.ollama.ai/library": true, "ollama.com/library": true}

// words splits a name and drops those words that say how weights are packed.
func words(s string) []string {
	out := make([]string, 0, 8)
	packed := false // the word before was a kind of packing, which more may follow
	add := func(w string) {
		switch {
		case w == "":
		case isPacking(w):
			packed = true
		case packed && packingTails[w]:
		default:
			packed = false
			out = append(out, w)
		}
	}
	for w := range strings.FieldsFuncSeq(s, func(r rune) bool { return r == '-' || r == '_' || r == ' ' }) {
		if i := strings.LastIndexByte(w, '.'); i > 0 && isPacking(w[i+1:]) { // v0.3.q4_k_m
			add(w[:i])
			w = w[i+1:]
		}
		add(w)
	}
	return out
}

// withoutPart drops the number of a file that is one of several:
// -00001-of-00003.
func withoutPart(name string) string {
	i := len(name) - len("-00001-of-00003")
	if i <= 0 {
		return name
	}
	part := name[i:]
	if part[0] == '-' && digits(part[1:]) == 5 && part[6:10] == "-of-" && digits(part[10:]) == 5 {
		return name[:i]
	}
	return name
}

// packings are words for formats and quantisations that stand alone.
var packings = wordSet("gguf ggml mlx safetensors hf awq gptq exl2 exl3 bnb nf4 ud imat imatrix i1 qat dwq latest " +
	"f16 f32 bf16 fp16 fp32 fp8 fp4 mxfp4 nvfp4 int4 int8 w4a16 w8a8 w8a16")

// packingTails may follow a packing: q4_k_m, iq2_xxs, q8_0, mxfp4_moe.
var packingTails = wordSet("k s m l xl xs xxs 0 1 nl moe dynamic")

func wordSet(s string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(s) {
		set[w] = true
	}
	return set
}

func isPacking(w string) bool {
	if packings[w] {
		return true
	}
	if n := digits(w); n > 0 && w[n:] == "bit" {
		return true
	}
	w = strings.TrimLeft(w, "it") // iq4, tq1
	return len(w) > 1 && w[0] == 'q' && digits(w[1:]) == len(w)-1
}

// digits returns how many digits s begins with.
func digits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

// makers are words some publishers of files put before a model's own name.
var makers = [][]string{
	{"meta"}, {"google"}, {"microsoft"}, {"openai"}, {"nvidia"}, {"mistralai"}, {"ibm", "granite"}, {"allenai"}, {"deepseek", "ai"},
	{"zai", "org"}, {"thudm"}, {"c4ai"}, {"cohereforai"}, {"coherelabs"}, {"tiiuae"}, {"lgai", "exaone"}, {"huggingfacetb"},
	{"liquidai"}, {"deepcogito"}, {"nousresearch"}, {"unsloth"}, {"bytedance", "seed"}, {"01", "ai"}, {"baai"}, {"text", "embedding"},
}

// withoutMaker drops a maker's name before the model's: google_gemma-3-4b-it,
// Qwen_Qwen3-8B.
func withoutMaker(w []string) []string {
	for _, m := range makers {
		if len(w) > len(m) && slices.Equal(w[:len(m)], m) {
			return w[len(m):]
		}
	}
	if len(w) > 1 && len(w[0]) > 2 && strings.HasPrefix(w[1], w[0]) {
		return w[1:]
	}
	return w
}

// plainTag drops from a tag what says only that the model follows
// instructions, which the library's models do unless said otherwise.
func plainTag(tag string) string {
	for _, word := range []string{"-instruct", "-chat", "-it"} {
		if t, ok := strings.CutSuffix(tag, word); ok {
			return t
		}
	}
	return tag
}
