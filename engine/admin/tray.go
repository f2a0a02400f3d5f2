package admin

import "net/http"

// TrayReport is how the icon in the bar fares, as the desktop app tells it. It
// counts for TrayLease, so that an app that is gone leaves no trouble behind.
type TrayReport struct {
	State  TrayState `json:"state"`
	Text   string    `json:"text"`   // what is wrong, a sentence; "" while shown
	Remedy string    `json:"remedy"` // what helps
}

// TrayState is one of the constants below.
type TrayState string

// How an icon fares.
const (
	TrayShown  TrayState = "shown"
	TrayUnseen TrayState = "unseen" // there is nothing that shows icons, or no desktop
	TrayStuck  TrayState = "stuck"  // what it shows is old
)

// tray takes the word of the desktop app of this machine.
func (a *api) tray(w http.ResponseWriter, r *http.Request) {
	var body TrayReport
	if !read(w, r, &body) {
		return
	}
	switch body.State {
	case TrayShown, TrayUnseen, TrayStuck:
	default:
		refuse(w, http.StatusBadRequest, "no_such_state", "state is shown, unseen or stuck.", "")
		return
	}
	a.TrayTold(body)
	answer(w, http.StatusOK, map[string]bool{"done": true})
}
