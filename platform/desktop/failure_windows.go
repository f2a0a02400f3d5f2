package desktop

import (
	"errors"
	"io"

	"golang.org/x/sys/windows"
)

// ReaderGone reports whether an error of writing says that whoever read a pipe
// has closed it.
func ReaderGone(err error) bool {
	return errors.Is(err, windows.ERROR_BROKEN_PIPE) || errors.Is(err, windows.ERROR_NO_DATA) || errors.Is(err, io.ErrClosedPipe)
}

func diskFull(err error) bool {
	return errors.Is(err, windows.ERROR_DISK_FULL) || errors.Is(err, windows.ERROR_HANDLE_DISK_FULL)
}

func readOnly(err error) bool { return errors.Is(err, windows.ERROR_WRITE_PROTECT) }
