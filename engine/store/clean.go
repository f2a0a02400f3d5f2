package store

import (
	"context"
	"fmt"
	"time"
)

// Clean-up works in small steps so that no write waits long for it.
const (
	cleanFirst = time.Minute // after the start: starting up is busy enough
	cleanEvery = 10 * time.Minute
	cleanPause = 200 * time.Millisecond // between steps while there is more to do
	cleanRows  = 2000                   // records a step removes at most: 10,000/s, about 10 ms a step
	cleanPages = 2000                   // pages a step gives back to the disk at most (8 MB)
)

// onCleanDue does one step and plans the next.
func (l *loop) onCleanDue(ctx context.Context) {
	l.written = 0
	more, err := l.s.cleanStep(ctx)
	switch {
	case err != nil:
		l.s.log.Warn("old decision records could not be removed", "error", explain(err).Reason)
		l.clean.Reset(cleanEvery)
	case more:
		l.clean.Reset(cleanPause)
	default:
		l.clean.Reset(cleanEvery)
	}
}

// cleanStep removes some records that are too old, or, while the file is too
// big, the oldest; then gives free pages back. more says that a further step
// has work to do. What is removed is not found from then on; its room is free
// once the last record of its block goes, which is soon, since those written
// together are about equally old.
func (s *Store) cleanStep(ctx context.Context) (more bool, err error) {
	s.write.mu.Lock()
	defer s.write.mu.Unlock()
	if s.write.db == nil {
		return false, nil
	}
	lim := s.limits.Load()
	removed, err := s.removeOldest(ctx, s.now().Add(-lim.age).UnixNano(), cleanRows)
	if err != nil {
		return false, err
	}
	size, err := s.fileSize(ctx)
	if err != nil {
		return false, err
	}
	if over := size.used() - lim.bytes; removed == 0 && over > 0 {
		if removed, err = s.removeOver(ctx, over); err != nil {
			return false, err
		}
	}
	if _, err := s.write.db.ExecContext(ctx, fmt.Sprintf(`PRAGMA incremental_vacuum(%d)`, cleanPages)); err != nil {
		return false, err
	}
	if size, err = s.fileSize(ctx); err != nil {
		return false, err
	}
	s.state.bytes.Store(size.total())
	return removed > 0 || size.free > cleanPages, nil
}

// removeOver deletes the oldest records of a file that is so many bytes too
// big: half of them by the size of the oldest block, so that no more goes than
// must where later blocks are larger, but that whole block at least.
func (s *Store) removeOver(ctx context.Context, over int64) (int64, error) {
	var records, bytes int64
	err := s.write.db.QueryRowContext(ctx, `SELECT count(*), coalesce(max(length(records)), 0)
		FROM blocks CROSS JOIN decisions ON block = seq AND at BETWEEN first AND last
		WHERE seq = (SELECT block FROM decisions ORDER BY at, id LIMIT 1)`).Scan(&records, &bytes)
	if err != nil {
		return 0, err
	}
	records = max(records, 1)
	half := over / (2 * (bytes/records + rowBytes))
	return s.removeOldest(ctx, ever, min(max(half, records), cleanRows))
}

// removeOldest deletes up to rows of the oldest records that arrived before
// the given unix time in nanoseconds, and the kinds that no record has any
// more. It returns how many records there were.
func (s *Store) removeOldest(ctx context.Context, before, rows int64) (int64, error) {
	done, err := s.write.db.ExecContext(ctx, `DELETE FROM decisions WHERE (at, id) IN
		(SELECT at, id FROM decisions WHERE at < ? ORDER BY at, id LIMIT ?)`, before, rows)
	if err != nil {
		return 0, err
	}
	removed, err := done.RowsAffected()
	if removed == 0 || err != nil {
		return 0, err
	}
	_, err = s.write.db.ExecContext(ctx, `DELETE FROM kinds WHERE last < coalesce((SELECT min(at) FROM decisions), ?)`, ever)
	return removed, err
}

// ever is later than any arrival.
const ever = 1<<63 - 1

// fileSize is the database file in pages.
type fileSize struct{ pages, free, pageBytes int64 }

func (f fileSize) used() int64  { return (f.pages - f.free) * f.pageBytes }
func (f fileSize) total() int64 { return f.pages * f.pageBytes }

func (s *Store) fileSize(ctx context.Context) (f fileSize, err error) {
	err = s.write.db.QueryRowContext(ctx, `SELECT page_count, freelist_count, page_size
		FROM pragma_page_count, pragma_freelist_count, pragma_page_size`).Scan(&f.pages, &f.free, &f.pageBytes)
	return f, err
}
