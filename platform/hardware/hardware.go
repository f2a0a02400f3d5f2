// Package hardware finds, once, what the machine is made of: chip, cores,
// memory, GPUs and the bandwidth models stream their weights at. It reads
// files, sysctls, the registry and vendor tools, changes nothing, and reports
// what it cannot find as unknown, never as zero.
package hardware

import (
	"context"
	"runtime"
)

// Reading is a fact that may be unknown. Source says where it is from, Reason
// why it is unknown; both are words for the doctor's report.
type Reading[T any] struct {
	V      T
	Known  bool
	Source string
	Reason string
}

func known[T any](v T, source string) Reading[T] {
	return Reading[T]{V: v, Known: true, Source: source}
}

func unknown[T any](reason string) Reading[T] { return Reading[T]{Reason: reason} }

// Facts is what a machine is made of. Bytes.
type Facts struct {
	Chip   string // as the system names it, "" = unknown
	Cores  int    // logical ones this process may use
	Memory Reading[int64]
	// Unified says that CPU and GPU share Memory: Apple silicon, APUs.
	Unified bool
	// GPULimit is the most of a unified Memory the GPU may take, where the
	// system says so.
	GPULimit Reading[int64]
	GPUs     []GPU // discrete ones, in the system's order
	// Bandwidth is what models stream at, GB/s: of the fastest GPU, else of
	// the unified memory or the RAM.
	Bandwidth Reading[float64]
}

// GPU is one discrete accelerator.
type GPU struct {
	Name      string
	ID        string // NVIDIA's uuid or the PCI address; the same in platform/sense
	VRAM      Reading[int64]
	Bandwidth Reading[float64] // GB/s
}

// Find looks at the machine this process runs on. It takes at most a few
// seconds (vendor tools are cut off) and never fails: what it cannot see is
// unknown.
func Find(ctx context.Context) Facts {
	f := find(ctx)
	f.Cores = runtime.NumCPU()
	f.Bandwidth = overall(f)
	return f
}

// overall picks the bandwidth that matters for models: the fastest GPU's,
// else that of the memory the CPU (or the unified GPU) reads.
func overall(f Facts) Reading[float64] {
	best := unknown[float64]("no GPU of known bandwidth")
	for _, g := range f.GPUs {
		if g.Bandwidth.Known && g.Bandwidth.V > best.V {
			best = g.Bandwidth
		}
	}
	if best.Known || len(f.GPUs) > 0 {
		return best // models run on the GPU: the RAM's figure would mislead
	}
	if f.Bandwidth.Known {
		return f.Bandwidth
	}
	if b := bandwidthOf(chips, f.Chip, f.Memory.V, 0); b.Known {
		return b
	}
	return unknown[float64]("chip not in the table and memory speed not readable")
}
