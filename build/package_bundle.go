package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
)

// macosDir holds what the app for macOS is made of besides programs.
const macosDir = "build/macos"

// unfinishedDir, in the folder of the release, holds what is not ready to be
// published: assets/docs/release.md says what a Mac has yet to do with it.
const unfinishedDir = "unfinished"

// macos makes Bellwether.app. With programs that a Mac built it is what is to
// be signed there. Without, the program is made without C and therefore has no
// icon in the bar, and there is no window: good for a look at the bundle, and
// for bellwether serve. Neither is published, and the names say so.
func (r *release) macos(ctx context.Context) error {
	dir := filepath.Join(r.out, unfinishedDir)
	if r.binaries != "" {
		program := filepath.Join(r.binaries, "bellwether")
		window := filepath.Join(r.binaries, "bellwether-window")
		p, err := r.papers(ctx, "macos", "universal", program, window)
		if err != nil {
			return err
		}
		return r.bundle(filepath.Join(dir, "Bellwether.app"), program, window, p)
	}
	for _, arch := range r.archs {
		work := filepath.Join(r.work, "macos", arch)
		program, err := r.program(ctx, "darwin", arch, work)
		if err != nil {
			return err
		}
		p, err := r.papers(ctx, "macos", arch, program)
		if err != nil {
			return err
		}
		app := filepath.Join(work, "Bellwether.app")
		if err := r.bundle(app, program, "", p); err != nil {
			return err
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		if err := writeZip(filepath.Join(dir, r.name("bellwether", "macos", arch, "_unsigned_without-tray.zip")), app, r.at); err != nil {
			return err
		}
	}
	return nil
}

// bundle lays out an app. What talks to the network is its main program, for
// macOS asks its user on behalf of that one alone; the window is an app within,
// with a Dock icon of its own. window is "" where there is none.
func (r *release) bundle(app, program, window string, p papers) error {
	contents := filepath.Join(app, "Contents")
	if err := r.bundled(contents, "Info.plist", program); err != nil {
		return err
	}
	if err := p.putPlain(filepath.Join(contents, "Resources")); err != nil {
		return err
	}
	if window == "" {
		return nil
	}
	return r.bundled(filepath.Join(contents, "Helpers", "Bellwether Window.app", "Contents"), "Window-Info.plist", window)
}

// bundled writes the contents of one app.
func (r *release) bundled(contents, list, program string) error {
	text, err := os.ReadFile(filepath.Join(macosDir, list))
	if err != nil {
		return err
	}
	numbers := strings.TrimSuffix(windowsVersion(r.version), ".0") // macOS takes three
	if err := putFile(filepath.Join(contents, "Info.plist"), []byte(fill(string(text), map[string]string{"NUMBERS": numbers})), 0o644); err != nil {
		return err
	}
	picture, err := icns()
	if err != nil {
		return err
	}
	if err := putFile(filepath.Join(contents, "Resources", "bellwether.icns"), picture, 0o644); err != nil {
		return err
	}
	return copyFile(program, filepath.Join(contents, "MacOS", filepath.Base(program)))
}
