package desktop

import (
	"bufio"
	"errors"
	"os/exec"
	"strings"
	"testing"

	"github.com/godbus/dbus/v5"
)

// shown is a notification as the desktop got it.
type shown struct{ app, icon, title, text string }

// notifications is a desktop's service, as far as notifying goes.
type notifications struct{ got chan shown }

func (n *notifications) Notify(app string, _ uint32, icon, title, text string, _ []string, _ map[string]dbus.Variant, _ int32) (uint32, *dbus.Error) {
	n.got <- shown{app, icon, title, text}
	return 1, nil
}

func (n *notifications) GetCapabilities() ([]string, *dbus.Error) { return []string{"body"}, nil }

func (n *notifications) GetServerInformation() (name, vendor, version, spec string, err *dbus.Error) {
	return "test", "test", "1", "1.2", nil
}

// privateBus starts a session bus that nobody else is on.
func privateBus(t *testing.T) (address string) {
	t.Helper()
	program, err := exec.LookPath("dbus-daemon")
	if err != nil {
		t.Skip("dbus-daemon is not installed")
	}
	cmd := exec.Command(program, "--session", "--nofork", "--nopidfile", "--print-address=1", "--address=unix:dir="+t.TempDir())
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	address, err = bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(address)
}

func TestANotificationReachesTheDesktop(t *testing.T) {
	address := privateBus(t)
	conn, err := dbus.Connect(address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	service := &notifications{got: make(chan shown, 1)}
	const name, path = "org.freedesktop.Notifications", "/org/freedesktop/Notifications"
	if err := conn.Export(service, path, name); err != nil {
		t.Fatal(err)
	}
	if reply, err := conn.RequestName(name, dbus.NameFlagDoNotQueue); err != nil || reply != dbus.RequestNameReplyPrimaryOwner {
		t.Fatal(reply, err)
	}
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", address)
	n := NewNotifier("Bellwether", "")
	if err := n.Notify("runtime", "ollama is gone", "Start it again: ollama serve"); err != nil {
		t.Fatal(err)
	}
	want := shown{app: "Bellwether", title: "ollama is gone", text: "Start it again: ollama serve"}
	if got := <-service.got; got != want {
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
