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
	for file, blocks := range map[string]int{"README.md": 1, "assets/docs/apps.md": 2, "assets/docs/embeddings.md": 3, "assets/docs/settings.md": 1} {
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

var settingsStart = regexp.MustCompile(`^(listen|runtimes|pools|aliases|embeddings|deployments|security|routing):`)

// settingsShown are the indented blocks of a document that begin with a setting.
func settingsShown(text string) []string {
	var shown []string
	var block strings.Builder
	for line := range strings.Lines(text + "\n\n") {
		if inner, ok := strings.CutPrefix(line, "    "); ok {
			block.WriteString(inner)
			continue
		}
		if settingsStart.MatchString(block.String()) {
			shown = append(shown, block.String())
		}
		block.Reset()
	}
	return shown
}
