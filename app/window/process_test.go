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

func TestReadyIsSeenHoweverTheOutputIsCut(t *testing.T) {
	for _, writes := range [][]string{{"ready\n"}, {"rea", "dy", "\n"}, {"noise\nready\r\nmore"}, {strings.Repeat("x", 3*longest), "\nready\n"}, {"ready\n", "ready\n"}} {
		l := lines{wait: child.Ready, seen: make(chan struct{})}
		seen := l.seen
		for _, w := range writes {
			if n, err := l.Write([]byte(w)); n != len(w) || err != nil {
				t.Fatal(n, err)
			}
		}
		select {
		case <-seen:
		default:
			t.Errorf("not seen in %.40q", writes)
		}
	}
	l := lines{wait: child.Ready, seen: make(chan struct{})}
	_, _ = l.Write([]byte("already\nready or not\nready"))
	if l.seen == nil {
		t.Error("seen where it was not said")
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
	} {
		if got := explain(c.code, c.state, c.said); !strings.Contains(got, c.want) {
			t.Errorf("%d: %q, want %q in it", c.code, got, c.want)
		}
	}
}
