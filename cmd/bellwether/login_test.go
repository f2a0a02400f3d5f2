package main

import (
	"bytes"
	"runtime"
	"strings"
	"testing"
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
