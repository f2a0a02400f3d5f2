package main

import (
	"context"
	"fmt"
	"image"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"bellwether/app/window/child"
)

const (
	loginKey    = `HKCU\Software\Microsoft\Windows\CurrentVersion\Run`
	approvedKey = `HKCU\Software\Microsoft\Windows\CurrentVersion\Explorer\StartupApproved\Run`
)

// What Task Manager writes for a program that it switched off, with the time,
// and for one that it switched on.
const (
	switchedOff = "030000006A3C1B5D21E4DC01"
	switchedOn  = "020000000000000000000000"
)

// startsAtLogin clicks the second item of the menu's fourth part, twice. The
// setup that comes next finds no entry, and makes none.
func (s *wineStage) startsAtLogin(ctx context.Context) error {
	if err := s.choose(ctx, "login", 3, 1); err != nil {
		return err
	}
	err := poll(ctx, startWithin, "the entry starts the app", func() bool {
		return strings.Contains(s.registry(ctx, loginKey), `\bellwether-app.exe app --hidden`)
	})
	if err != nil {
		return err
	}
	if said := s.login(ctx, "status"); !strings.Contains(said, "starts when you log in") {
		return fmt.Errorf("login says %q", said)
	}
	if err := s.choose(ctx, "login-off", 3, 1); err != nil {
		return err
	}
	return poll(ctx, startWithin, "the entry is gone", func() bool { return !s.hasEntry(ctx) })
}

// login is what bellwether login says.
func (s *wineStage) login(ctx context.Context, do string) string {
	cmd := s.cmd(ctx, "wine", s.installed("bellwether.exe"), "login", do)
	said, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Sprintf("%s (%v)", said, err)
	}
	return string(said)
}

// hasEntry reports whether Windows starts Bellwether at login, but for what
// Task Manager says to that.
func (s *wineStage) hasEntry(ctx context.Context) bool {
	return strings.Contains(s.registry(ctx, loginKey), "ellwether")
}

// vetoes switches the start at login off as Task Manager does. Neither a wish
// nor an update changes that; only what switches it on there does.
func (s *wineStage) vetoes(ctx context.Context) error {
	if s.hasEntry(ctx) {
		return fmt.Errorf("the update made an entry that nobody asked for: %s", s.registry(ctx, loginKey))
	}
	if said := s.login(ctx, "on"); !strings.Contains(said, "starts when you log in") {
		return fmt.Errorf("login on says %q", said)
	}
	entry := s.registry(ctx, loginKey)
	if err := s.approve(ctx, switchedOff); err != nil {
		return err
	}
	stillOff := func(when string) error {
		said := s.login(ctx, "status")
		switch {
		case !strings.Contains(said, "does not start") || !strings.Contains(said, "Task Manager"):
			return fmt.Errorf("%s login says %q", when, said)
		case !strings.Contains(s.registry(ctx, approvedKey), switchedOff):
			return fmt.Errorf("%s what Task Manager wrote has become %s", when, s.registry(ctx, approvedKey))
		case s.registry(ctx, loginKey) != entry:
			return fmt.Errorf("%s the entry has become %s", when, s.registry(ctx, loginKey))
		}
		return nil
	}
	if err := stillOff("at once"); err != nil {
		return err
	}
	if err := s.menuSaysOff(ctx); err != nil {
		return err
	}
	if said := s.login(ctx, "on"); !strings.Contains(said, "Task Manager") || !strings.Contains(said, "exit status") {
		return fmt.Errorf("login on against Task Manager says %q", said)
	}
	if err := stillOff("after login on"); err != nil {
		return err
	}
	if err := s.upgrade(ctx); err != nil {
		return err
	}
	if err := stillOff("after an update"); err != nil {
		return err
	}
	if err := s.approve(ctx, switchedOn); err != nil {
		return err
	}
	if said := s.login(ctx, "status"); !strings.Contains(said, "starts when you log in") {
		return fmt.Errorf("switched on in Task Manager again, login says %q", said)
	}
	return nil
}

// menuSaysOff waits until the menu shows Start at login without a tick, and
// grey: it cannot be chosen.
func (s *wineStage) menuSaysOff(ctx context.Context) error {
	return poll(ctx, startWithin, "the menu shows the start at login as off", func() bool {
		menu, err := s.openMenu(ctx, "vetoed", 4)
		if err != nil {
			return false
		}
		_ = s.click(ctx, image.Pt(wineWidth/4, wineHeight/4), "1") // on the desktop: the menu closes
		y := menu.item(3, 1).Y
		return !darkIn(menu.shot, image.Rect(menu.corner.X+2, y-6, menu.corner.X+200, y+6)) &&
			darkIn(menu.shot, image.Rect(menu.corner.X+20, y-6-menuRow, menu.corner.X+200, y+6-menuRow)) // as what can be chosen is
	})
}

// darkIn reports whether a part of a picture has black in it.
func darkIn(m image.Image, part image.Rectangle) bool {
	for y := part.Min.Y; y < part.Max.Y; y++ {
		for x := part.Min.X; x < part.Max.X; x++ {
			if r, g, b, _ := m.At(x, y).RGBA(); r>>8 < 60 && g>>8 < 60 && b>>8 < 60 {
				return true
			}
		}
	}
	return false
}

// approve writes what Task Manager writes.
func (s *wineStage) approve(ctx context.Context, value string) error {
	_, err := s.run(ctx, "wine", "reg", "add", approvedKey, "/v", "Bellwether", "/t", "REG_BINARY", "/d", value, "/f")
	return err
}

// opensTheBrowser asks for the window, by the first item of the menu's fourth
// part. Wine has no WebView2, as older Windows 10 has not.
func (s *wineStage) opensTheBrowser(ctx context.Context) error {
	opened := filepath.Join(s.dir, "browser.txt")
	browser := filepath.Join(s.dir, "browser")
	script := fmt.Sprintf("#!/bin/sh\nprintf '%%s\\n' \"$1\" >> '%s'\n", opened)
	if err := putFile(browser, []byte(script), 0o755); err != nil {
		return err
	}
	if _, err := s.run(ctx, "wine", "reg", "add", `HKCU\Software\Wine\WineBrowser`, "/v", "Browsers", "/d", browser, "/f"); err != nil {
		return err
	}
	cmd := s.cmd(ctx, "wine", s.installed("bellwether-window.exe"))
	cmd.Env = append(cmd.Env, child.EnvURL+"="+s.state.Address)
	_ = cmd.Run() // its code is read from the state
	if code := cmd.ProcessState.ExitCode(); code != child.NoWebView {
		return fmt.Errorf("the window ends with %d, want %d", code, child.NoWebView)
	}
	if err := s.choose(ctx, "window", 3, 0); err != nil {
		return err
	}
	var link string
	err := poll(ctx, startWithin, "the browser opens", func() bool {
		said, _ := os.ReadFile(opened)
		link = strings.TrimSpace(string(said))
		return link != ""
	})
	if err != nil {
		return err
	}
	if status, err := statusOf(link); err != nil || status != http.StatusOK {
		return fmt.Errorf("the browser's link, %s, answers %d, %v", link, status, err)
	}
	log, err := os.ReadFile(s.user("AppData", "Local", "Bellwether", "Logs", "app.log"))
	if err != nil {
		return err
	}
	if !strings.Contains(string(log), "opens in the browser, not in a window") || !strings.Contains(string(log), "WebView2 runtime") {
		return fmt.Errorf("the log does not say why:\n%s", log)
	}
	return nil
}
