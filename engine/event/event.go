// Package event is a small typed hub: one side publishes and never waits, the
// others each get every event in order. A subscriber that falls behind is cut
// off and told so; it takes a fresh picture and subscribes again.
//
// A Hub may be used from any goroutine; it starts none.
package event

import (
	"sync"
	"sync/atomic"
)

// Hub passes events of one type to all its subscribers. Its mutex guards subs.
type Hub[T any] struct {
	buffer int
	mu     sync.Mutex
	subs   map[*Sub[T]]struct{}
	count  atomic.Int32 // len(subs), read without the lock
}

// NewHub returns a hub whose subscribers may each fall buffer events behind
// (at least 1) before they are cut off.
func NewHub[T any](buffer int) *Hub[T] {
	return &Hub[T]{buffer: max(1, buffer), subs: make(map[*Sub[T]]struct{})}
}

// Publish hands an event to every subscriber and never blocks. Events of one
// publishing goroutine arrive in its order. A nil Hub swallows them.
func (h *Hub[T]) Publish(e T) {
	if !h.Watched() {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for s := range h.subs {
		select {
		case s.c <- e:
		default:
			s.lagged.Store(true)
			h.cut(s)
		}
	}
}

// Watched reports whether anyone listens, so that publishers can save the
// work of making an event nobody reads.
func (h *Hub[T]) Watched() bool { return h != nil && h.count.Load() > 0 }

// Subscribe returns a subscription to all events published from now on. Its
// owner must read C until it is closed, or Close it.
func (h *Hub[T]) Subscribe() *Sub[T] {
	c := make(chan T, h.buffer) // the allowance before a slow reader is cut
	s := &Sub[T]{C: c, c: c, hub: h}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.subs[s] = struct{}{}
	h.count.Store(int32(len(h.subs)))
	return s
}

// cut ends a subscription. The caller holds the mutex.
func (h *Hub[T]) cut(s *Sub[T]) {
	if _, on := h.subs[s]; !on {
		return
	}
	delete(h.subs, s)
	h.count.Store(int32(len(h.subs)))
	close(s.c)
}

// Sub is one subscription.
type Sub[T any] struct {
	C      <-chan T // closed when the subscription ends; what was sent before can still be read
	c      chan T
	hub    *Hub[T]
	lagged atomic.Bool
}

// Close ends the subscription. It may be called more than once, from any goroutine.
func (s *Sub[T]) Close() {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	s.hub.cut(s)
}

// Lagged reports whether the subscription was cut because it fell behind:
// events are missing and the state must be read afresh.
func (s *Sub[T]) Lagged() bool { return s.lagged.Load() }
