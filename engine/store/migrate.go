package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// applicationID marks the file as ours ("BELL"): a database of another program
// in our place is moved aside, never written.
const applicationID = 0x42454C4C

// migration is one step of the schema. Once released it is never edited: a
// change is a new step. Each runs in the transaction that records it.
type migration struct {
	name string
	sql  string
}

// migrations bring any older file up to date; a file's version is how many of
// them it has seen. testdata/v*.sql freezes a file of each version.
//
// decisions is narrow and ordered by time, so that a filter that matches
// nothing reads no records. What a filter looks at besides the time lies in
// kinds, one for all records alike. The record itself lies in a block, with those that
// were written together (block.go). The trigger removes a block with its last
// row, also when that row is replaced (recursive_triggers is on); it finds the
// others among the arrivals of the block, and the first look does, since the
// oldest go first. Ids begin with the time (gateway), which makes their index
// grow at its end: with random ids a row costs five times as much.
var migrations = []migration{
	{"decision records", `
CREATE TABLE decisions (
	at INTEGER NOT NULL,         -- unix nanoseconds: when the request arrived
	id TEXT NOT NULL,            -- request id
	app TEXT NOT NULL,
	model TEXT NOT NULL,         -- as asked, normalised
	served TEXT NOT NULL,        -- as served, normalised; '' = none
	node TEXT NOT NULL,          -- name
	node_id TEXT NOT NULL,
	outcome TEXT NOT NULL,
	body INTEGER NOT NULL,       -- bodies.seq
	PRIMARY KEY (at, id)
) WITHOUT ROWID;
CREATE UNIQUE INDEX decisions_id ON decisions (id);
CREATE TABLE bodies (
	seq INTEGER PRIMARY KEY,
	record BLOB NOT NULL         -- route.Record as JSON
);
CREATE TRIGGER decisions_gone AFTER DELETE ON decisions
BEGIN DELETE FROM bodies WHERE seq = OLD.body; END;`},

	{"state of the node", `
CREATE TABLE state (
	name TEXT PRIMARY KEY,       -- ledger, evidence
	at INTEGER NOT NULL,         -- unix nanoseconds of the last change
	value BLOB NOT NULL
) WITHOUT ROWID;`},

	{"settings", `
CREATE TABLE settings (
	key TEXT PRIMARY KEY,
	at INTEGER NOT NULL,
	value TEXT NOT NULL
) WITHOUT ROWID;`},

	// Older records stay as they are, each a block of its own.
	{"records in blocks", `
DROP TRIGGER decisions_gone;
DROP INDEX decisions_id;
ALTER TABLE decisions RENAME TO decisions_before;
CREATE TABLE decisions (
	at INTEGER NOT NULL,         -- unix nanoseconds: when the request arrived
	id TEXT NOT NULL,            -- request id
	app TEXT NOT NULL,
	model TEXT NOT NULL,         -- as asked, normalised
	served TEXT NOT NULL,        -- as served, normalised; '' = none
	node TEXT NOT NULL,          -- name
	node_id TEXT NOT NULL,
	outcome TEXT NOT NULL,
	block INTEGER NOT NULL,      -- blocks.seq
	line INTEGER NOT NULL,       -- in the block, from 0
	PRIMARY KEY (at, id)
) WITHOUT ROWID;
CREATE TABLE blocks (
	seq INTEGER PRIMARY KEY,
	first INTEGER NOT NULL,      -- unix nanoseconds: earliest arrival in it
	last INTEGER NOT NULL,       -- latest
	packed INTEGER NOT NULL,     -- 1 = S2 block format, 0 = plain
	records BLOB NOT NULL        -- route.Records as JSON, one a line
);
INSERT INTO decisions SELECT at, id, app, model, served, node, node_id, outcome, body, 0 FROM decisions_before;
INSERT INTO blocks SELECT seq, at, at, 0, record FROM decisions_before JOIN bodies ON seq = body;
DROP TABLE decisions_before;
DROP TABLE bodies;
CREATE UNIQUE INDEX decisions_id ON decisions (id);
CREATE TRIGGER decisions_gone AFTER DELETE ON decisions
BEGIN DELETE FROM blocks WHERE seq = OLD.block AND NOT EXISTS
	(SELECT 1 FROM decisions WHERE at BETWEEN blocks.first AND blocks.last AND block = OLD.block); END;`},

	// What filters ask for is the same for thousands of records: a row names it
	// by a number, which takes a third of its room and work away.
	{"kinds of records", `
DROP TRIGGER decisions_gone;
DROP INDEX decisions_id;
ALTER TABLE decisions RENAME TO decisions_before;
CREATE TABLE kinds (
	seq INTEGER PRIMARY KEY,
	last INTEGER NOT NULL,       -- unix nanoseconds: no record of this kind arrived later
	app TEXT NOT NULL,
	model TEXT NOT NULL,         -- as asked, normalised
	served TEXT NOT NULL,        -- as served, normalised; '' = none
	node TEXT NOT NULL,          -- name
	node_id TEXT NOT NULL,
	outcome TEXT NOT NULL,
	UNIQUE (app, model, served, node, node_id, outcome)
);
CREATE INDEX kinds_last ON kinds (last);
CREATE TABLE decisions (
	at INTEGER NOT NULL,         -- unix nanoseconds: when the request arrived
	id TEXT NOT NULL,            -- request id
	kind INTEGER NOT NULL,       -- kinds.seq
	block INTEGER NOT NULL,      -- blocks.seq
	line INTEGER NOT NULL,       -- in the block, from 0
	PRIMARY KEY (at, id)
) WITHOUT ROWID;
INSERT INTO kinds (last, app, model, served, node, node_id, outcome)
	SELECT max(at), app, model, served, node, node_id, outcome FROM decisions_before
	GROUP BY app, model, served, node, node_id, outcome;
INSERT INTO decisions SELECT at, id, seq, block, line
	FROM decisions_before CROSS JOIN kinds USING (app, model, served, node, node_id, outcome);
DROP TABLE decisions_before;
CREATE UNIQUE INDEX decisions_id ON decisions (id);
CREATE TRIGGER decisions_gone AFTER DELETE ON decisions
BEGIN DELETE FROM blocks WHERE seq = OLD.block AND NOT EXISTS
	(SELECT 1 FROM decisions WHERE at BETWEEN blocks.first AND blocks.last AND block = OLD.block); END;`},
}

// migrate brings the schema from whatever version the file has to the latest.
// Two processes may do so at once: each step is one write transaction.
func migrate(ctx context.Context, db *sql.DB, now time.Time) error {
	for {
		done, err := migrateStep(ctx, db, now)
		if err != nil || done {
			return err
		}
	}
}

// migrateStep applies the next step, if there is one.
func migrateStep(ctx context.Context, db *sql.DB, now time.Time) (done bool, err error) {
	tx, err := db.BeginTx(ctx, nil) // immediate: the version read below cannot move
	if err != nil {
		return false, err
	}
	defer func() { _ = tx.Rollback() }()
	version, err := schemaVersion(ctx, tx)
	if err != nil {
		return false, err
	}
	switch {
	case version > len(migrations):
		return false, newer(version)
	case version == len(migrations):
		return true, nil
	}
	m := migrations[version]
	if _, err := tx.ExecContext(ctx, m.sql); err != nil {
		return false, fmt.Errorf("bring the database to version %d (%s): %w", version+1, m.name, err)
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO migrations (version, name, at) VALUES (?, ?, ?)`, version+1, m.name, now.UnixNano())
	if err != nil {
		return false, fmt.Errorf("note version %d: %w", version+1, err)
	}
	return false, tx.Commit()
}

// identify refuses a database that is not ours, before anything is written.
func identify(ctx context.Context, db *sql.DB) error {
	var id, objects int
	if err := db.QueryRowContext(ctx, `PRAGMA application_id`).Scan(&id); err != nil {
		return err
	}
	if err := db.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_schema`).Scan(&objects); err != nil {
		return err
	}
	if id != applicationID && (id != 0 || objects != 0) {
		return &damagedError{"a database of another program"}
	}
	return nil
}

// newer is what is said of a file with more migrations than are known here.
func newer(version int) *UnavailableError {
	return &UnavailableError{
		Reason: fmt.Sprintf("the database was written by a newer version (schema %d, this one knows %d)", version, len(migrations)),
		Remedy: "update Bellwether, or move the database away to begin a new one",
	}
}

// schemaVersion returns how many migrations the file has seen. It marks an
// empty file as ours.
func schemaVersion(ctx context.Context, tx *sql.Tx) (int, error) {
	var id, version int
	if err := tx.QueryRowContext(ctx, `PRAGMA application_id`).Scan(&id); err != nil {
		return 0, err
	}
	if id == 0 {
		_, err := tx.ExecContext(ctx, fmt.Sprintf(`PRAGMA application_id = %d;
			CREATE TABLE migrations (version INTEGER PRIMARY KEY, name TEXT NOT NULL, at INTEGER NOT NULL)`, applicationID))
		return 0, err
	}
	if err := tx.QueryRowContext(ctx, `SELECT coalesce(max(version), 0) FROM migrations`).Scan(&version); err != nil {
		return 0, asDamage(err)
	}
	return version, nil
}
