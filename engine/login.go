package engine

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"bellwether/engine/admin"
	"bellwether/engine/dialect"
	"bellwether/engine/pulse"
	"bellwether/platform/desktop"
)

// LoginItem is the system's entry that starts Bellwether at login.
type LoginItem interface {
	Status(ctx context.Context) (desktop.LoginStatus, error)
	Enable(ctx context.Context) error
	Disable(ctx context.Context) error
}

// loginMemory is what is remembered of the start at login. Whether it is on,
// only the system knows.
type loginMemory struct {
	followed string // value of start_at_login that was carried out last, "" = none
	answered bool   // the owner was asked and has answered
}

// loginAct is what is done with the entry.
type loginAct int

const (
	loginLeave loginAct = iota
	loginEnable
	loginDisable
	loginRewrite // it is ours and starts what is no longer there, or as it was started once
)

// decideLogin says what a start of the engine, or a change of the setting,
// does with the entry.
//
//  1. An entry of ours that starts what is no longer there is written anew:
//     Bellwether was moved or updated. One of a program that is there, or with
//     other options, is another's, a second installation's among them, and left
//     alone until someone wants this one started.
//  2. A value that was carried out before does nothing. What its owner decided
//     since then, here or in the system's settings, stays.
//  3. on switches it on, unless its user switched it off in the system's settings.
//  4. off switches it off.
//  5. ask leaves it as it is.
func decideLogin(setting string, m loginMemory, s desktop.LoginStatus) (loginAct, loginMemory) {
	if !s.Known {
		return loginLeave, m // asked again at the next start
	}
	again := m.followed == setting // 2
	m.followed = setting
	switch {
	case setting == "off" && !again && (s.On || s.Moved): // 4
		m.answered = true
		return loginDisable, m
	case s.Moved: // 1
		return loginRewrite, m
	case setting == "on" && !again && !s.On && !s.Vetoed: // 3
		m.answered = true
		return loginEnable, m
	case setting == "on" || setting == "off" || s.On:
		m.answered = true
	}
	return loginLeave, m
}

// mayAsk reports whether the owner is to be asked: once, and only where yes
// would work.
func mayAsk(setting string, m loginMemory, s desktop.LoginStatus) bool {
	return setting == "ask" && !m.answered && s.Known && s.Can && !s.On && !s.Moved && !s.Other && !s.Vetoed
}

// loginSetting is where the memory is kept.
const loginSetting = "login.memory"

func (m loginMemory) String() string {
	if m.answered {
		return m.followed + " answered"
	}
	return m.followed
}

func parseLoginMemory(s string) loginMemory {
	followed, rest, _ := strings.Cut(s, " ")
	return loginMemory{followed, rest == "answered"}
}

func (e *Engine) loginMemory() loginMemory {
	saved, _, err := e.store.Setting(loginSetting)
	if err != nil {
		return loginMemory{answered: true} // better not asked than asked each time
	}
	return parseLoginMemory(saved)
}

func (e *Engine) rememberLogin(m loginMemory) {
	if err := e.store.SetSetting(loginSetting, m.String()); err != nil {
		e.log.Warn("it could not be remembered whether to start at login", "err", err)
	}
}

// followLogin carries start_at_login out.
func (e *Engine) followLogin(ctx context.Context) {
	item := e.opts.Login
	if item == nil {
		return
	}
	e.logins.Lock()
	defer e.logins.Unlock()
	c, before := e.conf(), e.loginMemory()
	s, err := item.Status(ctx)
	if err != nil {
		e.log.Warn("the system does not say whether Bellwether starts at login", "err", err)
		return
	}
	act, after := decideLogin(c.StartAtLogin, before, s)
	switch act {
	case loginEnable, loginRewrite:
		err = item.Enable(ctx)
	case loginDisable:
		err = item.Disable(ctx)
	}
	if err != nil { // not remembered, so it is tried again at the next start
		e.log.Warn("the setting start_at_login could not be followed", "err", err)
		return
	}
	if act != loginLeave {
		e.log.Info("start at login was changed", "setting", c.StartAtLogin, "on", act != loginDisable, "entry", s.Entry)
	}
	if after != before {
		e.rememberLogin(after)
	}
}

// loginTrouble is what keeps start_at_login: on from being carried out, nil =
// nothing does.
func (e *Engine) loginTrouble(ctx context.Context) *desktop.LoginStatus {
	c := e.conf()
	if e.opts.Login == nil || c.StartAtLogin != "on" {
		return nil
	}
	e.logins.Lock()
	defer e.logins.Unlock()
	if e.loginMemory().followed == "on" {
		return nil
	}
	s, err := e.opts.Login.Status(ctx)
	if err != nil {
		s.Reason = err.Error()
	}
	return &s
}

func checkLogin(s *scene) []check {
	if s.login == nil || s.login.On || s.login.Reason == "" {
		return nil
	}
	return []check{found("login", isNote, "Start at login", sentence(s.login.Remedy), "start_at_login is on, and could not be carried out: %s.", strings.TrimSuffix(s.login.Reason, ".")).about("start_at_login")}
}

// host answers what the admin UI asks of the machine around the engine.
type host struct{ e *Engine }

func (h host) OpenURL(address string) error {
	if h.e.opts.Browser != nil {
		return h.e.opts.Browser(address)
	}
	return desktop.OpenURL(address)
}

// Login reads the system's truth. One that is on was answered for, wherever it
// was switched on.
func (h host) Login(ctx context.Context) admin.LoginView {
	e := h.e
	if e.opts.Login == nil {
		return noLogin
	}
	e.logins.Lock()
	defer e.logins.Unlock()
	s, err := e.opts.Login.Status(ctx)
	if err == nil && s.On {
		if m := e.loginMemory(); !m.answered {
			m.answered = true
			e.rememberLogin(m)
		}
	}
	return e.loginSees(s, err)
}

var noLogin = admin.LoginView{Reason: "this bellwether was started by another program, which says when"}

// loginSees puts the system's word into the view, and keeps it for the feed.
func (e *Engine) loginSees(s desktop.LoginStatus, err error) (v admin.LoginView) {
	if err != nil {
		v = admin.LoginView{Reason: err.Error()}
	} else {
		v = admin.LoginView{Known: s.Known, On: s.On, Can: s.Can, Reason: s.Reason, Remedy: s.Remedy, Entry: s.Entry,
			Ask: e.opts.AskLogin && mayAsk(e.conf().StartAtLogin, e.loginMemory(), s)}
	}
	e.login.Store(&v)
	return v
}

// loginSeen is the last look at the login item, for the feed.
func (e *Engine) loginSeen() admin.LoginView {
	if v := e.login.Load(); v != nil {
		return *v
	}
	return admin.LoginView{}
}

const (
	loginEvery = 5 * time.Second  // between looks at the login item, which its user may change elsewhere
	loginBound = 15 * time.Second // of one look
)

// watchLogin looks at the login item while somebody watches, until ctx ends. A
// look that hangs is left behind, and another one begun.
func (e *Engine) watchLogin(ctx context.Context) error {
	if e.opts.Login == nil {
		e.login.Store(&noLogin)
		return nil
	}
	round := pulse.Round{Bound: loginBound}
	type seen struct {
		ticket uint64
		status desktop.LoginStatus
		err    error
	}
	came := make(chan seen)
	look := func() {
		ticket, ok := round.Begin(time.Now())
		if !ok {
			return
		}
		go func() {
			s, err := e.opts.Login.Status(ctx)
			select {
			case came <- seen{ticket, s, err}:
			case <-ctx.Done():
			}
		}()
	}
	look()
	tick := time.NewTicker(loginEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			if e.feed.Watched() {
				look()
			}
		case s := <-came:
			if !round.End(s.ticket) {
				continue
			}
			before := e.loginSeen()
			if e.loginSees(s.status, s.err) != before {
				e.feed.Touched()
			}
		}
	}
}

func (h host) SetLogin(ctx context.Context, on bool) error {
	e := h.e
	if e.opts.Login == nil {
		return &dialect.Problem{Status: http.StatusConflict, Code: "not_here", Message: "This bellwether was started by another program, which says when."}
	}
	e.logins.Lock()
	defer e.logins.Unlock()
	act := e.opts.Login.Disable
	if on {
		act = e.opts.Login.Enable
	}
	if err := act(ctx); err != nil {
		var no *desktop.LoginError
		if errors.As(err, &no) {
			return &dialect.Problem{Status: http.StatusConflict, Code: "login_refused", Message: sentence(no.Reason), Remedy: sentence(no.Remedy)}
		}
		return &dialect.Problem{Status: http.StatusBadGateway, Code: "login_failed", Message: sentence(err.Error())}
	}
	h.answered()
	return nil
}

func (h host) LeaveLogin() {
	h.e.logins.Lock()
	defer h.e.logins.Unlock()
	h.answered()
}

// answered remembers that the owner has decided. Under logins.
func (h host) answered() {
	m := h.e.loginMemory()
	m.answered = true
	h.e.rememberLogin(m)
}
