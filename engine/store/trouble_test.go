package store

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestRecordNeverBlocksAndOverflowIsCounted(t *testing.T) {
	s := open(t, dbPath(t), Options{Now: atEpoch, Recent: 4}) // no Run takes anything out
	for n := range queueSize + 7 {
		s.Record(record(n))
	}
	h := s.Health()
	if h.Dropped != 7 || h.DroppedWhy != tooFast || h.Waiting != queueSize {
		t.Errorf("health: %+v", h)
	}
}

// The backlog's limit is for a disk that refuses; a sound one takes a full
// queue of long records whole.
func TestAFullQueueOfLongRecordsIsWrittenWhole(t *testing.T) {
	s := open(t, dbPath(t), Options{Now: atEpoch, Recent: 1})
	const many = 1200
	for n := range many {
		r := record(n)
		r.Notes = []string{strings.Repeat("x", 2*backlogMax/many)}
		s.Record(r)
	}
	run(t, s)
	flush(t, s)
	if h := s.Health(); h.Written != many || h.Dropped != 0 {
		t.Errorf("health: %+v", h)
	}
}

func TestABatchIsWrittenWhenFullOrAfterATenthOfASecond(t *testing.T) {
	path := dbPath(t)
	synctest.Test(t, func(t *testing.T) {
		s := open(t, path, Options{})
		stop := run(t, s)
		for n := range batchSize {
			s.Record(record(n))
		}
		synctest.Wait()
		if h := s.Health(); h.Written != batchSize {
			t.Errorf("a full batch: %d written at once", h.Written)
		}
		s.Record(record(9000))
		synctest.Wait()
		if h := s.Health(); h.Written != batchSize || h.Waiting != 1 {
			t.Errorf("one more: %+v", h)
		}
		time.Sleep(batchWait)
		synctest.Wait()
		if h := s.Health(); h.Written != batchSize+1 || h.Waiting != 0 {
			t.Errorf("a tenth of a second later: %+v", h)
		}
		stop()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// limitPages has SQLite refuse to grow the file, as a full disk does.
func limitPages(t *testing.T, s *Store, extra int) {
	t.Helper()
	s.write.mu.Lock()
	defer s.write.mu.Unlock()
	var pages int
	if err := s.write.db.QueryRow(`PRAGMA page_count`).Scan(&pages); err != nil {
		t.Fatal(err)
	}
	if _, err := s.write.db.Exec(fmt.Sprintf(`PRAGMA max_page_count = %d`, pages+extra)); err != nil {
		t.Fatal(err)
	}
}

func TestAFullDiskCostsRecordsNotServiceAndItRecoversByItself(t *testing.T) {
	path := dbPath(t)
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		s := open(t, path, Options{Log: logTo(&log)})
		stop := run(t, s)
		limitPages(t, s, 5)
		const many = 1500
		for n := range many {
			r := record(n)
			r.Notes = []string{strings.Repeat("x", 2*backlogMax/many)} // twice what the backlog keeps
			s.Record(r)
		}
		time.Sleep(batchWait)
		synctest.Wait()
		h := s.Health()
		if h.OK || h.Reason != "the disk that holds the data folder is full" || h.Remedy == "" || h.Since.IsZero() {
			t.Errorf("while full: %+v", h)
		}
		if h.Dropped == 0 || h.DroppedWhy != h.Reason {
			t.Errorf("lost records are not told: %+v", h)
		}
		if h.Dropped+h.Written+uint64(h.Waiting) != many {
			t.Errorf("%d dropped + %d written + %d waiting is not %d", h.Dropped, h.Written, h.Waiting, many)
		}
		if got := ids(t, s, Filter{Limit: 1}); !slices.Equal(got, []string{record(many - 1).RequestID}) {
			t.Errorf("the latest decision is not seen: %v", got)
		}
		if err := s.SaveLedger(bytes.Repeat([]byte("L"), 1<<20)); err == nil {
			t.Error("a ledger that did not fit was called saved")
		}

		limitPages(t, s, 1<<20)
		time.Sleep(retryMax)
		synctest.Wait()
		h2 := s.Health()
		if !h2.OK || h2.Waiting != 0 || h2.Dropped != h.Dropped || h2.DroppedWhy != h.DroppedWhy {
			t.Errorf("with room again: %+v", h2)
		}
		if h2.Written+h2.Dropped != many {
			t.Errorf("%d written + %d dropped is not %d", h2.Written, h2.Dropped, many)
		}
		stop()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(log.String(), "not being written"); n != 1 {
			t.Errorf("told %d times:\n%s", n, log.String())
		}
		if !strings.Contains(log.String(), "written again") {
			t.Errorf("recovery is not told:\n%s", log.String())
		}

		s = open(t, path, Options{})
		if ledger, err := s.LoadLedger(); err != nil || len(ledger) != 1<<20 {
			t.Errorf("the ledger that waited: %d bytes, %v", len(ledger), err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	})
	integrity(t, path)
}

// TestARealFullDisk needs the right to mount; where there is none, the test
// above stands in for it.
func TestARealFullDisk(t *testing.T) {
	dir := smallDisk(t)
	path := filepath.Join(dir, "bellwether.db")
	s := open(t, path, Options{Now: atEpoch})
	run(t, s)
	s.Record(record(1))
	flush(t, s)
	filler := filepath.Join(dir, "filler")
	fillUp(t, filler)
	for n := range 200 {
		s.Record(record(n))
	}
	if err := s.Flush(t.Context()); err == nil {
		t.Fatal("200 records went onto a full disk")
	}
	if h := s.Health(); h.OK || h.Reason != "the disk that holds the data folder is full" {
		t.Errorf("while full: %+v", h)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	if err := s.Flush(t.Context()); err != nil {
		t.Errorf("with room again: %v", err)
	}
	if h := s.Health(); !h.OK || h.Dropped != 0 {
		t.Errorf("with room again: %+v", h)
	}
	if got := len(ids(t, s, Filter{Limit: pageMax})); got != 200 {
		t.Errorf("%d records, want 200", got)
	}
}

func TestOpeningOnAFullDiskServesAndRecovers(t *testing.T) {
	dir := smallDisk(t)
	filler := filepath.Join(dir, "filler")
	fillUp(t, filler)
	s := open(t, filepath.Join(dir, "bellwether.db"), Options{Now: atEpoch})
	run(t, s)
	s.Record(record(1))
	if err := s.Flush(t.Context()); err == nil {
		t.Fatal("wrote onto a full disk")
	}
	if got := ids(t, s, Filter{}); len(got) != 1 {
		t.Errorf("the decision is not seen: %v", got)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	flush(t, s)
	if h := s.Health(); !h.OK || h.Written != 1 {
		t.Errorf("with room again: %+v", h)
	}
}

// SQLite says of a folder in the place of its log only that it cannot be opened,
// which also stands for a missing permission.
func TestAFolderInThePlaceOfAFileIsNamed(t *testing.T) {
	for _, suffix := range []string{"-wal", "-shm", "-journal"} {
		path := filepath.Join(t.TempDir(), "bellwether.db")
		if err := os.Mkdir(path+suffix, 0o700); err != nil {
			t.Fatal(err)
		}
		s := open(t, path, Options{Now: atEpoch})
		run(t, s)
		s.Record(record(1))
		if err := s.Flush(t.Context()); err == nil {
			t.Fatal("wrote beside a folder in its way")
		}
		if h := s.Health(); !strings.Contains(h.Reason, "bellwether.db"+suffix+" in the data folder is a folder") || !strings.Contains(h.Remedy, "move bellwether.db"+suffix+" away") {
			t.Errorf("%q: %+v", suffix, h)
		}
		if err := os.Remove(path + suffix); err != nil {
			t.Fatal(err)
		}
		flush(t, s)
		if h := s.Health(); !h.OK || h.Written != 1 {
			t.Errorf("%q moved away: %+v", suffix, h)
		}
	}
}

// smallDisk mounts a file system of 1 MB, or skips the test.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "mount", "-t", "tmpfs", "-o", "size=1m", "bellwether-test", dir).CombinedOutput(); err != nil {
		t.Skipf("cannot mount a small disk here: %s", bytes.TrimSpace(out))
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", dir).CombinedOutput(); err != nil {
			t.Errorf("umount: %s", out)
		}
	})
	return dir
}

func fillUp(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{1 << 16, 4096, 1} {
		for {
			if _, err := f.Write(make([]byte, size)); err != nil {
				break
			}
		}
	}
	if err := f.Close(); err != nil {
		t.Log(err) // a full disk may say so once more
	}
}

func TestADamagedFileIsMovedAsideAndSaidSo(t *testing.T) {
	for name, harm := range map[string]func(path string, b []byte) []byte{
		"no database at all": func(string, []byte) []byte { return bytes.Repeat([]byte("not a database "), 900) },
		"cut short":          func(_ string, b []byte) []byte { return b[:len(b)/2] },
		"holes in it": func(_ string, b []byte) []byte {
			for at := 3 * 4096; at+4096 < len(b); at += 4 * 4096 {
				clear(b[at : at+4096])
			}
			return b
		},
		"another program's": func(path string, _ []byte) []byte {
			other := path + ".other"
			db, err := sql.Open("sqlite", other)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := db.Exec(`CREATE TABLE bookmarks (url TEXT)`); err != nil {
				t.Fatal(err)
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			b, err := os.ReadFile(other)
			if err != nil {
				t.Fatal(err)
			}
			return b
		},
		"ours without its tables": func(path string, _ []byte) []byte {
			db, err := sql.Open("sqlite", path)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := db.Exec(`DROP TABLE state`); err != nil {
				t.Fatal(err)
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			return b
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := dbPath(t)
			s := open(t, path, Options{Now: atEpoch})
			for n := range 500 {
				s.Record(long(n))
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			sound, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			damaged := harm(path, sound)
			if err := os.WriteFile(path, damaged, 0o600); err != nil {
				t.Fatal(err)
			}

			s = open(t, path, Options{Now: atEpoch})
			run(t, s)
			s.Record(record(1))
			flush(t, s)
			h := s.Health()
			if !h.OK || len(h.Notes) != 1 || !strings.Contains(h.Notes[0].Text, "bellwether.db.damaged-20260301-120000") {
				t.Fatalf("health: %+v", h)
			}
			if strings.Contains(h.Notes[0].Text, filepath.Dir(path)) {
				t.Errorf("the note names the owner's folders: %s", h.Notes[0].Text)
			}
			aside, err := os.ReadFile(path + ".damaged-20260301-120000")
			if err != nil || !bytes.Equal(aside, damaged) {
				t.Errorf("the old file is not there as it was: %v", err)
			}
			if got := ids(t, s, Filter{}); len(got) != 1 {
				t.Errorf("found %d records in the new file", len(got))
			}
			integrity(t, path)
		})
	}
}

func TestTheLedgerIsCarriedOverFromADamagedFile(t *testing.T) {
	path := dbPath(t)
	s := open(t, path, Options{Now: atEpoch})
	if err := errors.Join(s.SaveLedger([]byte("the ledger")), s.SetSetting("port", "11436")); err != nil {
		t.Fatal(err)
	}
	for n := range 500 {
		s.Record(long(n))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for at := 40 * 4096; at < 60*4096; at++ { // deep in the records
		b[at] = 0xA5
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	s = open(t, path, Options{Now: atEpoch})
	if len(s.Health().Notes) != 1 {
		t.Fatalf("the damage went unseen: %+v", s.Health())
	}
	if got, err := s.LoadLedger(); err != nil || string(got) != "the ledger" {
		t.Errorf("ledger: %q, %v", got, err)
	}
	if got, ok, err := s.Setting("port"); err != nil || !ok || got != "11436" {
		t.Errorf("setting: %q, %v", got, err)
	}
}

func TestDamageMetWhileRunningIsHandledByTheNextWrite(t *testing.T) {
	path := dbPath(t)
	s := open(t, path, Options{Now: atEpoch, Recent: 1})
	run(t, s)
	if err := s.SaveLedger([]byte("the ledger")); err != nil {
		t.Fatal(err)
	}
	for n := range 1000 {
		s.Record(long(n))
	}
	flush(t, s)
	if _, err := s.write.db.Exec(`PRAGMA wal_checkpoint(TRUNCATE); PRAGMA shrink_memory`); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(bytes.Repeat([]byte{0xA5}, int(info.Size())-60*4096), 50*4096); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Decisions(t.Context(), Filter{Limit: 1000}); err == nil {
		t.Fatal("the damage went unseen")
	}
	s.Record(record(2000))
	flush(t, s)
	if h := s.Health(); !h.OK || len(h.Notes) != 1 {
		t.Errorf("health: %+v", h)
	}
	if got, err := s.LoadLedger(); err != nil || string(got) != "the ledger" {
		t.Errorf("ledger: %q, %v", got, err)
	}
	if got := ids(t, s, Filter{}); !slices.Equal(got, []string{"req_002000"}) {
		t.Errorf("found %v", got)
	}
}

func TestAFileRemovedWhileInUseIsNoticed(t *testing.T) {
	path := dbPath(t)
	s := open(t, path, Options{Now: atEpoch})
	run(t, s)
	s.Record(record(1))
	flush(t, s)
	if err := os.RemoveAll(filepath.Dir(path)); err != nil {
		t.Skipf("this system does not remove a file in use: %v", err)
	}
	s.Record(record(2))
	flush(t, s)
	if h := s.Health(); !h.OK || len(h.Notes) != 1 || !strings.Contains(h.Notes[0].Text, "removed while in use") {
		t.Errorf("health: %+v", h)
	}
	integrity(t, path)
	if err := s.SaveLedger([]byte("x")); err != nil {
		t.Error(err)
	}
}

func TestTheFileIsItsOwnersAlone(t *testing.T) {
	path := dbPath(t)
	s := open(t, path, Options{Now: atEpoch})
	if err := s.SaveLedger([]byte("x")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{path, path + "-wal", path + "-shm"} {
		info, err := os.Stat(name)
		if errors.Is(err, fs.ErrNotExist) && name != path {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm()&0o077 != 0 && os.PathSeparator == '/' {
			t.Errorf("%s has mode %v", filepath.Base(name), info.Mode())
		}
	}
}

func TestAnyPathWillDo(t *testing.T) {
	for _, name := range []string{"a b", "per%20cent", "quest?ion&mode=ro", "ha#sh", "ünïcode 日本", "semi;colon'quote"} {
		if os.PathSeparator != '/' && strings.ContainsAny(name, "?") {
			continue
		}
		path := filepath.Join(t.TempDir(), name, name+".db")
		s := open(t, path, Options{Now: atEpoch})
		if err := s.SaveLedger([]byte("x")); err != nil {
			t.Errorf("%q: %v", name, err)
		}
		if _, err := os.Stat(path); err != nil {
			t.Errorf("%q: not where it was asked for: %v", name, err)
		}
	}
	if _, err := Open("", Options{}); err == nil {
		t.Error("opened no path")
	}
	if _, err := Open(t.TempDir(), Options{}); err == nil {
		t.Error("opened a folder")
	}
}
