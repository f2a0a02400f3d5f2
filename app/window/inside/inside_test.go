package inside

import (
	"bytes"
	"testing"
)

func TestOnlyItsOwnOriginIsShownInTheWindow(t *testing.T) {
	in := Of("http://localhost:11435/admin/enter?t=x", nil)
	for address, want := range map[string]bool{
		"http://localhost:11435/ui/": true, "http://localhost:11435/": true, "wails://wails/": true, "about:blank": true, "about:srcdoc": true,
		"blob:http://localhost:11435/0c9d": true,
		"http://localhost:11436/ui/":       false, "https://localhost:11435/": false, "http://127.0.0.1:11435/": false, "http://localhost/": false,
		"http://localhost:11435@example.com/": false, "http://localhost:11435.example.com/": false, "https://example.com/": false,
		"blob:https://example.com/0c9d": false, "file:///etc/passwd": false, "data:text/html,x": false, "javascript:alert(1)": false, "about:gpu": false, "": false, "%zz": false,
	} {
		if got := in.may(address); got != want {
			t.Errorf("%q: %v", address, got)
		}
	}
	if Of("", nil).may("about:config") || Of("", nil).may("/ui/") {
		t.Error("a window of no origin shows something")
	}
}

func TestWhatTheWindowTurnsAwayIsOpenedOnlyForWhoeverClicked(t *testing.T) {
	var says bytes.Buffer
	in := Of("http://localhost:11435/", &says)
	in.turnedAway("https://example.com/by-itself", false)
	for _, no := range []string{"file:///etc/passwd", "javascript:alert(1)", "mailto:a@b.c", "%zz"} {
		in.turnedAway(no, true)
	}
	in.turnedAway("https://example.com/a b?c=1#d", true)
	if got, want := says.String(), "outside https://example.com/a%20b?c=1#d\n"; got != want {
		t.Errorf("said %q, want %q", got, want)
	}
}
