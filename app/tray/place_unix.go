//go:build !darwin && !windows

package tray

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"

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

// watch tells when the bus goes away.
func (p Place) watch() (lost <-chan struct{}, stop func(), err error) {
	conn, err := p.dial(context.Background())
	if err != nil {
		return nil, nil, err
	}
	return conn.Context().Done(), func() { _ = conn.Close() }, nil
}
