package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"
)

// packagesEnv says to the tests with the tag packages where those are.
const packagesEnv = "BELLWETHER_PACKAGES"

// packagedTask runs the tests of the packages, alone.
func packagedTask(ctx context.Context, _ []string) error {
	s := &suite{began: time.Now()}
	s.step("packages", func() error { return s.packageTests(ctx) })
	return s.summary()
}

// packageTests makes the packages for this machine's processor and installs
// them into a folder: deb, rpm, tar.gz. Elsewhere than on Linux they are
// skipped, and where what reads packages is not to be had.
func (s *suite) packageTests(ctx context.Context) error {
	if err := preparePackageTests(ctx); err != nil {
		fmt.Println("The packages are not tested:", err)
		s.skipped++
		return nil
	}
	dir, err := os.MkdirTemp("", "bellwether-packages")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := packageTask(ctx, []string{"--only", "linux", "--arch", runtime.GOARCH, "--out", dir}); err != nil {
		return err
	}
	if err := olderPackages(ctx, filepath.Join(dir, olderDir)); err != nil {
		return err
	}
	if err := os.Setenv(packagesEnv, dir); err != nil {
		return err
	}
	return s.goTests(ctx, []string{"-tags", "packages", "-run", "^TestPackaged", "-count=1", "-timeout=5m"}, "./build")
}

// olderDir, in the folder of packages, holds those of a former release, which
// are signed.
const olderDir = "older"

// olderPackages makes them: to be updated, and to see that the signer is asked.
func olderPackages(ctx context.Context, dir string) error {
	tools, err := os.MkdirTemp("", "bellwether-signer")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(tools) }()
	signer := filepath.Join(tools, "sign")
	if err := putFile(signer, []byte("#!/bin/sh\nsha256sum < \"$1\" > \"$1.asc\"\n"), 0o755); err != nil {
		return err
	}
	defer setenv(signEnv, signer)()
	defer setenv(maintainerEnv, "Ann Example <ann@example.com>")()
	return packageTask(ctx, []string{"--only", "linux", "--arch", runtime.GOARCH, "--version", "0.0.1", "--out", dir})
}

// packageReaders are the programs that look into packages, with their package
// in Debian.
var packageReaders = map[string]string{
	"dpkg": "dpkg", "rpm": "rpm", "desktop-file-validate": "desktop-file-utils", "systemd-analyze": "systemd",
}

func preparePackageTests(ctx context.Context) error {
	if runtime.GOOS != "linux" {
		return errors.New("they are Linux's")
	}
	var missing []string
	for program, pkg := range packageReaders {
		if !has(program) {
			missing = append(missing, pkg)
		}
	}
	return errors.Join(install(ctx, missing), prepareWindow(ctx))
}

// samePackages makes all packages twice and compares their checksums.
func (s *suite) samePackages(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "bellwether-packages")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	var sums [2]string
	for i := range sums {
		out := filepath.Join(dir, fmt.Sprint(i))
		if err := packageTask(ctx, []string{"--out", out}); err != nil {
			return err
		}
		text, err := os.ReadFile(filepath.Join(out, sumsName))
		if err != nil {
			return err
		}
		sums[i] = string(text)
	}
	return s.try("two runs make the same bytes", func() error {
		if sums[0] != sums[1] {
			return fmt.Errorf("they made different packages:\n%s\n%s", sums[0], sums[1])
		}
		return nil
	})
}
