//go:build !darwin && !windows

package desktop

import (
	"os"
	"path/filepath"
)

// IconName is Bellwether's icon among those of the desktop, as its packages
// install it.
const IconName = "bellwether"

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
