//go:build !windows && !darwin

package app

import (
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"bellwether/app/tray"
	"bellwether/platform/desktop"
	"bellwether/platform/desktop/desktoptest"
)

// T-04: that nothing shows the icon is told once, and never again.
func TestAMissingTrayHostIsToldOnce(t *testing.T) {
	bus := desktoptest.NewBus(t)
	shown := bus.ShowNotifications(t)
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", bus.Address)
	t.Setenv("XDG_CURRENT_DESKTOP", "ubuntu:GNOME")
	folders, err := desktop.FoldersUnder(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	place, err := tray.Find(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	a := newApp(Options{Folders: folders, Out: io.Discard, Log: slog.New(slog.DiscardHandler), HostPatience: time.Millisecond})
	a.watchHost(t.Context(), place)
	select {
	case got := <-shown:
		if !strings.Contains(got.Title, "without an icon") || !strings.Contains(got.Text, "gnome-shell-extension-appindicator") {
			t.Errorf("told %q", got)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("nothing was told")
	}
	a.watchHost(t.Context(), place)
	select {
	case got := <-shown:
		t.Errorf("told again: %q", got)
	default: // a notification is a call that has been answered: it would be here
	}
}
