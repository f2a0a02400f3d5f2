package runtime

import (
	"strconv"
	"strings"
)

// geometry is a model's shape as its GGUF metadata tell it; 0 = not told.
type geometry struct {
	Parameters float64
	Context    int // tokens trained for
	Embedding  int // width of the hidden state, and of an embedding model's vectors
	kvValues   int64
}

// KVBytesToken is what one token of context costs in the KV cache at f16:
// layers x kv heads x (key width + value width) x 2 bytes. Runtimes told to
// quantise the cache need less; sliding windows need less beyond the window.
func (g geometry) KVBytesToken() int64 { return 2 * g.kvValues }

// geometryOf reads model_info. Keys are prefixed with the architecture's name.
func geometryOf(info map[string]any) geometry {
	arch, _ := info["general.architecture"].(string)
	number := func(key string) int64 { return asInt(info[arch+"."+key]) }
	g := geometry{
		Parameters: float64(asInt(info["general.parameter_count"])),
		Context:    int(number("context_length")),
		Embedding:  int(number("embedding_length")),
	}
	layers, heads := number("block_count"), number("attention.head_count")
	key, value := number("attention.key_length"), number("attention.value_length")
	if heads > 0 && key == 0 {
		key = int64(g.Embedding) / heads
	}
	if value == 0 {
		value = key
	}
	if rank := number("attention.kv_lora_rank"); rank > 0 && number("attention.key_length_mla") > 0 {
		// Latent attention keeps one compressed key for all heads.
		g.kvValues = layers * (rank + number("rope.dimension_count"))
		return g
	}
	g.kvValues = kvHeads(info[arch+".attention.head_count_kv"], layers, heads) * (key + value)
	return g
}

// kvHeads sums the KV heads over all layers. The metadata give one number for
// all, or a list with one for each (0 for layers without attention).
func kvHeads(v any, layers, heads int64) int64 {
	list, ok := v.([]any)
	if !ok {
		if n := asInt(v); n > 0 {
			heads = n
		}
		return layers * heads
	}
	var sum int64
	for _, n := range list {
		sum += asInt(n)
	}
	return sum
}

func asInt(v any) int64 {
	f, _ := v.(float64)
	if f < 0 || f > 1<<53 {
		return 0
	}
	return int64(f)
}

// parseCount reads "8.2B", "2.30M", "520K"; 0 when it is none.
func parseCount(s string) float64 {
	s = strings.TrimSpace(s)
	unit := 1.0
	if n := len(s); n > 0 {
		switch s[n-1] {
		case 'K', 'k':
			unit = 1e3
		case 'M', 'm':
			unit = 1e6
		case 'B', 'b':
			unit = 1e9
		case 'T', 't':
			unit = 1e12
		}
		if unit > 1 {
			s = s[:n-1]
		}
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f < 0 {
		return 0
	}
	return f * unit
}
