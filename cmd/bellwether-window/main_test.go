package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"bellwether/app/window/child"
)

func TestOnlyWebAddressesAreShown(t *testing.T) {
	for address, want := range map[string]bool{
		"http://localhost:11435/admin/enter?t=x": true, "http://[::1]:1/": true, "http://192.168.1.5:11435/": true,
		"": false, "localhost:11435": false, "file:///etc/passwd": false, "https://example.com/": false, "javascript:alert(1)": false, "http://": false,
	} {
		if got := isWebAddress(address); got != want {
			t.Errorf("%q: %v", address, got)
		}
	}
}

func TestAWindowWithoutAnAddressSaysHowItIsOpened(t *testing.T) {
	t.Setenv(child.EnvURL, "")
	os.Args = os.Args[:1]
	if code := run(); code != child.WrongUse {
		t.Errorf("exit code %d", code)
	}
}

func TestTheAddressIsNotLeftToTheWebViewsProcesses(t *testing.T) {
	t.Setenv(child.EnvURL, "http://localhost:1/")
	t.Setenv("DISPLAY", "")
	t.Setenv("WAYLAND_DISPLAY", "")
	os.Args = os.Args[:1]
	_ = run() // stops at the display, or at being a stub
	if v, there := os.LookupEnv(child.EnvURL); there {
		t.Errorf("%s is still %q", child.EnvURL, v)
	}
}

// The release's smoke test asks by --version; without the tags it must not pass.
func TestABuildWithoutTagsIsAStubThatSaysSo(t *testing.T) {
	if kind != "stub" {
		t.Skip("built with the tags")
	}
	if code := show("http://localhost:1/", strings.NewReader(""), nil); code != child.NoWindow {
		t.Errorf("exit code %d", code)
	}
}

func TestTheStartPageMovesOnWithoutAPlaceInTheHistory(t *testing.T) {
	page := func(path string) (int, string) {
		w := httptest.NewRecorder()
		start(`http://localhost:1/admin/enter?t=a&b=</script><script>alert("x")`).ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		return w.Code, w.Body.String()
	}
	code, text := page("/")
	if code != 200 || !strings.Contains(text, "location.replace(") {
		t.Fatalf("%d %s", code, text)
	}
	if strings.Count(text, "<script>") != 1 || strings.Contains(text, `alert("x")`) {
		t.Errorf("the address got out of its string:\n%s", text)
	}
	if code, _ := page("/wails/ipc.js"); code != 404 {
		t.Errorf("another path: %d", code)
	}
}

func TestTheWindowFollowsItsParentToTheEnd(t *testing.T) {
	for _, c := range []struct{ orders, want string }{
		{"", "quit"},
		{"show\nnonsense\n\nshow\r\n", "raise raise quit"},
		{"show", "raise quit"},
		{strings.Repeat("x", 1<<20) + "\nshow\n", "quit"}, // nobody who means well
	} {
		var did []string
		follow(strings.NewReader(c.orders), func() { did = append(did, "raise") }, func() { did = append(did, "quit") })
		if got := strings.Join(did, " "); got != c.want {
			t.Errorf("%.20q: %s, want %s", c.orders, got, c.want)
		}
	}
}
