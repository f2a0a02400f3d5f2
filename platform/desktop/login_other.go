//go:build !darwin && !windows

package desktop

import (
	"context"
	"os"
	"path/filepath"
	"strings"
)

func (l *LoginItem) autostart() (autostart, error) {
	a := autostart{desktop: os.Getenv("XDG_CURRENT_DESKTOP")}
	if l.opts.Config != "" {
		a.user = filepath.Join(l.opts.Config, "autostart")
		return a, nil
	}
	config, err := os.UserConfigDir()
	if err != nil {
		return a, err
	}
	a.user = filepath.Join(config, "autostart")
	system := os.Getenv("XDG_CONFIG_DIRS")
	if system == "" {
		system = "/etc/xdg"
	}
	for dir := range strings.SplitSeq(system, ":") {
		if filepath.IsAbs(dir) {
			a.system = append(a.system, filepath.Join(dir, "autostart"))
		}
	}
	return a, nil
}

func (l *LoginItem) read(_ context.Context, program string) (LoginStatus, error) {
	a, err := l.autostart()
	if err != nil {
		return LoginStatus{}, err
	}
	entry, path, err := a.find()
	if no := isFolder(path); err != nil && no != nil {
		return LoginStatus{Known: true, Entry: path, Reason: no.Reason, Remedy: no.Remedy}, nil
	}
	s := LoginStatus{Known: err == nil, Can: true, Entry: path}
	if err != nil {
		return s, err
	}
	if entry != nil {
		s.On, s.Vetoed, s.Reason, s.Remedy = judge(entry, a.desktop)
		command := splitExec(entry["Exec"])
		switch {
		case s.On:
			s.On = false
			l.judge(&s, command, program)
		case len(command) > 0 && s.Reason == isGone(command[0]):
			l.judgeGone(&s, command, program)
		}
	}
	if !s.On && !s.Other && !hasDesktop(os.Getenv, exists) {
		s.Can = false
		s.Reason = "this machine has no desktop, so that nothing would start it at login"
		s.Remedy = "run it as a service: systemctl --user enable --now bellwether"
	}
	return s, nil
}

func (l *LoginItem) write(_ context.Context, program string) error {
	a, err := l.autostart()
	if err != nil {
		return err
	}
	return a.put(l.command(program))
}

func (l *LoginItem) remove(context.Context) error {
	a, err := l.autostart()
	if err != nil {
		return err
	}
	return a.drop()
}

// hasDesktop reports whether somebody can log in to a desktop here: we run in
// one, or sessions are installed (asked over ssh, no desktop is around us).
func hasDesktop(env func(string) string, holds func(pattern string) bool) bool {
	for _, name := range []string{"XDG_CURRENT_DESKTOP", "DESKTOP_SESSION", "WAYLAND_DISPLAY", "DISPLAY"} {
		if env(name) != "" {
			return true
		}
	}
	return holds("/usr/share/xsessions/*.desktop") || holds("/usr/share/wayland-sessions/*.desktop") || holds("/usr/local/share/*sessions/*.desktop")
}

func exists(pattern string) bool {
	found, _ := filepath.Glob(pattern)
	return len(found) > 0
}
