package store

import (
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"bellwether/engine/fleet"
	"bellwether/engine/route"
)

// epoch is when the records of these tests arrive.
var epoch = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// atEpoch is a clock under which these records are fresh.
func atEpoch() time.Time { return epoch }

// record makes the n-th record of a test: one second apart, as full as a
// request on a small fleet makes them.
func record(n int) *route.Record {
	chosen := fleet.DeploymentID{Node: "n1", Runtime: "ollama", Model: "qwen3:8b"}
	other := fleet.DeploymentID{Node: "n2", Runtime: "llama-server", Model: "qwen3:8b"}
	input, output := 812, 164
	return &route.Record{
		RequestID:      fmt.Sprintf("req_%06d", n),
		At:             epoch.Add(time.Duration(n) * time.Second),
		ConfigHash:     "c0ffee",
		RequestedModel: "Qwen3:8B",
		App:            "editor",
		Protocol:       "openai-chat",
		Requirements:   route.Requirements{Role: route.RoleChat, Tokens: route.Tokens{Input: 800, Output: 1024}, Streaming: true},
		Exclusions: map[fleet.DeploymentID][]route.RenderedExclusion{
			other: {{Code: fleet.CodePaused, Reason: "paused by its owner until 18:00", Remedy: "resume it"}},
		},
		OtherCodes: map[fleet.Code]int{fleet.CodeModelAbsent: 7},
		Candidates: []route.Candidate{{
			Deployment: chosen, Quality: 0.7, Evidence: "measured:12", NodeScore: 92,
			Signals: route.Signals{Warmth: 50, MemoryFit: 20, QueueDepth: -6, RoleAffinity: 13, ContextFit: 15}, Slots: 4,
		}},
		Chosen: chosen.String(), Node: "studio", Evidence: "measured:12",
		Reasons: []string{"studio wins with 92: loaded there, one request ahead"},
		Edits:   []string{"num_ctx 4096 dropped: 8192 is loaded"},
		Timing:  route.Timing{QueueMs: 3, TTFTMs: 210, TotalMs: 2400},
		Usage:   &route.RecordUsage{Input: &input, Output: &output},
		Outcome: fleet.OutcomeOK, Status: 200, OverheadMs: 0.4,
	}
}

// long makes the n-th record of a test one of some 2 KB that do not compress.
func long(n int) *route.Record {
	noise := rand.NewChaCha8([32]byte{byte(n), byte(n >> 8)})
	text := make([]byte, 1024)
	_, _ = noise.Read(text)
	r := record(n)
	r.Notes = []string{hex.EncodeToString(text)}
	return r
}

// open opens a store in the test's own folder and closes it with the test,
// without complaint if the test had taken its file away.
func open(t testing.TB, path string, o Options) *Store {
	t.Helper()
	s, err := Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil && s.cause() == nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

// run runs the store until the test (or stop) ends it; stop waits for the end.
func run(t testing.TB, s *Store) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("run: %v", err)
		}
	}
	t.Cleanup(stop)
	return stop
}

func flush(t testing.TB, s *Store) {
	t.Helper()
	if err := s.Flush(t.Context()); err != nil {
		t.Fatalf("flush: %v", err)
	}
}

func dbPath(t testing.TB) string { return filepath.Join(t.TempDir(), "bellwether.db") }

// ids lists the records found, for comparing.
func ids(t testing.TB, s *Store, f Filter) []string {
	t.Helper()
	found, err := s.Decisions(t.Context(), f)
	if err != nil {
		t.Fatalf("decisions: %v", err)
	}
	var out []string
	for _, r := range found {
		out = append(out, r.RequestID)
	}
	return out
}

// integrity fails the test unless the file is sound from end to end.
func integrity(t testing.TB, path string) {
	t.Helper()
	db, err := openFile(path, writing)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	var finding string
	if err := db.QueryRow(`PRAGMA integrity_check`).Scan(&finding); err != nil || finding != "ok" {
		t.Errorf("integrity_check: %s, %v", finding, err)
	}
	var orphans int
	err = db.QueryRow(`SELECT (SELECT count(*) FROM blocks WHERE seq NOT IN (SELECT block FROM decisions)) +
		(SELECT count(*) FROM decisions WHERE block NOT IN (SELECT seq FROM blocks)) +
		(SELECT count(*) FROM decisions LEFT JOIN kinds ON seq = kind WHERE kinds.last IS NULL OR kinds.last < at)`).Scan(&orphans)
	if err != nil || orphans != 0 {
		t.Errorf("%d decisions, blocks and kinds do not belong together, %v", orphans, err)
	}
}

// logTo makes a logger that writes plain text, without times.
func logTo(w io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
}
