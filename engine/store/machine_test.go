package store

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"bellwether/engine/fleet"
)

// Whatever is done to a store in whatever order, what it took is there: after
// restarts, while its disk is full and after, replaced by its latest version,
// and the state is the last one saved.
func TestAnyHistoryIsKept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "store")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = os.RemoveAll(dir) }()
		m := &machine{path: filepath.Join(dir, "bellwether.db"), want: map[string]fleet.Outcome{}}
		m.start(t)
		defer func() { m.halt(t) }()
		t.Repeat(map[string]func(*rapid.T){
			"record": func(t *rapid.T) {
				r := record(rapid.IntRange(0, 40).Draw(t, "n"))
				r.Outcome = rapid.SampledFrom([]fleet.Outcome{fleet.OutcomeOK, fleet.OutcomeFailed, fleet.OutcomeTruncated}).Draw(t, "outcome")
				m.s.Record(r)
				m.want[r.RequestID] = r.Outcome
			},
			"flush": func(t *rapid.T) {
				if err := m.s.Flush(context.Background()); (err != nil) && !m.full {
					t.Fatalf("flush: %v", err)
				}
			},
			"save": func(t *rapid.T) {
				m.ledger = fmt.Sprint("ledger ", rapid.IntRange(0, 1000).Draw(t, "ledger"))
				if err := m.s.SaveLedger([]byte(m.ledger)); err != nil && !m.full {
					t.Fatalf("save: %v", err)
				}
			},
			"fill": func(t *rapid.T) { m.setPages(t, 0); m.full = true },
			"free": func(t *rapid.T) { m.setPages(t, 1<<20); m.full = false },
			"restart": func(t *rapid.T) {
				if m.full {
					t.Skip("what waits for a full disk is lost with the process")
				}
				m.halt(t)
				m.start(t)
			},
			"": m.check,
		})
	})
}

type machine struct {
	path   string
	s      *Store
	end    func() error
	full   bool
	want   map[string]fleet.Outcome
	ledger string
}

func (m *machine) start(t *rapid.T) {
	s, err := Open(m.path, Options{Now: atEpoch, Recent: 64})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	m.s = s
	m.end = func() error {
		stop()
		<-ended
		return s.Close()
	}
}

func (m *machine) halt(t *rapid.T) {
	if err := m.end(); err != nil && !m.full {
		t.Fatalf("close: %v", err)
	}
}

// setPages lets the file grow by so many pages.
func (m *machine) setPages(t *rapid.T, extra int) {
	m.s.write.mu.Lock()
	defer m.s.write.mu.Unlock()
	var pages int
	if err := m.s.write.db.QueryRow(`PRAGMA page_count`).Scan(&pages); err != nil {
		t.Fatal(err)
	}
	if _, err := m.s.write.db.Exec(fmt.Sprintf(`PRAGMA max_page_count = %d`, pages+extra)); err != nil {
		t.Fatal(err)
	}
}

func (m *machine) check(t *rapid.T) {
	found, err := m.s.Decisions(context.Background(), Filter{Limit: pageMax})
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != len(m.want) {
		t.Fatalf("%d decisions, want %d", len(found), len(m.want))
	}
	if !slices.IsSortedFunc(found, later) {
		t.Fatal("out of order")
	}
	for _, r := range found {
		if r.Outcome != m.want[r.RequestID] {
			t.Fatalf("%s is %s, want %s", r.RequestID, r.Outcome, m.want[r.RequestID])
		}
	}
	ledger, err := m.s.LoadLedger()
	if err != nil || string(ledger) != m.ledger {
		t.Fatalf("ledger %q, %v, want %q", ledger, err, m.ledger)
	}
	if h := m.s.Health(); h.Dropped != 0 || h.Unreadable != 0 || len(h.Notes) != 0 {
		t.Fatalf("health: %+v", h)
	}
}
