package desktop

import (
	"path/filepath"
	"strings"
)

func defaultFolders(app, home string, _ func(string) string) Folders {
	name := strings.ToUpper(app[:1]) + app[1:]
	support := filepath.Join(home, "Library", "Application Support", name)
	return Folders{Data: support, Config: support, Logs: filepath.Join(home, "Library", "Logs", name)}
}
