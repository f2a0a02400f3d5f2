package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// wine is a Windows of its own on a display, in a folder that goes with it. It
// has one desktop, with a task bar below.
type wine struct {
	*display
	prefix string
}

// The size of the desktop of Wine, which is smaller than the screen.
const (
	wineWidth  = 1024
	wineHeight = 700
)

// winePackages are what Windows tests take from Debian, by program.
var winePackages = map[string]string{
	"wine": "wine", "/usr/lib/wine/wine64": "wine64", "makensis": "nsis", "x86_64-w64-mingw32-gcc": "gcc-mingw-w64-x86-64",
}

// prepareWine installs what the tests need of Windows.
func prepareWine(ctx context.Context) error {
	if runtime.GOARCH != "amd64" {
		return errors.New("the setup is of amd64, and Wine runs programs of its own processor only")
	}
	return prepareDisplay(ctx, winePackages)
}

// startWine makes the folder, and the one library that Go programs need and
// older Wines lack.
func startWine(ctx context.Context, d *display) (*wine, error) {
	w := &wine{display: d, prefix: filepath.Join(d.dir, "wine")}
	if _, err := w.run(ctx, "wineboot", "-i"); err != nil {
		return nil, err
	}
	library := filepath.Join(w.prefix, "drive_c", "windows", "system32", "bcryptprimitives.dll")
	if exists(library) {
		return w, nil
	}
	return w, sh(ctx, nil, "x86_64-w64-mingw32-gcc", "-shared", "-O2", "-s", "-Wall", "-Werror", "-o", library, filepath.Join(windowsDir, "prng.c"), "-ladvapi32")
}

// cmd makes a process of this Windows.
func (w *wine) cmd(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := w.command(ctx, name, args...)
	// Neither Mono nor Gecko is offered for download, and Wine keeps its thoughts to itself.
	cmd.Env = append(cmd.Env, "WINEPREFIX="+w.prefix, "WINEDEBUG=-all", "WINEDLLOVERRIDES=mscoree,mshtml=", "BROWSER=true")
	return cmd
}

// run waits for a program of this Windows and returns what it printed.
func (w *wine) run(ctx context.Context, name string, args ...string) (string, error) {
	out, err := w.cmd(ctx, name, args...).Output()
	if err != nil {
		return string(out), fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return strings.ReplaceAll(string(out), "\r", ""), nil
}

// onDesktop starts a program on the desktop, and does not wait for it.
func (w *wine) onDesktop(ctx context.Context, program string, args ...string) error {
	desktop := fmt.Sprintf("/desktop=bellwether,%dx%d", wineWidth, wineHeight)
	cmd := w.cmd(ctx, "wine", append([]string{"explorer", desktop, program}, args...)...)
	if err := cmd.Start(); err != nil {
		return err
	}
	w.started = append(w.started, cmd)
	return nil
}

// registry is what the registry holds below a key, "" = there is no such key.
func (w *wine) registry(ctx context.Context, key string) string {
	said, err := w.run(ctx, "wine", "reg", "query", key)
	if err != nil {
		return ""
	}
	return said
}

// user is a path in the folder of the only user.
func (w *wine) user(path ...string) string {
	homes, _ := filepath.Glob(filepath.Join(w.prefix, "drive_c", "users", "*"))
	for _, home := range homes {
		if filepath.Base(home) != "Public" {
			return filepath.Join(append([]string{home}, path...)...)
		}
	}
	return filepath.Join(w.prefix, "no user")
}

// inside is a path of this Windows as its programs write it.
func (w *wine) inside(path string) string {
	rest := strings.TrimPrefix(path, filepath.Join(w.prefix, "drive_c"))
	if rest == path {
		return `Z:` + strings.ReplaceAll(path, "/", `\`)
	}
	return `C:` + strings.ReplaceAll(rest, "/", `\`)
}

// end ends every program of this Windows. What a display started it ends itself.
func (w *wine) end(ctx context.Context) {
	cmd := w.cmd(context.WithoutCancel(ctx), "wineserver", "-k")
	_ = cmd.Run() // none runs any more: as well
	_ = os.RemoveAll(w.prefix)
}
