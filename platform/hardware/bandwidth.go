package hardware

import (
	"fmt"
	"strings"
)

// device is one row of the bandwidth table. A name may stand for several
// products; memory and cores tell them apart where the system's name does not.
type device struct {
	words  string  // lower case, matched as whole words within the system's name
	gbs    float64 // GB/s, nominal
	memory float64 // GB it must have, within 15 %; 0 = any
	cores  int     // GPU cores it must have (Apple's Max chips); 0 = any
}

// The tables hold nominal memory bandwidths. They are plain facts of the
// makers' data sheets, gathered from:
//   - Apple M1 to M4: the table of llama.cpp discussion 4167; M5 and M6:
//     Apple's specification pages (M5 Ultra and M6: one secondary source);
//   - NVIDIA, AMD, Intel: makers' specifications as listed by Wikipedia and by
//     llmfit's hardware table (MIT); where they differ (RTX 5060, RX 9070,
//     RX 9070 XT) bus width x data rate decides.
//
// Where several rows match, the one with the most words wins, then a row whose
// memory or cores fit over one that asks for none, then the lower figure: a
// variant we cannot tell from its slower sister is taken for the slower.

// chips are processors that models run on, with the system's memory. Apart
// from the cards: a Ryzen 5 7600 is no Radeon RX 7600.
var chips = []device{
	{words: "apple m1", gbs: 68.25}, {words: "apple m1 pro", gbs: 200}, {words: "apple m1 max", gbs: 400}, {words: "apple m1 ultra", gbs: 800},
	{words: "apple m2", gbs: 100}, {words: "apple m2 pro", gbs: 200}, {words: "apple m2 max", gbs: 400}, {words: "apple m2 ultra", gbs: 800},
	{words: "apple m3", gbs: 100}, {words: "apple m3 pro", gbs: 150}, {words: "apple m3 ultra", gbs: 819},
	{words: "apple m3 max", gbs: 300, cores: 30}, {words: "apple m3 max", gbs: 400, cores: 40},
	{words: "apple m4", gbs: 120}, {words: "apple m4 pro", gbs: 273},
	{words: "apple m4 max", gbs: 410, cores: 32}, {words: "apple m4 max", gbs: 546, cores: 40},
	{words: "apple m5", gbs: 153.6}, {words: "apple m5 pro", gbs: 307}, {words: "apple m5 ultra", gbs: 1200},
	{words: "apple m5 max", gbs: 460, cores: 32}, {words: "apple m5 max", gbs: 614, cores: 40},
	{words: "apple m6", gbs: 170},
	{words: "ryzen ai max 395", gbs: 256},
}

// cards are graphics cards and accelerators.
var cards = []device{
	{words: "rtx 5090", gbs: 1792}, {words: "rtx 5080", gbs: 960}, {words: "rtx 5070 ti", gbs: 896}, {words: "rtx 5070", gbs: 672},
	{words: "rtx 5060 ti", gbs: 448}, {words: "rtx 5060", gbs: 448},
	{words: "rtx 4090", gbs: 1008}, {words: "rtx 4080 super", gbs: 736}, {words: "rtx 4080", gbs: 717},
	{words: "rtx 4070 ti super", gbs: 672}, {words: "rtx 4070 ti", gbs: 504}, {words: "rtx 4070 super", gbs: 504}, {words: "rtx 4070", gbs: 504},
	{words: "rtx 4060 ti", gbs: 288}, {words: "rtx 4060", gbs: 272},
	{words: "rtx 4090 laptop", gbs: 576}, {words: "rtx 4070 laptop", gbs: 256}, {words: "rtx 4060 laptop", gbs: 256}, {words: "rtx 3060 laptop", gbs: 336},
	{words: "rtx 3090 ti", gbs: 1008}, {words: "rtx 3090", gbs: 936}, {words: "rtx 3080 ti", gbs: 912}, {words: "rtx 3080", gbs: 760, memory: 10},
	{words: "rtx 3070 ti", gbs: 608}, {words: "rtx 3070", gbs: 448}, {words: "rtx 3060 ti", gbs: 448}, {words: "rtx 3060", gbs: 360, memory: 12},
	{words: "rtx 2080 ti", gbs: 616}, {words: "rtx 2070", gbs: 448}, {words: "rtx 2060", gbs: 336, memory: 6},
	{words: "gtx 1660 ti", gbs: 288}, {words: "gtx 1650", gbs: 128},
	{words: "tesla t4", gbs: 320}, {words: "rtx a4000", gbs: 448}, {words: "rtx a6000", gbs: 768},
	{words: "rtx 6000 ada", gbs: 960}, {words: "rtx pro 6000 blackwell", gbs: 1792},
	{words: "l4", gbs: 300}, {words: "l40s", gbs: 864}, {words: "a100-sxm4-80gb", gbs: 2039},
	{words: "h100 pcie", gbs: 2039}, {words: "h100", gbs: 3350, memory: 80}, {words: "h200", gbs: 4800}, {words: "gb10", gbs: 273},

	{words: "7900 xtx", gbs: 960, memory: 24}, {words: "7900 xt", gbs: 800, memory: 20}, {words: "7900 gre", gbs: 576, memory: 16},
	{words: "7800 xt", gbs: 624, memory: 16}, {words: "7700 xt", gbs: 432, memory: 12}, {words: "7600", gbs: 288, memory: 8},
	{words: "6900 xt", gbs: 512, memory: 16}, {words: "6800 xt", gbs: 512, memory: 16}, {words: "6700 xt", gbs: 384, memory: 12},
	{words: "6600 xt", gbs: 256, memory: 8}, {words: "6600", gbs: 224, memory: 8},
	{words: "mi300x", gbs: 5300}, {words: "9070 xt", gbs: 640}, {words: "9070", gbs: 640}, {words: "ai pro r9700", gbs: 640},
	{words: "radeon 8060s", gbs: 256},
	{words: "arc a770", gbs: 560, memory: 16}, {words: "arc b580", gbs: 456},
}

// mobileWords mark laptop parts, which share a desktop part's name but not its
// speed: without a row of their own they are unknown.
var mobileWords = []string{"laptop", "mobile", "max-q"}

// bandwidthOf looks a name up in a table. memory is in bytes, cores the GPU's; 0 where
// not known. The system's name may list sisters ("7900 XT/7900 XTX").
func bandwidthOf(table []device, name string, memory int64, cores int) Reading[float64] {
	text := words(name)
	mobile := false
	for _, w := range mobileWords {
		mobile = mobile || strings.Contains(text, " "+w+" ")
	}
	var best device
	bestRank, rivals := -1, 0
	for _, d := range table {
		if !strings.Contains(text, " "+d.words+" ") || (mobile && !strings.Contains(d.words, "laptop")) {
			continue
		}
		rank, fits := d.rank(memory, cores)
		if !fits || rank < bestRank {
			continue
		}
		if rank > bestRank {
			best, bestRank, rivals = d, rank, 0
			continue
		}
		if d.gbs != best.gbs {
			rivals++
		}
		if d.gbs < best.gbs {
			best = d
		}
	}
	if bestRank < 0 {
		return unknown[float64](fmt.Sprintf("%q is not in the bandwidth table", name))
	}
	source := "table:" + best.words
	if rivals > 0 {
		source += " (the slower of its variants)"
	}
	return known(best.gbs, source)
}

// rank orders matching rows, most specific highest; fits is false when memory
// or cores contradict the row.
func (d device) rank(memory int64, cores int) (rank int, fits bool) {
	rank = 10 * len(strings.Fields(d.words))
	if d.memory > 0 && memory > 0 {
		gb := float64(memory) / 1e9
		gib := float64(memory) / (1 << 30)
		if gb < d.memory*0.85 || gib > d.memory*1.15 {
			return 0, false
		}
		rank += 5
	}
	if d.cores > 0 && cores > 0 {
		if cores != d.cores {
			return 0, false
		}
		rank += 5
	}
	return rank, true
}

// words turns a maker's name into lower-case words with single spaces, one at
// each end: "AMD Ryzen(TM) AI Max+ 395" -> " amd ryzen ai max 395 ".
func words(name string) string {
	s := strings.ToLower(name)
	for _, mark := range []string{"(tm)", "(r)", "®", "™"} {
		s = strings.ReplaceAll(s, mark, " ")
	}
	s = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-':
			return r
		}
		return ' '
	}, s)
	return " " + strings.Join(strings.Fields(s), " ") + " "
}
