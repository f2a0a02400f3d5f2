//go:build !windows

package window

import (
	"runtime"
	"syscall"
)

const displayAlways = runtime.GOOS == "darwin"

// exists reports whether a process is there; one that has ended and waits to be
// collected is not.
func exists(pid int) bool {
	return syscall.Kill(pid, 0) == nil && !zombie(pid)
}
