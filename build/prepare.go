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
)

// clientsDir holds the tests with the vendors' own client libraries.
const clientsDir = "build/clients"

// prepare brings in what the tests need beyond Go: a C compiler for the race
// detector, and the client libraries.
func prepare(ctx context.Context, s *suite) error {
	if err := prepareCompiler(ctx); err != nil {
		fmt.Println("The race detector is left out:", err)
		s.noRace = true
	}
	if err := sh(ctx, nil, "go", "mod", "download"); err != nil {
		return err
	}
	return prepareClients(ctx)
}

// prepareCompiler finds a C compiler, or installs one where this is a Debian
// whose root we are.
func prepareCompiler(ctx context.Context) error {
	for _, name := range []string{os.Getenv("CC"), "gcc", "clang", "cc"} {
		if name != "" && has(name) {
			return nil
		}
	}
	if runtime.GOOS == "darwin" {
		return nil // the detector brings its own there
	}
	if err := install(ctx, []string{"gcc", "libc6-dev"}); err != nil {
		return fmt.Errorf("there is no C compiler: %w", err)
	}
	return nil
}

// install brings packages in where this is a Debian whose root we are; the
// error says what to install by hand. An empty list is done.
func install(ctx context.Context, packages []string) error {
	if len(packages) == 0 {
		return nil
	}
	slices.Sort(packages)
	packages = slices.Compact(packages)
	if os.Geteuid() != 0 || !has("apt-get") {
		return fmt.Errorf("there is no right to install packages; on Debian and Ubuntu: sudo apt-get install %s", strings.Join(packages, " "))
	}
	if err := sh(ctx, nil, "apt-get", "update", "-q"); err != nil {
		return err
	}
	return sh(ctx, []string{"DEBIAN_FRONTEND=noninteractive"}, "apt-get", append([]string{"install", "-y", "-q", "--no-install-recommends"}, packages...)...)
}

// prepareClients installs the client libraries of the lock file, unless they
// are there already.
func prepareClients(ctx context.Context) error {
	if !exists(filepath.Join(clientsDir, "package-lock.json")) {
		return nil
	}
	if !has("npm") {
		return errors.New("npm is missing: install Node.js 20 or later, whose client libraries are part of the tests")
	}
	if upToDate(clientsDir) {
		return nil
	}
	return sh(ctx, nil, "npm", "ci", "--prefix", clientsDir, "--no-audit", "--no-fund")
}

// upToDate reports whether a folder's node_modules is of its lock file: npm
// writes its own copy last.
func upToDate(dir string) bool {
	lock, err1 := os.Stat(filepath.Join(dir, "package-lock.json"))
	installed, err2 := os.Stat(filepath.Join(dir, "node_modules", ".package-lock.json"))
	return err1 == nil && err2 == nil && !installed.ModTime().Before(lock.ModTime())
}
