package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// fakeSigner signs programs in themselves, debs by a file beside them, leaves
// rpms alone and fails with archives.
const fakeSigner = `#!/bin/sh
echo "$@" >> "$0.calls"
case "$1" in
*.exe) printf signed >> "$1" ;;
*.deb|*SUMS) printf signature > "$1.asc" ;;
*.zip) echo "the token is not plugged in" >&2; exit 3 ;;
esac
`

// signerOf is a signer of such a program, and files to be signed in a folder.
func signerOf(t *testing.T, script string, files ...string) (*signer, string) {
	t.Helper()
	dir := t.TempDir()
	program := filepath.Join(dir, "sign with me") // paths have spaces
	if err := putFile(program, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "dist")
	for _, f := range files {
		if err := putFile(filepath.Join(out, f), []byte("text"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return must(newSigner(program)), out
}

func TestEveryPackageIsHandedToTheSigner(t *testing.T) {
	s, dir := signerOf(t, fakeSigner, "b.deb", "b.rpm", "b_setup.exe", "b.tar.gz", "b.zip", sumsName, unfinishedDir+"/m.zip")
	if err := s.everything(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	if err := s.published(t.Context(), filepath.Join(dir, sumsName)); err != nil {
		t.Fatal(err)
	}
	calls := strings.Split(strings.TrimSpace(string(must(os.ReadFile(s.program+".calls")))), "\n")
	for i, c := range calls {
		calls[i] = strings.TrimPrefix(c, dir+string(filepath.Separator)) // one argument: the file
	}
	if want := []string{"b.deb", "b.rpm", "b_setup.exe", sumsName}; !slices.Equal(calls, want) {
		t.Errorf("signed %q, want %q", calls, want)
	}
	if got := string(must(os.ReadFile(filepath.Join(dir, "b_setup.exe")))); got != "textsigned" {
		t.Errorf("the setup is %q", got)
	}
	// What the signer left as it was is not called signed.
	if got := s.report(); !strings.Contains(got, "\n  b.rpm\n") || strings.Contains(got, "b.deb") || strings.Contains(got, "exe") || strings.Contains(got, sumsName) {
		t.Error(got)
	}
}

func TestWithoutASignerAllIsNamedUnsigned(t *testing.T) {
	s := must(newSigner(""))
	_, dir := signerOf(t, fakeSigner, "b.deb", "b_setup.exe")
	if err := s.everything(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	if err := s.within(t.Context(), filepath.Join(dir, "b_setup.exe"), "bellwether.exe (amd64)"); err != nil {
		t.Fatal(err)
	}
	if got := s.report(); !strings.Contains(got, signEnv) || !strings.HasSuffix(got, ":\n  b.deb\n  b_setup.exe\n  bellwether.exe (amd64)\n") {
		t.Error(got)
	}
}

func TestASignerThatFailsOrIsMissingEndsTheRelease(t *testing.T) {
	s, dir := signerOf(t, fakeSigner, "b.zip", "b.deb", "b.exe")
	if err := s.published(t.Context(), filepath.Join(dir, "b.zip")); err == nil || !strings.Contains(err.Error(), "sign b.zip: ") {
		t.Errorf("the signer failed, and %v", err)
	}
	if err := s.within(t.Context(), filepath.Join(dir, "b.deb"), "b.deb"); err == nil || !strings.Contains(err.Error(), "b.deb.asc beside") {
		t.Errorf("a signature would be packed beside what it signs: %v", err)
	}
	if _, err := newSigner(filepath.Join(dir, "none")); err == nil || !strings.Contains(err.Error(), signEnv) {
		t.Errorf("there is no such program, and %v", err)
	}
	eats, dir := signerOf(t, "#!/bin/sh\nrm \"$1\"\n", "b.exe")
	if err := eats.published(t.Context(), filepath.Join(dir, "b.exe")); err == nil {
		t.Error("the signer took the file away, and nobody noticed")
	}
}

func TestMaintainerIsWhoIsSetOrSaysToBeNobody(t *testing.T) {
	for set, want := range map[string]string{
		"": nobody, "Ann Example <ann@example.com>": "Ann Example <ann@example.com>", "Ann  Example  <ann@example.com>": "Ann Example <ann@example.com>",
		"ann@example.com": "", "Ann": "", "Ann <ann@example.com>\nScripts: evil": "", `"A: b" <ann@example.com>`: "",
	} {
		got, err := maintainerOf(set)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q is %q, %v; want %q", set, got, err, want)
		}
	}
	if !strings.HasSuffix(nobody, ".invalid>") {
		t.Errorf("%s may be somebody's address", nobody)
	}
}
