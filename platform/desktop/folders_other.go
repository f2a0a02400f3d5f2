//go:build !darwin && !windows

package desktop

import "path/filepath"

func defaultFolders(app, home string, env func(string) string) Folders {
	return Folders{
		Data:   filepath.Join(absoluteOr(env("XDG_DATA_HOME"), filepath.Join(home, ".local", "share")), app),
		Config: filepath.Join(absoluteOr(env("XDG_CONFIG_HOME"), filepath.Join(home, ".config")), app),
		Logs:   filepath.Join(absoluteOr(env("XDG_STATE_HOME"), filepath.Join(home, ".local", "state")), app),
	}
}
