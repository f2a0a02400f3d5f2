package route

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// A step of a scenario is what the batches of these tests are decided on.
func decided(t *testing.T, text string) (*View, *Policy, *Decision) {
	t.Helper()
	s, err := ReadScenario(text)
	if err != nil {
		t.Fatal(err)
	}
	step := &s.Steps[len(s.Steps)-1]
	return step.View, step.Policy, Decide(step.View, step.Policy, &step.Query)
}

const twoReplicas = `
contract wiki members nomic anchor aaaaaaaaaaaaaaaa source bound
node studio memory 64GB
  pool unified limit 60GB free 50GB
  runtime llama-server pool unified
  model llama-server/nomic digest aaaaaaaaaaaaaaaa weights 262MB loaded 8192 slots 4 width 768 caps embed
node bench memory 32GB
  pool unified limit 28GB free 20GB
  runtime ollama pool unified
  model ollama/nomic digest aaaaaaaaaaaaaaaa weights 274MB loaded 8192 slots 1 width 768 caps embed
`

func TestBatchesAreSplitOverFreePlacesAndNoFurther(t *testing.T) {
	others := `
node attic memory 32GB
  pool unified limit 28GB free 20GB
  runtime ollama pool unified
  model ollama/nomic digest bbbbbbbbbbbbbbbb weights 274MB loaded 8192 slots 8 width 768 caps embed
`
	cold := "node bench again\n  model ollama/nomic digest aaaaaaaaaaaaaaaa weights 274MB slots 1 width 768 caps embed\n"
	for name, c := range map[string]struct {
		fleet  string
		model  string
		inputs int
		want   int
	}{
		"small":                        {twoReplicas, "wiki", 64, 1},
		"as large as two parts":        {twoReplicas, "wiki", 65, 2},
		"all places":                   {twoReplicas, "wiki", 2048, 5},
		"busy places are none":         {twoReplicas + "lane studio/llama-server/nomic running 3\n", "wiki", 2048, 2},
		"all are busy":                 {twoReplicas + "lane studio/llama-server/nomic running 4\nlane bench/ollama/nomic running 1\n", "wiki", 2048, 1},
		"nothing is loaded for a part": {twoReplicas + cold, "wiki", 2048, 4},
		"others are no replicas":       {twoReplicas + others, "wiki", 2048, 5},
		"a plain name of one space":    {twoReplicas, "nomic", 2048, 5},
		"a plain name of two spaces":   {twoReplicas + others, "nomic", 2048, 1},
		"two that nobody knows":        {strings.ReplaceAll(twoReplicas, "digest aaaaaaaaaaaaaaaa ", ""), "nomic", 2048, 1},
		"one deployment":               {twoReplicas + others, "studio/llama-server/nomic", 2048, 4},
	} {
		v, p, d := decided(t, c.fleet+"ask "+c.model+" role embedding in 100\n")
		parts, space := Split(v, p, d, c.inputs)
		if parts != c.want || parts > 1 && space != "aaaaaaaaaaaaaaaa" {
			t.Errorf("%s: %d parts of %q, want %d; %s", name, parts, space, c.want, d.Explain())
		}
	}
}

func TestCutsCoverEveryInputOnceAndShareTheText(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		sizes := make([]int, 1+random.IntN(200))
		total, largest := 0, 0
		for i := range sizes {
			sizes[i] = random.IntN(400)
			if random.IntN(20) == 0 {
				sizes[i] = random.IntN(40_000)
			}
			total += sizes[i] + 16
			largest = max(largest, sizes[i]+16)
		}
		parts := 1 + random.IntN(min(len(sizes), 16))
		ends := Cuts(sizes, parts)
		if len(ends) != parts || ends[parts-1] != len(sizes) || !slices.IsSorted(ends) || ends[0] < 1 || len(slices.Compact(slices.Clone(ends))) != parts {
			t.Fatalf("%d inputs in %d parts end at %v", len(sizes), parts, ends)
		}
		first := 0
		for _, end := range ends[:parts-1] {
			sum := 0
			for _, s := range sizes[first:end] {
				sum += s + 16
			}
			first = end
			if sum > total/parts+largest+1 {
				t.Fatalf("a part of %d bytes, of %d in %d parts", sum, total, parts)
			}
		}
	}
}
