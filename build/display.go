package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"image"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// display is a screen that nobody sees, with a session bus and a home of its
// own: what runs on it touches nothing of the user's. Linux only.
type display struct {
	name    string // ":7"
	dir     string // home and XDG folders; gone with stop
	bus     string // address of the session bus, "" = there is none
	started []*exec.Cmd
}

// startWithin is how long a server of a display may take to stand.
const startWithin = time.Minute

// startDisplay starts Xvfb and a session bus. Whoever starts one stops it.
func startDisplay(ctx context.Context) (d *display, err error) {
	d = &display{}
	defer func() {
		if err != nil {
			d.stop()
		}
	}()
	if d.dir, err = os.MkdirTemp("", "bellwether-display"); err != nil {
		return d, err
	}
	for _, sub := range []string{"config", "cache", "data", "state", "run"} {
		if err := os.Mkdir(filepath.Join(d.dir, sub), 0o700); err != nil {
			return d, err
		}
	}
	// The server chooses a free number itself and tells it once it accepts: no
	// guessing at numbers, no waiting for a time.
	number, err := d.serve(ctx, true, "Xvfb", "-displayfd", "3", "-screen", "0", "1280x800x24", "-nolisten", "tcp")
	if err != nil {
		return d, err
	}
	d.name = ":" + number
	d.bus, err = d.serve(ctx, false, "dbus-daemon", "--session", "--nofork", "--nopidfile", "--print-address=1", "--address=unix:dir="+d.dir)
	return d, err
}

// serve starts a server and returns the first line it tells, on descriptor 3
// or its standard output.
func (d *display) serve(ctx context.Context, third bool, name string, args ...string) (string, error) {
	told, tells, err := os.Pipe()
	if err != nil {
		return "", err
	}
	defer told.Close()
	cmd := d.command(ctx, name, args...)
	if third {
		cmd.ExtraFiles = []*os.File{tells}
	} else {
		cmd.Stdout = tells
	}
	err = d.background(cmd)
	_ = tells.Close()
	if err != nil {
		return "", fmt.Errorf("start %s: %w", name, err)
	}
	_ = told.SetReadDeadline(time.Now().Add(startWithin))
	line, err := bufio.NewReader(told).ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("%s did not say where it answers: %w", name, err)
	}
	return strings.TrimSpace(line), nil
}

// command makes a process that sees this display, its bus and its folders only.
func (d *display) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := command(ctx, name, args...)
	cmd.Env = append(d.env(), cmd.Env...)
	return cmd
}

// background starts a process that stop ends.
func (d *display) background(cmd *exec.Cmd) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	d.started = append(d.started, cmd)
	return nil
}

// env is ours, with what says where screen, bus and home are replaced.
func (d *display) env() []string {
	var env []string
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		switch {
		case strings.HasPrefix(name, "XDG_"), strings.HasPrefix(name, "DBUS_"), strings.HasPrefix(name, "LC_"), strings.HasPrefix(name, "LANG"),
			name == "HOME", name == "DISPLAY", name == "WAYLAND_DISPLAY":
		default:
			env = append(env, v)
		}
	}
	return append(env,
		"DISPLAY="+d.name, "DBUS_SESSION_BUS_ADDRESS="+d.bus, "HOME="+d.dir,
		"XDG_CONFIG_HOME="+filepath.Join(d.dir, "config"), "XDG_CACHE_HOME="+filepath.Join(d.dir, "cache"),
		"XDG_DATA_HOME="+filepath.Join(d.dir, "data"), "XDG_STATE_HOME="+filepath.Join(d.dir, "state"), "XDG_RUNTIME_DIR="+filepath.Join(d.dir, "run"),
		"LANG=C.UTF-8",   // what a small Debian has, and the hardest for web views: it names no language
		"NO_AT_BRIDGE=1") // accessibility would start a bus of its own
}

// output runs a command on the display and returns what it printed.
func (d *display) output(ctx context.Context, name string, args ...string) (string, error) {
	out, err := d.command(ctx, name, args...).Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("%w: %s", err, strings.TrimSpace(string(exit.Stderr)))
	}
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return strings.TrimRight(string(out), "\n"), nil
}

// screenshot is what the screen shows, kept as a PNG at path.
func (d *display) screenshot(ctx context.Context, path string) (image.Image, error) {
	if _, err := d.output(ctx, "scrot", "-o", path); err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return png.Decode(f)
}

// startStage makes what a test of the window or the tray needs: the programs,
// each by the Debian package it comes in, the built UI and a screen. Where they
// are not to be had the test is skipped: it returns nil and no error.
func (s *suite) startStage(ctx context.Context, what string, programs map[string]string) (*display, error) {
	if err := errors.Join(prepareWindow(ctx), prepareDisplay(ctx, programs)); err != nil {
		fmt.Println(what, "is not tested on a screen:", err)
		s.skipped++
		return nil, nil
	}
	if err := uiTask(ctx, nil); err != nil {
		return nil, err
	}
	d, err := startDisplay(ctx)
	if err != nil {
		return nil, err
	}
	return d, nil
}

// standIn starts the fakeruntime of a folder of programs, and writes settings
// that name it into a data folder. It returns the stand-in's address.
func (d *display) standIn(ctx context.Context, programs, data string) (url string, err error) {
	cmd := d.command(ctx, filepath.Join(programs, "fakeruntime"), "--kind", "ollama", "--addr", "127.0.0.1:0", "-m", "tiny=40MB,ctx=8192,caps=completion+tools")
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := d.background(cmd); err != nil {
		return "", err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("the stand-in: %w", err)
	}
	url = strings.TrimSpace(line)
	text := fmt.Sprintf("node: {name: studio}\nmeetings: {enabled: false}\nrouting: {hold: {max: 0s}}\nruntimes:\n  - {name: ollama, kind: ollama, url: %q}\n", url)
	if err := os.MkdirAll(data, 0o700); err != nil {
		return "", err
	}
	return url, os.WriteFile(filepath.Join(data, "config.yaml"), []byte(text), 0o600)
}

// stop ends what startDisplay started, the last first, and takes its folders away.
func (d *display) stop() {
	for i := len(d.started) - 1; i >= 0; i-- {
		_ = d.started[i].Process.Kill()
		_ = d.started[i].Wait()
	}
	if d.dir != "" {
		_ = os.RemoveAll(d.dir)
	}
}

// displayPackages are what a display and the tests on it take from Debian.
var displayPackages = map[string]string{
	"Xvfb": "xvfb", "scrot": "scrot", "xdotool": "xdotool", "xfwm4": "xfwm4", "dbus-daemon": "dbus",
}

// prepareDisplay installs what a display needs and is missing, with more
// packages by the program that each is for. The error says why there is none.
func prepareDisplay(ctx context.Context, more map[string]string) error {
	if runtime.GOOS != "linux" {
		return errors.New("screens that nobody sees are for Linux")
	}
	var missing []string
	for _, list := range []map[string]string{displayPackages, more} {
		for program, pkg := range list {
			if !has(program) {
				missing = append(missing, pkg)
			}
		}
	}
	return install(ctx, missing)
}

// poll asks again and again, until it is so or the time is over.
func poll(ctx context.Context, within time.Duration, what string, so func() bool) error {
	end := time.Now().Add(within)
	for !so() {
		if time.Now().After(end) {
			return fmt.Errorf("%s: not within %s", what, within)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
	return nil
}
