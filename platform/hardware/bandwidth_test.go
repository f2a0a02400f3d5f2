package hardware

import "testing"

const gib = int64(1) << 30

func TestBandwidthComesFromTheTableOrIsUnknown(t *testing.T) {
	for _, c := range []struct {
		table  []device
		name   string
		memory int64
		cores  int
		want   float64 // 0 = unknown
		why    string
	}{
		{chips, "Apple M2 Max", 64 * gib, 0, 400, "plain"},
		{chips, "Apple M2", 16 * gib, 0, 100, "the longer names are other chips"},
		{chips, "Apple M3 Max", 64 * gib, 40, 400, "the cores tell the variants apart"},
		{chips, "Apple M4 Max", 64 * gib, 0, 410, "variants not told apart: the slower"},
		{chips, "AMD RYZEN AI MAX+ 395 w/ Radeon 8060S", 128 * gib, 0, 256, "marks are no words"},
		{chips, "AMD Ryzen 5 7600 6-Core Processor", 8 * gib, 0, 0, "no Radeon RX 7600"},
		{cards, "NVIDIA GeForce RTX 3090", 24 * gib, 0, 936, "plain"},
		{cards, "NVIDIA GeForce RTX 3090 Ti", 24 * gib, 0, 1008, "most words win"},
		{cards, "NVIDIA GeForce RTX 4090 Laptop GPU", 16 * gib, 0, 576, "laptop row"},
		{cards, "NVIDIA GeForce RTX 3080 Laptop GPU", 16 * gib, 0, 0, "a laptop part is never taken for its desktop sister"},
		{cards, "NVIDIA GeForce RTX 3080", 12 * gib, 0, 0, "the 12 GB variant is another card"},
		{cards, "NVIDIA GeForce RTX 3060", 12288 << 20, 0, 360, "memory fits"},
		{cards, "NVIDIA A100-SXM4-80GB", 80 * gib, 0, 2039, "the form factor is part of its name"},
		{cards, "Navi 31 [Radeon RX 7900 XT/7900 XTX/7900 GRE/7900M]", 24 * gib, 0, 960, "memory picks among sisters with one id"},
		{cards, "Navi 31 [Radeon RX 7900 XT/7900 XTX/7900 GRE/7900M]", 20 * gib, 0, 800, "memory picks among sisters with one id"},
		{cards, "Some Future Card", 99 * gib, 0, 0, "unknown stays unknown"},
	} {
		got := bandwidthOf(c.table, c.name, c.memory, c.cores)
		if got.Known != (c.want > 0) || got.V != c.want {
			t.Errorf("%s (%d bytes, %d cores): %+v, want %v (%s)", c.name, c.memory, c.cores, got, c.want, c.why)
		}
	}
}

func TestOverallBandwidthIsTheFastestGPUs(t *testing.T) {
	f := Facts{Chip: "Apple M1", Memory: known(16*gib, "t"), GPUs: []GPU{
		{Bandwidth: known(360.0, "t")}, {Bandwidth: known(936.0, "t")}, {Bandwidth: unknown[float64]("t")},
	}}
	if got := overall(f); got.V != 936 {
		t.Errorf("with GPUs: %+v, want 936", got)
	}
	f.GPUs = []GPU{{Bandwidth: unknown[float64]("t")}}
	if got := overall(f); got.Known {
		t.Errorf("with a GPU of unknown speed: %+v, want unknown, not the RAM's", got)
	}
	f.GPUs = nil
	if got := overall(f); got.V != 68.25 {
		t.Errorf("without GPU: %+v, want the chip's 68.25", got)
	}
}
