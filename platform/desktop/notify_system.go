//go:build darwin || windows

package desktop

// IconName is "" where the system takes an app's icon from the app.
const IconName = ""

// hasNotifications is always so where they are part of the system.
func hasNotifications() bool { return true }
