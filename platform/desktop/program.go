package desktop

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// FindProgram looks for an executable where people and installers put it; ""
// when it is nowhere. PATH alone is not enough: a program started from the
// desktop gets a short one, and tools under ~/.local/bin or Homebrew vanish.
func FindProgram(name string) string {
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	home, _ := os.UserHomeDir()
	for _, place := range programPlaces(name, home) {
		if info, err := os.Stat(place); err == nil && !info.IsDir() {
			return place
		}
	}
	return ""
}

// StartCommand is what a person types to start a known server program that is
// installed at path: by its service or app where it has one, else itself.
func StartCommand(name, path string) string { return startCommand(name, path) }

// EndCommand is what a person types to end a process that heeds nothing.
func EndCommand(pid int) string { return endCommand(pid) }

// ErrNotAvailable is returned where this system has no source for an answer.
var ErrNotAvailable = errors.New("not available here")

// IsRunning reports whether a process of that name runs, whoever started it.
// The name is the executable's, without ".exe".
func IsRunning(ctx context.Context, name string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	return isRunning(ctx, name)
}

// unixPlaces are the folders of user and system tools.
func unixPlaces(name, home string) []string {
	var out []string
	for _, dir := range []string{"/usr/local/bin", "/usr/bin", "/opt/homebrew/bin", "/opt/local/bin", "/snap/bin", filepath.Join(home, ".local/bin"), filepath.Join(home, "bin")} {
		out = append(out, filepath.Join(dir, name))
	}
	return out
}

// quote makes a path safe to be typed.
func quote(path string) string {
	if strings.ContainsAny(path, " ()&'\"") {
		return `"` + path + `"`
	}
	return path
}
