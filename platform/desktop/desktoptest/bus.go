// Package desktoptest stands in for a Linux desktop in tests: a session bus
// that nobody else is on, what shows icons there, and what shows notifications.
// All of it ends with the test that asked for it.
package desktoptest

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"github.com/godbus/dbus/v5"
)

// Bus is a private session bus, and the test's own connection to it.
type Bus struct {
	Address string // as DBUS_SESSION_BUS_ADDRESS holds it
	Conn    *dbus.Conn

	program string
	daemon  *exec.Cmd
	kill    func()
}

// NewBus starts a bus. The test is skipped where there are none.
func NewBus(t testing.TB) *Bus {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("other systems have no session bus")
	}
	program, err := exec.LookPath("dbus-daemon")
	if err != nil {
		t.Skip("dbus-daemon is not installed")
	}
	// Its socket lies in a folder of its own, since a bus that is killed leaves it
	// behind; t.TempDir has the test's name in it, and a socket's path is short.
	folder, err := os.MkdirTemp("", "bus")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	b := &Bus{program: program, Address: "unix:path=" + filepath.Join(folder, "bus")}
	b.start(t)
	return b
}

// start runs the daemon at the bus's address, and connects to it.
func (b *Bus) start(t testing.TB) {
	t.Helper()
	daemon := exec.Command(b.program, "--session", "--nofork", "--nopidfile", "--print-address=1", "--address="+b.Address)
	out, err := daemon.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	b.daemon = daemon
	b.kill = sync.OnceFunc(func() { _ = daemon.Process.Kill(); _ = daemon.Wait() })
	t.Cleanup(b.kill)
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil { // it listens
		t.Fatal(err)
	}
	conn, err := dbus.Connect(b.Address)
	if err != nil {
		t.Fatal(err)
	}
	b.Conn = conn
	t.Cleanup(func() { _ = conn.Close() })
}

// Restart kills the bus and starts another at the same address. All that were
// on it are not on this one, what shows icons among them.
func (b *Bus) Restart(t testing.TB) {
	t.Helper()
	b.Kill()
	b.start(t)
}

// Kill ends the bus, as the end of a session does.
func (b *Bus) Kill() { b.kill() }

// PID is the process of the bus, for tests that stop it for a while.
func (b *Bus) PID() int { return b.daemon.Process.Pid }

// own exports an object under a name of the bus, as its one owner.
func (b *Bus) own(t testing.TB, object any, path dbus.ObjectPath, name string) {
	t.Helper()
	if err := b.Conn.Export(object, path, name); err != nil {
		t.Fatal(err)
	}
	if got, err := b.Conn.RequestName(name, dbus.NameFlagDoNotQueue); err != nil || got != dbus.RequestNameReplyPrimaryOwner {
		t.Fatal(got, err)
	}
}
