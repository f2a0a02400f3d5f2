// Package store keeps what must outlive the process in one SQLite file: the
// decision records, the agents' ledger, what was learned, and settings made at
// run time.
//
// Serving never waits for it. Record puts a pointer into a bounded queue and
// returns; Run, the one writer of records, encodes and writes them in batches,
// each batch as compressed blocks of records and a narrow row for each.
// A full disk, a read-only folder or a damaged file costs records, which are
// counted and explained by Health, never requests; the store recovers by
// itself when the disk does. Small state (the ledger) is written by the caller
// and is in the file when SaveLedger returns, so it outlives a kill -9.
//
// The file is in WAL mode: readers never wait for the writer, several
// processes may have it open, and what was flushed survives the process being
// killed. After a power cut the last moments may be missing, never more.
package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"bellwether/engine/route"
)

// Options are a store's limits. The zero value of a field means its default.
type Options struct {
	// MaxAge is how long decision records are kept; 30 days by default.
	MaxAge time.Duration
	// MaxBytes is the most the database file may take, in bytes, before its
	// oldest records go; 1 GiB by default. The write-ahead log beside it adds
	// at most a few MB.
	MaxBytes int64
	// Recent is how many of the latest records stay in memory, which is what
	// queries see first and all they see while the file is out of reach; 256 by
	// default (about 5 KB each).
	Recent int
	// Log is where trouble and recovery are told, once each; silent by default.
	Log *slog.Logger
	// Now is the clock; time.Now by default.
	Now func() time.Time
}

// Limits of the way from Record to the file.
const (
	queueSize  = 4096                   // records between Record and Run: 1 s at 4,000 requests/s
	batchSize  = 1024                   // most records in one transaction
	batchWait  = 100 * time.Millisecond // longest a record waits for its batch to fill
	backlogMax = 16 << 20               // bytes of encoded records kept while the file refuses them
	retryFirst = time.Second            // wait before a failed write is tried again, doubling
	retryMax   = 30 * time.Second
)

// Store is the open file. All methods are safe for concurrent use.
//
// Owners: the way to the file belongs to write.mu. The queue's receiving end
// and the backlog belong to whoever holds ran: Run, and Close once Run has
// returned, and so does the encoder. ring and health have locks of their own, never held while another
// is taken.
type Store struct {
	path   string
	log    *slog.Logger
	now    func() time.Time
	limits atomic.Pointer[limits]

	queue  chan *route.Record
	full   chan struct{}   // a batch lies in the queue; one in the buffer is enough
	flush  chan chan error // Flush asks Run; unbuffered, so that nobody is left waiting in it
	nudge  chan struct{}   // a write failed elsewhere: Run tries again; one in the buffer is enough
	closed atomic.Bool
	// suspect is set by a query that met damage; the next write looks closer.
	suspect atomic.Bool

	ran     sync.Mutex
	encoder *encoder
	backlog backlog

	write writer
	ring  ring
	state health
}

// limits is what SetLimits changes.
type limits struct {
	age   time.Duration
	bytes int64
}

// Open opens or creates the database at path and brings its schema up to date.
//
// It fails only where no file could ever be (an empty path, a folder in its
// place). Whatever may pass (a full disk, a folder without write permission, a
// file of a newer version) leaves a working store without a file, which says
// so in Health and is tried again by Run. A damaged file is moved aside, what
// can still be read of its state is carried over, and a fresh one begun;
// Health names where the old one went.
func Open(path string, o Options) (*Store, error) {
	if path == "" {
		return nil, errors.New("open the database: no path given")
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return nil, fmt.Errorf("open the database: %s is a folder", path)
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	s := &Store{
		path:  abs,
		log:   o.Log,
		now:   o.Now,
		queue: make(chan *route.Record, queueSize),
		full:  make(chan struct{}, 1),
		flush: make(chan chan error),
		nudge: make(chan struct{}, 1),

		encoder: new(encoder),
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.now == nil {
		s.now = time.Now
	}
	s.ring.init(orDefault(o.Recent, 256))
	s.SetLimits(o.MaxAge, o.MaxBytes)
	s.write.mu.Lock()
	defer s.write.mu.Unlock()
	if err := s.connect(context.Background()); err != nil {
		s.trouble(err)
	}
	return s, nil
}

// SetLimits changes how long (by age) and how much (bytes of the file) is
// kept; 0 means the default. It takes effect at the next clean-up.
func (s *Store) SetLimits(age time.Duration, bytes int64) {
	s.limits.Store(&limits{age: orDefault(age, 30*24*time.Hour), bytes: orDefault(bytes, 1<<30)})
}

// Path returns where the database is.
func (s *Store) Path() string { return s.path }

// Close writes what is still queued and closes the file. Records given later
// are dropped and counted. Run must have been told to end; Close waits for it.
func (s *Store) Close() error {
	if s.closed.Swap(true) {
		return nil
	}
	s.ran.Lock()
	defer s.ran.Unlock()
	_, err := s.writeWaiting(context.Background())
	s.drop(len(s.backlog.rows), s.whyNotWritten())
	s.write.mu.Lock()
	defer s.write.mu.Unlock()
	s.write.shut = true
	return errors.Join(err, s.disconnect())
}

func orDefault[T comparable](v, def T) T {
	var zero T
	if v == zero {
		return def
	}
	return v
}
