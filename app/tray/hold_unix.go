//go:build !darwin && !windows

package tray

import (
	"context"
	"fmt"
	"time"

	"fyne.io/systray"
	"github.com/godbus/dbus/v5"
)

// How soon a bus that went away is looked for: one that was restarted is there
// within a second, the next session's may take hours.
const (
	returnFirst = 250 * time.Millisecond
	returnMost  = 5 * time.Second
	returnBound = 10 * time.Second // of one try
)

// hold keeps the icon on the bus until ctx ends, and brings it back to each
// that comes after one that died.
func (b *bar) hold(ctx context.Context, _ func(), place Place, o Options, ready, drawn func()) error {
	conn, err := place.join(ctx)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNoTray, err)
	}
	start, end := systray.RunWithExternalLoop(ready, func() {})
	start()
	defer func() {
		drawn() // nothing is changed in a tray that ends
		if err := guard(end); err != nil {
			b.log.Debug("the tray did not end cleanly", "err", err)
		}
	}()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-conn.Context().Done():
		}
		o.Away()
		if conn = b.comeBack(ctx, place, o); conn == nil {
			return nil
		}
	}
}

// comeBack puts the icon on the next bus at the same address; nil = ctx ended.
// The library kept what it showed, and shows that.
func (b *bar) comeBack(ctx context.Context, place Place, o Options) *dbus.Conn {
	for wait := returnFirst; ; wait = min(2*wait, returnMost) {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
		if !place.answers(ctx) || !o.Return() {
			continue
		}
		conn, err := place.join(ctx)
		if err != nil { // gone again
			o.Away()
			continue
		}
		b.mu.Lock()
		start, _ := systray.RunWithExternalLoop(nil, nil)
		start()
		b.mu.Unlock()
		return conn
	}
}

// answers reports whether the bus is there.
func (p Place) answers(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, returnBound)
	defer cancel()
	conn, err := p.dial(ctx)
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}

// join is the connection that the library uses too.
func (p Place) join(ctx context.Context) (*dbus.Conn, error) {
	if !p.answers(ctx) { // the library has no patience of its own
		return nil, fmt.Errorf("the session bus does not answer")
	}
	return dbus.SessionBus()
}
