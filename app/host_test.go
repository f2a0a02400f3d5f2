package app

import (
	"strings"
	"testing"
)

// T-04: whoever has no icon is told how to get one, for the desktop they have.
func TestEveryDesktopHasItsHelp(t *testing.T) {
	for desktop, says := range map[string]string{
		"ubuntu:GNOME": "gnome-shell-extension-appindicator", "GNOME": "AppIndicator", "KDE": "System Tray", "XFCE": "Status Tray", "sway": "waybar",
		"X-Cinnamon": "XApp", "i3": "snixembed", "LXQt": "Status Notifier", "MATE": "Notification Area", "": "StatusNotifierItem", "TWM": "StatusNotifierItem",
	} {
		if got := hostHelp(desktop); !strings.Contains(got, says) || !strings.HasSuffix(got, ".") {
			t.Errorf("%q: %s", desktop, got)
		}
	}
}

func TestALongTroubleFitsIntoTheMenu(t *testing.T) {
	if got := oneLine("a\nb"); got != "a" {
		t.Errorf("%q", got)
	}
	if got := []rune(oneLine(strings.Repeat("ü", 500))); len(got) != 120 || got[119] != '…' {
		t.Errorf("%d runes", len(got))
	}
}
