package sense

import (
	"context"
	"encoding/binary"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

type system struct{}

func thisSystem() system { return system{} }

func (system) memory(ctx context.Context) (total, available Reading[int64]) {
	bytes, err := unix.SysctlUint64("hw.memsize")
	if err != nil {
		return unknown[int64]("sysctl hw.memsize failed"), unknown[int64]("sysctl hw.memsize failed")
	}
	total = known(int64(bytes), "sysctl hw.memsize")
	out, err := tool(ctx, "/usr/bin/vm_stat")
	if err != nil {
		return total, unknown[int64]("vm_stat failed")
	}
	n, ok := vmstatAvailable(string(out), total.V)
	if !ok {
		return total, unknown[int64]("vm_stat's answer was not understood")
	}
	return total, known(n, "vm_stat")
}

// pressure is the kernel's own level; byte counts say nothing on a Mac.
func (system) pressure(_, _ Reading[int64]) Reading[Pressure] {
	const name = "kern.memorystatus_vm_pressure_level"
	level, err := unix.SysctlUint32(name)
	if err != nil {
		return unknown[Pressure]("sysctl " + name + " failed")
	}
	switch level {
	case 1:
		return known(PressureNormal, "sysctl "+name)
	case 2:
		return known(PressureWarning, "sysctl "+name)
	case 4:
		return known(PressureCritical, "sysctl "+name)
	}
	return unknown[Pressure]("sysctl " + name + " gave an unknown level")
}

// cpu gives the load average over the last minute instead of CPU times, which
// need cgo or purego here.
func (system) cpu(context.Context) (cpuTimes, Reading[float64]) {
	raw, err := unix.SysctlRaw("vm.loadavg") // three 32-bit fixed-point numbers, padding, 64-bit scale
	if err != nil || len(raw) < 24 {
		return cpuTimes{}, unknown[float64]("sysctl vm.loadavg failed")
	}
	scale := float64(binary.LittleEndian.Uint64(raw[16:]))
	if scale <= 0 {
		return cpuTimes{}, unknown[float64]("sysctl vm.loadavg has no scale")
	}
	load := float64(binary.LittleEndian.Uint32(raw)) / scale / float64(runtime.NumCPU())
	return cpuTimes{}, known(min(1, load), "load average over 1 min")
}

func (system) battery(ctx context.Context) Reading[bool] {
	out, err := tool(ctx, "/usr/bin/pmset", "-g", "batt")
	switch text := string(out); {
	case err != nil:
		return unknown[bool]("pmset failed")
	case strings.Contains(text, "'Battery Power'"):
		return known(true, "pmset")
	case strings.Contains(text, "'AC Power'"), strings.Contains(text, "'UPS Power'"):
		return known(false, "pmset")
	}
	return unknown[bool]("pmset's answer was not understood")
}

func (system) cards() []VRAM { return nil }

// thermals is the system's own level; temperatures need rights here.
func (system) thermals(ctx context.Context) thermals {
	t := noThermals("temperatures need rights here that programs do not have")
	out, err := tool(ctx, "/usr/bin/notifyutil", "-g", notifyKey)
	if err != nil {
		t.heat = unknown[Heat]("notifyutil failed")
		return t
	}
	t.heat = parseNotify(string(out))
	return t
}
