package desktop

import (
	"errors"
	"testing"

	"bellwether/platform/desktop/desktoptest"
)

func TestANotificationReachesTheDesktop(t *testing.T) {
	bus := desktoptest.NewBus(t)
	shown := bus.ShowNotifications(t)
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", bus.Address)
	n := NewNotifier("Bellwether", "")
	if err := n.Notify("runtime", "ollama is gone", "Start it again: ollama serve"); err != nil {
		t.Fatal(err)
	}
	want := desktoptest.Notification{App: "Bellwether", Title: "ollama is gone", Text: "Start it again: ollama serve"}
	if got := <-shown; got != want {
		t.Errorf("shown %+v, want %+v", got, want)
	}
}

func TestWithoutASessionBusNothingIsStartedForANotification(t *testing.T) {
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "")
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	t.Setenv("PATH", t.TempDir()) // no notify-send either
	if err := NewNotifier("Bellwether", "").Notify("trouble", "a", "b"); !errors.Is(err, ErrNotAvailable) {
		t.Errorf("%v", err)
	}
}
