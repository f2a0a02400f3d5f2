package desktoptest

import (
	"sync"
	"testing"

	"github.com/godbus/dbus/v5"
)

// iconHost is the name on the bus of what shows icons.
const iconHost = "org.kde.StatusNotifierWatcher"

// Icons stands in for a panel that shows icons: they register with it.
type Icons struct {
	bus *Bus
	mu  sync.Mutex
	n   int // that registered
}

// ShowIcons makes the bus one of a desktop that shows icons, from now on.
func (b *Bus) ShowIcons(t testing.TB) *Icons {
	t.Helper()
	i := &Icons{bus: b}
	b.own(t, i, "/StatusNotifierWatcher", iconHost)
	return i
}

// RegisterStatusNotifierItem is called over the bus.
func (i *Icons) RegisterStatusNotifierItem(_ string, _ dbus.Sender) *dbus.Error {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.n++
	return nil
}

// Count is how many icons have registered.
func (i *Icons) Count() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.n
}

// Leave ends the panel; the bus goes on.
func (i *Icons) Leave(t testing.TB) {
	t.Helper()
	if _, err := i.bus.Conn.ReleaseName(iconHost); err != nil {
		t.Fatal(err)
	}
}

// Notification is one as the desktop got it.
type Notification struct{ App, Icon, Title, Text string }

// mostShown is how many notifications a test may leave unread.
const mostShown = 16

// ShowNotifications makes the bus one of a desktop that shows notifications.
// Who sent one has been answered by the time it is in the channel.
func (b *Bus) ShowNotifications(t testing.TB) <-chan Notification {
	t.Helper()
	n := &notifications{shown: make(chan Notification, mostShown)}
	b.own(t, n, "/org/freedesktop/Notifications", "org.freedesktop.Notifications")
	return n.shown
}

// notifications is a desktop's service, as far as notifying goes. Its methods
// are called over the bus.
type notifications struct{ shown chan Notification }

func (n *notifications) Notify(app string, _ uint32, icon, title, text string, _ []string, _ map[string]dbus.Variant, _ int32) (uint32, *dbus.Error) {
	n.shown <- Notification{app, icon, title, text}
	return 1, nil
}

func (n *notifications) GetCapabilities() ([]string, *dbus.Error) { return []string{"body"}, nil }

func (n *notifications) GetServerInformation() (name, vendor, version, spec string, err *dbus.Error) {
	return "test", "test", "1", "1.2", nil
}
