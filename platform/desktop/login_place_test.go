package desktop

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// T-03: an AppImage's mount was registered, which is gone after the program.
func TestOnlyPathsThatLastAreStartedAtLogin(t *testing.T) {
	for _, c := range []struct {
		goos, program, env string // env: NAME=VALUE with spaces between
		want               string // "" = refused
		says               string
	}{
		{"linux", "/usr/bin/bellwether", "", "/usr/bin/bellwether", ""},
		{"linux", "/home/ann/.local/bin/bellwether", "TMPDIR=/home/ann/tmp", "/home/ann/.local/bin/bellwether", ""},
		{"linux", "/opt/tmp/bellwether", "", "/opt/tmp/bellwether", ""},
		{"linux", "/tmpfiles/bellwether", "", "/tmpfiles/bellwether", ""},
		{"linux", "/tmp/.mount_BellweA1b2/usr/bin/bellwether", "APPIMAGE=/home/ann/Apps/Bellwether.AppImage APPDIR=/tmp/.mount_BellweA1b2", "/home/ann/Apps/Bellwether.AppImage", ""},
		// somebody else's AppImage around us, such as a terminal's
		{"linux", "/usr/bin/bellwether", "APPIMAGE=/home/ann/Apps/Term.AppImage APPDIR=/tmp/.mount_Term", "/usr/bin/bellwether", ""},
		{"linux", "/tmp/.mount_BellweA1b2/usr/bin/bellwether", "", "", "temporary"},
		{"linux", "/tmp/x/bellwether", "APPIMAGE=/tmp/Bellwether.AppImage APPDIR=/tmp/x", "", "temporary"},
		{"linux", "/tmp/go-build123/b001/exe/bellwether", "", "", "go run"},
		{"linux", "/home/ann/.cache/go-build/ab/abc-d/bellwether", "", "", "go run"},
		{"linux", "/home/ann/tmp/bellwether", "TMPDIR=/home/ann/tmp", "", "temporary"},
		{"linux", "/run/user/1000/bellwether", "", "", "temporary"},
		{"darwin", "/Applications/Bellwether.app/Contents/MacOS/bellwether", "TMPDIR=/var/folders/x/", "/Applications/Bellwether.app/Contents/MacOS/bellwether", ""},
		{"darwin", "/private/var/folders/ab/x/T/AppTranslocation/1-2/d/Bellwether.app/Contents/MacOS/bellwether", "", "", "Applications folder"},
		{"darwin", "/Volumes/Bellwether/Bellwether.app/Contents/MacOS/bellwether", "", "", "disk image"},
		{"darwin", "/private/tmp/Bellwether.app/Contents/MacOS/bellwether", "", "", "temporary"},
		{"windows", `C:\Users\Ann\AppData\Local\Programs\Bellwether\bellwether-app.exe`, `TEMP=C:\Users\Ann\AppData\Local\Temp`, `C:\Users\Ann\AppData\Local\Programs\Bellwether\bellwether-app.exe`, ""},
		{"windows", `C:\Users\Ann\AppData\Local\Temp\Temp1_bellwether.zip\bellwether-app.exe`, `TEMP=D:\T`, "", "temporary"},
		{"windows", `d:\t\bellwether-app.exe`, `TEMP=D:\T`, "", "temporary"},
		{"windows", `C:\Windows\Temp\bellwether-app.exe`, `SystemRoot=C:\WINDOWS`, "", "temporary"},
	} {
		env := map[string]string{}
		for v := range strings.FieldsSeq(c.env) {
			name, value, _ := strings.Cut(v, "=")
			env[name] = value
		}
		got, no := lastingPath(c.goos, c.program, func(name string) string { return env[name] })
		switch {
		case c.want == "" && no == nil:
			t.Errorf("%s %s: %s was taken", c.goos, c.program, got)
		case c.want == "" && (!strings.Contains(no.Reason+no.Remedy, c.says) || no.Remedy == ""):
			t.Errorf("%s %s: %q, %q; want %q and a remedy", c.goos, c.program, no.Reason, no.Remedy, c.says)
		case c.want != "" && (no != nil || got != c.want):
			t.Errorf("%s %s: %q, %v; want %s", c.goos, c.program, got, no, c.want)
		}
	}
}

func TestAVersionsOwnFolderIsLeftForTheLinkInPATH(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no such folders there")
	}
	dir := t.TempDir()
	cellar := filepath.Join(dir, "Cellar", "bellwether", "1.2.3", "bin")
	bin := filepath.Join(dir, "bin")
	for _, d := range []string{cellar, bin} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	program := filepath.Join(cellar, "bellwether")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(bin, "bellwether")
	if err := os.Symlink(program, link); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin)
	if got := unversioned("linux", program); got != link {
		t.Errorf("started by %s, want %s", got, link)
	}
	t.Setenv("PATH", dir)
	if got := unversioned("linux", program); got != program {
		t.Errorf("without a link: %s", got)
	}
	if got := unversioned("linux", link); got != link {
		t.Errorf("the link itself: %s", got)
	}
}
