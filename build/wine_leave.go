package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// upgrades installs over the app, which is paused.
func (s *wineStage) upgrades(ctx context.Context) error {
	if err := s.upgrade(ctx); err != nil {
		return err
	}
	said, _ := s.run(ctx, "wine", s.installed("bellwether.exe"), "status")
	if !strings.Contains(said, "paused") {
		return fmt.Errorf("it was paused before, and now: %s", said)
	}
	return nil
}

// upgrade installs over the running app, which is what an update does, and
// waits until its successor serves.
func (s *wineStage) upgrade(ctx context.Context) error {
	before := s.state.PID
	if err := s.onDesktop(ctx, s.inside(s.setup), "/S"); err != nil {
		return err
	}
	if err := s.serves(ctx); err != nil {
		return err
	}
	old, err := filepath.Glob(s.installed("*.old"))
	switch {
	case err != nil:
		return err
	case s.state.PID == before:
		return errors.New("the app that ran goes on")
	case len(old) > 0:
		return fmt.Errorf("the app was not ended but pushed aside: %v", old)
	}
	return nil
}

func (s *wineStage) uninstalls(ctx context.Context) error {
	if err := s.leave(ctx); err != nil {
		return err
	}
	for _, path := range []string{s.user("AppData", "Local", "Bellwether", "bellwether.db"), s.user("AppData", "Roaming", "Bellwether", "config.yaml")} {
		if !exists(path) {
			return fmt.Errorf("it took %s, of which nobody spoke", path)
		}
	}
	return nil
}

// purges installs once more and removes everything.
func (s *wineStage) purges(ctx context.Context) error {
	if _, err := s.run(ctx, "wine", s.setup, "/S"); err != nil {
		return err
	}
	if err := s.leave(ctx, "/PURGE"); err != nil {
		return err
	}
	var left []string
	err := filepath.WalkDir(filepath.Join(s.prefix, "drive_c"), func(path string, _ os.DirEntry, err error) error {
		if strings.Contains(strings.ToLower(filepath.Base(path)), "bellwether") && !strings.Contains(path, "/Temp/") {
			left = append(left, path)
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, key := range []string{loginKey, uninstallKey, `HKCU\Software\Microsoft\Windows\CurrentVersion\App Paths\bellwether.exe`} {
		if said := s.registry(ctx, key); strings.Contains(strings.ToLower(said), "bellwether") {
			left = append(left, said)
		}
	}
	if len(left) > 0 {
		return fmt.Errorf("it left %s", strings.Join(left, "\n"))
	}
	return nil
}

// leave uninstalls and waits until programs, menu and entries are gone. The
// uninstaller goes on as a copy of itself, so that its own end says nothing.
func (s *wineStage) leave(ctx context.Context, more ...string) error {
	if err := s.onDesktop(ctx, s.inside(s.installed("uninstall.exe")), append([]string{"/S"}, more...)...); err != nil {
		return err
	}
	err := poll(ctx, startWithin, "the programs are gone", func() bool {
		return !exists(filepath.Dir(s.installed("x"))) && !exists(filepath.Dir(s.startMenu("x"))) && s.registry(ctx, uninstallKey) == ""
	})
	if err != nil {
		return err
	}
	if s.hasEntry(ctx) {
		return fmt.Errorf("it is still started at login: %s", s.registry(ctx, loginKey))
	}
	if said := s.registry(ctx, approvedKey); strings.Contains(said, "ellwether") {
		return fmt.Errorf("what Task Manager said of it is still there: %s", said)
	}
	if exists(s.user("AppData", "Local", "Bellwether", "engine.json")) {
		return errors.New("the app was not ended in order: its engine.json is there")
	}
	return nil
}
