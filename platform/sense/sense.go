// Package sense reads the machine's live state: memory, pressure, CPU, VRAM,
// heat, power. A reading that cannot be had is unknown with a reason, never "free"
// and never "normal". Readings are taken when asked; nothing runs in between.
package sense

import (
	"context"
	"os"
	"os/exec"
	"sync"
	"time"
)

// Reason says in words why a reading is unknown.
type Reason string

// NotAvailable is the reason of readings this system or build has no source for.
const NotAvailable Reason = "not available here"

// Reading is a live value that may be unknown.
type Reading[T any] struct {
	V      T
	Known  bool
	Source string // where from: /proc/meminfo, cgroup, nvidia-smi ...
	Reason Reason // why unknown
}

func known[T any](v T, source string) Reading[T] {
	return Reading[T]{V: v, Known: true, Source: source}
}

func unknown[T any](why Reason) Reading[T] { return Reading[T]{Reason: why} }

// Pressure is how short of memory the system is.
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
	Total     Reading[int64] // memory this process may use: a container's limit applied
	Available Reading[int64] // of it, to be had without swapping
	Pressure  Reading[Pressure]
	Load      Reading[float64] // share of all cores busy since the reading before, 0..1
	VRAM      []VRAM
	Heat      Reading[Heat]
	Celsius   Reading[float64] // of the hottest processor, °C
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

// Reader takes readings. It keeps what the next reading is compared with, so a
// process has one; it is safe for concurrent use.
type Reader struct {
	sys system // of this GOOS

	mu       sync.Mutex // guards what follows
	cpu      cpuTimes
	slowed   Reading[int64] // as of the last reading
	slowedAt time.Time      // when it was seen to grow last
	smiGone  time.Time      // when nvidia-smi was found missing
	smiPath  string
	smiFails int
}

// NewReader returns a reader of this machine.
func NewReader() *Reader { return &Reader{sys: thisSystem()} }

// Read takes all readings. Vendor tools are cut off after two seconds.
func (r *Reader) Read(ctx context.Context) Readings {
	out := Readings{At: time.Now(), Meeting: unknown[bool](NotAvailable)}
	out.Total, out.Available = r.sys.memory(ctx)
	out.Pressure = r.sys.pressure(out.Total, out.Available)
	out.OnBattery = r.sys.battery(ctx)
	out.Load = r.load(ctx)
	out.Heat, out.Celsius = r.heat(ctx, out.At)
	out.VRAM = append(r.nvidia(ctx), r.sys.cards()...)
	return out
}

// cpuTimes are seconds since boot, over all cores.
type cpuTimes struct{ busy, all float64 }

// load is the share of CPU time that was busy since the last call.
func (r *Reader) load(ctx context.Context) Reading[float64] {
	now, instant := r.sys.cpu(ctx)
	if instant.Known || instant.Reason != "" {
		return instant
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.cpu
	r.cpu = now
	if before.all == 0 || now.all <= before.all {
		return unknown[float64]("the first reading has none to compare with")
	}
	return known(min(1, max(0, (now.busy-before.busy)/(now.all-before.all))), "cpu times")
}

const (
	toolTimeout = 2 * time.Second
	// toolRetry is how long a missing vendor tool is not looked for again.
	toolRetry = 5 * time.Minute
)

// tool runs a system tool for at most toolTimeout.
func tool(ctx context.Context, path string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, toolTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.WaitDelay = time.Second
	return cmd.Output()
}

// findTool looks in PATH, then in the given places: desktop programs get a
// short PATH.
func findTool(name string, places ...string) string {
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	for _, p := range places {
		if _, err := os.Stat(p); err == nil {
			return p
		}
	}
	return ""
}
