package runtimetest

import (
	"context"
	"sync/atomic"
)

// bell wakes those who wait for a change of state. It takes no lock, so it may
// be rung under one, and costs one load while nobody listens.
type bell struct {
	listeners atomic.Int32
	next      atomic.Pointer[chan struct{}] // closed by the next ring
}

func (b *bell) ring() {
	if b.listeners.Load() == 0 {
		return
	}
	if c := b.next.Swap(nil); c != nil {
		close(*c)
	}
}

func (b *bell) listen() <-chan struct{} {
	for {
		if c := b.next.Load(); c != nil {
			return *c
		}
		c := make(chan struct{})
		if b.next.CompareAndSwap(nil, &c) {
			return c
		}
	}
}

// await asks cond after every ring.
func (b *bell) await(ctx context.Context, cond func() bool) error {
	b.listeners.Add(1)
	defer b.listeners.Add(-1)
	for {
		rung := b.listen()
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
