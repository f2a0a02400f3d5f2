package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// browserDir holds the tests of the admin UI in a real browser.
const browserDir = "build/ui"

// browsers are the names that Chromium goes by, the one of Debian first.
var browsers = []string{"chromium", "chromium-browser", "google-chrome-stable", "google-chrome"}

// browserTests goes through the admin UI of a real bellwether, over real
// stand-in runtimes, in a real browser. Without one to be had they are skipped.
func (s *suite) browserTests(ctx context.Context) error {
	return s.inBrowser(ctx, "*.test.js", 3*time.Minute)
}

// browserSoak measures the UI under the load of a fleet larger than any home's.
func (s *suite) browserSoak(ctx context.Context) error {
	if err := s.inBrowser(ctx, "*.soak.js", 15*time.Minute); err != nil {
		return err
	}
	for _, promises := range []string{"acts.test.js", "pages.test.js"} { // times as they are promised
		if err := s.inBrowser(ctx, promises, 5*time.Minute, "QUIET=1"); err != nil {
			return err
		}
	}
	return nil
}

// inBrowser runs the files of browserDir that match a pattern, each for at most
// a time.
func (s *suite) inBrowser(ctx context.Context, pattern string, each time.Duration, env ...string) error {
	if !exists(filepath.Join(browserDir, "package.json")) || !exists(filepath.Join(uiDir, "package.json")) {
		fmt.Println("none yet")
		return nil
	}
	browser, err := prepareBrowser(ctx)
	if err != nil {
		fmt.Println("The UI is not tested in a browser:", err)
		s.skipped++
		return nil
	}
	if !upToDate(browserDir) {
		if err := sh(ctx, nil, "npm", "ci", "--prefix", browserDir, "--no-audit", "--no-fund"); err != nil {
			return err
		}
	}
	if err := uiTask(ctx, nil); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "bellwether-browser")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := goBuild(ctx, dir, "./cmd/bellwether", "./cmd/fakeruntime"); err != nil {
		return err
	}
	return s.nodeTests(ctx, browserDir, pattern, each, append(env,
		"CHROMIUM="+browser,
		"BELLWETHER="+filepath.Join(dir, exe("bellwether")),
		"FAKERUNTIME="+filepath.Join(dir, exe("fakeruntime")))...)
}

// prepareBrowser finds Chromium, or installs it where this is a Debian whose
// root we are. CHROMIUM names another.
func prepareBrowser(ctx context.Context) (string, error) {
	find := func() (string, bool) {
		for _, name := range append([]string{os.Getenv("CHROMIUM")}, browsers...) {
			if path, err := exec.LookPath(name); err == nil {
				return path, true
			}
		}
		return "", false
	}
	if path, ok := find(); ok {
		return path, nil
	}
	if err := install(ctx, []string{"chromium"}); err != nil {
		return "", fmt.Errorf("there is no Chromium, which CHROMIUM may name: %w", err)
	}
	if path, ok := find(); ok {
		return path, nil
	}
	return "", errors.New("it was installed and is not found")
}
