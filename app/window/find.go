package window

import (
	"os"
	"path/filepath"
	"runtime"

	"bellwether/app/window/child"
	"bellwether/platform/desktop"
)

// find looks for the window program; "" = it is not installed.
func find() string {
	self, err := os.Executable()
	if err == nil {
		if real, err := filepath.EvalSymlinks(self); err == nil {
			self = real
		}
		for _, place := range places(runtime.GOOS, self) {
			if info, err := os.Stat(place); err == nil && !info.IsDir() {
				return place
			}
		}
	}
	return desktop.FindProgram(child.Program)
}

// places are where the window program stands for a bellwether at self, the
// likeliest first.
func places(goos, self string) []string {
	dir := filepath.Dir(self)
	switch goos {
	case "windows":
		return []string{filepath.Join(dir, child.Program+".exe")}
	case "darwin": // an app within the app, with a Dock icon of its own
		contents := filepath.Dir(dir)
		return []string{
			filepath.Join(contents, "Helpers", "Bellwether Window.app", "Contents", "MacOS", child.Program),
			filepath.Join(dir, child.Program),
		}
	}
	return []string{
		filepath.Join(dir, child.Program),
		filepath.Join(dir, "..", "lib", "bellwether", child.Program),
	}
}
