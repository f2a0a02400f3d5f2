package hardware

import (
	"context"
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

func find(ctx context.Context) Facts {
	f := Facts{Memory: unknown[int64]("sysctl hw.memsize failed"), GPULimit: unknown[int64]("iogpu.wired_limit_mb is not set")}
	f.Chip, _ = unix.Sysctl("machdep.cpu.brand_string")
	if n, err := unix.SysctlUint64("hw.memsize"); err == nil {
		f.Memory = known(int64(n), "sysctl hw.memsize")
	}
	f.Unified = strings.HasPrefix(f.Chip, "Apple ")
	if mib, err := unix.SysctlUint32("iogpu.wired_limit_mb"); err == nil && mib > 0 {
		f.GPULimit = known(int64(mib)<<20, "sysctl iogpu.wired_limit_mb")
	}
	f.Bandwidth = bandwidthOf(chips, f.Chip, f.Memory.V, gpuCores(ctx, run))
	return f
}

var coreCount = regexp.MustCompile(`"gpu-core-count"\s*=\s*(\d+)`)

// gpuCores tells the two Max chips of a generation apart, which share a name;
// 0 = unknown.
func gpuCores(ctx context.Context, run runner) int {
	out, err := run(ctx, "ioreg", "-rc", "AGXAccelerator", "-d", "1")
	if err != nil {
		return 0
	}
	m := coreCount.FindSubmatch(out)
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(string(m[1]))
	return n
}
