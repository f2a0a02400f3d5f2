package hardware

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

func find(ctx context.Context) Facts { return linux{root: "/", run: run}.find(ctx) }

// linux reads a system below root, so that tests can lay one out.
type linux struct {
	root string
	run  runner
}

func (l linux) find(ctx context.Context) Facts {
	f := Facts{Chip: l.chip(), Memory: l.memory(), GPULimit: unknown[int64]("not available here")}
	nvidia, shared := nvidiaGPUs(ctx, l.run)
	drm, apu := l.drmGPUs()
	for _, g := range nvidia {
		if g.VRAM.Known {
			f.GPUs = append(f.GPUs, g)
		} else if g.Bandwidth.Known {
			f.Bandwidth = g.Bandwidth // a GPU without memory of its own streams from the system's
		}
	}
	f.GPUs = append(f.GPUs, drm...)
	f.Unified = (shared || apu) && len(f.GPUs) == 0
	if !f.Bandwidth.Known {
		f.Bandwidth = l.ramBandwidth()
	}
	return f
}

func (l linux) read(path ...string) string {
	b, err := os.ReadFile(filepath.Join(append([]string{l.root}, path...)...))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// chip is the processor's name; arm boards have none in cpuinfo but a model in
// the device tree.
func (l linux) chip() string {
	for line := range strings.Lines(l.read("proc/cpuinfo")) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	if model := strings.TrimRight(l.read("proc/device-tree/model"), "\x00"); model != "" {
		return model
	}
	return runtime.GOARCH
}

func (l linux) memory() Reading[int64] {
	for line := range strings.Lines(l.read("proc/meminfo")) {
		if rest, ok := strings.CutPrefix(line, "MemTotal:"); ok {
			kib, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			if err == nil && kib > 0 {
				return known(kib<<10, "/proc/meminfo")
			}
		}
	}
	return unknown[int64]("/proc/meminfo is not readable")
}
