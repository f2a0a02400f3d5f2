package app

import (
	"context"
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

// watchHost tells the owner, once and for all, when nothing shows the icon. One
// that appears later is found by the tray itself.
func (a *app) watchHost(ctx context.Context, place tray.Place) {
	wait := a.o.HostPatience
	if wait == 0 {
		wait = hostPatience
	}
	if place.Host(ctx) {
		return
	}
	select {
	case <-ctx.Done():
		return
	case <-time.After(wait):
	}
	if place.Host(ctx) {
		return
	}
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

// TrayFinding is the doctor's line on the icon. It is looked at from the
// session of whoever asks; false: there is nothing to say, for this is no
// desktop's session.
func TrayFinding(ctx context.Context) (admin.Finding, bool) {
	if runtime.GOOS == "darwin" || runtime.GOOS == "windows" || !graphical(os.Getenv) {
		return admin.Finding{}, false
	}
	place, err := tray.Find(ctx)
	switch {
	case err != nil:
		return admin.Finding{ID: "tray", Severity: "note", Text: "No icon can be shown: " + reason(err) + ".",
			Remedy: "Start it from the desktop's own session. bellwether open and the browser do everything the icon does."}, true
	case !place.Host(ctx):
		return admin.Finding{ID: "tray", Severity: "note", Text: "Tray host missing: nothing on this desktop shows icons of programs.",
			Remedy: hostHelp(os.Getenv("XDG_CURRENT_DESKTOP")) + " bellwether open and the browser do everything the icon does."}, true
	}
	return admin.Finding{ID: "tray", Severity: "ok", Text: "The desktop shows icons of programs."}, true
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
