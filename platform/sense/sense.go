// Package sense reads the machine's live state: memory, pressure, CPU, VRAM,
// power. A reading that cannot be had is unknown with a reason, never "free"
// and never "normal". Readings are taken when asked; nothing runs in between.
package sense

import (
	"context"
	"time"
)

// Reading is a live value that may be unknown.
type Reading[T any] struct {
	V      T
	Known  bool
	Source string // where from: /proc/meminfo, cgroup, nvidia-smi ...
	Reason string // why unknown
}

// Pressure is how short of memory the system says it is.
type Pressure string

// Levels of memory pressure.
const (
	PressureNormal   Pressure = "normal"
	PressureWarning  Pressure = "warning"
	PressureCritical Pressure = "critical"
)

// Readings is the machine at one instant. Bytes.
type Readings struct {
	At        time.Time
	Total     Reading[int64] // memory this process may use (container limit applied)
	Available Reading[int64] // of it, without swapping
	Pressure  Reading[Pressure]
	Load      Reading[float64] // share of all cores busy since the last reading, 0..1
	VRAM      []VRAM
	OnBattery Reading[bool]
	Meeting   Reading[bool] // camera or microphone in use
}

// VRAM is a discrete GPU's memory.
type VRAM struct {
	ID    string // as hardware.GPU.ID
	Name  string
	Total Reading[int64]
	Free  Reading[int64]
}

// Read takes all readings. It takes at most about two seconds.
func Read(ctx context.Context) Readings { return Readings{} }
