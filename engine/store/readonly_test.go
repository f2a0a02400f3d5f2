//go:build unix

package store

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// A folder that may be read but not written: what is there can be looked at,
// new decisions are served from memory, and the reason is told. For root every
// folder can be written, so the test runs itself again as another user.
func TestAReadOnlyFolderCostsRecordsNotService(t *testing.T) {
	if os.Geteuid() == 0 {
		again := exec.CommandContext(t.Context(), copyOfTestProgram(t), "-test.run=^"+t.Name()+"$", "-test.v")
		again.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		again.Dir = os.TempDir()
		out, err := again.CombinedOutput()
		if err != nil {
			t.Errorf("as another user: %v\n%s", err, out)
		}
		return
	}
	path := dbPath(t)
	s := open(t, path, Options{Now: atEpoch})
	s.Record(record(1))
	if err := s.SaveLedger([]byte("the ledger")); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	readOnly(t, path, true)

	s = open(t, path, Options{Now: atEpoch})
	run(t, s)
	s.Record(record(2))
	if err := s.Flush(t.Context()); err == nil {
		t.Fatal("wrote into a folder that cannot be written")
	}
	if h := s.Health(); h.OK || h.Reason != "the data folder cannot be written" || h.Waiting != 1 {
		t.Errorf("health: %+v", h)
	}
	if got := ids(t, s, Filter{}); len(got) != 2 {
		t.Errorf("found %v, want the old decision and the new", got)
	}
	if got, err := s.LoadLedger(); err != nil || string(got) != "the ledger" {
		t.Errorf("ledger: %q, %v", got, err)
	}
	if err := s.SaveLedger([]byte("a newer one")); err == nil {
		t.Error("a ledger that could not be written was called saved")
	}
	if got, err := s.LoadLedger(); err != nil || string(got) != "a newer one" {
		t.Errorf("the ledger kept in memory: %q, %v", got, err)
	}

	readOnly(t, path, false)
	flush(t, s)
	if h := s.Health(); !h.OK || h.Written != 1 || h.Dropped != 0 {
		t.Errorf("writable again: %+v", h)
	}
	if got, err := open(t, path, Options{}).LoadLedger(); err != nil || string(got) != "a newer one" {
		t.Errorf("the ledger that waited: %q, %v", got, err)
	}
}

func readOnly(t *testing.T, path string, on bool) {
	t.Helper()
	dir, file := os.FileMode(0o700), os.FileMode(0o600)
	if on {
		dir, file = 0o500, 0o400
	}
	if err := os.Chmod(path, file); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Dir(path), dir); err != nil {
		t.Fatal(err)
	}
}

// copyOfTestProgram puts this program where any user may run it.
func copyOfTestProgram(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "store-test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "store.test")
	if err := os.WriteFile(path, b, 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}
