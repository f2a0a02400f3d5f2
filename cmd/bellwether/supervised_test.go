package main

import (
	"runtime"
	"slices"
	"testing"
	"time"

	"bellwether/platform/desktop/desktoptest"
)

// P-37: a service says that none of its loops hangs, and one that says nothing
// is started anew by what runs it.
func TestAServiceTellsItsSupervisorThatAllIsWell(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("other systems have no such supervisor")
	}
	t.Parallel()
	path, conn := desktoptest.Supervisor(t)
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
