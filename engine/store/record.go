package store

import (
	"context"
	"time"

	"bellwether/engine/route"
)

// Record hands a finished record over to be written. It never blocks and never
// fails: when records come faster than the disk takes them, the newest are
// dropped and counted. The record must not be changed afterwards.
func (s *Store) Record(r *route.Record) {
	s.ring.add(r)
	if s.closed.Load() {
		s.drop(1, "the store was closed")
		return
	}
	select {
	case s.queue <- r:
	default:
		s.drop(1, tooFast)
		return
	}
	if len(s.queue) < batchSize-1 { // Run has taken one
		return
	}
	select {
	case s.full <- struct{}{}:
	default:
	}
}

const tooFast = "decisions came faster than they could be written"

// Flush returns when all that was recorded before the call is in the file, or
// with the reason why it is not. It needs Run.
func (s *Store) Flush(ctx context.Context) error {
	reply := make(chan error, 1) // Run never waits for a caller that left
	select {
	case s.flush <- reply:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-reply:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Run writes records and cleans up old ones until ctx ends, then writes what
// is left and returns. One Run per Store.
func (s *Store) Run(ctx context.Context) error {
	s.ran.Lock()
	defer s.ran.Unlock()
	l := newLoop(s)
	defer l.stop()
	for {
		select {
		case <-ctx.Done():
			_ = l.write(context.WithoutCancel(ctx))
			return nil
		case r := <-l.incoming():
			l.onRecord(r)
		case <-s.full:
			l.onFull(ctx)
		case reply := <-s.flush:
			reply <- l.write(ctx)
		case <-s.nudge:
			l.onTrouble()
		case <-l.batch.C:
			_ = l.write(ctx)
		case <-l.clean.C:
			l.onCleanDue(ctx)
		}
	}
}

// loop is Run's own state. Its methods run on Run's goroutine only.
type loop struct {
	s       *Store
	batch   *time.Timer // armed while records wait for their batch, or for a retry
	armed   bool
	wait    time.Duration // between tries while the file refuses; 0 = it does not
	clean   *time.Timer
	written int64 // about how many bytes the file grew by since the last clean-up
}

func newLoop(s *Store) *loop {
	l := &loop{s: s, batch: time.NewTimer(time.Hour), clean: time.NewTimer(cleanFirst)}
	l.batch.Stop()
	return l
}

func (l *loop) stop() {
	l.batch.Stop()
	l.clean.Stop()
}

func (l *loop) arm(d time.Duration) {
	l.armed = true
	l.batch.Reset(d)
}

func (l *loop) disarm() {
	l.armed = false
	l.batch.Stop()
}

// incoming is the queue while its records are taken one by one. Those that
// come while a batch fills stay in the queue: to wake for each would cost more
// than to write it. Not while the file refuses: then the oldest have to give
// way to the newest.
func (l *loop) incoming() <-chan *route.Record {
	if l.armed && l.wait == 0 {
		return nil
	}
	return l.s.queue
}

// onRecord takes one record, the first of a batch: it goes out when that is
// full, or after batchWait; not before a retry is due.
func (l *loop) onRecord(r *route.Record) {
	l.s.accept(r)
	if l.wait == 0 {
		l.arm(batchWait)
	}
}

// onFull writes a batch that filled before its time.
func (l *loop) onFull(ctx context.Context) {
	if l.wait == 0 && len(l.s.backlog.rows)+len(l.s.queue) >= batchSize {
		_ = l.write(ctx)
	}
}

// onTrouble plans a try after somebody found the file out of reach.
func (l *loop) onTrouble() {
	if l.wait == 0 && l.s.cause() != nil {
		l.wait = retryFirst
		l.arm(l.wait)
	}
}

// write writes all that waits, and plans the next try if the file refuses.
func (l *loop) write(ctx context.Context) error {
	l.disarm()
	n, err := l.s.writeWaiting(ctx)
	if err != nil {
		l.wait = min(max(2*l.wait, retryFirst), retryMax)
		l.arm(l.wait)
		return err
	}
	l.wait = 0
	if l.written += n; l.written > l.s.limits.Load().bytes/64 {
		l.clean.Reset(0)
	}
	return nil
}

// backlog is the encoded records that the file has not taken yet, oldest first.
type backlog struct {
	rows   []row
	room   []row // what rows began with, to be used again once all are gone
	weight int   // bytes of their bodies
}

// accept encodes a record into the backlog. When the file refuses for long,
// the oldest give way to the newest.
func (s *Store) accept(r *route.Record) {
	line := s.encoder.row(r)
	b := &s.backlog
	if b.rows == nil {
		b.room = make([]row, 0, batchSize)
		b.rows = b.room
	}
	b.rows = append(b.rows, line)
	b.weight += len(line.body)
	gone := 0
	for b.weight > backlogMax {
		b.weight -= len(b.rows[gone].body)
		gone++
	}
	if gone > 0 {
		b.remove(gone)
		s.drop(gone, s.whyNotWritten())
	}
	s.state.backlog.Store(int64(len(b.rows)))
}

// remove forgets the n oldest rows, whose weight is already accounted for.
func (b *backlog) remove(n int) {
	clear(b.rows[:n]) // lets their bodies go at once
	b.rows = b.rows[n:]
	if len(b.rows) == 0 {
		clear(b.room[:cap(b.room)]) // and what it held before it was outgrown
		b.rows = b.room
	}
}

func (s *Store) whyNotWritten() string {
	if c := s.cause(); c != nil {
		return c.Reason
	}
	return tooFast
}

// writeWaiting writes the queue and the backlog, batch by batch, and returns
// about how many bytes the file grew by. With nothing to write it still tries to reach a file that
// was out of reach. The caller holds ran.
func (s *Store) writeWaiting(ctx context.Context) (grown int64, err error) {
	b := &s.backlog
	queued := len(s.queue) // what comes in meanwhile is the next call's
	for {
		// Not the whole queue at once: the backlog has a limit, and would drop
		// what a sound disk takes.
		for ; queued > 0 && len(b.rows) < batchSize && b.weight < backlogMax/2; queued-- {
			s.accept(<-s.queue)
		}
		batch := b.rows[:min(len(b.rows), batchSize)]
		if len(batch) == 0 && s.cause() == nil {
			return grown, nil
		}
		n, err := s.put(ctx, batch)
		if err != nil {
			s.trouble(err)
			return grown, err
		}
		s.recovered()
		grown += n
		for _, r := range batch {
			b.weight -= len(r.body)
		}
		s.state.written.Add(uint64(len(batch)))
		b.remove(len(batch))
		if len(b.rows) == 0 {
			s.encoder.out.reset()
		}
		s.state.backlog.Store(int64(len(b.rows)))
	}
}

// put writes one batch in one transaction and returns about how many bytes the
// file grew by. An empty one finds out whether the file takes writes.
func (s *Store) put(ctx context.Context, batch []row) (grown int64, err error) {
	s.write.mu.Lock()
	defer s.write.mu.Unlock()
	err = s.doWrite(ctx, func() (err error) {
		if len(batch) == 0 {
			return s.putState(ctx, stateTried, nil)
		}
		grown, err = s.write.insert.batch(ctx, s.write.db, batch)
		return err
	})
	return grown, err
}
