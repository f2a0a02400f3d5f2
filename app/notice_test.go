//go:build !windows && !darwin

package app

import (
	"context"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"bellwether/app/tray"
	"bellwether/engine/admin"
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
	told := make(chan admin.TrayReport, 8) // more than may come
	watch := func() (end func()) {
		ctx, stop := context.WithCancel(t.Context())
		var work sync.WaitGroup
		work.Go(func() { a.watchHost(ctx, place, func(r admin.TrayReport) { told <- r }) })
		return func() { stop(); work.Wait() }
	}
	end := watch()
	if got := <-told; got.State != admin.TrayUnseen || !strings.Contains(got.Text, "Tray host missing") || !strings.Contains(got.Remedy, "gnome-shell-extension-appindicator") {
		t.Errorf("the engine was told %+v", got)
	}
	if got := <-shown; !strings.Contains(got.Title, "without an icon") || !strings.Contains(got.Text, "gnome-shell-extension-appindicator") {
		t.Errorf("told %+v", got)
	}
	panel := bus.ShowIcons(t) // it is cured when one appears, and told of again when it leaves
	if got := <-told; got.State != admin.TrayShown {
		t.Errorf("with a panel: %+v", got)
	}
	panel.Leave(t)
	if got := <-told; got.State != admin.TrayUnseen {
		t.Errorf("without it again: %+v", got)
	}
	end()
	end = watch()
	<-told
	end()
	select {
	case got := <-shown:
		t.Errorf("told again: %+v", got)
	default: // a notification is a call that has been answered: it would be here
	}
}
