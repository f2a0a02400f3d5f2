package desktop

import (
	"os"
	"strconv"
	"testing"
	"time"

	"bellwether/platform/desktop/desktoptest"
)

func TestTheSupervisorIsTold(t *testing.T) {
	path, conn := desktoptest.Supervisor(t)
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
