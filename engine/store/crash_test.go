package store

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestWhatWasFlushedSurvivesKillMidWrite(t *testing.T) {
	path := dbPath(t)
	for round := range 5 {
		cmd, out := startChild(t, "write", path)
		until := 30 + rand.IntN(200) // lines of the child's account, so that the kill falls anywhere
		ledger, flushed := -1, -1
		for line := 0; line < until && out.Scan(); line++ {
			var n int
			if _, err := fmt.Sscanf(out.Text(), "ledger %d", &n); err == nil {
				ledger = n
			}
			if _, err := fmt.Sscanf(out.Text(), "flushed %d", &n); err == nil {
				flushed = n
			}
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for out.Scan() { // what it still said before it died
		}
		_ = cmd.Wait()
		if flushed < 0 {
			t.Fatalf("round %d: the child flushed nothing", round)
		}

		integrity(t, path)
		s := open(t, path, Options{Now: atEpoch})
		for n := range flushed + 1 {
			if _, err := s.Decision(t.Context(), record(n).RequestID); err != nil {
				t.Errorf("round %d: flushed record %d: %v", round, n, err)
			}
		}
		saved, err := s.LoadLedger()
		if err != nil {
			t.Fatal(err)
		}
		var got int
		if _, err := fmt.Sscanf(string(saved), "ledger %d", &got); err != nil || got < ledger {
			t.Errorf("round %d: ledger is %q, but %d was saved before the kill", round, saved, ledger)
		}
		if notes := s.Health().Notes; len(notes) > 0 {
			t.Errorf("round %d: the file was not sound: %v", round, notes)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTwoProcessesShareOneFile(t *testing.T) {
	path := dbPath(t)
	cmd, out := startChild(t, "hundred", path) // both create and migrate it
	s := open(t, path, Options{Now: atEpoch})
	stop := run(t, s)
	for n := range 100 {
		s.Record(record(n))
		if n%10 == 9 {
			flush(t, s)
		}
		if err := s.SetSetting("k", strings.Repeat("x", n+1)); err != nil {
			t.Fatal(err)
		}
	}
	for out.Scan() {
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("the other process: %v", err)
	}
	if got := len(ids(t, s, Filter{Limit: 1000})); got != 200 {
		t.Errorf("found %d records of both processes, want 200", got)
	}
	if h := s.Health(); !h.OK || h.Dropped != 0 || len(h.Notes) != 0 {
		t.Errorf("health: %+v", h)
	}
	stop()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	integrity(t, path)
}

func TestClosingWritesWhatIsQueued(t *testing.T) {
	path := dbPath(t)
	for name, ran := range map[string]bool{"after Run": true, "without Run": false} {
		t.Run(name, func(t *testing.T) {
			s := open(t, path, Options{Now: atEpoch})
			id := record(1).RequestID
			if ran {
				ctx, stop := context.WithCancel(t.Context())
				stop()
				if err := s.Run(ctx); err != nil {
					t.Fatal(err)
				}
			}
			s.Record(record(1))
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s.Record(record(2))
			if h := s.Health(); h.Dropped != 1 || h.Written != 1 {
				t.Errorf("health: %+v, want 1 written and the late one dropped", h)
			}
			if err := s.SaveLedger(nil); err == nil {
				t.Error("a closed store took a ledger")
			}
			if _, err := open(t, path, Options{}).Decision(t.Context(), id); err != nil {
				t.Errorf("after reopening: %v", err)
			}
		})
	}
}
