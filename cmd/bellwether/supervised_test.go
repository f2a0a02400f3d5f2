package main

import (
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"
)

// P-37: a service says that none of its loops hangs, and one that says nothing
// is started anew by what runs it.
func TestAServiceTellsItsSupervisorThatAllIsWell(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("other systems have no such supervisor")
	}
	t.Parallel()
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
	h := newHome(t, "", map[string]*fake{})
	h.env = append(slices.Clone(h.env), "NOTIFY_SOCKET="+path, "WATCHDOG_USEC=200000")
	h.serve(t, anywhere)
	_ = conn.SetReadDeadline(time.Now().Add(patience))
	text := make([]byte, 64)
	for range 3 {
		if n, err := conn.Read(text); err != nil || string(text[:n]) != "WATCHDOG=1" {
			t.Fatalf("%q, %v", text[:n], err)
		}
	}
}
