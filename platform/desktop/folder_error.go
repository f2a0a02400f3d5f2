package desktop

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
)

// FolderError says that a folder of this program cannot be used, why, and what
// helps.
type FolderError struct {
	Dir string
	Err error
}

// InFolder makes a FolderError of an error of writing or reading in a folder
// where the folder is at fault; another error it returns as it is.
func InFolder(dir string, err error) error {
	if err != nil && (diskFull(err) || readOnly(err) || errors.Is(err, fs.ErrPermission)) {
		return &FolderError{dir, err}
	}
	return err
}

func (e *FolderError) Error() string {
	why, remedy := "it cannot be written to", "make it a folder that you may write to"
	switch {
	case diskFull(e.Err):
		why, remedy = "its disk is full", "free some room there"
	case readOnly(e.Err):
		why, remedy = "its disk is read-only", "make it writable"
	case errors.Is(e.Err, fs.ErrPermission):
		why, remedy = "this user may not write there", "make the folder this user's own"
	case errors.Is(e.Err, syscall.ENOTDIR), errors.Is(e.Err, fs.ErrExist):
		why, remedy = "a file is in its place", "move that away"
	}
	said := e.Err
	var path *fs.PathError
	if errors.As(e.Err, &path) {
		said = path.Err // without the name of a file that is not there any more
	}
	return fmt.Sprintf("the data folder %s cannot be used: %s (%v); %s, or give Bellwether another folder with --data-dir", e.Dir, why, said, remedy)
}

func (e *FolderError) Unwrap() error { return e.Err }
