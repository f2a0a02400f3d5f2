package app

import (
	"runtime/debug"
	"time"
)

// restAfter is how long nothing may have been asked for before memory is given
// back. Under load Go keeps what it once had, for it may need it again; on a
// machine that people work on it is better off with them.
const restAfter = 10 * time.Second

// rest gives memory back once after every time of work, and after the start.
// Its fields are the desk's.
type rest struct {
	since time.Time // when the last request ended; zero = one runs, or nothing is known
	done  bool
}

// see notes how many requests are under way.
func (r *rest) see(active int, now time.Time) {
	switch {
	case active > 0:
		*r = rest{}
	case r.since.IsZero():
		r.since = now
	}
}

// due reports, once, that it is time.
func (r *rest) due(now time.Time) bool {
	if r.done || r.since.IsZero() || now.Sub(r.since) < restAfter {
		return false
	}
	r.done = true
	return true
}

// giveBack takes some milliseconds of every core.
func giveBack() { debug.FreeOSMemory() }
