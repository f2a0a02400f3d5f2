package main

import (
	"encoding/xml"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestVersionIsTheTagOrNamesTheCommit(t *testing.T) {
	at := time.Date(2026, 11, 30, 23, 59, 0, 0, time.UTC)
	for _, c := range []struct{ tag, coming, commit, want string }{
		{"v1.2.3", "0.1.0-dev", "8d40dce", "1.2.3"},
		{"v1.2.3-rc.1", "0.1.0-dev", "8d40dce", "1.2.3-rc.1"},
		{"", "0.1.0-dev", "8d40dce", "0.1.0-dev.20261130.g8d40dce"},
		{"", "0.1.0-dev", "0123456", "0.1.0-dev.20261130.g0123456"},
		{"", "0.2.0", "8d40dce", "0.2.0-dev.20261130.g8d40dce"},
		{"", "0.1.0-dev", "", "0.1.0-dev.20261130"},
	} {
		got := versionOf(c.tag, c.coming, c.commit, false, at)
		if got != c.want {
			t.Errorf("versionOf(%q, %q, %q) = %s, want %s", c.tag, c.coming, c.commit, got, c.want)
		}
		if err := checkVersion(got); err != nil {
			t.Error(err)
		}
	}
	if got := versionOf("v1.2.3", "1.3.0-dev", "8d40dce", true, at); got != "1.3.0-dev.20261130.g8d40dce.modified" {
		t.Errorf("of changed sources: %s", got)
	}
	for _, wrong := range []string{"", "1.2", "v1.2.3", "1.2.3 ", "1.2.3-", `1.2.3" -X main.evil=1`} {
		if checkVersion(wrong) == nil {
			t.Errorf("%q passes for a version", wrong)
		}
	}
	if got := windowsVersion("1.20.3-rc.1"); got != "1.20.3.0" {
		t.Errorf("for Windows: %s", got)
	}
}

func TestVersionIsFoundInTheSource(t *testing.T) {
	source, err := os.ReadFile(versionFile)
	if err != nil {
		t.Fatal(err)
	}
	if v := versionIn(string(source)); v == "0.0.0" || checkVersion(v) != nil {
		t.Errorf("%s says version %q", versionFile, v)
	}
}

func TestPackageRefusesUnknownSystems(t *testing.T) {
	if _, err := partsOf("linux,beos"); err == nil || !strings.Contains(err.Error(), "beos") {
		t.Errorf("got %v", err)
	}
}

func TestEmptyingAReleaseLeavesWhatIsNotOfOne(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"bellwether_1.0.0_linux_amd64.deb", "bellwether-window_1.0.0_linux_amd64.rpm", sumsName, unfinishedDir + "/x.zip", "notes.txt", "bellwether"} {
		if err := putFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := emptyRelease(dir); err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, e := range must(os.ReadDir(dir)) {
		left = append(left, e.Name())
	}
	if got := strings.Join(left, " "); got != "bellwether notes.txt" {
		t.Errorf("left: %s", got)
	}
}

// Archives of one tree are the same whenever and by whomever they are packed.
func TestArchivesDependOnNamesAndContentsAlone(t *testing.T) {
	at := time.Date(2026, 11, 30, 7, 0, 0, 0, time.UTC)
	pack := func(mtime time.Time, private bool) (sums []string) {
		dir := filepath.Join(t.TempDir(), "bellwether")
		mode := fs.FileMode(0o755)
		if private {
			mode = 0o700
		}
		for name, m := range map[string]fs.FileMode{"bin/b": mode, "share/a": mode &^ 0o111} {
			path := filepath.Join(dir, name)
			if err := errors.Join(putFile(path, []byte(name), m), os.Chtimes(path, mtime, mtime)); err != nil {
				t.Fatal(err)
			}
		}
		for _, write := range []func(string, string, time.Time) error{writeTarGz, writeZip} {
			file := filepath.Join(t.TempDir(), "archive")
			if err := write(file, dir, at); err != nil {
				t.Fatal(err)
			}
			sums = append(sums, must(fileSum(file)))
		}
		return sums
	}
	if a, b := pack(at, false), pack(at.Add(time.Hour), true); !slices.Equal(a, b) {
		t.Errorf("%v and %v", a, b)
	}
}

func TestUIPackagesAreThoseItsSourcesImport(t *testing.T) {
	var imported []string
	from := regexp.MustCompile(`(?:from|import) ['"]([^./'"][^'"]*)['"]`)
	err := filepath.WalkDir(filepath.Join(uiDir, "src"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, ".test.ts") || strings.Contains(path, "/test/") {
			return err
		}
		for _, m := range from.FindAllStringSubmatch(string(must(os.ReadFile(path))), -1) {
			name, _, _ := strings.Cut(m[1], "/")
			imported = append(imported, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(imported)
	if imported = slices.Compact(imported); !slices.Equal(imported, uiPackages) {
		t.Errorf("imported: %v, with a licence in the packages: %v", imported, uiPackages)
	}
}

func TestBillIsTheSameAtEveryHour(t *testing.T) {
	raw := `{"metadata":{"timestamp":"2026-11-30T07:11:22Z","tools":[{"name":"t","hashes":[{"alg":"MD5"}]}]},"components":[{"name":"go"}]}`
	at := time.Date(2026, 11, 30, 7, 0, 0, 0, time.UTC)
	one, err := steadyBill([]byte(raw), at, []uiPackage{{"uplot", "1.6.32", "MIT"}})
	if err != nil {
		t.Fatal(err)
	}
	two := must(steadyBill([]byte(strings.Replace(raw, "07:11:22", "09:30:00", 1)), at, []uiPackage{{"uplot", "1.6.32", "MIT"}}))
	if string(one) != string(two) {
		t.Error("two bills of one program differ")
	}
	for _, want := range []string{`"pkg:npm/uplot@1.6.32"`, `"2026-11-30T07:00:00Z"`, `"name": "go"`} {
		if !strings.Contains(string(one), want) {
			t.Errorf("%s is not in %s", want, one)
		}
	}
}

// The app is laid out of stand-ins for programs: only a Mac can build the real.
func TestMacAppHasItsPlaces(t *testing.T) {
	dir := t.TempDir()
	program, window := filepath.Join(dir, "bellwether"), filepath.Join(dir, "bellwether-window")
	for _, p := range []string{program, window} {
		if err := putFile(p, []byte("program"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	r := &release{version: "1.2.3-rc.1"}
	app := filepath.Join(dir, "Bellwether.app")
	if err := r.bundle(app, program, window, papers{[]byte("ours"), []byte("theirs")}); err != nil {
		t.Fatal(err)
	}
	helper := filepath.Join(app, "Contents/Helpers/Bellwether Window.app")
	for _, bundle := range []struct{ dir, program, id string }{
		{app, "bellwether", "io.bellwether.app"}, {helper, "bellwether-window", "io.bellwether.window"},
	} {
		list := plist(t, filepath.Join(bundle.dir, "Contents/Info.plist"))
		for key, want := range map[string]string{
			"CFBundleIdentifier": bundle.id, "CFBundleExecutable": bundle.program, "CFBundleShortVersionString": "1.2.3", "CFBundleVersion": "1.2.3",
			"CFBundlePackageType": "APPL", "LSMinimumSystemVersion": "13.0", "NSHighResolutionCapable": "true", "NSAllowsLocalNetworking": "true",
		} {
			if list[key] != want {
				t.Errorf("%s: %s is %q, want %q", bundle.program, key, list[key], want)
			}
		}
		if info, err := os.Stat(filepath.Join(bundle.dir, "Contents/MacOS", list["CFBundleExecutable"])); err != nil || info.Mode()&0o111 == 0 {
			t.Errorf("its program: %v %v", info, err)
		}
		if icon := must(os.ReadFile(filepath.Join(bundle.dir, "Contents/Resources", list["CFBundleIconFile"]+".icns"))); !strings.HasPrefix(string(icon), "icns") {
			t.Error("its icon is none")
		}
	}
	list := plist(t, filepath.Join(app, "Contents/Info.plist"))
	t.Run("T06 macOS does not let it nap", func(t *testing.T) {
		if list["NSAppSleepDisabled"] != "true" {
			t.Error("apps on this machine would wait for seconds")
		}
	})
	if list["LSUIElement"] != "true" || list["NSBonjourServices"] != "_bellwether._tcp" || list["NSLocalNetworkUsageDescription"] == "" {
		t.Errorf("the app lacks what a program in the menu bar that serves a network needs: %v", list)
	}
	if _, ok := plist(t, filepath.Join(helper, "Contents/Info.plist"))["LSUIElement"]; ok {
		t.Error("the window has no Dock icon")
	}
}

// plist reads a property list: each key with the text, or the name, of the
// value after it; lists and dictionaries are gone into.
func plist(t *testing.T, path string) map[string]string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	values, key := map[string]string{}, ""
	d := xml.NewDecoder(f)
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return values
		}
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		start, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		var text string
		switch start.Name.Local {
		case "key", "string":
			if err := d.DecodeElement(&text, &start); err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			if start.Name.Local == "key" {
				key = text
			} else {
				values[key] = text
			}
		case "true", "false":
			values[key] = start.Name.Local
		}
	}
}

// must is for what a test cannot go on without.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
