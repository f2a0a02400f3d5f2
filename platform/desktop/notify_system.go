//go:build darwin || windows

package desktop

// hasNotifications is always so where they are part of the system.
func hasNotifications() bool { return true }
