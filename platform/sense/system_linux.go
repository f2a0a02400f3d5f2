package sense

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/shirou/gopsutil/v3/common"
	"github.com/shirou/gopsutil/v3/cpu"
	"github.com/shirou/gopsutil/v3/mem"
)

// system reads a Linux below root, so that tests can lay one out.
type system struct{ root string }

func thisSystem() system { return system{root: "/"} }

func (s system) read(path ...string) string {
	b, err := os.ReadFile(filepath.Join(append([]string{s.root}, path...)...))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// env points gopsutil to the same root.
func (s system) env(ctx context.Context) context.Context {
	return context.WithValue(ctx, common.EnvKey, common.EnvMap{
		common.HostProcEnvKey: filepath.Join(s.root, "proc"),
		common.HostSysEnvKey:  filepath.Join(s.root, "sys"),
	})
}

// memory is MemTotal and MemAvailable, cut to what our control groups leave:
// the kernel's figures know nothing of a container's limit.
func (s system) memory(ctx context.Context) (total, available Reading[int64]) {
	m, err := mem.VirtualMemoryWithContext(s.env(ctx))
	if err != nil {
		why := Reason("/proc/meminfo is not readable")
		return unknown[int64](why), unknown[int64](why)
	}
	total, available = known(int64(m.Total), "/proc/meminfo"), known(int64(m.Available), "/proc/meminfo")
	if limit, left, ok := s.groupLimit(); ok {
		if limit < total.V {
			total = known(limit, "cgroup")
		}
		if left < available.V {
			available = known(left, "cgroup")
		}
	}
	return total, available
}

// Thresholds of the kernel's pressure stall information: the share of the
// last 10 s in which every task waited for memory, per cent.
const (
	stallWarning  = 5.0
	stallCritical = 20.0
)

// pressure is what the kernel measures as time lost for want of memory. Byte
// counts are no pressure: a file server with a full page cache is at ease. Only
// where the kernel does not measure (psi=0), very little available counts.
func (s system) pressure(total, available Reading[int64]) Reading[Pressure] {
	worst, source := -1.0, ""
	for _, path := range []string{"proc/pressure/memory", s.groupPath2("memory.pressure")} {
		if v, ok := stall(s.read(path)); ok && v > worst {
			worst, source = v, "/"+path
		}
	}
	switch {
	case worst >= stallCritical:
		return known(PressureCritical, source)
	case worst >= stallWarning:
		return known(PressureWarning, source)
	case worst >= 0:
		return known(PressureNormal, source)
	case !total.Known || !available.Known || total.V <= 0:
		return unknown[Pressure]("no stall information and memory not readable")
	}
	switch share := float64(available.V) / float64(total.V); {
	case share < 0.02:
		return known(PressureCritical, "available memory")
	case share < 0.05:
		return known(PressureWarning, "available memory")
	}
	return known(PressureNormal, "available memory")
}

// stall reads avg10 of the "full" line.
func stall(text string) (avg10 float64, ok bool) {
	for line := range strings.Lines(text) {
		rest, isFull := strings.CutPrefix(line, "full avg10=")
		if !isFull {
			continue
		}
		number, _, _ := strings.Cut(rest, " ")
		v, err := strconv.ParseFloat(number, 64)
		return v, err == nil
	}
	return 0, false
}

func (s system) cpu(ctx context.Context) (cpuTimes, Reading[float64]) {
	t, err := cpu.TimesWithContext(s.env(ctx), false)
	if err != nil || len(t) == 0 {
		return cpuTimes{}, unknown[float64]("/proc/stat is not readable")
	}
	idle := t[0].Idle + t[0].Iowait
	all := idle + t[0].User + t[0].System + t[0].Nice + t[0].Irq + t[0].Softirq + t[0].Steal
	return cpuTimes{busy: all - idle, all: all}, Reading[float64]{}
}

// battery is true when a battery of the machine itself (not of a mouse)
// discharges and no mains supply is online. A machine without batteries is on
// mains.
func (s system) battery(context.Context) Reading[bool] {
	dirs, _ := filepath.Glob(filepath.Join(s.root, "sys/class/power_supply/*"))
	slices.Sort(dirs)
	const source = "/sys/class/power_supply"
	discharging := false
	for _, dir := range dirs {
		rel, err := filepath.Rel(s.root, dir)
		if err != nil {
			continue
		}
		switch s.read(rel, "type") {
		case "Mains", "USB":
			if s.read(rel, "online") == "1" {
				return known(false, source)
			}
		case "Battery":
			if s.read(rel, "scope") != "Device" && s.read(rel, "status") == "Discharging" {
				discharging = true
			}
		}
	}
	return known(discharging, source)
}

// cards reads AMD's discrete cards; NVIDIA's come from nvidia-smi.
func (s system) cards() []VRAM {
	var out []VRAM
	paths, _ := filepath.Glob(filepath.Join(s.root, "sys/class/drm/card[0-9]*/device/mem_info_vram_total"))
	slices.Sort(paths)
	for _, path := range paths {
		dir := filepath.Dir(path)
		rel, err := filepath.Rel(s.root, dir)
		if err != nil {
			continue
		}
		real, err := filepath.EvalSymlinks(dir)
		if err != nil {
			real = dir
		}
		v := VRAM{ID: filepath.Base(real), Total: unknown[int64]("not reported"), Free: unknown[int64]("not reported")}
		total, err1 := strconv.ParseInt(s.read(rel, "mem_info_vram_total"), 10, 64)
		used, err2 := strconv.ParseInt(s.read(rel, "mem_info_vram_used"), 10, 64)
		if err1 == nil {
			v.Total = known(total, "sysfs")
		}
		if err1 == nil && err2 == nil {
			v.Free = known(max(0, total-used), "sysfs")
		}
		out = append(out, v)
	}
	return out
}
