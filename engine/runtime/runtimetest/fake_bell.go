package runtimetest

import (
	"context"
	"sync"
	"sync/atomic"
)

// bell wakes those who wait for a change of state. Ringing costs one atomic
// load while nobody listens.
type bell struct {
	listeners atomic.Int32

	mu sync.Mutex // guards ch
	ch chan struct{}
}

func (b *bell) ring() {
	if b.listeners.Load() == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ch != nil {
		close(b.ch)
		b.ch = nil
	}
}

func (b *bell) next() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ch == nil {
		b.ch = make(chan struct{})
	}
	return b.ch
}

// await asks cond after every ring.
func (b *bell) await(ctx context.Context, cond func() bool) error {
	b.listeners.Add(1)
	defer b.listeners.Add(-1)
	for {
		rung := b.next()
		if cond() {
			return nil
		}
		select {
		case <-rung:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
