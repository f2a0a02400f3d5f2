// Package hardware finds, once, what the machine is made of: chip, cores,
// memory, GPUs and the bandwidth models stream their weights at. It reads
// files, sysctls, the registry and vendor tools of the system, changes
// nothing, and reports what it cannot find as unknown, never as zero.
package hardware

import "context"

// Reading is a fact that may be unknown. Source says where it is from ("table:",
// "sysctl", "nvidia-smi" ...); Reason says why it is unknown.
type Reading[T any] struct {
	V      T
	Known  bool
	Source string
	Reason string
}

// Facts is what a machine is made of. Bytes.
type Facts struct {
	Chip    string // as the system names it
	Cores   int    // logical
	Memory  Reading[int64]
	Unified bool // CPU and GPU share Memory (Apple silicon, APUs)
	// GPULimit is the most of a unified Memory the GPU may wire, where the
	// system says so.
	GPULimit Reading[int64]
	GPUs     []GPU // discrete ones, in the system's order
	// Bandwidth is what models stream at, GB/s: of the fastest GPU, else of the
	// unified or system memory.
	Bandwidth Reading[float64]
}

// GPU is one discrete accelerator.
type GPU struct {
	Name      string
	ID        string // uuid or pci address, stable over reads
	VRAM      Reading[int64]
	Bandwidth Reading[float64] // GB/s
}

// Find looks at the machine. It takes at most a few seconds.
func Find(ctx context.Context) Facts { return Facts{} }
