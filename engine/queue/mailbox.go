package queue

import "sync"

// message is something that happened, for the loop.
type message interface{ apply(d *Dispatcher) }

// mailbox brings messages to the loop in order. It is unbounded, so that
// nobody who posts ever waits; each message belongs to a live request, which
// bounds it in truth. Its mutex guards waiting and closed.
type mailbox struct {
	mu      sync.Mutex
	waiting []message
	spare   []message     // the loop's, to swap
	closed  bool          // the loop has ended
	wake    chan struct{} // buffer 1: one token says "something waits"
}

// post adds a message; false when the loop has ended and nobody will read it.
func (m *mailbox) post(msg message) bool {
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return false
	}
	m.waiting = append(m.waiting, msg)
	first := len(m.waiting) == 1
	m.mu.Unlock()
	if first {
		select {
		case m.wake <- struct{}{}:
		default:
		}
	}
	return true
}

// take returns what waits. The slice is valid until the next take.
func (m *mailbox) take() []message {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := m.waiting
	clear(m.spare)
	m.waiting, m.spare = m.spare[:0], out
	return out
}

// close refuses further messages and returns the last ones.
func (m *mailbox) close() []message {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	out := m.waiting
	m.waiting, m.spare = nil, nil
	return out
}
