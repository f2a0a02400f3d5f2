//go:build !windows && !darwin

package app

import (
	"bufio"
	"io"
	"log/slog"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"

	"bellwether/app/tray"
	"bellwether/platform/desktop"
)

// notices stands in for what shows notifications: it notes them.
type notices struct{ shown chan string }

// Notify is called over the bus, as the desktop's is.
func (n *notices) Notify(_ string, _ uint32, _, title, text string, _ []string, _ map[string]dbus.Variant, _ int32) (uint32, *dbus.Error) {
	n.shown <- title + ": " + text
	return 1, nil
}

// T-04: that nothing shows the icon is told once, and never again.
func TestAMissingTrayHostIsToldOnce(t *testing.T) {
	path, err := exec.LookPath("dbus-daemon")
	if err != nil {
		t.Skip("dbus-daemon is not installed")
	}
	daemon := exec.Command(path, "--session", "--nofork", "--nopidfile", "--print-address=1", "--address=unix:dir="+t.TempDir())
	out, err := daemon.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = daemon.Process.Kill(); _ = daemon.Wait() }()
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", strings.TrimSpace(address))
	t.Setenv("XDG_CURRENT_DESKTOP", "ubuntu:GNOME")
	conn, err := dbus.Connect(strings.TrimSpace(address))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	n := &notices{shown: make(chan string, 4)} // more than may come
	if err := conn.Export(n, "/org/freedesktop/Notifications", "org.freedesktop.Notifications"); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.RequestName("org.freedesktop.Notifications", dbus.NameFlagDoNotQueue); err != nil {
		t.Fatal(err)
	}
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
	case got := <-n.shown:
		if !strings.Contains(got, "without an icon") || !strings.Contains(got, "gnome-shell-extension-appindicator") {
			t.Errorf("told %q", got)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("nothing was told")
	}
	a.watchHost(t.Context(), place)
	select {
	case got := <-n.shown:
		t.Errorf("told again: %q", got)
	default: // a notification is a call that has been answered: it would be here
	}
}
