package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// windowPackage is the only program that needs tags, and on Linux a toolkit.
const windowPackage = "./cmd/bellwether-window"

// windowPackages are what building the window takes from Debian.
var windowPackages = []string{"gcc", "libc6-dev", "libgtk-3-dev", "libwebkit2gtk-4.1-dev", "pkg-config"}

// windowTask builds the window beside where a bellwether may be built: into
// bin, or the folder given.
func windowTask(ctx context.Context, args []string) error {
	dir := "bin"
	if len(args) > 0 {
		dir = args[0]
	}
	if err := prepareWindow(ctx); err != nil {
		return err
	}
	if err := buildWindow(ctx, dir); err != nil {
		return err
	}
	fmt.Println(filepath.Join(dir, exe("bellwether-window")), "is built; bellwether finds it beside itself")
	return nil
}

// prepareWindow installs what the window is built from, where it is missing.
func prepareWindow(ctx context.Context) error {
	if canBuildWindow(ctx) {
		return nil
	}
	switch runtime.GOOS {
	case "linux":
		if err := install(ctx, windowPackages); err != nil {
			return fmt.Errorf("the window needs GTK 3 and WebKitGTK 4.1: %w", err)
		}
		return nil
	case "darwin":
		return errors.New("the window needs Apple's compiler: run xcode-select --install")
	}
	return fmt.Errorf("there is no window for %s", runtime.GOOS)
}

// canBuildWindow reports whether everything is there to build the window.
func canBuildWindow(ctx context.Context) bool {
	switch runtime.GOOS {
	case "windows":
		return true // its web view is loaded without any C
	case "darwin":
		return has("clang")
	case "linux":
		_, err := output(ctx, "pkg-config", "--exists", "gtk+-3.0", "webkit2gtk-4.1")
		return err == nil && (has("gcc") || has("clang") || has("cc"))
	}
	return false
}

// windowIfAtHand builds the window for a task that does without where it has
// to: nobody is made to install a toolkit, the browser shows the same.
func windowIfAtHand(ctx context.Context, dir string) {
	if !canBuildWindow(ctx) {
		fmt.Println("The admin UI opens in the browser: go run ./build window builds a window for it.")
		return
	}
	if err := buildWindow(ctx, dir); err != nil && ctx.Err() == nil {
		fmt.Println("The admin UI opens in the browser:", err)
	}
}

// buildWindow builds the real window into dir, and asks what came of it: a
// build without the right tags compiles too, and shows nothing.
func buildWindow(ctx context.Context, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	program := filepath.Join(dir, exe("bellwether-window"))
	env, args := windowBuild(runtime.GOOS)
	if err := sh(ctx, env, "go", append(args, "-o", program, windowPackage)...); err != nil {
		return err
	}
	abs, err := filepath.Abs(program)
	if err != nil {
		return err
	}
	return showsWindows(ctx, abs)
}

// windowBuild is how the window is built for a system: what it needs in its
// environment, and the arguments of go.
func windowBuild(goos string) (env, args []string) {
	tags := map[string]string{
		"linux":   "desktop,production,webkit2_41", // 4.1 is in every current distribution, 4.0 is not
		"windows": "desktop,production,wv2runtime.error",
		"darwin":  "desktop,production",
	}[goos]
	flags := "-s -w"
	env = []string{"CGO_ENABLED=1"}
	switch goos {
	case "windows":
		env = []string{"CGO_ENABLED=0"}
		flags += " -H windowsgui" // no console behind it
	case "darwin":
		env = append(env, "CGO_LDFLAGS=-framework UniformTypeIdentifiers")
	}
	return env, []string{"build", "-tags", tags, "-trimpath", "-ldflags", flags}
}

// showsWindows asks a built program whether it is the window or the stub that
// a build without tags makes.
func showsWindows(ctx context.Context, program string) error {
	if runtime.GOOS == "windows" {
		return nil // without a console it has nowhere to say so; its tags are windowBuild's
	}
	said, err := output(ctx, program, "--version")
	if err != nil {
		return err
	}
	if !strings.HasSuffix(said, " window") {
		return fmt.Errorf("%s shows no window, it says: %s (were the tags desktop and production left out?)", program, said)
	}
	return nil
}
