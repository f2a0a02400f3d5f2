package desktop

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// T-12: a program started from the desktop has a short PATH.
func TestProgramsOutsidePATHAreFound(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("places differ")
	}
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("PATH", "/nowhere")
	if got := FindProgram("some-server-of-ours"); got != "" {
		t.Fatalf("found %q, want nothing", got)
	}
	path := filepath.Join(home, ".local/bin/some-server-of-ours")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if got := FindProgram("some-server-of-ours"); got != path {
		t.Errorf("found %q, want %q", got, path)
	}
}

func TestRunningProcessesAreSeen(t *testing.T) {
	own := strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe")
	got, err := IsRunning(t.Context(), own)
	if err != nil {
		t.Skip(err)
	}
	if !got {
		t.Errorf("our own process %q is not seen", own)
	}
	if got, err := IsRunning(t.Context(), "no-such-thing"); got || err != nil {
		t.Errorf("a process that does not run: %v, %v", got, err)
	}
}
