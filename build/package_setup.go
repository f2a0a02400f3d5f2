package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// windowsDir holds what Windows packages are made of besides programs.
const windowsDir = "build/windows"

// winresTool puts icon, manifest and version into a program.
const winresTool = "github.com/tc-hib/go-winres@v0.3.3"

// windowsPrograms are what is installed. The app is bellwether itself, linked
// as a program without a console: one program cannot be both.
var windowsPrograms = []struct{ file, title string }{
	{"bellwether.exe", "Bellwether command line"},
	{"bellwether-app.exe", "Bellwether"},
	{"bellwether-window.exe", "Bellwether window"},
}

// windows makes a setup and a zip for every processor.
func (r *release) windows(ctx context.Context) error {
	if err := prepareSetup(ctx); err != nil {
		return err
	}
	for _, arch := range r.archs {
		files := filepath.Join(r.work, "windows", arch, strings.TrimSuffix(r.name("bellwether", "windows", arch, ""), "_"))
		if err := r.windowsFiles(ctx, arch, files); err != nil {
			return err
		}
		if err := writeZip(filepath.Join(r.out, r.name("bellwether", "windows", arch, ".zip")), files, r.at); err != nil {
			return err
		}
		if err := r.setup(ctx, arch, files); err != nil {
			return err
		}
	}
	return nil
}

// prepareSetup finds what makes setups, or installs it.
func prepareSetup(ctx context.Context) error {
	if has("makensis") {
		return nil
	}
	if err := install(ctx, []string{"nsis"}); err != nil {
		return fmt.Errorf("the setup is made by makensis: %w", err)
	}
	return nil
}

// windowsFiles makes the folder of what is installed.
func (r *release) windowsFiles(ctx context.Context, arch, dir string) error {
	program, err := r.program(ctx, "windows", arch, dir)
	if err != nil {
		return err
	}
	app := buildOf{goos: "windows", arch: arch, env: []string{"CGO_ENABLED=0"}, link: " -H windowsgui", pkg: "./cmd/bellwether", to: filepath.Join(dir, "bellwether-app.exe")}
	if _, err := r.build(ctx, app); err != nil {
		return err
	}
	window, err := r.windowProgram(ctx, "windows", arch, dir)
	if err != nil {
		return err
	}
	p, err := r.papers(ctx, "windows", arch, program, window)
	if err != nil {
		return err
	}
	if err := r.resources(ctx, dir); err != nil {
		return err
	}
	for _, f := range windowsPrograms {
		if err := r.signer.within(ctx, filepath.Join(dir, f.file), fmt.Sprintf("%s of windows %s", f.file, arch)); err != nil {
			return err
		}
	}
	return p.putPlain(dir)
}

// resources puts icon, manifest and version into the built programs: into what
// was built, so that no build of somebody else finds half of them in the tree.
func (r *release) resources(ctx context.Context, dir string) error {
	text, err := os.ReadFile(filepath.Join(windowsDir, "winres.json"))
	if err != nil {
		return err
	}
	picture, err := ico()
	if err != nil {
		return err
	}
	work := filepath.Join(r.work, "winres")
	if err := putFile(filepath.Join(work, "icon.ico"), picture, 0o644); err != nil {
		return err
	}
	config := filepath.Join(work, "winres.json")
	for _, p := range windowsPrograms {
		values := map[string]string{"TITLE": p.title, "FILE": p.file, "VERSION": r.version, "NUMBERS": windowsVersion(r.version)}
		if err := putFile(config, []byte(fill(string(text), values)), 0o644); err != nil {
			return err
		}
		if err := sh(ctx, nil, "go", "run", winresTool, "patch", "--no-backup", "--in", config, filepath.Join(dir, p.file)); err != nil {
			return err
		}
	}
	return nil
}

// setup packs a folder into a program that installs it.
func (r *release) setup(ctx context.Context, arch, files string) error {
	entries, err := os.ReadDir(files)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := os.Chtimes(filepath.Join(files, e.Name()), r.at, r.at); err != nil {
			return err
		}
	}
	abs, err1 := filepath.Abs(r.out)
	script, err2 := filepath.Abs(filepath.Join(windowsDir, "setup.nsi"))
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	define := func(name, value string) string { return "-D" + name + "=" + value }
	args := []string{"-V2", "-WX",
		"-XTarget amd64-unicode", // Arm runs it too; a setup of 32 bits would not run where only 64 do
		define("VERSION", r.version), define("NUMBERS", windowsVersion(r.version)), define("ARCH", arch), define("FILES", files),
		define("ICON", filepath.Join(r.work, "winres", "icon.ico")), define("OUT", filepath.Join(abs, r.name("bellwether", "windows", arch, "_setup.exe")))}
	if r.signer.program != "" {
		args = append(args, define("SIGN", r.signer.program))
	}
	return sh(ctx, []string{"SOURCE_DATE_EPOCH=" + strconv.FormatInt(r.at.Unix(), 10)}, "makensis", append(args, script)...)
}
