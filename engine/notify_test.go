package engine

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestEachKindOfNotificationIsSwitchedByItself(t *testing.T) {
	load := func(text string) (*Config, error) {
		file := filepath.Join(t.TempDir(), "config.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return Load(Sources{DataDir: t.TempDir(), NodeName: "studio", File: file, FileAsked: true})
	}
	c, err := load("notifications: {runtime: off, pull: on}\n")
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range NoticeKinds {
		if got, want := c.Notifies(kind), kind != "runtime"; got != want {
			t.Errorf("%s: %v", kind, got)
		}
	}
	if _, err := load("notifications: {rubbish: on}\n"); err == nil || !strings.Contains(err.Error(), "runtime, records, port, pull, trouble") {
		t.Errorf("an unknown kind: %v", err)
	}
}
