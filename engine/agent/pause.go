package agent

import (
	"context"
	"errors"
	"strings"
	"time"

	"bellwether/engine/fleet"
)

// pause is the owner's word that the node takes no new work.
type pause struct {
	On     bool      `json:"on,omitempty"`
	Reason string    `json:"reason,omitempty"`
	Since  time.Time `json:"since,omitzero"` // zero: not known, as of states saved by older versions
	Until  time.Time `json:"until,omitzero"` // zero: until resumed

	cutAt time.Time // when running requests are cut (on_pause: cancel); zero = never
}

func (p *pause) over(now time.Time) bool { return p.On && due(p.Until, now) }

func (p *pause) text(now time.Time) string {
	t := "paused by its owner"
	switch {
	case p.Reason == "" || p.Reason == t:
	case strings.HasPrefix(p.Reason, "paused "): // a whole sentence of its own
		t = p.Reason
	default:
		t += " (" + p.Reason + ")"
	}
	if !p.Until.IsZero() {
		t += " until " + fleet.Moment(p.Until, now)
	}
	return t
}

// cutDue ends what still runs once the grace of a pause is over.
func (p *pause) cutDue(s *state, now time.Time) {
	if !due(p.cutAt, now) {
		return
	}
	p.cutAt = time.Time{}
	s.cutAll(&fleet.Failure{Class: fleet.FailCancelled, Message: "the owner paused this node"}, nil)
}

// Pause refuses all new work from when it returns, for reason, until the given
// time (zero: until Resume). What runs is treated as Settings.OnPause says. It
// holds over restarts; an error says why it will not, and it holds till then.
func (a *Agent) Pause(reason string, until time.Time) error {
	return a.keep(func(s *state) <-chan struct{} { return s.onPause(reason, until) })
}

// Resume ends a pause; a Drain goes on. An error says why a restart would pause
// again.
func (a *Agent) Resume() error {
	return a.keep((*state).onResume)
}

// keepWithin is how long a change of the pause may take to be on file.
const keepWithin = 2 * time.Second

// errSlowDisk stands for what a disk that hangs will say, some time.
var errSlowDisk = errors.New("the disk has not answered yet")

// keep carries a change out and waits until it is on file, or why not.
func (a *Agent) keep(change func(*state) <-chan struct{}) (failed error) {
	var saved <-chan struct{}
	if err := a.ask(context.Background(), func(s *state) { saved = change(s) }); err != nil || saved == nil {
		return err
	}
	patience := time.NewTimer(keepWithin)
	defer patience.Stop()
	select {
	case <-saved:
	case <-patience.C:
		return errSlowDisk
	}
	if err := a.ask(context.Background(), func(s *state) { failed = s.failed }); err != nil {
		return nil // it ends, and saves once more
	}
	return failed
}

// Drain refuses new work and reports the node as draining, so that the router
// moves on; used before sleep and quitting. It does not outlive the process.
func (a *Agent) Drain() {
	_ = a.ask(context.Background(), func(s *state) { s.draining, s.dirty = true, true })
}

// Undrain calls a Drain off; a pause stays, and so does the end of a node that
// stops.
func (a *Agent) Undrain() {
	_ = a.ask(context.Background(), func(s *state) { s.draining, s.dirty = s.stopping, true })
}

func (s *state) onPause(reason string, until time.Time) (saved <-chan struct{}) {
	now := s.now()
	since := now
	if s.pause.On { // only its end or its reason is another
		since = s.pause.Since
	}
	s.pause = pause{On: true, Reason: reason, Since: since, Until: until}
	s.dirty = true
	saved = s.saveAtOnce()
	switch s.set.OnPause {
	case PauseHandover:
		// Before content another node can still take over; the refusal is what
		// makes the gateway ask for one.
		cause := &fleet.Failure{Class: fleet.FailRefused, Message: "the owner paused this node"}
		s.cutAll(cause, func(le *lease) bool { return le.content.Load() == 0 })
	case PauseCancel:
		s.pause.cutAt = now.Add(s.set.CancelGrace)
	}
	return saved
}

func (s *state) onResume() (saved <-chan struct{}) {
	s.pause = pause{}
	s.dirty = true
	return s.saveAtOnce()
}
