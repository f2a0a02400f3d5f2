package desktop

import (
	"path/filepath"
	"strings"
)

func defaultFolders(app, home string, env func(string) string) Folders {
	name := strings.ToUpper(app[:1]) + app[1:]
	local := absoluteOr(env("LocalAppData"), filepath.Join(home, "AppData", "Local"))
	roaming := absoluteOr(env("AppData"), filepath.Join(home, "AppData", "Roaming"))
	return Folders{
		Data:   filepath.Join(local, name),
		Config: filepath.Join(roaming, name),
		Logs:   filepath.Join(local, name, "Logs"),
	}
}
