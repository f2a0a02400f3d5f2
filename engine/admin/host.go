package admin

import (
	"context"
	"net/http"
	"net/url"
)

// Host is the machine around the engine, as far as the admin UI asks things of
// it that a web page cannot do. Errors are shown to the caller as they are.
type Host interface {
	// OpenURL shows a web address in the user's browser.
	OpenURL(address string) error
	// Login says whether Bellwether starts at login, as the system has it now.
	Login(ctx context.Context) LoginView
	// SetLogin has it start at login, or not.
	SetLogin(ctx context.Context, on bool) error
	// LeaveLogin answers the question of the first start with no.
	LeaveLogin()
}

// LoginView is the start at login, by the system's own truth.
type LoginView struct {
	Known  bool   `json:"known"`  // the system could be asked
	On     bool   `json:"on"`     // it starts at the next login
	Can    bool   `json:"can"`    // it can be switched on here
	Reason string `json:"reason"` // why it is off although it should be on, or cannot be on; "" = nothing to say
	Remedy string `json:"remedy"`
	Entry  string `json:"entry"` // where the system keeps it
	// Ask says that its owner was not asked yet.
	Ask bool `json:"ask"`
}

// openURL opens a page for the admin UI's window, whose own links lead nowhere.
func (a *api) openURL(w http.ResponseWriter, r *http.Request) {
	var body struct {
		URL string `json:"url"`
	}
	if !read(w, r, &body) {
		return
	}
	u, err := url.Parse(body.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		refuse(w, http.StatusBadRequest, "no_web_address", "Only web addresses are opened: http:// or https://.", "")
		return
	}
	if err := a.Host.OpenURL(u.String()); err != nil {
		refuse(w, http.StatusNotImplemented, "no_browser", "No browser could be opened here.", "Open it yourself: "+u.String())
		return
	}
	answer(w, http.StatusOK, map[string]bool{"done": true})
}

func (a *api) login(w http.ResponseWriter, r *http.Request) {
	answer(w, http.StatusOK, a.Host.Login(r.Context()))
}

// setLogin takes {"on": true or false}; without it the question of the first
// start is answered, and nothing is changed.
func (a *api) setLogin(w http.ResponseWriter, r *http.Request) {
	var body struct {
		On *bool `json:"on"`
	}
	if !read(w, r, &body) {
		return
	}
	if body.On == nil {
		a.Host.LeaveLogin()
	} else if err := a.Host.SetLogin(r.Context(), *body.On); err != nil {
		trouble(w, err)
		return
	}
	view := a.Host.Login(r.Context())
	a.touched() // tray and windows agree with who asked, at once
	answer(w, http.StatusOK, view)
}
