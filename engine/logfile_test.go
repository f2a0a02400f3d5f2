package engine

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// P-42: what a program without a screen says is in a file, which does not grow
// for ever.
func TestALogFileTurnsOverBySize(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "logs")
	l, err := openLogFile(dir, logFileName)
	if err != nil {
		t.Fatal(err)
	}
	line := []byte(strings.Repeat("x", 1<<20-1) + "\n")
	for range 17 { // four files of four
		if n, err := l.Write(line); n != len(line) || err != nil {
			t.Fatal(n, err)
		}
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*"))
	var all int64
	for _, f := range files {
		info, err := os.Stat(f)
		if err != nil || info.Size() > logFileMost || info.Mode().Perm()&0o077 != 0 && os.PathSeparator == '/' {
			t.Errorf("%s: %v %v", f, info, err)
		}
		all += info.Size()
	}
	if len(files) != logFilesKept+1 || all != 9<<20 {
		t.Errorf("%v, %d MiB", files, all>>20)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if _, err := l.Write(line); err != nil {
		t.Error("after its end: ", err)
	}
	if l, err = openLogFile(dir, logFileName); err != nil || l.size != 1<<20 {
		t.Errorf("it goes on at %d: %v", l.size, err)
	}
	_ = l.Close()
}
