package main

import (
	"database/sql"
	"path/filepath"
	"testing"

	"bellwether/engine/admin"
	"bellwether/engine/fleet"
)

// statusJSON is what the contract promises of status --json.
type statusJSON struct {
	Address string
	Node    struct{ ID, Name, State, Reason string }
	Router  struct {
		Name  string
		Here  *bool
		Epoch *uint64
	}
	Nodes    []struct{ ID, Name, State string }
	Runtimes []struct {
		Name, Kind, Version string
		Up                  bool
		Reason              string
		Models              []admin.ModelStatus
	}
	Queues []struct {
		Deployment       string
		Running, Waiting int
	}
	MemoryAssumedResident []string `json:"memory_assumed_resident"`
	Pools                 []struct {
		Name    string
		Limit   int64
		Holders []struct {
			Deployment, Kind string
		}
	}
}

func (h *home) status(t testing.TB) statusJSON {
	t.Helper()
	s := h.run(t, "status", "--json")
	if s.code == exitNoEngine {
		return statusJSON{}
	}
	return decode[statusJSON](t, s.out)
}

// residency is where a model is, "" when it is not listed.
func (s *statusJSON) residency(runtime, model string) string {
	for _, rt := range s.Runtimes {
		for _, m := range rt.Models {
			if rt.Name == runtime && fleet.SameModel(m.Deployment.Model, model) {
				return m.Residency.String()
			}
		}
	}
	return ""
}

// up reports whether a runtime is.
func (s *statusJSON) up(runtime string) bool {
	for _, rt := range s.Runtimes {
		if rt.Name == runtime {
			return rt.Up
		}
	}
	return false
}

// A data folder that a newer version has used: told with and without an engine.
func TestTheDoctorTellsADatabaseOfANewerVersion(t *testing.T) {
	t.Parallel()
	h, _ := studio(t)
	stop(t, h.engine)
	db, err := sql.Open("sqlite", filepath.Join(h.dir, "bellwether.db"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(`INSERT INTO migrations VALUES (99, 'the future', 0)`); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	h.run(t, "doctor").ends(t, exitNoEngine).says(t, "written by a newer version (schema 99", "update Bellwether, or move the database away")
	h.run(t, "config", "check").ends(t, exitDone)
	h.serve(t, anywhere)
	h.run(t, "doctor").ends(t, exitDegraded).says(t, "written by a newer version (schema 99", "update Bellwether, or move the database away").lacks(t, "make room")
}
