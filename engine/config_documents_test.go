package engine

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Whoever copies settings out of a document gets settings that are right.
func TestSettingsShownInTheDocumentsAreRight(t *testing.T) {
	for file, blocks := range map[string]int{"README.md": 1, "assets/docs/apps.md": 2, "assets/docs/choosing.md": 1, "assets/docs/catalogue.md": 1, "assets/docs/embeddings.md": 3, "assets/docs/settings.md": 1} {
		text, err := os.ReadFile(filepath.Join("..", file))
		if err != nil {
			t.Fatal(err)
		}
		shown := settingsShown(string(text))
		if len(shown) != blocks {
			t.Errorf("%s shows %d blocks of settings, want %d", file, len(shown), blocks)
		}
		for _, block := range shown {
			if _, err := loadText(t, block); err != nil {
				t.Errorf("%s: %v\n%s", file, err, block)
			}
		}
	}
}

// Whoever copies entries of a catalogue gets a catalogue that is right.
func TestCatalogueShownInItsDocumentIsRight(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "assets", "docs", "catalogue.md"))
	if err != nil {
		t.Fatal(err)
	}
	shown := shownBlocks(string(text), regexp.MustCompile(`^models:`))
	if len(shown) != 1 {
		t.Fatalf("it shows %d catalogues, want one", len(shown))
	}
	own := filepath.Join(t.TempDir(), "catalogue.yaml")
	if err := os.WriteFile(own, []byte(shown[0]), 0o600); err != nil {
		t.Fatal(err)
	}
	if c, err := ReadCatalogue(os.DirFS("../assets/catalogue"), own); err != nil || len(c.Entries()) < 80 {
		t.Errorf("%v: %d entries", err, len(c.Entries()))
	}
}

var settingsStart = regexp.MustCompile(`^(listen|runtimes|pools|aliases|embeddings|deployments|security|routing):`)

// settingsShown are the indented blocks of a document that begin with a setting.
func settingsShown(text string) []string { return shownBlocks(text, settingsStart) }

func shownBlocks(text string, start *regexp.Regexp) []string {
	var shown []string
	var block strings.Builder
	for line := range strings.Lines(text + "\n\n") {
		if inner, ok := strings.CutPrefix(line, "    "); ok {
			block.WriteString(inner)
			continue
		}
		if start.MatchString(block.String()) {
			shown = append(shown, block.String())
		}
		block.Reset()
	}
	return shown
}
