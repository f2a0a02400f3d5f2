package hardware

import (
	"context"
	"strconv"
	"strings"
)

// nvidiaGPUs asks nvidia-smi; without it, or without a card, there are none.
// Cards that share the system's memory (GB10, Jetson) say "Not Supported" for
// theirs: their VRAM is unknown and unified is true.
func nvidiaGPUs(ctx context.Context, run runner) (gpus []GPU, unified bool) {
	out, err := run(ctx, "nvidia-smi", "--query-gpu=uuid,name,memory.total", "--format=csv,noheader,nounits")
	if err != nil {
		return nil, false
	}
	for line := range strings.Lines(string(out)) {
		cell := strings.Split(strings.TrimSpace(line), ",")
		if len(cell) < 3 {
			continue
		}
		g := GPU{ID: strings.TrimSpace(cell[0]), Name: strings.TrimSpace(cell[1])}
		mib, err := strconv.ParseInt(strings.TrimSpace(cell[2]), 10, 64)
		if err != nil || mib <= 0 {
			unified = true
			g.VRAM = unknown[int64]("shares the system's memory (nvidia-smi: " + strings.TrimSpace(cell[2]) + ")")
		} else {
			g.VRAM = known(mib<<20, "nvidia-smi")
		}
		g.Bandwidth = bandwidthOf(cards, g.Name, g.VRAM.V, 0)
		gpus = append(gpus, g)
	}
	return gpus, unified
}
