//go:build darwin || windows

package desktop

import "github.com/gen2brain/beeep"

// IconName is "" where the system takes an app's icon from the app.
const IconName = ""

// hasNotifications is always so where they are part of the system.
func hasNotifications() bool { return true }

// show leaves to the system how long a notification stays; it keeps those that
// nobody saw.
func (n *Notifier) show(title, text string, _ bool) error { return beeep.Notify(title, text, n.icon) }
