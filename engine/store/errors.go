package store

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
)

// ErrNotFound says that no record has the id asked for.
var ErrNotFound = errors.New("no such record")

// UnavailableError says why the file cannot be written or read just now. Both
// texts are for the machine's owner and name no folder of theirs.
type UnavailableError struct {
	Reason string
	Remedy string
	Err    error // what the file system or SQLite said
}

func (e *UnavailableError) Error() string { return "database: " + e.Reason + " (" + e.Remedy + ")" }

// Told returns both texts.
func (e *UnavailableError) Told() (reason, remedy string) { return e.Reason, e.Remedy }

// Unwrap returns what the file system or SQLite said.
func (e *UnavailableError) Unwrap() error { return e.Err }

// damagedError says that the file is no sound database of ours.
type damagedError struct{ finding string }

func (e *damagedError) Error() string { return "damaged: " + e.finding }

// isDamaged reports whether err means that the file itself is broken, rather
// than the disk, the permissions or the moment.
func isDamaged(err error) bool {
	var d *damagedError
	if errors.As(err, &d) {
		return true
	}
	code := primary(err)
	return code == lib.SQLITE_CORRUPT || code == lib.SQLITE_NOTADB
}

// asDamage turns "no such table" and the like into damage: said of a file that
// claims to be ours, it means that parts of it are gone.
func asDamage(err error) error {
	if primary(err) == lib.SQLITE_ERROR {
		return &damagedError{err.Error()}
	}
	return err
}

// primary returns SQLite's primary result code of an error, 0 if it is not one.
func primary(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code() & 0xff
	}
	return 0
}

// explain puts an error of the file into words for the machine's owner.
func explain(err error) *UnavailableError {
	var u *UnavailableError
	if errors.As(err, &u) {
		return u
	}
	u = &UnavailableError{Err: err}
	var e *sqlite.Error
	sharedMemory := errors.As(err, &e) && e.Code() == lib.SQLITE_IOERR_SHMSIZE
	switch code := primary(err); {
	case code == lib.SQLITE_FULL || sharedMemory || errors.Is(err, syscall.ENOSPC):
		u.Reason = "the disk that holds the data folder is full"
		u.Remedy = "free some space; writing goes on by itself"
	case code == lib.SQLITE_READONLY || code == lib.SQLITE_CANTOPEN || code == lib.SQLITE_PERM ||
		errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS):
		u.Reason = "the data folder cannot be written"
		u.Remedy = "give this user write permission, or choose another folder with --data-dir"
	case code == lib.SQLITE_BUSY || code == lib.SQLITE_LOCKED:
		u.Reason = "another program holds the database locked"
		u.Remedy = "end the other program that has it open"
	case code == lib.SQLITE_IOERR:
		u.Reason = "the disk that holds the data folder reports errors"
		u.Remedy = "check the disk; writing goes on by itself"
	case isDamaged(err):
		u.Reason = "the database is damaged and could not be moved aside"
		u.Remedy = "move it away by hand"
	default:
		u.Reason = fmt.Sprintf("the database cannot be written (code %d)", code)
		u.Remedy = "restart; if it stays so, move the database away"
	}
	return u
}
