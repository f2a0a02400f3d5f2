package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"bellwether/app/tray"
	"bellwether/engine/admin"
	"bellwether/platform/desktop"
)

// hostPatience is how long a desktop may take to show its bar after login.
const hostPatience = 30 * time.Second

// hostNoted is there once its owner was told that no icon can be shown.
const hostNoted = "tray-notice"

// hostNews is how the icon fares as far as the desktop goes.
type hostNews func(admin.TrayReport)

// watchHost follows whether something shows the icon, and tells. Its owner is
// told that nothing does after a while, for a desktop takes its time, and once
// and for all. What appears later is found by the tray itself.
func (a *app) watchHost(ctx context.Context, place tray.Place, tell hostNews) {
	wait := a.o.HostPatience
	if wait == 0 {
		wait = hostPatience
	}
	hosts, err := place.Hosts(ctx)
	if err != nil {
		a.o.Log.Debug("whether something shows the icon is not known", "err", err)
		return
	}
	patience := time.NewTimer(wait)
	defer patience.Stop()
	for {
		select {
		case there, open := <-hosts:
			switch {
			case !open:
				return
			case there:
				patience.Stop()
				tell(admin.TrayReport{State: admin.TrayShown})
			default:
				tell(noHost())
				patience.Reset(wait)
			}
		case <-patience.C:
			a.noteNoHost()
		}
	}
}

// noHost is the word on a desktop that shows no icons.
func noHost() admin.TrayReport {
	return admin.TrayReport{State: admin.TrayUnseen, Text: "Tray host missing: nothing on this desktop shows icons of programs.",
		Remedy: hostHelp(os.Getenv("XDG_CURRENT_DESKTOP")) + asGood}
}

// noSession is the word on a session without a bus.
func noSession(why error) admin.TrayReport {
	if !graphical(os.Getenv) {
		return admin.TrayReport{State: admin.TrayUnseen, Text: "No icon is shown: " + reason(why) + ", as on a machine without a desktop.",
			Remedy: "bellwether serve runs the same without looking for one." + asGood}
	}
	return admin.TrayReport{State: admin.TrayUnseen, Text: "No icon is shown: " + reason(why) + ".",
		Remedy: "Start it from the desktop's own session." + asGood}
}

const asGood = " bellwether open and the browser do everything the icon does."

// noteNoHost tells its owner, once, that no icon can be shown.
func (a *app) noteNoHost() {
	help := hostHelp(os.Getenv("XDG_CURRENT_DESKTOP"))
	a.o.Log.Warn("nothing on this desktop shows the icon; bellwether open shows the admin UI", "help", help)
	path := filepath.Join(a.o.Folders.Data, hostNoted)
	if _, err := os.Stat(path); err == nil {
		return
	}
	a.notify("trouble", "Bellwether runs without an icon", help+" Until then: bellwether open, or the address in a browser.")
	if err := desktop.WritePrivate(path, []byte(time.Now().Format(time.RFC3339)+"\n")); err != nil {
		a.o.Log.Warn("it could not be noted that this was told", "err", err)
	}
}

// TrayFinding is the doctor's line on the icon of a data folder. It is looked
// at from the session of whoever asks; false: there is nothing to say, for this
// is no desktop's session. Its ID is another where it is on the desktop alone,
// since nobody here has an icon.
func TrayFinding(ctx context.Context, folders desktop.Folders) (admin.Finding, bool) {
	if runtime.GOOS == "darwin" || runtime.GOOS == "windows" || !graphical(os.Getenv) {
		return admin.Finding{}, false
	}
	f := admin.Finding{ID: "tray", Severity: "note"}
	place, err := tray.Find(ctx)
	switch {
	case err != nil:
		word := noSession(err)
		f.Text, f.Remedy = word.Text, word.Remedy
		return f, true
	case !place.Host(ctx):
		word := noHost()
		f.Text, f.Remedy = word.Text, word.Remedy
		return f, true
	}
	owner := &claim{dir: folders.Data}
	err = owner.take()
	owner.drop()
	var held *desktop.HeldError
	if !errors.As(err, &held) {
		return admin.Finding{ID: "tray.desktop", Severity: "ok", Text: "The desktop shows icons of programs."}, true
	}
	switch place.Stands(ctx, held.PID) {
	case tray.Absent:
		f.Text = fmt.Sprintf("The desktop shows icons, and Bellwether's (pid %d) is not among them: it runs in another session.", held.PID)
		f.Remedy = "Quit it and start it in this session to have it here." + asGood
	case tray.Waiting:
		f.Text = fmt.Sprintf("The desktop shows icons, and has not taken Bellwether's (pid %d).", held.PID)
		f.Remedy = "Start the panel anew, or log out and in again." + asGood
	default:
		f.Severity, f.Text = "ok", "The desktop shows the icon."
	}
	return f, true
}

// graphical reports that this is a session with a screen.
func graphical(env func(string) string) bool {
	return env("DISPLAY") != "" || env("WAYLAND_DISPLAY") != ""
}

// hostHelp says how a desktop comes to show icons. desktop is as
// XDG_CURRENT_DESKTOP names it: one or more names with colons between.
func hostHelp(desktop string) string {
	for name := range strings.SplitSeq(strings.ToLower(desktop), ":") {
		switch name {
		case "gnome", "gnome-classic", "ubuntu", "pop":
			return "Install the GNOME extension AppIndicator and KStatusNotifierItem Support (package gnome-shell-extension-appindicator), log in again and switch it on in Extensions."
		case "kde":
			return "Add the widget System Tray to a panel."
		case "xfce":
			return "Add the item Status Tray Plugin to the panel."
		case "mate":
			return "Add Indicator Applet or Notification Area (mate-panel 1.24 or later) to the panel."
		case "lxqt":
			return "Add the plugin Status Notifier to the panel."
		case "x-cinnamon", "cinnamon":
			return "Add the applet XApp Status Applet to the panel."
		case "sway", "hyprland", "river", "wlroots":
			return "Use a bar with a tray: waybar with its module tray."
		case "i3":
			return "i3bar shows older icons only: add snixembed, or use a bar that knows StatusNotifierItem."
		}
	}
	return "Use a panel or bar that shows StatusNotifierItem icons (KDE, Xfce, LXQt, waybar; GNOME with the extension AppIndicator)."
}

// quiet passes what libraries print on to the log, for developers.
type quiet struct{ log *slog.Logger }

func (q quiet) Write(line []byte) (int, error) {
	q.log.Debug(strings.TrimSpace(string(line)))
	return len(line), nil
}
