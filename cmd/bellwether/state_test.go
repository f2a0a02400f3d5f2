package main

import (
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
