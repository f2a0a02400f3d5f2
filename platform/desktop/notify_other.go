//go:build !darwin && !windows

package desktop

import (
	"os"
	"path/filepath"
)

// hasNotifications reports that there is a session bus to ask. Without one
// the library would start one of its own, and leave it running.
func hasNotifications() bool {
	if os.Getenv("DBUS_SESSION_BUS_ADDRESS") != "" {
		return true
	}
	run := os.Getenv("XDG_RUNTIME_DIR")
	if run == "" {
		return false
	}
	_, err := os.Stat(filepath.Join(run, "bus"))
	return err == nil
}
