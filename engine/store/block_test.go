package store

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// A block is what reading one record unpacks: its size has a limit in records
// and in bytes.
func TestABatchIsCutIntoBlocksOfBoundedSize(t *testing.T) {
	s := open(t, dbPath(t), Options{Now: atEpoch, Recent: 1})
	const short, huge = 3 * blockRecords / 2, 3
	for n := range short {
		s.Record(record(n))
	}
	for n := range huge {
		r := record(short + n)
		r.Notes = []string{strings.Repeat("x", blockBytes)}
		s.Record(r)
	}
	run(t, s)
	flush(t, s)
	var sizes []int
	rows, err := s.write.db.Query(`SELECT count(*) FROM decisions GROUP BY block ORDER BY block`)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var n int
		if err := rows.Scan(&n); err != nil {
			t.Fatal(err)
		}
		sizes = append(sizes, n)
	}
	if want := []int{blockRecords, blockRecords / 2, 1, 1, 1}; !slices.Equal(sizes, want) {
		t.Errorf("blocks of %v records, want %v", sizes, want)
	}
	if got := len(ids(t, s, Filter{Limit: pageMax})); got != short+huge {
		t.Errorf("%d records are found, want %d", got, short+huge)
	}
}

// Whatever replaces what, in the same block or across: each id is found once,
// as it was recorded last, and no block is left without a record.
func TestReplacedRecordsLeaveNoBlockBehind(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := open(t, dbPath(t), Options{Now: atEpoch, Recent: 1})
		want, version := map[string]string{}, 0
		stop := run(t, s)
		for range rapid.IntRange(1, 4).Draw(rt, "batches") {
			for _, n := range rapid.SliceOfN(rapid.IntRange(0, 5), 1, 2*rowsAtOnce).Draw(rt, "ids") {
				r := record(n)
				r.At = r.At.Add(time.Duration(rapid.IntRange(-3, 3).Draw(rt, "later")) * time.Second)
				version++
				r.Problem = fmt.Sprint("version ", version)
				s.Record(r)
				want[r.RequestID] = r.Problem
			}
			flush(t, s)
		}
		found, err := s.Decisions(t.Context(), Filter{Limit: pageMax})
		if err != nil || len(found) != len(want) {
			rt.Fatalf("%d decisions, want %d, %v", len(found), len(want), err)
		}
		for _, r := range found {
			if r.Problem != want[r.RequestID] {
				rt.Fatalf("%s is version %s, want %s", r.RequestID, r.Problem, want[r.RequestID])
			}
		}
		stop()
		integrity(t, s.Path())
		if t.Failed() {
			rt.FailNow()
		}
	})
}

// The room of a block is free once its last record is too old.
func TestABlockGoesWithItsLastRecord(t *testing.T) {
	s := open(t, dbPath(t), Options{Now: atEpoch, Recent: 1})
	run(t, s)
	for n := range 10 {
		s.Record(record(n))
	}
	flush(t, s)
	blocks := func() (n int) {
		if err := s.write.db.QueryRow(`SELECT count(*) FROM blocks`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	for removed := range 10 {
		if blocks() != 1 {
			t.Fatalf("with %d of 10 records left, their block is gone", 10-removed)
		}
		if _, err := s.removeOldest(t.Context(), 1<<62, 1); err != nil {
			t.Fatal(err)
		}
	}
	if n := blocks(); n != 0 {
		t.Errorf("%d blocks are left without records", n)
	}
}

func TestPackedRecordsUnpack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bodies := rapid.SliceOfN(rapid.StringMatching(`\{[a-z"]{0,400}\}`), 1, 40).Draw(t, "bodies")
		var p packer
		rows := make([]row, len(bodies))
		for i, b := range bodies {
			rows[i].body = []byte(b + "\n")
		}
		for range 2 { // the memory serves again
			lines := unpack(bytes.Clone(p.pack(rows)), true)
			if len(lines) != len(bodies)+1 { // the last ends in a newline, too
				t.Fatalf("%d lines of %d", len(lines), len(bodies))
			}
			for i, b := range bodies {
				if string(lines[i]) != b {
					t.Fatalf("line %d is %s, want %s", i, lines[i], b)
				}
			}
		}
	})
}

// A damaged block never takes the program down.
func FuzzUnpack(f *testing.F) {
	e := new(encoder)
	r := e.row(record(1))
	var p packer
	f.Add(bytes.Clone(p.pack([]row{r, r})), 1)
	f.Add([]byte(`{}`), 0)
	s := new(Store)
	f.Fuzz(func(t *testing.T, block []byte, line int) {
		s.decode(unpack(block, true), line)
		s.decode(unpack(block, false), line)
	})
}
