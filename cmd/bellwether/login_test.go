package main

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// Without an engine the command asks the system itself. This program, go
// test's own, is gone tomorrow: it may be asked, and not switched on.
func TestLoginSaysWhatTheSystemSays(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("it would ask about the user's own entry")
	}
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_DIRS", t.TempDir())
	t.Setenv("XDG_CURRENT_DESKTOP", "XFCE")
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"login"}, exitDone, "does not start when you log in: this Bellwether was built by go run or go test"},
		{[]string{"login", "status", "--json"}, exitDone, `"on": false`},
		{[]string{"login", "off"}, exitDone, "does not start"},
		{[]string{"login", "on"}, exitRefused, "install it"},
		{[]string{"login", "perhaps"}, exitUsage, "status"},
	} {
		var out bytes.Buffer
		code := run(append([]string{"--data-dir", t.TempDir()}, c.args...), strings.NewReader(""), &out, &out)
		if code != c.code || !strings.Contains(out.String(), c.want) {
			t.Errorf("%v: exit %d, want %d with %q:\n%s", c.args, code, c.code, c.want, out.String())
		}
	}
}

// Every option of a start is in its entry, and the entry is a command line that
// is understood the same.
func TestTheOptionsOfAStartAreInItsEntry(t *testing.T) {
	dir, config := filepath.Join(t.TempDir(), "my data"), filepath.Join(t.TempDir(), "b.yaml")
	want := []string{"--data-dir=" + dir, "--config=" + config, "--listen=127.0.0.1:0", "--set=node.name=a=b", "--set=routing.hold.max=3s"}
	for range 2 {
		var c cli
		parser, err := kong.New(&c, kong.Exit(func(int) { t.Fatal("it ended") }))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := parser.Parse(append([]string{"app", "--hidden"}, want...)); err != nil {
			t.Fatal(err)
		}
		e := &environ{cli: &c}
		if got := e.loginFlags(&c.Tray.settingFlags); !slices.Equal(got, want) || !c.Tray.Hidden {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// The entry that a running app writes starts it again with the same folder and
// settings, and whoever asks with others is told that it is not theirs.
func TestWhatStartsAtLoginIsWhatRuns(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the entry of this system is not in a folder")
	}
	h := newHome(t, "", map[string]*fake{})
	entries := t.TempDir()
	// These programs stand in a temporary folder, which no entry may name; as those
	// of an image, the image is what is started.
	h.env = append(slices.Clone(h.env), "XDG_CONFIG_HOME="+entries, "XDG_CONFIG_DIRS="+t.TempDir(), "XDG_CURRENT_DESKTOP=XFCE", "APPIMAGE=/bin/sh", "APPDIR="+programs)
	own := filepath.Join(t.TempDir(), "own settings.yaml")
	if err := os.WriteFile(own, []byte("node: {name: den}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	say := func(args ...string) string {
		p := launch(t, h.env, "bellwether", args...)
		p.wait(t)
		return p.out.String() + p.err.String()
	}
	h.engine = launch(t, h.env, "bellwether", "serve", "--data-dir", h.dir, "--config", own, anywhere)
	h.ready(t)
	if got := say("--data-dir", h.dir, "login", "on"); !strings.Contains(got, "starts when you log in") {
		t.Fatal(got)
	}
	entry, err := os.ReadFile(filepath.Join(entries, "autostart", "bellwether.desktop"))
	if err != nil || !strings.Contains(string(entry), "--data-dir="+h.dir) || !strings.Contains(string(entry), `"--config=`+own+`"`) {
		t.Errorf("%v\n%s", err, entry)
	}
	if got := say("--data-dir", t.TempDir(), "login"); !strings.Contains(got, "has other options: --data-dir="+h.dir) || !strings.Contains(got, "switch it on here") {
		t.Errorf("asked for another folder: %s", got)
	}
}
