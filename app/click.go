package app

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/atotto/clipboard"

	"bellwether/app/tray"
	"bellwether/engine"
	"bellwether/platform/desktop"
)

// pauseReason is shown wherever the pause is, as that of `bellwether pause`.
const pauseReason = "paused by its owner"

// clicked does what a click asks for, on a goroutine of its own. What comes of
// it is seen in the feed; only what was not done is told here.
func (d *desk) clicked(action tray.Action) {
	d.tell(func(d *desk) { d.notice = "" })
	if err := d.do(d.ctx, action); err != nil {
		text := oneLine(err.Error())
		d.a.o.Log.Warn("a click could not be carried out", "item", action.Name, "err", err)
		d.tell(func(d *desk) { d.notice = text })
		d.a.notify("trouble", "Bellwether", text)
	}
}

func (d *desk) do(ctx context.Context, action tray.Action) error {
	switch action.Name {
	case tray.Pause:
		return d.a.pause(ctx, time.Time{})
	case tray.PauseHour:
		return d.a.pause(ctx, time.Now().Add(time.Hour))
	case tray.PauseTomorrow:
		return d.a.pause(ctx, engine.Tomorrow(time.Now()))
	case tray.Resume:
		return d.a.client.postKept(ctx, "/admin/resume", nil)
	case tray.Unload:
		return d.a.client.post(ctx, "/admin/models/unload", map[string]string{"deployment": action.Subject}, nil)
	case tray.Copy:
		return copyText(action.Subject)
	case tray.OpenWindow:
		return d.a.open(ctx)
	case tray.LoginOn, tray.LoginOff:
		return d.toggleLogin(ctx, action.Name == tray.LoginOn)
	case tray.ViewLog:
		return d.a.viewLog()
	case tray.StartEngine:
		d.tell((*desk).startEngine)
	case tray.Quit:
		d.tell((*desk).quit)
	case tray.QuitFinished:
		d.tell((*desk).quitAfter)
	case tray.QuitNow:
		d.stop()
	case tray.KeepRunning:
		d.tell((*desk).keep)
	default:
		return fmt.Errorf("%s is not there yet", action.Name)
	}
	return nil
}

// quit ends the program. While requests of ours run it asks: the menu has the
// answers. The engine of another program is none of ours to end.
func (d *desk) quit() {
	if d.theirs || d.engine == nil || d.heard == nil || d.heard.state.Active == 0 {
		d.stop()
		return
	}
	d.asked = true
	n := d.heard.state.Active
	d.notice = "Choose below what becomes of " + requests(n)
	go d.a.notify("trouble", "Quit Bellwether?", "It still has "+requests(n)+" to answer. Open the menu again and choose under Quit what becomes of them.")
}

// quitAfter takes no new requests and quits when there are none left.
func (d *desk) quitAfter() {
	if d.engine == nil || d.leaving {
		d.stop()
		return
	}
	d.engine.Drain()
	d.after, d.asked, d.phase = true, false, tray.Stopping
	if d.heard != nil && d.heard.state.Active == 0 {
		d.stop()
	}
}

// keep calls a quit off.
func (d *desk) keep() {
	if d.leaving {
		return // too late
	}
	if d.after && d.engine != nil {
		d.engine.Undrain()
		d.phase = tray.Serving
	}
	d.after, d.asked = false, false
}

// toggleLogin has the engine switch it, as every window and the CLI do; what
// comes of it is in the feed. Without an engine the system is asked here.
func (d *desk) toggleLogin(ctx context.Context, on bool) error {
	err := d.a.client.post(ctx, "/admin/login-item", map[string]bool{"on": on}, nil)
	if !errors.Is(err, errNoEngine) {
		return err
	}
	if on {
		err = d.a.o.Login.Enable(ctx)
	} else {
		err = d.a.o.Login.Disable(ctx)
	}
	d.tell((*desk).lookAtLogin)
	return err
}

func (a *app) login(ctx context.Context) tray.Login {
	status, err := a.o.Login.Status(ctx)
	if err != nil {
		return tray.Login{Reason: err.Error()}
	}
	return loginLine(status.Known, status.On, status.Can, status.Reason)
}

// loginLine is the start at login in the tray's words.
func loginLine(known, on, can bool, reason string) tray.Login {
	return tray.Login{Known: known, On: on, Fixed: !on && !can, Reason: oneLine(reason)}
}

func (a *app) pause(ctx context.Context, until time.Time) error {
	body := map[string]any{"reason": pauseReason}
	if !until.IsZero() {
		body["until"] = until
	}
	return a.client.postKept(ctx, "/admin/pause", body)
}

// open shows the admin window. An engine that has just been started may take a
// moment to write down where it is.
func (a *app) open(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, slowPatience)
	defer cancel()
	if err := a.awaitEngine(ctx); err != nil {
		return err
	}
	return a.window.Open(ctx)
}

func (a *app) viewLog() error {
	err := desktop.OpenFile(engine.LogPath(a.o.Folders))
	if err != nil {
		err = desktop.OpenFile(engine.AppLogPath(a.o.Folders))
	}
	return err
}

// copyText puts an address on the clipboard. macOS and Windows have one; on
// Linux it takes wl-copy, xclip or xsel. Without, the address itself is told.
func copyText(text string) error {
	if err := clipboard.WriteAll(text); err != nil {
		return fmt.Errorf("nothing here can copy (install wl-clipboard or xclip); the address is %s", text)
	}
	return nil
}

// notify shows a notification where the desktop has them; the menu tells the
// same.
func (a *app) notify(kind, title, text string) {
	a.tell(kind, func() error { return a.notifier.Notify(kind, title, text) })
}

// remind is notify of what takes an act of the owner: it waits for them.
func (a *app) remind(kind, title, text string) {
	a.tell(kind, func() error { return a.notifier.Remind(kind, title, text) })
}

func (a *app) tell(kind string, show func() error) {
	if a.notifier == nil || a.o.Notifies != nil && !a.o.Notifies(kind) {
		return
	}
	if err := show(); err != nil {
		a.o.Log.Debug("no notification was shown", "err", err)
	}
}

func requests(n int) string {
	if n == 1 {
		return "1 request"
	}
	return fmt.Sprintf("%d requests", n)
}

// oneLine fits a text into a menu: its first line, and not too much of it.
func oneLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	const most = 120
	if r := []rune(s); len(r) > most {
		s = string(r[:most-1]) + "…"
	}
	return s
}
