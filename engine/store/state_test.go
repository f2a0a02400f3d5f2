package store

import (
	"bytes"
	"testing"
)

func TestStateIsReadBackAsSaved(t *testing.T) {
	path := dbPath(t)
	s := open(t, path, Options{})
	if b, err := s.LoadLedger(); b != nil || err != nil {
		t.Errorf("a ledger before any was saved: %q, %v", b, err)
	}
	for _, want := range [][]byte{[]byte("one"), bytes.Repeat([]byte{0, 1, 2}, 1<<18), {}} {
		if err := s.SaveLedger(want); err != nil {
			t.Fatal(err)
		}
		if err := s.SaveEvidence(append([]byte("evidence "), want...)); err != nil {
			t.Fatal(err)
		}
		if err := s.SaveHistory(append([]byte("history "), want...)); err != nil {
			t.Fatal(err)
		}
		other := open(t, path, Options{}) // what another process, or the next, sees
		if got, err := other.LoadLedger(); err != nil || !bytes.Equal(got, want) {
			t.Errorf("ledger of %d bytes comes back with %d, %v", len(want), len(got), err)
		}
		if got, err := other.LoadHistory(); err != nil || !bytes.Equal(got, append([]byte("history "), want...)) {
			t.Errorf("history of %d bytes comes back with %d, %v", len(want), len(got), err)
		}
		if got, err := other.LoadEvidence(); err != nil || !bytes.Equal(got, append([]byte("evidence "), want...)) {
			t.Errorf("evidence of %d bytes comes back with %d, %v", len(want), len(got), err)
		}
	}
}

func TestSettingsAreKeptReplacedAndForgotten(t *testing.T) {
	s := open(t, dbPath(t), Options{})
	get := func() string {
		t.Helper()
		v, ok, err := s.Setting("port")
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			return "none"
		}
		return v
	}
	if got := get(); got != "none" {
		t.Errorf("at first: %s", got)
	}
	for _, v := range []string{"11436", "ä 'quoted'", ""} {
		if err := s.SetSetting("port", v); err != nil {
			t.Fatal(err)
		}
		want := v
		if v == "" {
			want = "none"
		}
		if got := get(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
