package desktop

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Folders are where a program keeps its things. All are absolute; none is
// created by finding them (see Folders.Create).
type Folders struct {
	Data   string // database, keys, lock and state file: this machine's own, not roamed
	Config string // the settings file
	Logs   string
}

// DefaultFolders returns the system's places for the program called app
// ("bellwether"):
//
//	          macOS                                Linux                      Windows
//	Data      ~/Library/Application Support/App    $XDG_DATA_HOME/app         %LocalAppData%\App
//	Config    the same                             $XDG_CONFIG_HOME/app       %AppData%\App
//	Logs      ~/Library/Logs/App                   $XDG_STATE_HOME/app        %LocalAppData%\App\Logs
//
// The error says which variable is missing: without a home there is no default,
// and the caller must be given --data-dir.
func DefaultFolders(app string) (Folders, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return Folders{}, fmt.Errorf("there is no home folder to keep things in (%w): set it, or name a folder with --data-dir", err)
	}
	return defaultFolders(app, home, os.Getenv), nil
}

// FoldersUnder puts everything below one directory, for --data-dir: several
// engines can then run side by side on one machine, each with its own.
func FoldersUnder(dir string) (Folders, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return Folders{}, fmt.Errorf("make %s absolute: %w", dir, err)
	}
	return Folders{Data: abs, Config: abs, Logs: filepath.Join(abs, "logs")}, nil
}

// Create makes the folders that are missing, readable by their owner only.
func (f Folders) Create() error {
	for _, dir := range []string{f.Data, f.Config, f.Logs} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			if strings.HasPrefix(dir, f.Data+string(filepath.Separator)) {
				dir = f.Data // which is the one that its owner named
			}
			return &FolderError{dir, err}
		}
	}
	return nil
}

// absoluteOr returns the variable's value if it is an absolute path (the XDG
// rule: relative ones are ignored), else fallback.
func absoluteOr(value, fallback string) string {
	if filepath.IsAbs(value) {
		return value
	}
	return fallback
}
