//go:build !windows

package tray

// lightBar is Windows' to say; elsewhere one icon does for every bar.
func lightBar() bool { return false }
