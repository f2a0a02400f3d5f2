package desktop

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
)

// OpenFile shows a file of this machine with the program that its user reads
// such files with. It returns when that program has been told.
func OpenFile(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("open %s: there is no such file yet", path)
	case err != nil:
		return fmt.Errorf("open a file: %w", err)
	case !info.Mode().IsRegular():
		return fmt.Errorf("open %s: it is no file", path)
	}
	name, args := opener(path)
	program, err := exec.LookPath(name)
	if err != nil {
		return fmt.Errorf("open %s: %w", path, ErrNotAvailable)
	}
	cmd := exec.Command(program, args...)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("open %s: %w", path, errors.Join(ErrNotAvailable, err))
	}
	go func() { _ = cmd.Wait() }() // so that it leaves no zombie; it ends by itself
	return nil
}
