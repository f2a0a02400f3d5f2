//go:build !darwin && !windows

package desktop

import (
	"html"
	"os"
	"path/filepath"
	"slices"

	"github.com/esiqveland/notify"
	"github.com/gen2brain/beeep"
	"github.com/godbus/dbus/v5"
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

// show sends a notification over the session bus, since beeep has no word for
// how long it stays, and by the desktop's own programs where that fails.
func (n *Notifier) show(title, text string, stays bool) error {
	if err := n.send(title, text, stays); err != nil {
		return beeep.Notify(title, html.EscapeString(text), n.icon)
	}
	return nil
}

func (n *Notifier) send(title, text string, stays bool) error {
	conn, err := dbus.ConnectSessionBus()
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	can, err := notify.GetCapabilities(conn)
	if err != nil {
		return err
	}
	if slices.Contains(can, "body-markup") { // else it shows an &lt; as such
		text = html.EscapeString(text)
	}
	note := notify.Notification{AppName: n.app, AppIcon: n.icon, Summary: title, Body: text, ExpireTimeout: notify.ExpireTimeoutSetByNotificationServer}
	if stays {
		note.ReplacesID, note.ExpireTimeout = n.sent[title], notify.ExpireTimeoutNever
	}
	id, err := notify.SendNotification(conn, note)
	if err == nil && stays {
		n.sent[title] = id
	}
	return err
}
