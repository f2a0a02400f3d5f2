//go:build packages

// The tests of this file look at made packages; see packageTests.
package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// packaged is the one package of a form, as "bellwether_*.deb".
func packaged(t *testing.T, form string) string {
	t.Helper()
	found := must(filepath.Glob(filepath.Join(packagesDir(t), form)))
	if len(found) != 1 {
		t.Fatalf("%s: %v", form, found)
	}
	return found[0]
}

// packagesDir is where the packages are.
func packagesDir(t *testing.T) string {
	t.Helper()
	dir := os.Getenv(packagesEnv)
	if dir == "" {
		t.Fatalf("%s names no folder of packages", packagesEnv)
	}
	return dir
}

// ran is what a program printed; its failure is the test's.
func ran(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// debRoot is a folder with both debs installed by dpkg, scripts run.
func debRoot(t *testing.T) string {
	t.Helper()
	root := emptyRoot(t)
	dpkg(t, root, "--install", packaged(t, "bellwether_*.deb"))
	dpkg(t, root, "--force-depends", "--install", packaged(t, "bellwether-window_*.deb"))
	return root
}

// emptyRoot is a folder where dpkg finds that nothing is installed.
func emptyRoot(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for _, dir := range []string{"var/lib/dpkg/info", "var/lib/dpkg/updates", "var/lib/dpkg/triggers"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"var/lib/dpkg/status", "var/lib/dpkg/available"} {
		if err := putFile(filepath.Join(root, file), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// dpkg runs dpkg on a folder instead of this system. Scripts run here, told by
// DPKG_ROOT where they are.
func dpkg(t *testing.T, root string, args ...string) {
	t.Helper()
	ran(t, "dpkg", append([]string{"--root=" + root, "--force-script-chrootless", "--force-not-root"}, args...)...)
}

func TestPackagedDebInstallsRunsAndPurges(t *testing.T) {
	root := debRoot(t)
	said := ran(t, filepath.Join(root, "usr/bin/bellwether"), "version")
	if version := strings.Split(filepath.Base(packaged(t, "bellwether_*.deb")), "_")[1]; said != "bellwether "+version+"\n" {
		t.Errorf("it says %q of version %s", said, version)
	}
	if said := ran(t, filepath.Join(root, "usr/lib/bellwether/bellwether-window"), "--version"); !strings.HasSuffix(said, " window\n") {
		t.Errorf("its window shows none: %q", said)
	}
	for _, file := range []string{"usr/share/doc/bellwether/copyright", "usr/share/doc/bellwether/THIRD-PARTY-NOTICES.txt", "usr/share/man/man1/bellwether.1.gz",
		"usr/share/icons/hicolor/48x48/apps/bellwether.png", "usr/share/icons/hicolor/scalable/apps/bellwether.svg"} {
		if info, err := os.Stat(filepath.Join(root, file)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v %v", file, info, err)
		}
	}
	// What the system service keeps goes with purge alone.
	state := filepath.Join(root, "var/lib/private/bellwether/bellwether.db")
	if err := putFile(state, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	dpkg(t, root, "--remove", "bellwether-window", "bellwether")
	if exists(filepath.Join(root, "usr/bin/bellwether")) || !exists(state) {
		t.Error("remove left the program, or took the state")
	}
	dpkg(t, root, "--purge", "bellwether")
	var left []string
	_ = filepath.WalkDir(root, func(path string, _ os.DirEntry, _ error) error {
		if strings.Contains(strings.TrimPrefix(path, root), "bellwether") {
			left = append(left, path)
		}
		return nil
	})
	if len(left) > 0 {
		t.Errorf("purge left %v", left)
	}
}

// The installed program serves what a release must carry: the built admin UI.
func TestPackagedProgramServes(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	program, data := filepath.Join(debRoot(t), "usr/bin/bellwether"), t.TempDir()
	cmd := command(ctx, program, "--data-dir", data, "serve", "--listen", "localhost:0")
	cmd.Env = append(os.Environ(), "HOME="+data)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	address := strings.TrimSpace(line[strings.Index(line, "http://"):])
	for path, want := range map[string]string{"/v1/models": `"object"`, "/ui/": `type="module"`} {
		resp, err := http.Get(address + path)
		if err != nil {
			t.Fatal(err)
		}
		text := string(must(io.ReadAll(resp.Body)))
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusOK || !strings.Contains(text, want) {
			t.Errorf("GET %s: %s\n%s", path, resp.Status, text)
		}
	}
	var said []byte
	err = poll(ctx, startWithin, "status answers", func() bool { // the engine says where it is a moment after it listens
		said, err = exec.CommandContext(ctx, program, "--data-dir", data, "status").CombinedOutput()
		return (err == nil || err.Error() == "exit status 5") && strings.Contains(string(said), address) // 5: it serves, and finds no runtime
	})
	if err != nil {
		t.Errorf("%v: %s", err, said)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil { // as systemd stops it
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("after SIGTERM: %v", err)
	}
}

func TestPackagedRPMInstallsIntoARoot(t *testing.T) {
	root := t.TempDir()
	for _, form := range []string{"bellwether_*.rpm", "bellwether-window_*.rpm"} {
		ran(t, "rpm", "--root", root, "--nodeps", "--noscripts", "--install", packaged(t, form))
	}
	if said := ran(t, filepath.Join(root, "usr/bin/bellwether"), "version"); !strings.HasPrefix(said, "bellwether ") {
		t.Errorf("it says %q", said)
	}
	if said := ran(t, filepath.Join(root, "usr/lib/bellwether/bellwether-window"), "--version"); !strings.HasSuffix(said, " window\n") {
		t.Errorf("its window shows none: %q", said)
	}
	if said := ran(t, "rpm", "-qp", "--recommends", packaged(t, "bellwether_*.rpm")); !strings.Contains(said, "bellwether-window") {
		t.Errorf("it recommends %q", said)
	}
	needs := ran(t, "rpm", "-qp", "--requires", packaged(t, "bellwether-window_*.rpm"))
	for _, want := range []string{"libwebkit2gtk-4.1.so.0()(64bit)", "libgtk-3.so.0()(64bit)", "libc.so.6(GLIBC_"} {
		if !strings.Contains(needs, want) {
			t.Errorf("it does not require %s:\n%s", want, needs)
		}
	}
	if owned := ran(t, "rpm", "-qpl", packaged(t, "bellwether_*.rpm")); strings.Contains(owned, "/usr/bin\n") {
		t.Error("it owns /usr/bin, which is another package's")
	}
	if needs := ran(t, "rpm", "-qp", "--requires", packaged(t, "bellwether_*.rpm")); strings.Contains(needs, "gtk") {
		t.Errorf("the program by itself requires %s", needs)
	}
}

// P-34: a service for a Linux without a desktop, of a user or of the machine.
func TestPackagedUnitsAreRight(t *testing.T) {
	root := debRoot(t)
	for _, unit := range []string{"system", "user"} {
		path := filepath.Join(root, "usr/lib/systemd", unit, "bellwether.service")
		text := string(must(os.ReadFile(path)))
		if !strings.Contains(text, "\nExecStart=/usr/bin/bellwether ") {
			t.Errorf("%s does not start the installed program", path)
		}
		// What it starts is looked for here, where it is not installed.
		here := filepath.Join(t.TempDir(), "bellwether.service")
		if err := putFile(here, []byte(strings.ReplaceAll(text, "/usr/bin/bellwether", filepath.Join(root, "usr/bin/bellwether"))), 0o644); err != nil {
			t.Fatal(err)
		}
		if said := ran(t, "systemd-analyze", "verify", "--man=no", "--recursive-errors=no", here); strings.TrimSpace(said) != "" {
			t.Errorf("%s unit: %s", unit, said)
		}
	}
	// systemd's own score of how exposed a service is, of 10; those of most distributions are above 9.
	ran(t, "systemd-analyze", "security", "--offline=true", "--threshold=25", filepath.Join(root, "usr/lib/systemd/system/bellwether.service"))
}

func TestPackagedMenuEntryIsRight(t *testing.T) {
	path := filepath.Join(debRoot(t), "usr/share/applications/bellwether.desktop")
	if said := ran(t, "desktop-file-validate", path); said != "" {
		t.Error(said)
	}
	if text := string(must(os.ReadFile(path))); !strings.Contains(text, "\nExec=/usr/bin/bellwether\n") || strings.Contains(text, "@") {
		t.Error(text)
	}
}

func TestPackagedBashCompletes(t *testing.T) {
	root := debRoot(t)
	said := ran(t, "bash", "-c", "source "+filepath.Join(root, "usr/share/bash-completion/completions/bellwether")+" && complete -p bellwether")
	if !strings.Contains(said, "/usr/bin/bellwether' bellwether") {
		t.Errorf("bash is told %q", said)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(root, "usr/bin/bellwether"))
	cmd.Env = append(os.Environ(), "COMP_LINE=bellwether stat", "COMP_POINT=15")
	if out, err := cmd.Output(); err != nil || strings.TrimSpace(string(out)) != "status" {
		t.Errorf("it completes stat to %q, %v", out, err)
	}
}

// The archive is for a home without an administrator: its script installs it.
func TestPackagedArchiveRunsFromAHome(t *testing.T) {
	unpacked := t.TempDir()
	home := filepath.Join(t.TempDir(), ".local")
	ran(t, "tar", "xzf", packaged(t, "bellwether_*.tar.gz"), "--strip-components=1", "-C", unpacked)
	ran(t, filepath.Join(unpacked, installScript), home)
	if said := ran(t, filepath.Join(home, "bin/bellwether"), "version"); !strings.HasPrefix(said, "bellwether ") {
		t.Errorf("it says %q", said)
	}
	if !exists(filepath.Join(home, windowPlace)) {
		t.Error("it brings no window")
	}
	if unit := string(must(os.ReadFile(filepath.Join(home, "share/systemd/user/bellwether.service")))); !strings.Contains(unit, "\nExecStart=\""+home+"/bin/bellwether\" serve\n") {
		t.Error(unit)
	}
	entry := filepath.Join(home, "share/applications/bellwether.desktop")
	ran(t, "desktop-file-validate", entry)
	if text := string(must(os.ReadFile(entry))); !strings.Contains(text, "\nTryExec="+home+"/bin/bellwether\n") {
		t.Errorf("menus find no program by it:\n%s", text)
	}
	if exists(filepath.Join(home, "lib/systemd")) {
		t.Error("it has a unit where nobody looks for it")
	}
}

func TestPackagedChecksumsVerify(t *testing.T) {
	dir := os.Getenv(packagesEnv)
	cmd := exec.CommandContext(t.Context(), "sha256sum", "--check", "--strict", sumsName)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	sums := string(must(os.ReadFile(filepath.Join(dir, sumsName))))
	for _, e := range must(os.ReadDir(dir)) {
		if !e.IsDir() && e.Name() != sumsName && !strings.Contains(sums, "  "+e.Name()+"\n") {
			t.Errorf("%s has no checksum", e.Name())
		}
	}
}

// Everything compiled in is named in the bill, and its licence printed.
func TestPackagedPapersNameEveryModule(t *testing.T) {
	root := debRoot(t)
	modules := must(modulesOf([]string{filepath.Join(root, "usr/bin/bellwether")}))
	bill := string(must(os.ReadFile(packaged(t, "bellwether_*.cdx.json"))))
	notices := string(must(os.ReadFile(filepath.Join(root, "usr/share/doc/bellwether/THIRD-PARTY-NOTICES.txt"))))
	if len(modules) < 10 {
		t.Fatalf("only %d modules", len(modules))
	}
	for _, m := range modules {
		if !strings.Contains(bill, fmt.Sprintf("pkg:golang/%s@%s", m.Path, m.Version)) {
			t.Errorf("%s %s is not in the bill", m.Path, m.Version)
		}
		if !strings.Contains(notices, "\n"+m.Path+" "+m.Version+"\n") {
			t.Errorf("%s %s has no licence", m.Path, m.Version)
		}
	}
	for _, name := range uiPackages {
		if !strings.Contains(bill, "pkg:npm/"+name+"@") {
			t.Errorf("%s is not in the bill", name)
		}
	}
}
