package desktoptest

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/godbus/dbus/v5"
	"github.com/godbus/dbus/v5/prop"
)

// iconHost is the name on the bus of what shows icons.
const iconHost = "org.kde.StatusNotifierWatcher"

// Icons stands in for a panel that shows icons: they register with it.
type Icons struct {
	bus   *Bus
	props *prop.Properties
	mu    sync.Mutex
	items []string // that registered: who, and the path there
}

// ShowIcons makes the bus one of a desktop that shows icons, from now on.
func (b *Bus) ShowIcons(t testing.TB) *Icons {
	t.Helper()
	i := &Icons{bus: b}
	var err error
	i.props, err = prop.Export(b.Conn, "/StatusNotifierWatcher", prop.Map{iconHost: {"RegisteredStatusNotifierItems": {Value: []string{}, Emit: prop.EmitTrue}}})
	if err != nil {
		t.Fatal(err)
	}
	b.own(t, i, "/StatusNotifierWatcher", iconHost)
	return i
}

// RegisterStatusNotifierItem is called over the bus.
func (i *Icons) RegisterStatusNotifierItem(path string, who dbus.Sender) *dbus.Error {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.items = append(i.items, string(who)+path)
	i.props.SetMust(iconHost, "RegisteredStatusNotifierItems", i.items)
	return nil
}

// Count is how many icons have registered.
func (i *Icons) Count() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return len(i.items)
}

// Leave ends the panel; the bus goes on.
func (i *Icons) Leave(t testing.TB) {
	t.Helper()
	if _, err := i.bus.Conn.ReleaseName(iconHost); err != nil {
		t.Fatal(err)
	}
}

// Notification is one as the desktop got it.
type Notification struct {
	App, Icon, Title, Text string
	Replaces               uint32 // the number of an older one, 0 = none
	Lasts                  int32  // ms; 0 = until it is dismissed
}

// mostShown is how many notifications a test may leave unread.
const mostShown = 16

// ShowNotifications makes the bus one of a desktop that shows notifications.
// Who sent one has been answered by the time it is in the channel. can are its
// capabilities beside showing a body.
func (b *Bus) ShowNotifications(t testing.TB, can ...string) <-chan Notification {
	t.Helper()
	n := &notifications{shown: make(chan Notification, mostShown), can: append([]string{"body"}, can...)}
	b.own(t, n, "/org/freedesktop/Notifications", "org.freedesktop.Notifications")
	return n.shown
}

// notifications is a desktop's service, as far as notifying goes. Its methods
// are called over the bus.
type notifications struct {
	shown chan Notification
	can   []string
	last  atomic.Uint32 // number given
}

func (n *notifications) Notify(app string, replaces uint32, icon, title, text string, _ []string, _ map[string]dbus.Variant, lasts int32) (uint32, *dbus.Error) {
	n.shown <- Notification{app, icon, title, text, replaces, lasts}
	if replaces != 0 {
		return replaces, nil
	}
	return n.last.Add(1), nil
}

func (n *notifications) GetCapabilities() ([]string, *dbus.Error) { return n.can, nil }

func (n *notifications) GetServerInformation() (name, vendor, version, spec string, err *dbus.Error) {
	return "test", "test", "1", "1.2", nil
}
