package store

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"slices"
)

// Names of the node's state.
const (
	stateLedger   = "ledger"
	stateEvidence = "evidence"
	stateHistory  = "history"
	stateJobs     = "jobs"
	stateTried    = "tried" // written to find out whether the file takes writes
)

// LoadLedger returns what SaveLedger saved last, nil if nothing was.
func (s *Store) LoadLedger() ([]byte, error) { return s.load(stateLedger) }

// SaveLedger stores the agent's memory ledger. When it returns without error
// the ledger is in the file and outlives the process being killed. With an
// error it is kept in memory, returned by LoadLedger, and written as soon as
// the file takes it.
func (s *Store) SaveLedger(b []byte) error { return s.save(stateLedger, b) }

// LoadEvidence returns what SaveEvidence saved last, nil if nothing was.
func (s *Store) LoadEvidence() ([]byte, error) { return s.load(stateEvidence) }

// SaveEvidence stores what was learned of the deployments, as SaveLedger does.
func (s *Store) SaveEvidence(b []byte) error { return s.save(stateEvidence, b) }

// LoadHistory returns what SaveHistory saved last, nil if nothing was.
func (s *Store) LoadHistory() ([]byte, error) { return s.load(stateHistory) }

// SaveHistory stores the last hour of the fleet's memory, as SaveLedger does.
func (s *Store) SaveHistory(b []byte) error { return s.save(stateHistory, b) }

// LoadJobs returns what SaveJobs saved last, nil if nothing was.
func (s *Store) LoadJobs() ([]byte, error) { return s.load(stateJobs) }

// SaveJobs stores which jobs are under way, as SaveLedger does.
func (s *Store) SaveJobs(b []byte) error { return s.save(stateJobs, b) }

func (s *Store) load(name string) ([]byte, error) {
	s.write.mu.Lock()
	defer s.write.mu.Unlock()
	if kept, ok := s.write.kept[name]; ok {
		return slices.Clone(kept), nil
	}
	var value []byte
	if _, err := s.lookUp(&value, `SELECT value FROM state WHERE name = ?`, name); err != nil {
		return nil, err
	}
	return value, nil
}

// lookUp reads one value; found is false if there is none. The caller holds
// write.mu.
func (s *Store) lookUp(into any, query, key string) (found bool, err error) {
	err = s.present(context.Background())
	db := s.write.db
	if err != nil {
		s.trouble(err)
		if db = s.write.readers.Load(); db == nil {
			return false, explain(err)
		}
	}
	switch err := db.QueryRow(query, key).Scan(into); {
	case errors.Is(err, sql.ErrNoRows):
		return false, nil
	case err != nil:
		return false, s.readFailed(err)
	}
	return true, nil
}

func (s *Store) save(name string, value []byte) error {
	s.write.mu.Lock()
	defer s.write.mu.Unlock()
	if s.write.kept == nil {
		s.write.kept = map[string][]byte{}
	}
	s.write.kept[name] = slices.Clone(value)
	if err := s.doWrite(context.Background(), func() error { return nil }); err != nil {
		s.trouble(err)
		return explain(err)
	}
	s.recovered()
	return nil
}

func (s *Store) putState(ctx context.Context, name string, value []byte) error {
	if value == nil {
		value = []byte{}
	}
	_, err := s.write.db.ExecContext(ctx, `INSERT OR REPLACE INTO state (name, at, value) VALUES (?, ?, ?)`, name, s.now().UnixNano(), value)
	return err
}

// writeKept writes the state that the file refused before. The caller holds
// write.mu.
func (s *Store) writeKept(ctx context.Context) error {
	for _, name := range slices.Sorted(maps.Keys(s.write.kept)) {
		if err := s.putState(ctx, name, s.write.kept[name]); err != nil {
			return err
		}
		delete(s.write.kept, name)
	}
	return nil
}

// Setting returns a value kept at run time; ok is false if there is none.
func (s *Store) Setting(key string) (value string, ok bool, err error) {
	s.write.mu.Lock()
	defer s.write.mu.Unlock()
	ok, err = s.lookUp(&value, `SELECT value FROM settings WHERE key = ?`, key)
	return value, ok, err
}

// SetSetting keeps a value under a key; it is in the file when SetSetting
// returns without error. An empty value forgets the key.
func (s *Store) SetSetting(key, value string) error {
	s.write.mu.Lock()
	defer s.write.mu.Unlock()
	err := s.doWrite(context.Background(), func() error {
		if value == "" {
			_, err := s.write.db.Exec(`DELETE FROM settings WHERE key = ?`, key)
			return err
		}
		_, err := s.write.db.Exec(`INSERT OR REPLACE INTO settings (key, at, value) VALUES (?, ?, ?)`, key, s.now().UnixNano(), value)
		return err
	})
	if err != nil {
		s.trouble(err)
		return explain(err)
	}
	s.recovered()
	return nil
}
