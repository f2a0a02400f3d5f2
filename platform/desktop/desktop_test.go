package desktop

import (
	"bufio"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestFoldersStandInTheSystemsPlaces(t *testing.T) {
	f, err := DefaultFolders("bellwether")
	if err != nil {
		t.Skip("no home here:", err)
	}
	for _, dir := range []string{f.Data, f.Config, f.Logs} {
		if !filepath.IsAbs(dir) {
			t.Errorf("folder %q is not absolute", dir)
		}
	}
	if runtime.GOOS != "linux" {
		return
	}
	env := map[string]string{"XDG_DATA_HOME": "/x/data", "XDG_CONFIG_HOME": "relative", "XDG_STATE_HOME": "/x/state"}
	got := defaultFolders("bellwether", "/home/ann", func(k string) string { return env[k] })
	want := Folders{Data: "/x/data/bellwether", Config: "/home/ann/.config/bellwether", Logs: "/x/state/bellwether"}
	if got != want {
		t.Errorf("folders = %+v, want %+v (a relative XDG path is ignored)", got, want)
	}
}

func TestPrivateFileIsReplacedWholeAndOwnersOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.json")
	if _, err := ReadPrivate(path); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("missing file: %v, want fs.ErrNotExist", err)
	}
	for _, text := range []string{"a longer first text", "second"} {
		if err := WritePrivate(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
		got, err := ReadPrivate(path)
		if err != nil || string(got) != text {
			t.Fatalf("read back %q, %v, want %q", got, err, text)
		}
	}
	entries, _ := os.ReadDir(filepath.Dir(path))
	if len(entries) != 1 {
		t.Errorf("%d files left, want the one", len(entries))
	}
	if runtime.GOOS == "windows" {
		return
	}
	info, _ := os.Stat(path)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode %04o, want 0600", info.Mode().Perm())
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	var exposed *ExposedError
	if _, err := ReadPrivate(path); !errors.As(err, &exposed) {
		t.Errorf("a file others can read: %v, want *ExposedError", err)
	}
}

func TestHalfFilesOfAKilledProcessAreRemovedAndNothingElse(t *testing.T) {
	dir := t.TempDir()
	whole := filepath.Join(dir, "engine.json")
	if err := WritePrivate(whole, []byte("{}")); err != nil {
		t.Fatal(err)
	}
	old, fresh := filepath.Join(dir, ".new-1"), filepath.Join(dir, ".new-2")
	for _, path := range []string{old, fresh} {
		if err := os.WriteFile(path, []byte("ha"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, ".new-folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	hourAgo := time.Now().Add(-time.Hour)
	if err := os.Chtimes(old, hourAgo, hourAgo); err != nil {
		t.Fatal(err)
	}
	left := func() (names []string) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return names
	}
	for _, c := range []struct {
		before time.Time
		want   []string
	}{{hourAgo.Add(time.Minute), []string{".new-2", ".new-folder", "engine.json"}}, {time.Now().Add(time.Second), []string{".new-folder", "engine.json"}}} {
		if err := RemoveUnfinished(dir, c.before); err != nil || !slices.Equal(left(), c.want) {
			t.Errorf("%v: %v are left, want %v", err, left(), c.want)
		}
	}
}

// A folder's rights have nothing to do with why it cannot be read as a file.
func TestFolderInPlaceOfAPrivateFileIsCalledOne(t *testing.T) {
	path := filepath.Join(t.TempDir(), "node.key")
	if err := os.Mkdir(path, 0o755); err != nil {
		t.Fatal(err)
	}
	_, err := ReadPrivate(path)
	var odd *NoFileError
	if !errors.As(err, &odd) || !strings.Contains(err.Error(), "node.key is a folder") {
		t.Errorf("got %v", err)
	}
}

func TestSecondInstanceIsToldWhoHoldsTheFolder(t *testing.T) {
	dir := t.TempDir()
	first, err := LockInstance(dir)
	if err != nil {
		t.Fatal(err)
	}
	var held *HeldError
	if _, err := LockInstance(dir); !errors.As(err, &held) || held.PID != os.Getpid() {
		t.Fatalf("second lock: %v, want *HeldError with pid %d", err, os.Getpid())
	}
	if err := first.Unlock(); err != nil {
		t.Fatal(err)
	}
	again, err := LockInstance(dir)
	if err != nil {
		t.Fatalf("after unlock: %v", err)
	}
	_ = again.Unlock()
}

func TestLockOfAKilledProcessIsFree(t *testing.T) {
	if dir := os.Getenv("TEST_LOCK_DIR"); dir != "" {
		l, err := LockInstance(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Unlock() // keeps the file from being collected; never reached
		os.Stdout.WriteString("locked\n")
		select {} // until killed
	}
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=^TestLockOfAKilledProcessIsFree$")
	cmd.Env = append(os.Environ(), "TEST_LOCK_DIR="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	if line != "locked\n" {
		t.Fatalf("child said %q", line)
	}
	var held *HeldError
	if _, err := LockInstance(dir); !errors.As(err, &held) || held.PID != cmd.Process.Pid {
		t.Errorf("while the child lives: %v, want held by %d", err, cmd.Process.Pid)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	l, err := LockInstance(dir)
	if err != nil {
		t.Fatalf("after kill: %v", err)
	}
	_ = l.Unlock()
}
