package desktop

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
)

func programPlaces(name, home string) []string {
	out := unixPlaces(name, home)
	if name == "ollama" {
		out = append(out, "/Applications/Ollama.app/Contents/Resources/ollama",
			filepath.Join(home, "Applications/Ollama.app/Contents/Resources/ollama"))
	}
	return out
}

func startCommand(name, path string) string {
	switch {
	case name == "ollama" && strings.Contains(path, "Ollama.app"):
		return "open -a Ollama"
	case name == "ollama" && strings.HasPrefix(path, "/opt/homebrew"):
		return "brew services start ollama"
	case name == "ollama":
		return quote(path) + " serve"
	}
	return quote(path)
}

func isRunning(ctx context.Context, name string) (bool, error) {
	err := exec.CommandContext(ctx, "/usr/bin/pgrep", "-ix", name).Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return true, nil
	case errors.As(err, &exit) && exit.ExitCode() == 1:
		return false, nil
	}
	return false, ErrNotAvailable
}
