package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"modernc.org/sqlite"
)

// checkBytes is the largest file that is checked from end to end when it is
// opened (about 0.1 s). Damage in a larger one shows when it is read.
const checkBytes = 32 << 20

// writer holds the way to the file. mu is held for every write and while the
// file is opened, replaced or closed; it guards all fields but readers, which
// queries load without waiting for a write.
type writer struct {
	mu     sync.Mutex
	shut   bool    // by Close, for good
	db     *sql.DB // one connection; nil while the file is out of reach
	insert *insert
	opened os.FileInfo       // the file behind db, to notice its removal
	kept   map[string][]byte // state the file refused, by name, to be written with the next success

	readers atomic.Pointer[sql.DB]
}

// connect opens the file for writing and reading, repairing what it can. The
// caller holds write.mu.
func (s *Store) connect(ctx context.Context) error {
	if s.write.db != nil {
		return nil
	}
	db, err := s.openSound(ctx)
	if isDamaged(err) {
		db, err = s.startOver(ctx, err)
	}
	if err != nil {
		s.openReadOnly(ctx)
		return err
	}
	if err := s.adopt(ctx, db); err != nil {
		_ = db.Close()
		return err
	}
	return s.writeKept(ctx)
}

// openReadOnly gives queries what can be read of a file that cannot be
// written, such as one in a folder without write permission.
func (s *Store) openReadOnly(ctx context.Context) {
	if s.write.readers.Load() != nil {
		return
	}
	readers, err := openUnwritten(s.path)
	if err != nil {
		return
	}
	if _, err := readers.ExecContext(ctx, `SELECT kind, block, line FROM decisions LIMIT 0`); err != nil {
		_ = readers.Close()
		return
	}
	s.write.readers.Store(readers)
}

// adopt makes db the store's file.
func (s *Store) adopt(ctx context.Context, db *sql.DB) error {
	info, err := os.Stat(s.path)
	if err != nil {
		return err
	}
	insert, err := prepareInsert(ctx, db)
	if err != nil {
		return err
	}
	readers, err := openFile(s.path, reading)
	if err != nil {
		return err
	}
	s.state.bytes.Store(info.Size())
	s.write.db, s.write.insert, s.write.opened = db, insert, info
	if old := s.write.readers.Swap(readers); old != nil {
		_ = old.Close()
	}
	return nil
}

// disconnect closes the file. The caller holds write.mu.
func (s *Store) disconnect() error {
	var err error
	if r := s.write.readers.Swap(nil); r != nil {
		err = r.Close()
	}
	if s.write.db != nil {
		s.write.insert.close()
		err = errors.Join(err, s.write.db.Close())
		s.write.db = nil
	}
	return err
}

// present makes sure that the file is open and still the one in its place: a
// folder that was cleared under us would otherwise swallow records unseen. The
// caller holds write.mu.
func (s *Store) present(ctx context.Context) error {
	if s.write.shut {
		return &UnavailableError{Reason: "the store was closed", Remedy: "start again"}
	}
	if s.write.db != nil {
		info, err := os.Stat(s.path)
		if err == nil && os.SameFile(info, s.write.opened) {
			return nil
		}
		_ = s.disconnect()
		s.note("the database was moved or removed while in use; a new one was begun")
	}
	return s.connect(ctx)
}

// doWrite runs a write against the file. When it finds the file damaged, the
// file is replaced and the write done once more. The caller holds write.mu.
func (s *Store) doWrite(ctx context.Context, do func() error) error {
	if err := s.present(ctx); err != nil {
		return err
	}
	err := s.recheck(ctx)
	if err == nil {
		err = do()
	}
	if isDamaged(err) {
		if err := s.replace(ctx, err); err != nil {
			return err
		}
		err = do()
	}
	if err != nil {
		return err
	}
	return s.writeKept(ctx)
}

// recheck reads the whole file when a query met damage in it.
func (s *Store) recheck(ctx context.Context) error {
	if !s.suspect.Swap(false) {
		return nil
	}
	return quickCheck(ctx, s.write.db)
}

// replace moves the open file aside, for the reason given, and goes on with a
// fresh one.
func (s *Store) replace(ctx context.Context, why error) error {
	_ = s.disconnect()
	db, err := s.startOver(ctx, why)
	if err != nil {
		return err
	}
	if err := s.adopt(ctx, db); err != nil {
		return errors.Join(err, db.Close())
	}
	return nil
}

// openSound opens, checks and migrates the file; an error that isDamaged
// means that it cannot be kept.
func (s *Store) openSound(ctx context.Context) (*sql.DB, error) {
	fresh, err := createFile(s.path)
	if err != nil {
		return nil, err
	}
	how := writing
	if fresh {
		how = creating
	}
	db, err := openFile(s.path, how)
	if err != nil {
		return nil, err
	}
	if err := s.prepare(ctx, db); err != nil {
		_ = db.Close()
		return nil, err
	}
	return db, nil
}

// prepare checks the file and brings it up to date.
func (s *Store) prepare(ctx context.Context, db *sql.DB) error {
	if info, err := os.Stat(s.path); err != nil || info.Size() <= checkBytes {
		if err := errors.Join(err, quickCheck(ctx, db)); err != nil {
			return err
		}
	}
	if err := identify(ctx, db); err != nil {
		return err
	}
	if _, err := db.ExecContext(ctx, `PRAGMA journal_mode = WAL`); err != nil {
		return err
	}
	if err := migrate(ctx, db, s.now()); err != nil {
		return err
	}
	for _, probe := range []string{
		`SELECT at, id, kind, block, line FROM decisions LIMIT 0`,
		`SELECT seq, last, app, model, served, node, node_id, outcome FROM kinds LIMIT 0`,
		`SELECT seq, first, last, packed, records FROM blocks LIMIT 0`,
		`SELECT name, at, value FROM state LIMIT 0`,
		`SELECT key, at, value FROM settings LIMIT 0`,
	} {
		if _, err := db.ExecContext(ctx, probe); err != nil {
			return asDamage(err)
		}
	}
	return nil
}

// quickCheck reads the file from end to end.
func quickCheck(ctx context.Context, db *sql.DB) error {
	var finding string
	if err := db.QueryRowContext(ctx, `PRAGMA quick_check(1)`).Scan(&finding); err != nil {
		return err
	}
	if finding != "ok" {
		return &damagedError{finding}
	}
	return nil
}

// startOver moves a damaged file aside, begins a fresh one and carries over
// what can still be read of the node's state: a node that forgot its ledger
// could overcommit its memory.
func (s *Store) startOver(ctx context.Context, why error) (*sql.DB, error) {
	aside, err := moveAside(s.path, s.now())
	if err != nil {
		return nil, &UnavailableError{
			Reason: "the database is damaged and could not be moved aside",
			Remedy: "end other programs that have it open, or move it away by hand",
			Err:    errors.Join(why, err),
		}
	}
	db, err := s.openSound(ctx)
	if err != nil {
		return nil, err
	}
	rescued := rescue(ctx, db, aside)
	s.note(fmt.Sprintf("the database was damaged and is now %s; a new one was begun (%d settings and states carried over, decisions stay in the old file)",
		filepath.Base(aside), rescued))
	return db, nil
}

// moveAside renames the file and its log to a name that says when.
func moveAside(path string, now time.Time) (string, error) {
	base := path + ".damaged-" + now.UTC().Format("20060102-150405")
	aside := base
	for i := 2; ; i++ {
		if _, err := os.Lstat(aside); errors.Is(err, os.ErrNotExist) {
			break
		}
		aside = fmt.Sprintf("%s-%d", base, i)
	}
	if err := os.Rename(path, aside); err != nil {
		return "", err
	}
	for _, suffix := range []string{"-wal", "-shm"} {
		if err := os.Rename(path+suffix, aside+suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
			return "", err
		}
	}
	return aside, nil
}

// rescue copies the state and settings that can be read from a damaged file
// and returns how many rows that were.
func rescue(ctx context.Context, db *sql.DB, aside string) (rows int) {
	old, err := openFile(aside, reading)
	if err != nil {
		return 0
	}
	defer func() { _ = old.Close() }()
	rows += rescueTable(ctx, db, old, "state", "name")
	rows += rescueTable(ctx, db, old, "settings", "key")
	return rows
}

func rescueTable(ctx context.Context, to, from *sql.DB, table, key string) (rows int) {
	found, err := from.QueryContext(ctx, `SELECT `+key+`, at, value FROM `+table)
	if err != nil {
		return 0
	}
	defer func() { _ = found.Close() }()
	for found.Next() {
		var k string
		var at int64
		var v []byte
		if found.Scan(&k, &at, &v) != nil {
			return rows
		}
		var value any = v
		if table == "settings" {
			value = string(v)
		}
		if _, err := to.ExecContext(ctx, `INSERT OR REPLACE INTO `+table+` VALUES (?, ?, ?)`, k, at, value); err != nil {
			return rows
		}
		rows++
	}
	return rows
}

// createFile makes the folder and an empty file only its owner may read, which
// SQLite's own files beside it then inherit. fresh says that the file is empty.
func createFile(path string) (fresh bool, err error) {
	if err := onlyFiles(path); err != nil {
		return false, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return false, err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return false, err
	}
	info, err := f.Stat()
	return err == nil && info.Size() == 0, errors.Join(err, f.Close())
}

// onlyFiles finds what stands in the place of a file that SQLite keeps beside the
// database, and is none: SQLite says of it only that it cannot be opened.
func onlyFiles(path string) error {
	for _, suffix := range []string{"-wal", "-shm", "-journal"} {
		info, err := os.Stat(path + suffix)
		if err != nil || info.Mode().IsRegular() {
			continue
		}
		what := "no file"
		if info.IsDir() {
			what = "a folder"
		}
		name := filepath.Base(path) + suffix
		return &UnavailableError{Reason: name + " in the data folder is " + what, Remedy: "move " + name + " away; writing goes on by itself"}
	}
	return nil
}

// access is what a connection may do.
type access int

const (
	writing  access = iota
	creating        // writing an empty file
	reading
	frozen // reading a file that nobody writes
)

func (a access) writes() bool { return a == writing || a == creating }

// openFile opens the database: for writing with one connection, or for reading
// with a few that come and go.
func openFile(path string, a access) (*sql.DB, error) {
	connector, err := sqlite.NewConnector(dsn(path, a))
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector)
	if a.writes() {
		db.SetMaxOpenConns(1)
	} else {
		db.SetMaxOpenConns(3)
		db.SetMaxIdleConns(1)
		db.SetConnMaxIdleTime(time.Minute)
	}
	return db, nil
}

// dsn names the file and how each connection is set up.
func dsn(path string, a access) string {
	q := url.Values{"_busy_timeout": {"5000"}, "_error_rc": {"1"}}
	if a == creating {
		q.Set("_auto_vacuum", "incremental") // cannot be changed once anything is written
	}
	if a.writes() {
		q.Set("_synchronous", "NORMAL") // a killed process loses nothing, a power cut the last moments
		q.Set("_txlock", "immediate")
		q["_pragma"] = []string{"recursive_triggers(1)", "journal_size_limit(8388608)", "cache_size(-4000)"}
	} else {
		q.Set("mode", "ro")
		q["_pragma"] = []string{"query_only(1)", "cache_size(-1000)"}
	}
	if a == frozen {
		q.Set("immutable", "1")
	}
	p := filepath.ToSlash(path)
	if runtime.GOOS == "windows" && !strings.HasPrefix(p, "/") {
		p = "/" + p // file:///C:/...
	}
	u := url.URL{Scheme: "file", Path: p, RawQuery: q.Encode()}
	return u.String()
}
