package desktoptest

import (
	"net"
	"os"
	"path/filepath"
	"testing"
)

// Supervisor stands in for systemd: what a service tells it comes out of the
// connection, and its path is what NOTIFY_SOCKET holds.
func Supervisor(t testing.TB) (path string, told *net.UnixConn) {
	t.Helper()
	dir, err := os.MkdirTemp("", "sd") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(dir, "notify")
	told, err = net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = told.Close()
		_ = os.RemoveAll(dir)
	})
	return path, told
}
