package pulse

import (
	"sync"
	"time"
)

// longestPause is between two rounds where all before hang: what hangs for ever
// leaves one goroutine an hour behind.
const longestPause = time.Hour

// Round is work that comes round again and again, at most one at a time. It is a
// value of its owner, who alone calls its methods.
type Round struct {
	// Bound is how long a round may take, until it is given up.
	Bound time.Duration

	ticket uint64
	under  bool
	begun  time.Time
	hung   time.Time // when the first that was given up began; zero = none was
	lost   int       // given up in a row
}

// Begin begins a round, unless one is under way that has not been given up. The
// result carries the ticket.
//
//  1. While one is under way within its bound there is no second.
//  2. One that takes longer is given up, and the next is begun at once.
//  3. Where that hangs too, each next one gets twice the time before it is given
//     up, at most an hour.
func (r *Round) Begin(now time.Time) (ticket uint64, ok bool) {
	if r.under {
		if now.Sub(r.begun) < r.patience() {
			return 0, false
		}
		if r.lost == 0 {
			r.hung = r.begun
		}
		r.lost++
	}
	r.ticket++
	r.under, r.begun = true, now
	return r.ticket, true
}

// End takes a round's return; false says that it was given up, and that its
// result is not to be taken.
func (r *Round) End(ticket uint64) bool {
	if !r.under || ticket != r.ticket {
		return false
	}
	r.under, r.lost, r.hung = false, 0, time.Time{}
	return true
}

// Under reports that a round is under way.
func (r *Round) Under() bool { return r.under }

// Due is when the round under way is given up, zero while there is none.
func (r *Round) Due() time.Time {
	if !r.under {
		return time.Time{}
	}
	return r.begun.Add(r.patience())
}

// Hung says since when none has come back, zero = they do.
func (r *Round) Hung(now time.Time) time.Time {
	switch {
	case !r.hung.IsZero():
		return r.hung
	case r.under && now.Sub(r.begun) >= r.Bound:
		return r.begun
	}
	return time.Time{}
}

func (r *Round) patience() time.Duration {
	return min(r.Bound<<min(r.lost, 16), max(longestPause, r.Bound))
}

// Wait waits until the goroutines of a group have ended, and no longer than
// patience: what hangs keeps nobody from ending. It reports whether all have.
func Wait(g *sync.WaitGroup, patience time.Duration) bool {
	all := make(chan struct{})
	go func() { g.Wait(); close(all) }()
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-all:
		return true
	case <-late.C:
		return false
	}
}
