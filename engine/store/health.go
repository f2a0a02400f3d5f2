package store

import (
	"sync"
	"sync/atomic"
	"time"
)

// Health is how the store fares, for status, doctor and the UI.
type Health struct {
	// OK is false while the file takes no writes; Reason, Remedy and Since then
	// say why, what helps, and since when.
	OK     bool      `json:"ok"`
	Reason string    `json:"reason,omitempty"`
	Remedy string    `json:"remedy,omitempty"`
	Since  time.Time `json:"since,omitzero"`

	Written uint64 `json:"written"` // records written since the start
	Waiting int    `json:"waiting"` // records not yet in the file
	// Dropped counts records lost since the start; DroppedWhy is the reason of
	// the latest. It stays after recovery: nothing is lost silently.
	Dropped    uint64 `json:"dropped"`
	DroppedWhy string `json:"dropped_why,omitempty"`
	// Unreadable counts records that were found but could not be read back.
	Unreadable uint64 `json:"unreadable,omitempty"`

	Bytes int64  `json:"bytes"` // size of the file, as of the last clean-up
	Notes []Note `json:"notes,omitempty"`
}

// Note is something the owner should know although it is over, such as where a
// damaged file was moved.
type Note struct {
	At   time.Time `json:"at"`
	Text string    `json:"text"`
}

const notesMax = 16

// health is the mutable side of Health. The counters are atomic because Record
// touches them on the way of a request; mu guards the rest.
type health struct {
	written, dropped, unreadable atomic.Uint64
	backlog                      atomic.Int64 // records Run holds back
	bytes                        atomic.Int64

	mu         sync.Mutex
	cause      *UnavailableError // nil: all is well
	since      time.Time
	droppedWhy string
	notes      []Note
}

// Health returns the state as of now. It never waits for the disk.
func (s *Store) Health() Health {
	h := &s.state
	h.mu.Lock()
	defer h.mu.Unlock()
	out := Health{
		OK:         h.cause == nil,
		Written:    h.written.Load(),
		Waiting:    len(s.queue) + int(h.backlog.Load()),
		Dropped:    h.dropped.Load(),
		DroppedWhy: h.droppedWhy,
		Unreadable: h.unreadable.Load(),
		Bytes:      h.bytes.Load(),
		Notes:      append([]Note(nil), h.notes...),
	}
	if h.cause != nil {
		out.Reason, out.Remedy, out.Since = h.cause.Reason, h.cause.Remedy, h.since
	}
	return out
}

// drop counts lost records and keeps why for Health.
func (s *Store) drop(n int, why string) {
	if n == 0 {
		return
	}
	s.state.dropped.Add(uint64(n))
	s.state.mu.Lock()
	defer s.state.mu.Unlock()
	s.state.droppedWhy = why
}

// trouble notes that the file is out of reach, logs each new reason once and
// has Run try again.
func (s *Store) trouble(err error) {
	u := explain(err)
	h := &s.state
	h.mu.Lock()
	news := h.cause == nil || h.cause.Reason != u.Reason
	if h.cause == nil {
		h.since = s.now()
	}
	h.cause = u
	h.mu.Unlock()
	select {
	case s.nudge <- struct{}{}:
	default:
	}
	if news {
		s.log.Warn("decision records are not being written", "reason", u.Reason, "remedy", u.Remedy)
	}
}

// recovered notes that the file takes writes again.
func (s *Store) recovered() {
	h := &s.state
	h.mu.Lock()
	was := h.cause
	h.cause, h.since = nil, time.Time{}
	h.mu.Unlock()
	if was != nil {
		s.log.Info("decision records are written again", "after", was.Reason, "dropped", h.dropped.Load())
	}
}

// note keeps a sentence for the owner; the oldest go when there are too many.
func (s *Store) note(text string) {
	h := &s.state
	h.mu.Lock()
	h.notes = append(h.notes, Note{At: s.now(), Text: text})
	if len(h.notes) > notesMax {
		h.notes = append([]Note(nil), h.notes[len(h.notes)-notesMax:]...)
	}
	h.mu.Unlock()
	s.log.Warn(text)
}

// cause returns why the file is out of reach, nil when it is not.
func (s *Store) cause() *UnavailableError {
	s.state.mu.Lock()
	defer s.state.mu.Unlock()
	return s.state.cause
}
