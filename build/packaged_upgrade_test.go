//go:build packages

package main

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// userData writes what a user and the service of a machine have, and returns
// what checks that all of it is as it was.
func userData(t *testing.T, root string) (unchanged func(when string)) {
	t.Helper()
	files := []string{
		"home/ann/.config/bellwether/config.yaml", "home/ann/.local/share/bellwether/bellwether.db", "home/ann/.config/autostart/bellwether.desktop",
		"home/ann/.config/systemd/user/default.target.wants/bellwether.service", "var/lib/private/bellwether/bellwether.db",
	}
	for _, f := range files {
		if err := putFile(filepath.Join(root, f), []byte("of "+f), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return func(when string) {
		t.Helper()
		for _, f := range files {
			if text, err := os.ReadFile(filepath.Join(root, f)); err != nil || string(text) != "of "+f {
				t.Errorf("%s: %s is %q, %v", when, f, text, err)
			}
		}
	}
}

// says is the version that the installed program says.
func says(t *testing.T, root string) string {
	t.Helper()
	return strings.TrimSpace(strings.TrimPrefix(ran(t, filepath.Join(root, "usr/bin/bellwether"), "version"), "bellwether "))
}

// versionOfFile is the version in a package's name.
func versionOfFile(file string) string { return strings.Split(filepath.Base(file), "_")[1] }

// belongings are the files of ours in a folder, but for those of users.
func belongings(t *testing.T, root string) (found []string) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(root, "usr"), func(path string, d fs.DirEntry, err error) error {
		if os.IsNotExist(err) {
			return nil
		}
		if err == nil && !d.IsDir() {
			found = append(found, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestPackagedDebUpdatesAndLeavesWhatUsersHave(t *testing.T) {
	root := emptyRoot(t)
	dpkg(t, root, "--install", packaged(t, olderDir+"/bellwether_*.deb"))
	dpkg(t, root, "--force-depends", "--install", packaged(t, olderDir+"/bellwether-window_*.deb"))
	if v := says(t, root); v != "0.0.1" {
		t.Fatalf("installed is %s", v)
	}
	unchanged := userData(t, root)
	dpkg(t, root, "--install", packaged(t, "bellwether_*.deb"))
	dpkg(t, root, "--force-depends", "--install", packaged(t, "bellwether-window_*.deb"))
	if v, want := says(t, root), versionOfFile(packaged(t, "bellwether_*.deb")); v != want {
		t.Errorf("updated to %s it says %s", want, v)
	}
	unchanged("updated")
	dpkg(t, root, "--remove", "bellwether-window", "bellwether")
	unchanged("removed")
	if left := belongings(t, root); len(left) > 0 {
		t.Errorf("removing left %v", left)
	}
}

func TestPackagedRPMUpdatesAndLeavesWhatUsersHave(t *testing.T) {
	root := t.TempDir()
	rpm := func(args ...string) {
		ran(t, "rpm", append([]string{"--root", root, "--nodeps", "--noscripts"}, args...)...)
	}
	rpm("--install", packaged(t, olderDir+"/bellwether_*.rpm"), packaged(t, olderDir+"/bellwether-window_*.rpm"))
	if v := says(t, root); v != "0.0.1" {
		t.Fatalf("installed is %s", v)
	}
	unchanged := userData(t, root)
	rpm("--upgrade", packaged(t, "bellwether_*.rpm"), packaged(t, "bellwether-window_*.rpm"))
	if v, want := says(t, root), versionOfFile(packaged(t, "bellwether_*.rpm")); v != want {
		t.Errorf("updated to %s it says %s", want, v)
	}
	unchanged("updated")
	rpm("--erase", "bellwether-window", "bellwether")
	unchanged("removed")
	if left := belongings(t, root); len(left) > 0 {
		t.Errorf("removing left %v", left)
	}
}

// systemdRuns is how the scripts see that systemd runs.
const systemdRuns = "/run/systemd/system"

// The scripts are run as the package managers do, on a machine with systemd
// whose systemctl only notes what it is told, and on one without. Nothing is
// ever started that did not run.
func TestPackagedScriptsStartNothing(t *testing.T) {
	control := t.TempDir()
	ran(t, "dpkg-deb", "--control", packaged(t, "bellwether_*.deb"), control)
	const reload, again, off = "daemon-reload\n", "try-restart bellwether.service\n", "disable --now bellwether.service\n"
	for _, c := range []struct{ script, args, want string }{
		{"postinst", "configure", reload},               // deb, installed
		{"postinst", "configure 0.0.1", reload + again}, // deb, updated
		{"postinst", "abort-remove", reload},
		{"postinst", "1", reload},         // rpm, installed
		{"postinst", "2", reload + again}, // rpm, updated
		{"prerm", "remove", off},
		{"prerm", "upgrade 2.0.0", ""},
		{"prerm", "0", off}, // rpm, removed
		{"prerm", "1", ""},  // rpm, updated
		{"postrm", "remove", reload},
		{"postrm", "upgrade 2.0.0", reload},
		{"postrm", "0", reload},
	} {
		text := string(must(os.ReadFile(filepath.Join(control, c.script))))
		if !strings.Contains(text, systemdRuns) {
			t.Fatalf("%s does not ask whether systemd runs", c.script)
		}
		for _, runs := range []bool{true, false} {
			want := c.want
			if !runs {
				want = ""
			}
			if got := toldSystemctl(t, text, c.args, runs); got != want {
				t.Errorf("%s %s (systemd runs: %v) has systemctl do %q, want %q", c.script, c.args, runs, got, want)
			}
		}
	}
	// rpm runs the same.
	scripts := ran(t, "rpm", "-qp", "--scripts", packaged(t, "bellwether_*.rpm"))
	for _, script := range []string{"postinst", "prerm", "postrm"} {
		if text := string(must(os.ReadFile(filepath.Join(control, script)))); !strings.Contains(scripts, strings.TrimSpace(text)) {
			t.Errorf("the rpm has another %s:\n%s", script, scripts)
		}
	}
}

// toldSystemctl runs a script and says what systemctl was told by it.
func toldSystemctl(t *testing.T, script, args string, runs bool) string {
	t.Helper()
	dir := t.TempDir()
	mark := filepath.Join(dir, "systemd")
	if runs {
		if err := os.Mkdir(mark, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	told := filepath.Join(dir, "told")
	if err := putFile(filepath.Join(dir, "bin/systemctl"), []byte(fmt.Sprintf("#!/bin/sh\necho \"$@\" >> %s\n", told)), 0o755); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "script")
	if err := putFile(file, []byte(strings.ReplaceAll(script, systemdRuns, mark)), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), file, strings.Fields(args)...)
	cmd.Env = []string{"PATH=" + filepath.Join(dir, "bin") + ":/usr/bin:/bin"}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s", args, err, out)
	}
	text, _ := os.ReadFile(told) // not there: it was told nothing
	return string(text)
}

func TestPackagedNameWhoAnswersForThem(t *testing.T) {
	for dir, want := range map[string]string{"": nobody, olderDir: "Ann Example <ann@example.com>"} {
		for _, product := range []string{"bellwether", "bellwether-window"} {
			if said := ran(t, "dpkg-deb", "--field", packaged(t, filepath.Join(dir, product+"_*.deb")), "Maintainer"); strings.TrimSpace(said) != want {
				t.Errorf("deb: %q, want %q", said, want)
			}
			if said := ran(t, "rpm", "-qp", "--qf", "%{PACKAGER}", packaged(t, filepath.Join(dir, product+"_*.rpm"))); said != want {
				t.Errorf("rpm: %q, want %q", said, want)
			}
		}
	}
}

// dpkg and rpm can tell what a package brings.
func TestPackagedChangesAreThere(t *testing.T) {
	root := debRoot(t)
	doc := filepath.Join(root, "usr/share/doc/bellwether")
	if got := ran(t, "gzip", "-dc", filepath.Join(doc, "changelog.gz")); !strings.HasPrefix(got, "# Changes\n") {
		t.Errorf("the list of changes is %q", got)
	}
	if got := ran(t, "sh", "-c", "gzip -dc "+filepath.Join(doc, "changelog.Debian.gz")+" | head -1"); !strings.HasPrefix(got, "bellwether (") || !strings.HasSuffix(got, ") stable; urgency=medium\n") {
		t.Errorf("Debian's list begins with %q", got)
	}
	if got := ran(t, "rpm", "-qp", "--changelog", packaged(t, "bellwether_*.rpm")); !strings.Contains(got, "changelog.gz") {
		t.Errorf("the rpm's list is %q", got)
	}
}

// The former release was signed by a program that writes a sum beside each file.
func TestPackagedFilesAreSignedWhereASignerIsSet(t *testing.T) {
	dir := filepath.Join(packagesDir(t), olderDir)
	sums := string(must(os.ReadFile(filepath.Join(dir, sumsName))))
	for _, form := range []string{"bellwether_*.deb", "bellwether_*.rpm", "bellwether-window_*.deb", "bellwether-window_*.rpm", sumsName} {
		file := packaged(t, filepath.Join(olderDir, form))
		signature := strings.Fields(string(must(os.ReadFile(file + ".asc"))))[0]
		if want := must(fileSum(file)); signature != want {
			t.Errorf("%s was signed before it stood", file)
		}
		if form != sumsName && !strings.Contains(sums, "  "+filepath.Base(file)+".asc\n") {
			t.Errorf("the signature of %s has no checksum", file)
		}
	}
}
