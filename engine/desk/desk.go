// Package desk brings messages to the owner of a state, one at a time and in
// order, and lets whoever posts one handle it on the spot where nobody else is
// at it.
//
// A state with one owner is usually a goroutine with a channel: each message
// then costs a switch to the loop, and its answer one back. On the way of a
// request that is more than what most messages ask for. Here ownership is a
// turn instead: who holds it may touch the state, nobody ever waits for it but
// the owner's own goroutine, and who gives it back looks whether something was
// laid down meanwhile.
//
//	Post: lay the message down; the turn is free? handle all that waits, give it back
//	Run:  what is due by time, and what posters leave behind
package desk

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"
)

// Owner is a state and what handles its messages. All three are called by
// whoever has the turn, never by two at once; what one call wrote the next one
// sees. They must return at once, and may post.
type Owner[M any] interface {
	// Handle takes one message.
	Handle(m M)
	// Tick does what is due by now.
	Tick()
	// Due is when Tick must be called next; zero = not before a message.
	Due() time.Time
}

// postRounds is how often a poster looks again for what others laid down while
// it was at work: enough that none of them needs the owner's goroutine, and
// few enough that none works for the others for long.
const postRounds = 4

// Desk is where messages for one owner are laid. It is unbounded, so that
// nobody who posts ever waits; each message belongs to a live request or a
// goroutine of the owner, which bounds it in truth.
type Desk[M any] struct {
	owner Owner[M]
	now   func() time.Time

	mu      sync.Mutex // guards waiting, closed
	waiting []M
	closed  bool

	turn  sync.Mutex  // who holds it owns the state, and the fields below
	spare []M         // to swap with waiting
	armed time.Time   // when Run's timer goes off; zero = it does not
	over  func() bool // Run's

	wake chan struct{} // buffer 1: one token says "look again"
}

// New returns a desk whose messages are kept until Run runs. now is the
// owner's clock.
func New[M any](owner Owner[M], now func() time.Time) *Desk[M] {
	d := &Desk[M]{owner: owner, now: now, wake: make(chan struct{}, 1)}
	d.turn.Lock() // Run's
	return d
}

// Post brings a message to the owner; false when nobody will read it any more.
// It may have been handled when Post returns, by the caller's goroutine or
// another one, or will be soon.
func (d *Desk[M]) Post(m M) bool {
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		return false
	}
	d.waiting = append(d.waiting, m)
	first := len(d.waiting) == 1
	d.mu.Unlock()
	if first { // else who laid down the first one sees to all
		d.work()
	}
	return true
}

// work handles what waits where the turn is free. Where it is not, its holder
// looks again after giving it back, so nothing is left lying.
func (d *Desk[M]) work() {
	for range postRounds {
		if !d.some() || !d.turn.TryLock() {
			return
		}
		d.handleAll()
		at := d.owner.Due()
		sooner := !at.IsZero() && (d.armed.IsZero() || at.Before(d.armed))
		if sooner { // than Run wakes
			d.armed = at
		}
		if sooner || d.over != nil && d.over() {
			d.nudge()
		}
		d.turn.Unlock()
	}
	d.nudge()
}

// Run is the owner's own goroutine: it handles what posters leave to it and
// what is due by time, until ctx ends or over, asked after messages, says so;
// over may be nil. Then Run has the turn and the caller may touch the state;
// messages are kept for the next Run, or for Close.
func (d *Desk[M]) Run(ctx context.Context, over func() bool) {
	d.over = over // we have the turn, as New or the Run before left it
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		d.handleAll()
		due := d.owner.Due()
		if !due.IsZero() && !d.now().Before(due) {
			d.tick()
			due = d.owner.Due()
		}
		if ctx.Err() != nil || over != nil && over() {
			return
		}
		d.armed = due
		d.turn.Unlock()
		d.work()
		armed := timer.C
		if due.IsZero() {
			armed = nil
		} else {
			timer.Reset(max(0, due.Sub(d.now())))
		}
		select {
		case <-ctx.Done():
		case <-d.wake:
		case <-armed:
		}
		d.turn.Lock()
	}
}

// Close refuses further messages and returns those that nobody handled. Only
// for who has the turn.
func (d *Desk[M]) Close() []M {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	rest := d.waiting
	d.waiting = nil
	return rest
}

// some reports whether a message waits.
func (d *Desk[M]) some() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.waiting) > 0
}

func (d *Desk[M]) nudge() {
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// handleAll handles what waits, the messages that follow from it too. The
// caller has the turn.
func (d *Desk[M]) handleAll() {
	defer crash()
	for {
		d.mu.Lock()
		batch := d.waiting
		d.waiting = d.spare
		d.mu.Unlock()
		for _, m := range batch {
			d.owner.Handle(m)
		}
		clear(batch)
		d.spare = batch[:0]
		if len(batch) == 0 {
			return
		}
	}
}

func (d *Desk[M]) tick() {
	defer crash()
	d.owner.Tick()
}

// crash ends the process when an owner panics, as a loop's panic does. A
// poster's caller may recover (net/http does), and the state would be left
// half changed, behind a turn that nobody gives back.
func crash() {
	if p := recover(); p != nil {
		text := fmt.Sprintf("%v\n\n%s", p, debug.Stack())
		go panic(text)
		select {}
	}
}
