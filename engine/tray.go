package engine

import (
	"time"

	"bellwether/engine/admin"
)

// trayLease is how long a word on the icon counts: three of those that the
// desktop app sends.
const trayLease = 90 * time.Second

// trayNews is the last word on the icon.
type trayNews struct {
	admin.TrayReport
	at time.Time
}

// trayTold takes how the icon fares.
func (e *Engine) trayTold(r admin.TrayReport) {
	before := e.tray.Swap(&trayNews{r, time.Now()})
	if before == nil || before.TrayReport != r {
		e.feed.Touched()
	}
}

// checkTray tells what keeps the icon from being seen, while an app says so.
func checkTray(s *scene) []check {
	if s.tray == nil || s.now.Sub(s.tray.at) > trayLease {
		return nil
	}
	switch s.tray.State {
	case admin.TrayShown:
		return []check{found("tray", isOK, "Icon", "", "The desktop shows the icon.")}
	case admin.TrayStuck:
		return []check{found("tray", isWarning, "Icon", s.tray.Remedy, "%s", s.tray.Text)}
	}
	return []check{found("tray", isNote, "Icon", s.tray.Remedy, "%s", s.tray.Text)}
}
