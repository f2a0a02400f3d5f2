package admin

import "net/http"

// askWindow asks whoever can show the admin window on this machine to do so: a
// second start of the app has the first one come to the front. That one reads
// it in the feed (EngineView.WindowAsked); nobody is waited for.
func (a *api) askWindow(w http.ResponseWriter, _ *http.Request) {
	a.AskWindow()
	a.touched()
	answer(w, http.StatusAccepted, map[string]bool{"asked": true})
}
