//go:build !windows

package desktop

import "strconv"

func endCommand(pid int) string { return "kill -9 " + strconv.Itoa(pid) }
