package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// archive lays out what install.sh finds beside itself; its program prints text.
func archive(t *testing.T, text string) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the archive is for Linux")
	}
	if err := toModuleRoot(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	program := filepath.Join(t.TempDir(), "bellwether")
	if err := putFile(program, []byte("#!/bin/sh\necho "+text+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	r := &release{version: "1.2.3"}
	if err := r.linuxTree(dir, "%h/.local/bin/bellwether", program, papers{}); err != nil {
		t.Fatal(err)
	}
	if err := copyFile(filepath.Join(linuxDir, installScript), filepath.Join(dir, installScript)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// runInstall runs the script of an archive for a home.
func runInstall(t *testing.T, dir, home string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(dir, installScript), args...)
	cmd.Env = append(os.Environ(), "HOME="+home)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// Menus are started without ~/.local/bin in PATH: a name alone is no entry.
func TestTheInstalledMenuEntryNamesTheProgramByItsPath(t *testing.T) {
	dir, home := archive(t, "one"), filepath.Join(t.TempDir(), "änn o'lee")
	said, err := runInstall(t, dir, home)
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	program := filepath.Join(home, ".local/bin/bellwether")
	for file, lines := range map[string][]string{
		"share/applications/bellwether.desktop": {`Exec="` + program + `"`, "TryExec=" + program},
		"share/systemd/user/bellwether.service": {`ExecStart="` + program + `" serve`},
	} {
		text := "\n" + string(must(os.ReadFile(filepath.Join(home, ".local", file))))
		for _, line := range lines {
			if !strings.Contains(text, "\n"+line+"\n") {
				t.Errorf("%s lacks the line %s:\n%s", file, line, text)
			}
		}
	}
	if !strings.Contains(said, "have "+filepath.Dir(program)+" in PATH") {
		t.Errorf("it says %q", said)
	}
	entry := filepath.Join(home, ".local/share/applications/bellwether.desktop")
	if has("desktop-file-validate") {
		if out, err := exec.CommandContext(t.Context(), "desktop-file-validate", entry).CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	}
}

// Packages for both processors lie side by side: a pattern would name them all.
func TestPackageSaysTheExactCommandThatInstalls(t *testing.T) {
	r := &release{version: "1.2.3", archs: []string{"amd64", "arm64"}, out: filepath.Join(t.TempDir(), "my dist")}
	if said := r.howToInstall("linux", "amd64"); said != "" {
		t.Errorf("of packages that were not made: %s", said)
	}
	for _, name := range []string{"bellwether_1.2.3_linux_amd64.deb", "bellwether-window_1.2.3_linux_amd64.deb", "bellwether_1.2.3_linux_arm64.deb", "bellwether_1.2.2_linux_amd64.deb", "bellwether_1.2.3_linux_amd64.rpm"} {
		if err := putFile(filepath.Join(r.out, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want := "To install it on this machine, one of:\n" +
		"    sudo apt install 'OUT/bellwether_1.2.3_linux_amd64.deb' 'OUT/bellwether-window_1.2.3_linux_amd64.deb'\n" +
		"    sudo dnf install 'OUT/bellwether_1.2.3_linux_amd64.rpm'\n"
	if said := r.howToInstall("linux", "amd64"); said != strings.ReplaceAll(want, "OUT", r.out) {
		t.Errorf("it says\n%s", said)
	}
	for goos, arch := range map[string]string{"linux": "riscv64", "windows": "amd64"} {
		if said := r.howToInstall(goos, arch); said != "" {
			t.Errorf("on %s %s: %s", goos, arch, said)
		}
	}
	if got := asArgument("dist/a.deb"); got != "./dist/a.deb" {
		t.Errorf("a plain path: %s", got)
	}
}

func TestInstallingAgainReplacesTheProgram(t *testing.T) {
	home := t.TempDir()
	to := filepath.Join(home, "opt")
	for _, version := range []string{"one", "two"} {
		if said, err := runInstall(t, archive(t, version), home, to); err != nil {
			t.Fatalf("%v\n%s", err, said)
		}
	}
	if out := must(exec.CommandContext(t.Context(), filepath.Join(to, "bin/bellwether")).Output()); string(out) != "two\n" {
		t.Errorf("it is %q", out)
	}
}

func TestInstallRefusesAFolderThatAnEntryCannotName(t *testing.T) {
	home := t.TempDir()
	for _, name := range []string{`a"b`, "a%b", "a$b", "a|b", "a&b", `a\b`, "a`b"} {
		said, err := runInstall(t, archive(t, "one"), home, filepath.Join(home, name))
		if err == nil || !strings.Contains(said, "Choose another folder") {
			t.Errorf("%s: %v %s", name, err, said)
		}
		if exists(filepath.Join(home, name)) {
			t.Errorf("%s: something was installed", name)
		}
	}
}
