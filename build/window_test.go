package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A window built without its tags compiles and shows nothing: each system's
// build has them, and what was built is asked.
func TestTheWindowIsBuiltWithItsTags(t *testing.T) {
	for _, goos := range systems {
		env, args := windowBuild(goos)
		i := slices.Index(args, "-tags")
		if i < 0 || !strings.HasPrefix(args[i+1], "desktop,production") {
			t.Errorf("%s: %v", goos, args)
		}
		if want := map[string]string{"windows": "CGO_ENABLED=0"}[goos]; want != "" && !slices.Contains(env, want) {
			t.Errorf("%s: %v", goos, env)
		}
	}
}

func TestAStubIsNotTakenForTheWindow(t *testing.T) {
	dir := t.TempDir()
	if err := toModuleRoot(); err != nil {
		t.Fatal(err)
	}
	if err := goBuild(t.Context(), dir, windowPackage); err != nil {
		t.Fatal(err)
	}
	if err := showsWindows(t.Context(), filepath.Join(dir, exe("bellwether-window"))); err == nil || !strings.Contains(err.Error(), "shows no window") {
		t.Errorf("%v", err)
	}
}
