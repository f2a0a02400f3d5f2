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
	want := desktoptest.Notification{App: "Bellwether", Title: "ollama is gone", Text: "Start it again: ollama serve", Lasts: -1}
	if got := <-shown; got != want {
		t.Errorf("shown %+v, want %+v", got, want)
	}
}

// Some desktops read the text as markup, and break off at a bare < or &.
func TestANotificationIsTheTextItIsGiven(t *testing.T) {
	const text = "A<b>x&y_z"
	for name, c := range map[string]struct {
		can  []string
		want string
	}{"plain": {nil, text}, "markup": {[]string{"body-markup"}, "A&lt;b&gt;x&amp;y_z"}} {
		t.Run(name, func(t *testing.T) {
			bus := desktoptest.NewBus(t)
			shown := bus.ShowNotifications(t, c.can...)
			t.Setenv("DBUS_SESSION_BUS_ADDRESS", bus.Address)
			if err := NewNotifier("Bellwether", "").Notify("runtime", "a", text); err != nil {
				t.Fatal(err)
			}
			if got := <-shown; got.Text != c.want {
				t.Errorf("shown %q, want %q", got.Text, c.want)
			}
		})
	}
}

func TestAReminderStaysAndTakesThePlaceOfItsLast(t *testing.T) {
	bus := desktoptest.NewBus(t)
	shown := bus.ShowNotifications(t)
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", bus.Address)
	n := NewNotifier("Bellwether", "")
	for i, c := range []struct {
		title    string
		replaces uint32
	}{{"ollama is gone", 0}, {"the disk is full", 0}, {"ollama is gone", 1}} {
		if err := n.Remind("runtime", c.title, "x"); err != nil {
			t.Fatal(err)
		}
		if got := <-shown; got.Lasts != 0 || got.Replaces != c.replaces {
			t.Errorf("%d: shown %+v, want one that stays, in place of %d", i, got, c.replaces)
		}
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
