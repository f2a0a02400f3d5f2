//go:build !darwin && !windows

package tray

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/godbus/dbus/v5"
)

// Place is where an icon may stand: a session bus. Whether something on it
// shows icons is another question (Host), and may change at any time.
type Place struct{ bus string }

// watcher is the name of the program that shows icons.
const watcher = "org.kde.StatusNotifierWatcher"

// Find finds the session bus and makes sure that it answers. It starts none:
// the library below would, and leave it running, and would wait for ever on a
// dead one. So it is not called without a Place.
func Find(ctx context.Context) (Place, error) {
	address, err := busAddress(os.Getenv)
	if err != nil {
		return Place{}, fmt.Errorf("%w: %w", ErrNoTray, err)
	}
	p := Place{bus: address}
	conn, err := p.dial(ctx)
	if err != nil {
		return Place{}, fmt.Errorf("%w: the session bus does not answer: %w", ErrNoTray, err)
	}
	_ = conn.Close()
	// The library looks for itself: this makes it find the same.
	if err := os.Setenv("DBUS_SESSION_BUS_ADDRESS", address); err != nil {
		return Place{}, fmt.Errorf("%w: %w", ErrNoTray, err)
	}
	return p, nil
}

// busAddress is where the session bus should be.
func busAddress(env func(string) string) (string, error) {
	address := cmp.Or(env("DBUS_SESSION_BUS_ADDRESS"), "")
	if address != "" && address != "autolaunch:" {
		return address, nil
	}
	if dir := env("XDG_RUNTIME_DIR"); dir != "" {
		socket := filepath.Join(dir, "bus")
		if info, err := os.Stat(socket); err == nil && info.Mode()&os.ModeSocket != 0 {
			return "unix:path=" + dbus.EscapeBusAddressValue(socket), nil
		}
	}
	return "", fmt.Errorf("no session bus")
}

func (p Place) dial(ctx context.Context) (*dbus.Conn, error) {
	return dbus.Connect(p.bus, dbus.WithContext(ctx))
}

// Host reports whether something on the bus shows icons now.
func (p Place) Host(ctx context.Context) bool {
	conn, err := p.dial(ctx)
	if err != nil {
		return false
	}
	defer func() { _ = conn.Close() }()
	var owned bool
	err = conn.BusObject().CallWithContext(ctx, "org.freedesktop.DBus.NameHasOwner", 0, watcher).Store(&owned)
	return err == nil && owned
}

// Hosts tells whether something shows icons: at once, and whenever that changes,
// until ctx ends or the bus goes away; then the channel is closed.
func (p Place) Hosts(ctx context.Context) (<-chan bool, error) {
	conn, err := p.dial(ctx)
	if err != nil {
		return nil, err
	}
	changes := make(chan *dbus.Signal, 8) // more changes than that in a moment end as the last one says
	conn.Signal(changes)
	if err := conn.AddMatchSignal(dbus.WithMatchSender("org.freedesktop.DBus"), dbus.WithMatchMember("NameOwnerChanged"), dbus.WithMatchArg(0, watcher)); err != nil {
		_ = conn.Close()
		return nil, err
	}
	out := make(chan bool)
	go func() {
		defer close(out)
		defer func() { _ = conn.Close() }()
		for first, told := true, false; ; first = false {
			// As it is by now, whatever the signal was about.
			if there := p.Host(ctx); first || there != told {
				select {
				case out <- there:
					told = there
				case <-ctx.Done():
					return
				}
			}
			select {
			case _, open := <-changes:
				if !open {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	return out, nil
}

// Standing is how the icon of a process fares on the bus.
type Standing int

// The standings.
const (
	Absent  Standing = iota // it is not on this bus
	Waiting                 // it is, and what shows icons has not taken it
	Shown
)

// Stands asks how the icon of a process fares. What shows icons may not tell
// which it took: then one that is on the bus counts as shown.
func (p Place) Stands(ctx context.Context, pid int) Standing {
	conn, err := p.dial(ctx)
	if err != nil {
		return Absent
	}
	defer func() { _ = conn.Close() }()
	name := fmt.Sprintf("org.kde.StatusNotifierItem-%d-1", pid) // as the library has it
	var owner string
	if conn.BusObject().CallWithContext(ctx, "org.freedesktop.DBus.GetNameOwner", 0, name).Store(&owner) != nil {
		return Absent
	}
	var taken []string
	var list dbus.Variant
	err = conn.Object(watcher, "/StatusNotifierWatcher").CallWithContext(ctx, "org.freedesktop.DBus.Properties.Get", 0, watcher, "RegisteredStatusNotifierItems").Store(&list)
	if err == nil {
		err = dbus.Store([]any{list}, &taken)
	}
	if err != nil {
		return Shown
	}
	for _, item := range taken { // a name of the bus, often with a path behind it
		who, _, _ := strings.Cut(item, "/")
		if who == name || who == owner {
			return Shown
		}
	}
	return Waiting
}
