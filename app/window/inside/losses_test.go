package inside

import (
	"io"
	"testing"
	"time"
)

func TestAPageIsLoadedAgainAFewTimesAMinute(t *testing.T) {
	var l losses
	at := time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)
	for i, want := range []bool{true, true, true, false} {
		if got := l.again(at.Add(time.Duration(i) * time.Second)); got != want {
			t.Errorf("loss %d: loaded again %v", i+1, got)
		}
	}
	if !l.again(at.Add(2 * time.Minute)) {
		t.Error("losses of long ago still count")
	}
}

func TestAOneTimeLinkIsNotLoadedAgain(t *testing.T) {
	o := Of("http://localhost:11435/admin/enter?t=x", io.Discard)
	for address, want := range map[string]bool{
		"http://localhost:11435/ui/#/models": true, "http://localhost:11435/": true,
		"http://localhost:11435/admin/enter?t=x": false, "wails://wails/": false, "": false, "about:blank": false, "http://example.com/": false,
	} {
		if got := o.loadable(address); got != want {
			t.Errorf("%q: %v, want %v", address, got, want)
		}
	}
}
