package agent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bellwether/engine/fleet"
)

// Whatever way two runtimes reach one file, its weights are the same; a copy of
// them is another file.
func TestOneFileOfWeightsIsRecognised(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	blob := at("sha256-" + strings.Repeat("ab", 32))
	for _, f := range []string{blob, at("other.gguf"), at("copy.gguf")} {
		if err := os.WriteFile(f, []byte("weights"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for link, make := range map[string]func(string, string) error{"symlink.gguf": os.Symlink, "hardlink.gguf": os.Link} {
		if err := make(blob, at(link)); err != nil {
			t.Skipf("this system makes no links: %v", err)
		}
	}
	look := func(path string) weights {
		return findWeights([]fleet.Deployment{{ID: fleet.DeploymentID{Model: "m"}, WeightsFile: path}})["m:latest"]
	}
	original := look(blob)
	for path, want := range map[string]bool{
		blob: true, at("symlink.gguf"): true, at("hardlink.gguf"): true,
		"/elsewhere/blobs/sha256-" + strings.Repeat("ab", 32): true, // in a container, out of our sight
		"/elsewhere/blobs/sha256-" + strings.Repeat("cd", 32): false,
		at("copy.gguf"): false, at("other.gguf"): false, at("absent.gguf"): false, "relative.gguf": false, "none": false, "": false,
	} {
		if got := original.same(look(path)); got != want {
			t.Errorf("%s is the same: %v, want %v", path, got, want)
		}
	}
	if look(at("other.gguf")).same(look(at("copy.gguf"))) || (weights{}).same(weights{}) {
		t.Error("unlike files are the same")
	}
}
