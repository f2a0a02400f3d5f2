package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
)

// program builds bellwether for a system into dir and returns its path. There
// is no C in it; what only macOS has and needs some, the icon in the bar, is
// left out by a build of another system.
func (r *release) program(ctx context.Context, goos, arch, dir string) (string, error) {
	return r.build(ctx, buildOf{goos: goos, arch: arch, env: []string{"CGO_ENABLED=0"}, pkg: "./cmd/bellwether", to: filepath.Join(dir, exeFor(goos, "bellwether"))})
}

// windowProgram builds the window for a system into dir. On Linux that takes
// the libraries of that very processor.
func (r *release) windowProgram(ctx context.Context, goos, arch, dir string) (string, error) {
	env, args := windowBuild(goos)
	flags := args[len(args)-1] // those of the linker come last
	args = args[1 : len(args)-2]
	if goos == "linux" {
		args = append(args, "-buildmode=pie") // there is C in it, and distributions want that
	}
	return r.build(ctx, buildOf{goos: goos, arch: arch, env: env, args: args, link: strings.TrimPrefix(flags, usualLink),
		pkg: windowPackage, to: filepath.Join(dir, exeFor(goos, "bellwether-window"))})
}

// buildOf says how a program is built beyond what all are.
type buildOf struct {
	goos, arch string
	env, args  []string
	link       string // more flags for the linker
	pkg, to    string
}

// usualLink are the flags of the linker that every program gets: no symbols,
// which make a third of it.
const usualLink = "-s -w"

// build builds a program such that the same sources make the same bytes
// wherever they stand, and returns its path.
func (r *release) build(ctx context.Context, b buildOf) (string, error) {
	env := append([]string{"GOOS=" + b.goos, "GOARCH=" + b.arch, "GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS=", "GOWORK=off"}, b.env...)
	args := append([]string{"build", "-trimpath", "-buildvcs=false"}, b.args...)
	args = append(args, "-ldflags", usualLink+b.link+" -X main.version="+r.version, "-o", b.to, b.pkg)
	if err := os.MkdirAll(filepath.Dir(b.to), 0o755); err != nil {
		return "", err
	}
	return b.to, sh(ctx, env, "go", args...)
}

func exeFor(goos, name string) string {
	if goos == "windows" {
		return name + ".exe"
	}
	return name
}
