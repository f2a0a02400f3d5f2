package desktop

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

func TestTheSupervisorIsTold(t *testing.T) {
	dir, err := os.MkdirTemp("", "sd") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	env := map[string]string{"NOTIFY_SOCKET": path, "WATCHDOG_USEC": "90000000", "WATCHDOG_PID": strconv.Itoa(os.Getpid())}
	s := FindSupervisor(func(name string) string { return env[name] })
	if s == nil || s.Every != 45*time.Second {
		t.Fatalf("%+v", s)
	}
	if err := s.Alive(); err != nil {
		t.Fatal(err)
	}
	text := make([]byte, 64)
	if n, err := conn.Read(text); err != nil || string(text[:n]) != "WATCHDOG=1" {
		t.Errorf("%q, %v", text[:n], err)
	}
	for name, value := range map[string]string{"NOTIFY_SOCKET": "", "WATCHDOG_USEC": "soon", "WATCHDOG_PID": "1"} {
		was := env[name]
		env[name] = value
		if s := FindSupervisor(func(name string) string { return env[name] }); s != nil {
			t.Errorf("%s=%q: %+v", name, value, s)
		}
		env[name] = was
	}
}
