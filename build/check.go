package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// checkTask is for the time between two edits: the whole code is looked at,
// but only the packages that changed are tested.
func checkTask(ctx context.Context, _ []string) error {
	s := &suite{began: time.Now()}
	s.step("format", func() error { return checkFormat(ctx) })
	s.step("vet", func() error { return sh(ctx, nil, "go", "vet", "./...") })
	s.step("staticcheck", func() error { return sh(ctx, nil, "go", "tool", "staticcheck", "./...") })
	s.step("imports", func() error {
		return s.goTests(ctx, []string{"-run", "Imports|Pure|Arrows|SystemSpecific"}, "./engine")
	})
	s.step("changed packages", func() error {
		packages, err := changedPackages(ctx)
		if err != nil || len(packages) == 0 {
			return err
		}
		fmt.Println(strings.Join(packages, " "))
		s.noRace = prepareCompiler(ctx) != nil
		return s.goTests(ctx, s.raceFlags(), packages...)
	})
	s.step("builds", func() error { return buildEverywhere(ctx) })
	return s.summary()
}

// buildEverywhere builds the programs for the three systems, without cgo, GTK
// or npm, as a bare checkout would.
func buildEverywhere(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "bellwether-build")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	var wrong []error
	for _, goos := range systems {
		fmt.Println("go build for", goos)
		env := []string{"GOOS=" + goos, "CGO_ENABLED=0"}
		wrong = append(wrong, sh(ctx, env, "go", "build", "./..."))
		wrong = append(wrong, sh(ctx, env, "go", "build", "-o", filepath.Join(dir, goos)+string(filepath.Separator), "./cmd/..."))
	}
	for _, arch := range darwinArchs { // one of them was built above, by chance
		fmt.Println("go build and vet for darwin", arch)
		env := []string{"GOOS=darwin", "GOARCH=" + arch, "CGO_ENABLED=0"}
		wrong = append(wrong, sh(ctx, env, "go", "build", "./..."), sh(ctx, env, "go", "vet", "./..."))
	}
	return errors.Join(errors.Join(wrong...), buildWindowElsewhere(ctx, dir))
}

// buildWindowElsewhere looks at the window as it is released, as far as one
// system can for the others: Windows' is built whole, Linux' where its toolkit
// is, and the Go code of macOS', like the tray's, is type-checked.
func buildWindowElsewhere(ctx context.Context, dir string) error {
	var wrong []error
	for _, goos := range systems {
		env, args := windowBuild(goos)
		env = append(env, "GOOS="+goos)
		switch {
		case goos == "windows":
			fmt.Println("the window for windows")
			wrong = append(wrong, sh(ctx, env, "go", append(args, "-o", filepath.Join(dir, "window.exe"), windowPackage)...))
		case goos == runtime.GOOS && canBuildWindow(ctx):
			fmt.Println("the window for", goos)
			wrong = append(wrong, buildWindow(ctx, filepath.Join(dir, "window")))
		case goos == "darwin":
			wrong = append(wrong, checkDarwin(ctx))
		default:
			fmt.Println("The window for", goos, "is left out: its toolkit is not here (go run ./build window)")
		}
	}
	return errors.Join(wrong...)
}

// changedPackages lists the packages with files that differ from what was
// pushed, or where nothing was pushed, from the commit before the last.
func changedPackages(ctx context.Context) ([]string, error) {
	base := changeBase(ctx)
	changed, err := output(ctx, "git", "diff", "--name-only", base)
	if err != nil {
		return nil, fmt.Errorf("what changed is asked of git: %w", err)
	}
	added, err := output(ctx, "git", "ls-files", "--others", "--exclude-standard")
	if err != nil {
		return nil, err
	}
	return packagesOf(strings.Split(changed+"\n"+added, "\n"), hasGo), nil
}

func changeBase(ctx context.Context) string {
	for _, remote := range []string{"origin/HEAD", "origin/main"} {
		if base, err := output(ctx, "git", "merge-base", "HEAD", remote); err == nil && base != "" {
			return base
		}
	}
	if _, err := output(ctx, "git", "rev-parse", "HEAD~1"); err == nil {
		return "HEAD~1"
	}
	return "HEAD"
}

// packagesOf turns changed files into the packages to test, each once, sorted.
// A file below testdata, or embedded from a folder without Go files, counts
// for the nearest package above it.
func packagesOf(files []string, isPackage func(dir string) bool) []string {
	var packages []string
	for _, f := range files {
		if f == "" {
			continue
		}
		dir := filepath.ToSlash(filepath.Dir(f))
		for dir != "." && !isPackage(dir) {
			dir = filepath.ToSlash(filepath.Dir(dir))
		}
		if dir != "." {
			packages = append(packages, "./"+dir)
		}
	}
	slices.Sort(packages)
	return slices.Compact(packages)
}

// hasGo reports whether a folder is a Go package.
func hasGo(dir string) bool {
	if strings.Contains(dir, "testdata") {
		return false
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*.go"))
	return len(files) > 0
}
