package sense

import (
	"context"
	"unsafe"

	"github.com/shirou/gopsutil/v3/cpu"
	"golang.org/x/sys/windows"
)

type system struct{}

func thisSystem() system { return system{} }

var (
	kernel32             = windows.NewLazySystemDLL("kernel32.dll")
	globalMemoryStatusEx = kernel32.NewProc("GlobalMemoryStatusEx")
	getSystemPowerStatus = kernel32.NewProc("GetSystemPowerStatus")
)

// memoryStatus is MEMORYSTATUSEX.
type memoryStatus struct {
	length, load                   uint32
	totalPhys, availPhys           uint64
	totalPage, availPage           uint64 // commit limit, and what is left of it
	totalVirtual, availVirtual, ex uint64
}

func status() (m memoryStatus, ok bool) {
	m.length = uint32(unsafe.Sizeof(m))
	r, _, _ := globalMemoryStatusEx.Call(uintptr(unsafe.Pointer(&m)))
	return m, r != 0
}

// memory takes the smaller of free memory and free commit: the latter is what
// large allocations fail on first.
func (system) memory(context.Context) (total, available Reading[int64]) {
	m, ok := status()
	if !ok {
		return unknown[int64]("GlobalMemoryStatusEx failed"), unknown[int64]("GlobalMemoryStatusEx failed")
	}
	const source = "GlobalMemoryStatusEx"
	return known(int64(m.totalPhys), source), known(int64(min(m.availPhys, m.availPage)), source)
}

func (system) pressure(_, _ Reading[int64]) Reading[Pressure] {
	m, ok := status()
	if !ok || m.totalPage == 0 {
		return unknown[Pressure]("GlobalMemoryStatusEx failed")
	}
	switch left := float64(m.availPage) / float64(m.totalPage); {
	case left < 0.03:
		return known(PressureCritical, "commit charge")
	case left < 0.10:
		return known(PressureWarning, "commit charge")
	}
	return known(PressureNormal, "commit charge")
}

func (system) cpu(ctx context.Context) (cpuTimes, Reading[float64]) {
	t, err := cpu.TimesWithContext(ctx, false)
	if err != nil || len(t) == 0 {
		return cpuTimes{}, unknown[float64]("GetSystemTimes failed")
	}
	all := t[0].User + t[0].System + t[0].Idle
	return cpuTimes{busy: all - t[0].Idle, all: all}, Reading[float64]{}
}

// powerStatus is SYSTEM_POWER_STATUS.
type powerStatus struct {
	acLine, batteryFlag, batteryPercent, saver byte
	lifeTime, fullLifeTime                     uint32
}

func (system) battery(context.Context) Reading[bool] {
	var p powerStatus
	r, _, _ := getSystemPowerStatus.Call(uintptr(unsafe.Pointer(&p)))
	switch {
	case r == 0 || p.acLine > 1:
		return unknown[bool]("GetSystemPowerStatus does not know")
	default:
		return known(p.acLine == 0, "GetSystemPowerStatus")
	}
}

func (system) cards() []VRAM { return nil }

func (system) thermals(context.Context) thermals {
	return noThermals("Windows tells no program without special rights")
}
