package engine

import (
	"bytes"
	"context"
	"path/filepath"
	"runtime/pprof"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"bellwether/engine/fleet"
	"bellwether/engine/pulse"
	"bellwether/platform/desktop"
)

// reloadBound is how long the loop that follows the settings file may take: a
// reload waits until every runtime was looked at anew.
const reloadBound = 2 * time.Minute

// theFeed names the feed's loop: while it hangs nothing is told to it.
const theFeed = "what windows and the icon are told"

// newWatch watches the loops that own state, and others.
func (e *Engine) newWatch(others ...pulse.Loop) *pulse.Watch {
	return pulse.NewWatch(append([]pulse.Loop{
		{Name: "the queue of requests", Ping: func() { e.queue.Status() }},
		{Name: "this machine's runtimes, memory and pause", Ping: e.agent.Ping},
		{Name: theFeed, Ping: e.feed.Ping},
		{Name: "the clock that judges machines", Ping: e.ticking.ping},
		{Name: "the settings file", Ping: e.watching.ping, Bound: reloadBound},
	}, others...), e.log, e.hangsChanged)
}

// hangFile holds what every goroutine did when a loop hung last.
const hangFile = "hang.txt"

func (e *Engine) hangsChanged(hung []pulse.Hang) {
	if len(hung) > 0 {
		var text bytes.Buffer
		_ = pprof.Lookup("goroutine").WriteTo(&text, 2)
		if err := desktop.WritePrivate(filepath.Join(e.opts.Folders.Logs, hangFile), text.Bytes()); err != nil {
			e.log.Warn("what the program was doing could not be written down", "err", err)
		}
	}
	for _, h := range hung {
		if h.Name == theFeed {
			return
		}
	}
	e.feed.Touched()
}

// LoopFinding begins the id of a finding about a loop that hangs.
const LoopFinding = "loop."

func checkLoops(s *scene) (out []check) {
	for _, h := range s.hung {
		out = append(out, found(LoopFinding+strings.ReplaceAll(h.Name, " ", "-"), isBroken, "A part that hangs", "Restart Bellwether, and report this with a support bundle. What it was doing stands in "+hangFile+" in the folder of the logs.",
			"%s has not come round since %s: what is shown of it is old, and what needs it waits.", sentenceOf(h.Name), fleet.Moment(h.Since, s.now)))
	}
	return out
}

// sentenceOf begins with a capital.
func sentenceOf(s string) string {
	_, n := utf8.DecodeRuneInString(s)
	return strings.ToUpper(s[:n]) + s[n:]
}

// turn lets a loop that waits in a select be asked to come round.
type turn struct{ asked, ended chan struct{} }

func newTurn() turn { return turn{make(chan struct{}), make(chan struct{})} }

// ping returns when the loop has received from asked, or has ended.
func (t turn) ping() {
	select {
	case t.asked <- struct{}{}:
	case <-t.ended:
	}
}

// Checks look at disks and ask the system, and so may hang; then Health says so.
const (
	checksBound = 20 * time.Second
	checksMost  = 3 // that hang at once; with so many none is begun
)

// lookout runs checks and does not wait for those that hang. Its mutex guards
// all of it.
type lookout struct {
	mu    sync.Mutex
	last  []check
	hung  int       // that have not come back
	since time.Time // since when; zero = none hangs
}

// run is look's answer, or the last one, with a finding, where it hangs.
func (l *lookout) run(ctx context.Context, now time.Time, look func(ctx context.Context) []check) []check {
	l.mu.Lock()
	if l.hung >= checksMost {
		defer l.mu.Unlock()
		return l.stale(now)
	}
	l.mu.Unlock()
	came := make(chan []check, 1) // nobody may wait for it any more
	late := make(chan struct{})
	go func() {
		c := look(ctx)
		l.mu.Lock() // so that it either came or was late
		came <- c
		l.mu.Unlock()
		select {
		case <-late:
			l.back()
		default:
		}
	}()
	patience := time.NewTimer(checksBound)
	defer patience.Stop()
	select {
	case c := <-came:
		l.mu.Lock()
		defer l.mu.Unlock()
		l.last = c
		return c
	case <-patience.C:
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case c := <-came: // just so
		l.last = c
		return c
	default:
	}
	if l.hung++; l.since.IsZero() {
		l.since = now
	}
	close(late)
	return l.stale(now)
}

// back is the return of one that hung.
func (l *lookout) back() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.hung--; l.hung == 0 {
		l.since = time.Time{}
	}
}

func (l *lookout) stale(now time.Time) []check {
	out := []check{found("hang.checks", isWarning, "Checks that hang", "See whether the disk of the data folder answers.",
		"The checks begun at %s have not come back; what else is shown here was found before.", fleet.Moment(l.since, now))}
	return append(out, l.last...)
}
