package desktop

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/windows/registry"
)

// registryRig is an item whose keys stand below one of the test's own.
func registryRig(t *testing.T, program string) *LoginItem {
	t.Helper()
	root := `Software\BellwetherTest`
	clean := func() {
		for _, path := range []string{runKey, approvedKey} {
			for p := path; p != "."; p = parentKey(p) {
				_ = registry.DeleteKey(registry.CURRENT_USER, root+`\`+p)
			}
		}
		_ = registry.DeleteKey(registry.CURRENT_USER, root)
	}
	clean()
	t.Cleanup(clean)
	return NewLoginItem(LoginOptions{Program: program, Args: []string{"app", "--hidden"}, Config: root})
}

func parentKey(p string) string {
	if i := strings.LastIndexByte(p, '\\'); i >= 0 {
		return p[:i]
	}
	return "."
}

func systemProgram() string { return filepath.Join(os.Getenv("SystemRoot"), "explorer.exe") }

// P-33: the tick shows what Windows will do.
func TestTheRunKeyStartsItAtLogin(t *testing.T) {
	l := registryRig(t, systemProgram())
	read := func() LoginStatus {
		t.Helper()
		s, err := l.Status(t.Context())
		if err != nil || !s.Known {
			t.Fatalf("%+v, %v", s, err)
		}
		return s
	}
	if s := read(); s.On || !s.Can {
		t.Fatalf("before: %+v", s)
	}
	if err := l.Enable(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := read(); !s.On || s.Moved {
		t.Errorf("after Enable: %+v", s)
	}
	line, err := runValue(l.key(runKey))
	if err != nil || line != systemProgram()+" app --hidden" {
		t.Errorf("the value is %q, %v", line, err)
	}
	other := NewLoginItem(LoginOptions{Program: filepath.Join(os.Getenv("SystemRoot"), "notepad.exe"), Args: l.opts.Args, Config: l.opts.Config})
	if s, err := other.Status(t.Context()); err != nil || s.On || !s.Other || s.Moved {
		t.Errorf("seen by another program: %+v, %v", s, err)
	}
	if err := l.Disable(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := read(); s.On || s.Reason != "" {
		t.Errorf("after Disable: %+v", s)
	}
	if err := l.Disable(t.Context()); err != nil {
		t.Errorf("off already: %v", err)
	}
}

func TestOptionsStandInTheRunKeyAndThoseOfOthersAreSeen(t *testing.T) {
	plain := registryRig(t, systemProgram())
	opted := NewLoginItem(LoginOptions{Program: systemProgram(), Args: plain.opts.Args, Flags: []string{`--data-dir=C:\My data\`}, Config: plain.opts.Config})
	if err := opted.Enable(t.Context()); err != nil {
		t.Fatal(err)
	}
	if line, err := runValue(opted.key(runKey)); err != nil || line != systemProgram()+` app --hidden "--data-dir=C:\My data\\"` {
		t.Errorf("the value is %s, %v", line, err)
	}
	if s, err := opted.Status(t.Context()); err != nil || !s.On || s.Moved {
		t.Errorf("%+v, %v", s, err)
	}
	if s, err := plain.Status(t.Context()); err != nil || s.On || !s.Other {
		t.Errorf("without options: %+v, %v", s, err)
	}
}

// T-01: Task Manager's switch counts, and is not overridden.
func TestWhatTaskManagerSwitchedOffStaysOff(t *testing.T) {
	l := registryRig(t, systemProgram())
	if err := l.Enable(t.Context()); err != nil {
		t.Fatal(err)
	}
	key, _, err := registry.CreateKey(registry.CURRENT_USER, l.key(approvedKey), registry.SET_VALUE)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = key.Close() }()
	for _, first := range []byte{3, 2, 7, 6} {
		if err := key.SetBinaryValue(runName, []byte{first, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8}); err != nil {
			t.Fatal(err)
		}
		s, err := l.Status(t.Context())
		off := first%2 == 1
		if err != nil || s.On == off || s.Vetoed != off || s.Can == off {
			t.Errorf("first byte %d: %+v, %v", first, s, err)
		}
		var no *LoginError
		if err := l.Enable(t.Context()); off != errors.As(err, &no) {
			t.Errorf("first byte %d: Enable says %v", first, err)
		}
	}
}
