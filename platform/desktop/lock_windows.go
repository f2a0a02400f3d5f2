package desktop

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// tryLock locks one byte far beyond the pid, so that others can still read it
// (Windows' locks are mandatory for the bytes they cover).
func tryLock(f *os.File) (held bool, err error) {
	err = windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY,
		0, 1, 0, &windows.Overlapped{Offset: 1 << 20})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return true, nil
	}
	return false, err
}
