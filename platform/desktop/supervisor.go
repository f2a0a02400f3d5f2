package desktop

import (
	"net"
	"os"
	"strconv"
	"strings"
	"time"
)

// Supervisor is what runs this program as a service and ends and restarts it
// when it says nothing for too long: systemd with WatchdogSec.
type Supervisor struct {
	// Every is how often it has to be told that all is well.
	Every  time.Duration
	socket string
}

// FindSupervisor finds it in the environment; nil = there is none that waits
// for this process's word.
func FindSupervisor(env func(string) string) *Supervisor {
	socket := env("NOTIFY_SOCKET")
	micros, err := strconv.ParseInt(env("WATCHDOG_USEC"), 10, 64)
	if socket == "" || err != nil || micros <= 0 {
		return nil
	}
	if pid := env("WATCHDOG_PID"); pid != "" && pid != strconv.Itoa(os.Getpid()) {
		return nil // another process's
	}
	return &Supervisor{Every: time.Duration(micros) * time.Microsecond / 2, socket: socket}
}

// Alive says that all is well.
func (s *Supervisor) Alive() error {
	name := s.socket
	if strings.HasPrefix(name, "@") {
		name = "\x00" + name[1:] // of the abstract kind
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetWriteDeadline(time.Now().Add(time.Second))
	_, err = conn.Write([]byte("WATCHDOG=1"))
	return err
}
