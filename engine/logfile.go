package engine

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"bellwether/platform/desktop"
)

const (
	logFileName = "bellwether.log"
	appLogName  = "app.log" // of the desktop app: what it says before and beside an engine
	// A log file that has grown to logFileMost bytes becomes bellwether.log.1, and
	// so on; logFilesKept of them stay beside the one being written.
	logFileMost  = 4 << 20
	logFilesKept = 2
)

// logFile is the log on disk, turned over by size. Its mutex guards the file.
// A log that cannot be written is no reason to stop: what fails is lost.
type logFile struct {
	path string
	mu   sync.Mutex
	f    *os.File
	size int64
}

// LogPath is where the engine of these folders writes its log, AppLogPath where
// the desktop app does.
func LogPath(f desktop.Folders) string    { return filepath.Join(f.Logs, logFileName) }
func AppLogPath(f desktop.Folders) string { return filepath.Join(f.Logs, appLogName) }

// OpenAppLog opens the log of the desktop app, turned over like the engine's.
func OpenAppLog(f desktop.Folders) (io.WriteCloser, error) { return openLogFile(f.Logs, appLogName) }

// openLogFile opens a log in a folder, which it makes if need be.
func openLogFile(folder, name string) (*logFile, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("make the log's folder: %w", err)
	}
	l := &logFile{path: filepath.Join(folder, name)}
	if err := l.open(); err != nil {
		return nil, fmt.Errorf("open the log: %w", err)
	}
	return l, nil
}

func (l *logFile) open() error {
	f, err := os.OpenFile(l.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return errors.Join(err, f.Close())
	}
	l.f, l.size = f, info.Size()
	return nil
}

// Write appends one line.
func (l *logFile) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.f != nil && l.size > 0 && l.size+int64(len(line)) > logFileMost {
		l.turn()
	}
	if l.f == nil {
		return len(line), nil // closed, or lost: said once when it was
	}
	n, err := l.f.Write(line)
	l.size += int64(n)
	return n, err
}

// turn makes the file the latest of the kept ones and begins another. The
// caller holds the mutex.
func (l *logFile) turn() {
	_ = l.f.Close()
	l.f = nil
	for i := logFilesKept; i > 0; i-- {
		older, newer := fmt.Sprintf("%s.%d", l.path, i), fmt.Sprintf("%s.%d", l.path, i-1)
		if i == 1 {
			newer = l.path
		}
		_ = os.Remove(older) // a rename does not replace everywhere
		_ = os.Rename(newer, older)
	}
	_ = l.open()
}

// Close ends the log; later lines are dropped.
func (l *logFile) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.f == nil {
		return nil
	}
	err := l.f.Close()
	l.f = nil
	return err
}
