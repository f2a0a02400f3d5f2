package store

import (
	"fmt"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"bellwether/engine/route"
)

func TestRecordsGoWhenTheyAreTooOld(t *testing.T) {
	now := epoch
	s := open(t, dbPath(t), Options{Now: func() time.Time { return now }, MaxAge: time.Hour, Recent: 1})
	run(t, s)
	for n := range 1200 { // 20 minutes of one a second
		s.Record(record(n))
	}
	flush(t, s)
	now = epoch.Add(time.Hour + 1100*time.Second)
	cleanAll(t, s)
	found := ids(t, s, Filter{Limit: pageMax})
	if len(found) != 100 || found[99] != record(1100).RequestID {
		t.Errorf("%d records are left, the oldest %s", len(found), found[len(found)-1])
	}
	s.SetLimits(time.Minute, 0)
	cleanAll(t, s)
	if found := ids(t, s, Filter{}); len(found) != 1 { // the one in memory
		t.Errorf("after a shorter limit %d are left", len(found))
	}
	integrity(t, s.Path())
}

func TestTheOldestRecordsGoWhenTheFileIsTooBig(t *testing.T) {
	const many = 1500
	for name, c := range map[string]struct {
		record func(int) *route.Record
		limit  int64
		batch  int // records written together
	}{
		"records that compress well":    {record, 1 << 17, 1000},
		"records that do not":           {long, 3 << 19, 1000},
		"each in a block of its own":    {record, 1 << 20, 1},
		"blocks of every size together": {record, 1 << 17, 37},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, dbPath(t), Options{Now: atEpoch, MaxBytes: c.limit, Recent: 1})
			run(t, s)
			for n := range many {
				s.Record(c.record(n))
				if n%c.batch == c.batch-1 {
					flush(t, s)
				}
			}
			flush(t, s)
			cleanAll(t, s)
			if _, err := s.write.db.Exec(`PRAGMA wal_checkpoint(TRUNCATE)`); err != nil {
				t.Fatal(err)
			}
			info, err := os.Stat(s.Path())
			if err != nil || info.Size() > c.limit || info.Size() < c.limit*2/3 {
				t.Errorf("the file has %d bytes, limit %d, %v", info.Size(), c.limit, err)
			}
			if h := s.Health(); h.Bytes != info.Size() {
				t.Errorf("health says %d bytes, the file has %d", h.Bytes, info.Size())
			}
			var left int
			if err := s.write.db.QueryRow(`SELECT count(*) FROM decisions`).Scan(&left); err != nil {
				t.Fatal(err)
			}
			found := ids(t, s, Filter{Limit: pageMax})
			if left < 100 || left == many || len(found) != min(left, pageMax) {
				t.Fatalf("%d records are left, %d found", left, len(found))
			}
			for i, id := range found {
				if want := record(many - 1 - i).RequestID; id != want {
					t.Fatalf("place %d has %s, want %s: the oldest go first", i, id, want)
				}
			}
			if err := s.SaveLedger([]byte(fmt.Sprint(c.limit))); err != nil {
				t.Error(err)
			}
			integrity(t, s.Path())
		})
	}
}

// Run cleans up by itself, by the clock and by what was written.
func TestRunCleansUp(t *testing.T) {
	path := dbPath(t)
	synctest.Test(t, func(t *testing.T) {
		s := open(t, path, Options{MaxAge: time.Minute, Recent: 1})
		stop := run(t, s)
		old := record(1)
		old.At = time.Now().Add(-time.Hour)
		s.Record(old)
		s.Record(record(2))
		time.Sleep(cleanFirst - time.Second)
		if _, err := s.Decision(t.Context(), old.RequestID); err != nil {
			t.Errorf("before the first clean-up: %v", err)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if _, err := s.Decision(t.Context(), old.RequestID); err == nil {
			t.Error("too old a record is still there")
		}

		s.SetLimits(0, 1<<18)
		for n := range 2000 {
			r := record(n)
			r.At = time.Now()
			s.Record(r)
		}
		time.Sleep(time.Minute) // less than cleanEvery
		synctest.Wait()
		if h := s.Health(); h.Bytes == 0 || h.Bytes > 1<<18 {
			t.Errorf("after a burst the file has %d bytes", h.Bytes)
		}
		stop()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

func cleanAll(t *testing.T, s *Store) {
	t.Helper()
	for range 1000 {
		more, err := s.cleanStep(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !more {
			return
		}
	}
	t.Fatal("cleaning up has no end")
}

// A client may ask for another model each time: what it leaves goes with its
// records, and not before.
func TestKindsGoWithTheirLastRecord(t *testing.T) {
	s := open(t, dbPath(t), Options{MaxAge: 100 * time.Second, Recent: 1, Now: func() time.Time { return epoch.Add(300 * time.Second) }})
	run(t, s)
	for n := range 300 {
		r := record(n)
		if r.App = "lasting"; n%3 == 0 {
			r.App = fmt.Sprint("passing ", n)
		}
		s.Record(r)
		if n%50 == 0 {
			flush(t, s)
		}
	}
	flush(t, s)
	apps := func(where string) (n int) {
		t.Helper()
		if err := s.write.db.QueryRow(`SELECT count(DISTINCT app) FROM kinds WHERE ` + where).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := apps(`app LIKE 'passing %'`); n != 100 {
		t.Errorf("%d kinds of passing apps, want 100", n)
	}
	cleanAll(t, s)
	if n := apps(`app LIKE 'passing %'`); n < 33 || n > 50 { // up to a batch's worth stay for longer
		t.Errorf("after cleaning up %d kinds of passing apps, want 33 and few more", n)
	}
	if apps(`app = 'lasting'`) != 1 || len(ids(t, s, Filter{App: "lasting", Limit: pageMax})) != 67 {
		t.Error("the lasting app lost its records")
	}
	integrity(t, s.Path())
	s.SetLimits(time.Nanosecond, 0)
	cleanAll(t, s)
	if n := apps(`1`); n != 0 {
		t.Errorf("%d kinds are left without records", n)
	}
}
