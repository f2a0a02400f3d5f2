package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What only a Mac compiles must not break unseen.
func TestAnUndefinedNameInCodeForMacsIsFound(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module example.com/planted\n\ngo 1.26\n")
	write("main.go", "package main\n\nfunc main() { beep() }\n")
	const cgo = "package main\n\n// #include <AppKit/AppKit.h>\n// static void sound(int n) {}\nimport \"C\"\n\nimport \"fmt\"\n\nfunc beep() { C.sound(C.int(1)); fmt.Println(%s) }\n"
	check := func() error {
		t.Chdir(dir)
		n, err := typeCheck(t.Context(), "darwin", "arm64", "", ".")
		if err == nil && n < 20 {
			t.Errorf("%d packages only", n)
		}
		return err
	}
	write("beep_darwin.go", strings.Replace(cgo, "%s", `"beep"`, 1))
	if err := check(); err != nil {
		t.Fatalf("right code: %v", err)
	}
	write("beep_darwin.go", strings.Replace(cgo, "%s", "volume", 1))
	if err := check(); err == nil || !strings.Contains(err.Error(), "undefined: volume") {
		t.Errorf("an undefined name: %v", err)
	}
	write("beep_darwin.go", strings.Replace(cgo, "%s", `len(1)`, 1))
	if err := check(); err == nil {
		t.Error("a wrong type was not found")
	}
}
