//go:build !linux && !darwin && !windows

package desktop

import "context"

func programPlaces(name, home string) []string { return unixPlaces(name, home) }

func startCommand(name, path string) string {
	if name == "ollama" {
		return quote(path) + " serve"
	}
	return quote(path)
}

func isRunning(context.Context, string) (bool, error) { return false, ErrNotAvailable }
