package desktop

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Unfinished is the pattern of files that become another by being renamed.
const Unfinished = ".new-*"

// WritePrivate replaces the file at path by data, readable and writable by
// its owner only (0600; on Windows the folder's own rights apply). Readers see
// the old content or the new, never a part; it is on disk when WritePrivate
// returns. Used for the state file (address and token) and the ledger's kin.
func WritePrivate(path string, data []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), Unfinished) // CreateTemp makes it 0600
	if err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(path), err)
	}
	defer os.Remove(tmp.Name()) // fails harmlessly once renamed
	_, err = tmp.Write(data)
	if err == nil {
		err = tmp.Sync()
	}
	if cerr := tmp.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err == nil {
		err = syncDir(filepath.Dir(path))
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(path), err)
	}
	return nil
}

// ReadPrivate reads a file that WritePrivate wrote. A file that others may
// read is refused with *ExposedError (its secret may be known), what is no file
// with *NoFileError, a missing one is fs.ErrNotExist.
func ReadPrivate(path string) ([]byte, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, &NoFileError{Path: path, Mode: info.Mode().Type()} // to open a pipe would wait
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if exposed(info.Mode()) {
		return nil, &ExposedError{Path: path, Mode: info.Mode().Perm()}
	}
	data := make([]byte, info.Size())
	n, err := f.ReadAt(data, 0)
	if n == len(data) {
		return data, nil
	}
	return nil, err
}

// RemoveUnfinished removes what WritePrivate had not finished in a folder when
// its process was killed, of files last written before a time. That may be now
// where nobody else writes: in the folder that LockInstance holds.
func RemoveUnfinished(dir string, before time.Time) error {
	left, err := filepath.Glob(filepath.Join(dir, Unfinished))
	for _, path := range left {
		if info, serr := os.Lstat(path); serr == nil && info.Mode().IsRegular() && info.ModTime().Before(before) {
			err = errors.Join(err, os.Remove(path))
		}
	}
	return err
}

// RemovePrivate removes the file; a missing one is no error.
func RemovePrivate(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// NoFileError reports something else in the place of a file.
type NoFileError struct {
	Path string
	Mode fs.FileMode // its type bits
}

func (e *NoFileError) Error() string {
	what := "no file"
	switch {
	case e.Mode.IsDir():
		what = "a folder"
	case e.Mode&fs.ModeNamedPipe != 0:
		what = "a pipe"
	case e.Mode&fs.ModeSocket != 0:
		what = "a socket"
	case e.Mode&fs.ModeDevice != 0:
		what = "a device"
	}
	return fmt.Sprintf("%s is %s, and should be a file", filepath.Base(e.Path), what)
}

// ExposedError reports a private file that other users can read.
type ExposedError struct {
	Path string
	Mode fs.FileMode
}

func (e *ExposedError) Error() string {
	return fmt.Sprintf("%s is readable by others (mode %04o); run: chmod 600 %q", e.Path, e.Mode, e.Path)
}
