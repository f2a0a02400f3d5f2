package window

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bellwether/app/window/child"
)

func TestTheWindowDrawsWithoutDMABuffersUnlessItsUserDecided(t *testing.T) {
	env := environment([]string{"A=1", child.EnvURL + "=http://old"}, "http://new")
	want := []string{"A=1", "WEBKIT_DISABLE_DMABUF_RENDERER=1", child.EnvURL + "=http://new"}
	if !slices.Equal(env, want) {
		t.Errorf("environment %q, want %q", env, want)
	}
	env = environment([]string{"WEBKIT_DISABLE_DMABUF_RENDERER=0"}, "http://new")
	if n := strings.Count(strings.Join(env, " "), "DMABUF"); n != 1 || env[0] != "WEBKIT_DISABLE_DMABUF_RENDERER=0" {
		t.Errorf("the user's own choice was changed: %q", env)
	}
}

func TestLinesAreHeardHoweverTheOutputIsCut(t *testing.T) {
	for _, c := range []struct{ writes, want []string }{
		{[]string{"ready\n"}, []string{"ready"}},
		{[]string{"rea", "dy", "\n"}, []string{"ready"}},
		{[]string{"noise\nready\r\nmore"}, []string{"noise", "ready"}},
		{[]string{strings.Repeat("x", 3*longest), "\nready\n"}, []string{"", "ready"}},
		{[]string{"already\nready or not\nready"}, []string{"already", "ready or not"}},
	} {
		var heard []string
		l := lines{each: func(line string) { heard = append(heard, line) }}
		for _, w := range c.writes {
			if n, err := l.Write([]byte(w)); n != len(w) || err != nil {
				t.Fatal(n, err)
			}
		}
		if !slices.Equal(heard, c.want) {
			t.Errorf("heard %q in %.40q, want %q", heard, c.writes, c.want)
		}
	}
}

func TestTheWindowIsFoundBesideItsParent(t *testing.T) {
	for _, c := range []struct{ goos, self, want string }{
		{"linux", "/opt/bellwether/bellwether", "/opt/bellwether/bellwether-window"},
		{"linux", "/usr/bin/bellwether", "/usr/lib/bellwether/bellwether-window"},
		{"darwin", "/Applications/Bellwether.app/Contents/MacOS/bellwether", "/Applications/Bellwether.app/Contents/Helpers/Bellwether Window.app/Contents/MacOS/bellwether-window"},
		{"windows", "/p/bellwether-app.exe", "/p/bellwether-window.exe"},
	} {
		got := places(c.goos, filepath.FromSlash(c.self))
		if !slices.Contains(got, filepath.FromSlash(c.want)) {
			t.Errorf("%s: %q does not hold %s", c.goos, got, c.want)
		}
	}
}

func TestAnExitIsPutIntoWordsThatHelp(t *testing.T) {
	for _, c := range []struct {
		code        int
		state, said string
		want        string
	}{
		{-1, "signal: segmentation fault", "", "signal: segmentation fault: it said nothing"},
		{child.NoLibrary, "exit status 127", "error while loading shared libraries: libwebkit2gtk-4.1.so.0: cannot open shared object file", "libwebkit2gtk-4.1-0): error while loading"},
		{child.NoWebView, "", "", "Evergreen"},
		{child.Stuck, "", "", "hung"},
		{child.PageLost, "", "the process that draws it crashed", "went away: the process that draws it crashed"},
	} {
		if got := explain(c.code, c.state, c.said); !strings.Contains(got, c.want) {
			t.Errorf("%d: %q, want %q in it", c.code, got, c.want)
		}
	}
}
