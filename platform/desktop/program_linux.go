package desktop

import (
	"context"
	"os"
	"path/filepath"
	"strings"
)

func programPlaces(name, home string) []string { return unixPlaces(name, home) }

func startCommand(name, path string) string {
	if name == "ollama" {
		for _, unit := range []string{"/etc/systemd/system/ollama.service", "/usr/lib/systemd/system/ollama.service", "/lib/systemd/system/ollama.service"} {
			if _, err := os.Stat(unit); err == nil {
				return "sudo systemctl start ollama"
			}
		}
		return quote(path) + " serve"
	}
	return quote(path)
}

// isRunning looks through /proc; the kernel cuts names to 15 bytes.
func isRunning(_ context.Context, name string) (bool, error) {
	if len(name) > 15 {
		name = name[:15]
	}
	comms, err := filepath.Glob("/proc/[0-9]*/comm")
	if err != nil || len(comms) == 0 {
		return false, ErrNotAvailable
	}
	for _, path := range comms {
		if b, err := os.ReadFile(path); err == nil && strings.TrimSpace(string(b)) == name {
			return true, nil
		}
	}
	return false, nil
}
