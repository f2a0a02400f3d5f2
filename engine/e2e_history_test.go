package engine

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"bellwether/engine/admin"
	"bellwether/engine/runtime/runtimetest"
	"bellwether/engine/store"
)

// What the Memory page shows of the last hour outlives a restart; what cannot
// be read of it is told, and the hour begins anew.
func TestTheLastHourOutlivesARestart(t *testing.T) {
	dir, s := t.TempDir(), spec{fakes: map[string]runtimetest.FakeConfig{"ollama": {Models: []runtimetest.FakeModel{{Name: "qwen3:8b"}}}}}
	run := func() *rig {
		r, err := s.start(dir)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	first := func(r *rig) (at time.Time) {
		var h admin.History
		if code := r.owner(t, "GET", "/admin/history", nil, &h); code != http.StatusOK {
			t.Fatalf("status %d", code)
		}
		for _, line := range h.Pools {
			for i, v := range line.ResidentBytes {
				if here := h.From.Add(time.Duration(i) * admin.HistoryStep); v != nil && (at.IsZero() || here.Before(at)) {
					at = here
				}
			}
		}
		return at
	}
	r := run()
	r.await(t, "the first sample", func() bool { return !first(r).IsZero() })
	began := first(r)
	if err := r.end(); err != nil {
		t.Fatal(err)
	}
	r = run()
	if got := first(r); !got.Equal(began) {
		t.Errorf("after a restart the hour begins at %v, want %v", got, began)
	}
	path := r.store.Path()
	if err := r.end(); err != nil {
		t.Fatal(err)
	}
	file, err := store.Open(path, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(file.SaveHistory([]byte("of another program")), file.Close()); err != nil {
		t.Fatal(err)
	}
	r = run()
	defer func() { _ = r.end() }()
	if got := first(r); got.Equal(began) && time.Since(began) > admin.HistoryStep {
		t.Errorf("out of what was damaged came %v", got)
	}
	if !strings.Contains(r.logs.String(), "begins anew") {
		t.Error("the log does not tell of the damage")
	}
}
