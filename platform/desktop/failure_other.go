//go:build !windows

package desktop

import (
	"errors"
	"io"
	"syscall"
)

// ReaderGone reports whether an error of writing says that whoever read a pipe
// has closed it.
func ReaderGone(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe)
}

func diskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

func readOnly(err error) bool { return errors.Is(err, syscall.EROFS) }
