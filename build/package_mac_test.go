package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// signsMac runs the script of a Mac with stand-ins for its programs, and says
// what they were called with.
func signsMac(t *testing.T, env ...string) (calls []string, err error) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the script is for Macs")
	}
	dir := t.TempDir()
	noted := filepath.Join(dir, "calls")
	// Each notes its call; ditto makes the archive that it is asked for.
	for _, name := range []string{"codesign", "xcrun", "spctl", "ditto", "shasum"} {
		script := "#!/bin/sh\necho \"${0##*/} $*\" >> '" + noted + "'\n"
		if name == "ditto" {
			script += "touch \"$5\"\n"
		}
		if err := putFile(filepath.Join(dir, "bin", name), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "sh", filepath.Join(macosDir, "sign.sh"), "Bellwether.app", "1.2.3", filepath.Join(dir, "out"))
	cmd.Env = append([]string{"PATH=" + filepath.Join(dir, "bin") + ":/usr/bin:/bin"}, env...)
	out, err := cmd.CombinedOutput()
	text, _ := os.ReadFile(noted)
	t.Logf("%s", out)
	if exists(filepath.Join(dir, "out", "notarise.zip")) {
		t.Error("what was sent to Apple lies beside the release")
	}
	for line := range strings.Lines(strings.ReplaceAll(string(text), dir+"/", "")) {
		calls = append(calls, strings.TrimSpace(line))
	}
	return calls, err
}

func TestMacAppIsSignedFromTheInsideThenNotarised(t *testing.T) {
	const id = "Developer ID Application: Ann (TEAM)"
	calls, err := signsMac(t, "CODESIGN_ID="+id, "NOTARY=profile")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"codesign --force --options runtime --timestamp --sign " + id + " Bellwether.app/Contents/Helpers/Bellwether Window.app",
		"codesign --force --options runtime --timestamp --sign " + id + " Bellwether.app",
		"codesign --verify --deep --strict --verbose=2 Bellwether.app",
		"ditto -c -k --keepParent Bellwether.app out/notarise.zip",
		"xcrun notarytool submit out/notarise.zip --keychain-profile profile --wait",
		"xcrun stapler staple Bellwether.app",
		"spctl --assess --type execute --verbose Bellwether.app",
		"ditto -c -k --keepParent Bellwether.app out/bellwether_1.2.3_macos_universal.zip",
		"shasum -a 256 bellwether_1.2.3_macos_universal.zip",
	}
	if got := strings.Join(calls, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("it ran\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}

func TestMacAppIsNotSignedByNobody(t *testing.T) {
	if calls, err := signsMac(t); err == nil || len(calls) > 0 {
		t.Errorf("without a certificate: %v, %v", calls, err)
	}
	calls, err := signsMac(t, "CODESIGN_ID=-")
	if said := strings.Join(calls, "\n"); err != nil || strings.Contains(said, "notarytool") || strings.Contains(said, "--timestamp") {
		t.Errorf("for one Mac alone: %v, %v", calls, err)
	}
}
