package store

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A file of every version ever released is frozen in testdata; -rewrite of one
// that exists is never right.
func TestFilesOfEveryOlderVersionAreBroughtForward(t *testing.T) {
	want := schema(t, fresh(t))
	for version := range migrations {
		version++ // a file that has seen this many
		t.Run(fmt.Sprintf("from version %d", version), func(t *testing.T) {
			path := dbPath(t)
			frozenFile(t, path, version)
			s := open(t, path, Options{Now: atEpoch})
			if h := s.Health(); !h.OK || len(h.Notes) > 0 {
				t.Fatalf("health: %+v", h)
			}
			r, err := s.Decision(t.Context(), "req_000001")
			if err != nil || r.App != "editor" || r.Outcome != "ok" {
				t.Errorf("its decision: %+v, %v", r, err)
			}
			if version >= 2 {
				if got, err := s.LoadLedger(); err != nil || !bytes.Equal(got, []byte("{}")) {
					t.Errorf("its ledger: %q, %v", got, err)
				}
			}
			if version >= 3 {
				if got, _, err := s.Setting("port"); err != nil || got != "11436" {
					t.Errorf("its setting: %q, %v", got, err)
				}
			}
			all := []string{"req_000001"}
			if version >= 4 {
				all = []string{"req_000003", "req_000002", "req_000001"}
			}
			if got := ids(t, s, Filter{App: "editor"}); !slices.Equal(got, all) {
				t.Errorf("its decisions: %v, want %v", got, all)
			}
			if got := schema(t, s); got != want {
				t.Errorf("schema differs from that of a new file:\n%s\nwant\n%s", got, want)
			}
			if err := s.SaveEvidence([]byte("x")); err != nil {
				t.Errorf("save evidence: %v", err)
			}
		})
	}
}

func TestAFileOfANewerVersionIsLeftAlone(t *testing.T) {
	path := dbPath(t)
	s := open(t, path, Options{})
	if _, err := s.write.db.Exec(`INSERT INTO migrations VALUES (99, 'the future', 0)`); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}

	var newer *UnavailableError
	if err := Examine(t.Context(), path); !errors.As(err, &newer) || !strings.Contains(newer.Reason, "a newer version (schema 99") || !strings.HasPrefix(newer.Remedy, "update Bellwether") {
		t.Errorf("examined: %v", err)
	}
	s = open(t, path, Options{Now: atEpoch})
	h := s.Health()
	if h.OK || h.Reason != "the database was written by a newer version (schema 99, this one knows 5)" {
		t.Errorf("health: %+v", h)
	}
	run(t, s)
	s.Record(record(1))
	if err := s.Flush(t.Context()); err == nil {
		t.Error("wrote into a file of a newer version")
	}
	if got := ids(t, s, Filter{}); len(got) != 1 {
		t.Errorf("the decision just made is not seen: %v", got)
	}
	after, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("the file changed, %v", err)
	}
}

func fresh(t *testing.T) *Store { return open(t, dbPath(t), Options{}) }

// schema returns all that defines the tables, in a fixed order.
func schema(t *testing.T, s *Store) string {
	t.Helper()
	rows, err := s.write.db.Query(`SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name`)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	var out bytes.Buffer
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(&out, text)
	}
	return out.String()
}

// frozenFile makes the file that a release with that many migrations left.
func frozenFile(t *testing.T, path string, version int) {
	t.Helper()
	script, err := os.ReadFile(filepath.Join("testdata", fmt.Sprintf("v%d.sql", version)))
	if err != nil {
		t.Fatalf("freeze a file of this version: %v", err)
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if _, err := db.Exec(string(script)); err != nil {
		t.Fatal(err)
	}
}
