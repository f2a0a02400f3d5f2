package agent

import (
	"context"
	"sync"
)

// callContext is the context of one call at a runtime. Two wait for its end on
// every request: the adapter, to cut the connection, and the Running, to free
// the slot. The method AfterFunc, by which contexts may offer that themselves
// (see context.AfterFunc), tells them without the map, the channel and the two
// contexts that the general way makes for each call.
type callContext struct {
	context.Context
	cancel context.CancelCauseFunc

	mu      sync.Mutex // guards over, waiting
	over    bool
	waiting [2]*hook
}

// hook is one who waits for the end.
type hook struct {
	c *callContext
	f func()
}

func newCallContext() *callContext {
	c := new(callContext)
	c.Context, c.cancel = context.WithCancelCause(context.Background())
	return c
}

// end ends the call with a cause and starts what waits for that; only the first
// end counts. A nil cause is an end in order.
func (c *callContext) end(cause error) {
	c.cancel(cause)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	for i, h := range c.waiting {
		if h != nil {
			go h.f()
		}
		c.waiting[i] = nil
	}
}

// AfterFunc has f called on a goroutine of its own when the context ends. stop
// reports whether it kept f from being called.
func (c *callContext) AfterFunc(f func()) (stop func() bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		go f()
		return func() bool { return false }
	}
	for i := range c.waiting {
		if c.waiting[i] == nil {
			h := &hook{c, f}
			c.waiting[i] = h
			return h.stop
		}
	}
	return context.AfterFunc(c.Context, f) // more than ever wait
}

func (h *hook) stop() bool {
	h.c.mu.Lock()
	defer h.c.mu.Unlock()
	for i := range h.c.waiting {
		if h.c.waiting[i] == h {
			h.c.waiting[i] = nil
			return true
		}
	}
	return false
}
