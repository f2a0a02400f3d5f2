package desktop

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// InstanceLock is held by the one engine that uses a data folder, or by the one
// of its name. The system drops it when the process ends, however it ends, so a stale lock cannot be.
type InstanceLock struct{ f *os.File }

// lockName is the file the lock stands on. It stays when the lock is dropped:
// removing it would let two processes lock two different files of that name.
const lockName = "bellwether.lock"

// LockInstance takes the lock of a data folder, or returns *HeldError at once.
// The folder must exist.
func LockInstance(dataDir string) (*InstanceLock, error) { return LockNamed(dataDir, lockName) }

// LockNamed is LockInstance with another name, for what may be there once
// beside the engine: the tray.
func LockNamed(dataDir, name string) (*InstanceLock, error) {
	f, err := os.OpenFile(filepath.Join(dataDir, name), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, &FolderError{dataDir, err}
	}
	held, err := tryLock(f)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("take the instance lock: %w", err)
	}
	if held {
		held := readHolder(f)
		f.Close()
		held.Dir = dataDir
		return nil, held
	}
	// The pid is a courtesy to whoever finds the lock held; losing it harms nothing.
	if err := f.Truncate(0); err == nil {
		_, _ = f.WriteAt([]byte(strconv.Itoa(os.Getpid())), 0)
	}
	return &InstanceLock{f}, nil
}

// Leave says to whoever finds the lock held that its owner is about to end.
// It is a courtesy as the pid is.
func (l *InstanceLock) Leave() {
	_, _ = l.f.WriteAt([]byte(strconv.Itoa(os.Getpid())+leaving), 0)
}

// leaving stands behind the pid of an owner that is about to end.
const leaving = " leaving"

// Unlock drops the lock.
func (l *InstanceLock) Unlock() error { return l.f.Close() }

// HeldError says that another process uses the data folder.
type HeldError struct {
	Dir     string
	PID     int  // 0 = not known
	Leaving bool // it said that it is about to end
}

func (e *HeldError) Error() string {
	who := "another bellwether"
	if e.PID != 0 {
		who += fmt.Sprintf(" (pid %d)", e.PID)
	}
	return fmt.Sprintf("%s already uses %s; stop it, or give this one its own --data-dir", who, e.Dir)
}

func readHolder(f *os.File) *HeldError {
	b := make([]byte, 32)
	n, _ := f.ReadAt(b, 0)
	pid, ends := strings.CutSuffix(strings.TrimSpace(string(b[:n])), leaving)
	number, _ := strconv.Atoi(pid)
	return &HeldError{PID: number, Leaving: ends}
}
