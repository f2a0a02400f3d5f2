package desktop

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// newItem is an item in a folder of the test's own, with a desktop around it.
func newItem(t *testing.T, program string, args ...string) (item *LoginItem, entry string) {
	t.Helper()
	t.Setenv("XDG_CURRENT_DESKTOP", "XFCE")
	dir := t.TempDir()
	return NewLoginItem(LoginOptions{Program: program, Args: args, Config: dir}), filepath.Join(dir, "autostart", autostartName)
}

func status(t *testing.T, l *LoginItem) LoginStatus {
	t.Helper()
	s, err := l.Status(t.Context())
	if err != nil || !s.Known {
		t.Fatalf("status: %+v, %v", s, err)
	}
	return s
}

// P-33: start at login, in the background; the tick shows the system's truth.
func TestSwitchedOnItStartsAtLoginAndSwitchedOffItDoesNot(t *testing.T) {
	l, path := newItem(t, "/bin/sh", "tray", "--hidden")
	if s := status(t, l); s.On || !s.Can || s.Reason != "" || s.Entry != path {
		t.Fatalf("before: %+v; off is the default", s)
	}
	if err := l.Enable(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := status(t, l); !s.On || s.Moved {
		t.Errorf("after Enable: %+v", s)
	}
	text, _ := os.ReadFile(path)
	if !strings.Contains(string(text), "Exec=/bin/sh tray --hidden\n") {
		t.Errorf("the entry:\n%s", text)
	}
	if err := l.Disable(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := status(t, l); s.On || s.Reason != "" || !missing(path) {
		t.Errorf("after Disable: %+v", s)
	}
	if err := l.Disable(t.Context()); err != nil {
		t.Errorf("off already: %v", err)
	}
}

func TestAnEntryChangedOrTakenAwayByItsUserIsSeenAtOnce(t *testing.T) {
	l, path := newItem(t, "/bin/sh")
	if err := l.Enable(t.Context()); err != nil {
		t.Fatal(err)
	}
	text, _ := os.ReadFile(path)
	if err := os.WriteFile(path, append(text, "Hidden=true\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	if s := status(t, l); s.On || !s.Can || !strings.Contains(s.Reason, "switched off") {
		t.Errorf("hidden: %+v", s)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if s := status(t, l); s.On {
		t.Errorf("taken away: %+v", s)
	}
}

func TestAProgramThatMovedIsSeenAndWrittenAnew(t *testing.T) {
	l, path := newItem(t, "/bin/sh", "tray", "--hidden")
	if err := l.Enable(t.Context()); err != nil {
		t.Fatal(err)
	}
	text, _ := os.ReadFile(path)
	for _, exec := range []string{
		"/bin/sh tray",                          // as it was started once
		"/nowhere/bellwether tray --hidden",     // it was moved
		"/nowhere/Bellwether-1.2.AppImage tray", // and updated
		"/nowhere/bw tray --hidden",             // it had another name
	} {
		program, _, _ := strings.Cut(exec, " ")
		old := strings.ReplaceAll(string(text), "Exec=/bin/sh tray --hidden\nTryExec=/bin/sh\n", "Exec="+exec+"\nTryExec="+program+"\n")
		if err := os.WriteFile(path, []byte(old), 0o600); err != nil {
			t.Fatal(err)
		}
		if s := status(t, l); !s.Moved || s.Other || s.On != (program == "/bin/sh") {
			t.Errorf("%s: %+v, want moved", exec, s)
		}
		if err := l.Enable(t.Context()); err != nil {
			t.Fatal(err)
		}
		if s := status(t, l); !s.On || s.Moved {
			t.Errorf("%s: %+v after Enable", exec, s)
		}
	}
}

// What others had started at login in an entry of our name is theirs, and two
// installations do not take the entry from each other.
func TestAnEntryOfAnotherProgramIsNotOurs(t *testing.T) {
	l, path := newItem(t, "/bin/sh", "tray")
	named := filepath.Join(t.TempDir(), "bellwether")
	if err := os.Symlink("/bin/ls", named); err != nil {
		t.Fatal(err)
	}
	if err := l.Enable(t.Context()); err != nil {
		t.Fatal(err)
	}
	for exec, want := range map[string]LoginStatus{
		"/bin/ls":                  {Other: true, Reason: "its entry starts another program: /bin/ls"},
		"/bin/ls tray":             {Other: true, Reason: "its entry starts another program: /bin/ls"},
		"ls":                       {Other: true, Reason: "its entry starts another program: ls"},
		named + " tray":            {Other: true, Reason: "another Bellwether starts at login: " + named},
		"sh tray":                  {On: true},
		"/nowhere/mailer --hidden": {Reason: "its entry starts /nowhere/mailer, which is not there any more"},
	} {
		if err := os.WriteFile(path, []byte("[Desktop Entry]\nType=Application\nName=x\nExec="+exec+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if s := status(t, l); s.On != want.On || s.Other != want.Other || s.Moved || s.Reason != want.Reason || !s.Can || (s.Remedy == "") != want.On {
			t.Errorf("%s: %+v", exec, s)
		}
	}
}

func TestAFolderInPlaceOfTheEntryIsToldWithWhatHelps(t *testing.T) {
	l, path := newItem(t, "/bin/sh", "tray")
	if err := os.MkdirAll(filepath.Join(path, "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	if s := status(t, l); s.On || s.Can || !strings.Contains(s.Reason, path+" is a folder") || s.Remedy == "" {
		t.Errorf("%+v", s)
	}
	for what, act := range map[string]func(context.Context) error{"on": l.Enable, "off": l.Disable} {
		var no *LoginError
		if err := act(t.Context()); !errors.As(err, &no) || no.Remedy == "" {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// T-03: an entry that starts a Bellwether of other data is not this one's.
func TestOptionsAreCarriedIntoTheEntryAndThoseOfOthersAreSeen(t *testing.T) {
	plain, path := newItem(t, "/bin/sh", "tray", "--hidden")
	flags := []string{`--data-dir=/home/ann/My "own" $data`, "--config=/etc/100% b.yaml", "--set=security.api_keys=secret"}
	opted := NewLoginItem(LoginOptions{Program: "/bin/sh", Args: plain.opts.Args, Flags: flags, Config: plain.opts.Config})
	if err := plain.Enable(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := status(t, opted); s.On || !s.Other || !s.Can || !strings.Contains(s.Reason, "other options (none)") || s.Remedy == "" {
		t.Errorf("the plain one's entry, seen with options: %+v", s)
	}
	if err := opted.Enable(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := status(t, opted); !s.On || s.Other || s.Moved {
		t.Errorf("after Enable: %+v", s)
	}
	text, _ := os.ReadFile(path)
	if want := append([]string{"/bin/sh", "tray", "--hidden"}, flags...); !slices.Equal(splitExec(parseEntry(string(text))["Exec"]), want) {
		t.Errorf("want %q in:\n%s", want, text)
	}
	if s := status(t, plain); s.On || !s.Other || !strings.Contains(s.Reason, flags[0]) || strings.Contains(s.Reason, "secret") {
		t.Errorf("its entry, seen without: %+v", s)
	}
	other := NewLoginItem(LoginOptions{Program: "/bin/ls", Args: plain.opts.Args, Flags: flags, Config: plain.opts.Config})
	if s := status(t, other); s.On || !s.Other || s.Moved {
		t.Errorf("seen by another with the same options: %+v", s)
	}
}

func TestThisTestIsNotStartedAtLogin(t *testing.T) {
	l, path := newItem(t, "") // go test's own program
	s := status(t, l)
	if s.Can || s.On || s.Reason == "" || s.Remedy == "" {
		t.Errorf("%+v", s)
	}
	var no *LoginError
	if err := l.Enable(t.Context()); !errors.As(err, &no) || !missing(path) {
		t.Errorf("%v", err)
	}
}

func TestAnEntryForEverybodyIsHiddenNotEndured(t *testing.T) {
	user, system := t.TempDir(), t.TempDir()
	text, _ := writeEntry("/bin/sh", nil)
	if err := os.WriteFile(filepath.Join(system, autostartName), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	a := autostart{user: filepath.Join(user, "autostart"), system: []string{system}}
	entry, path, err := a.find()
	if err != nil || entry["Exec"] != "/bin/sh" || path != filepath.Join(system, autostartName) {
		t.Fatalf("%v at %s, %v", entry, path, err)
	}
	if err := a.drop(); err != nil {
		t.Fatal(err)
	}
	if entry, _, _ := a.find(); entry["Hidden"] != "true" {
		t.Errorf("after drop: %v", entry)
	}
}

func TestWithoutADesktopAServiceIsAdvised(t *testing.T) {
	none := func(string) string { return "" }
	if hasDesktop(none, func(string) bool { return false }) {
		t.Error("a server has a desktop")
	}
	if !hasDesktop(none, func(p string) bool { return strings.Contains(p, "wayland") }) {
		t.Error("asked over ssh, an installed desktop counts")
	}
	if !hasDesktop(func(n string) string { return map[string]string{"DISPLAY": ":0"}[n] }, func(string) bool { return false }) {
		t.Error("a display counts")
	}
}
