package main

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// heapRoom decides how much garbage may gather before it is collected. The
// live heap is some ten MB, so that Go's own target has a busy router collect a
// dozen times a second, which takes some 6 percent of its work; an idle one
// should be small instead. So a busy process gets room, and gives the memory
// back when the spell is over. keepHeap owns it.
type heapRoom struct {
	allocated uint64 // bytes in all at the last look; 0 before the first
	quiet     int    // looks since the last busy one
	busy      bool
}

const (
	heapLook      = time.Second
	heapBusy      = 16 << 20 // bytes allocated in one look: about a thousand requests
	heapQuiet     = 10       // looks without that, until the spell is over
	heapGarbage   = 64 << 20 // bytes of garbage between two collections of a busy process
	heapIdle      = 100      // Go's own percentage
	heapMostRoom  = 1000     // percent, where next to nothing lives
	heapLeastRoom = 200      // percent, where much does
)

// look takes what was allocated since the start and what lived at the last
// collection, both in bytes. It returns the percentage to collect at, 0 for no
// change, and whether memory is to be given back to the system.
func (h *heapRoom) look(allocated, live uint64) (percent int, release bool) {
	last := h.allocated
	h.allocated = allocated
	if last != 0 && allocated-last >= heapBusy {
		h.busy, h.quiet = true, 0
		return int(min(max(100*heapGarbage/max(live, 1), heapLeastRoom), heapMostRoom)), false
	}
	if !h.busy {
		return 0, false
	}
	if h.quiet++; h.quiet < heapQuiet {
		return 0, false
	}
	h.busy = false
	return heapIdle, true
}

// keepHeap looks once a second until ctx ends, unless GOGC says how to collect.
func keepHeap(ctx context.Context) {
	if os.Getenv("GOGC") != "" {
		return
	}
	samples := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}, {Name: "/gc/heap/live:bytes"}}
	tick := time.NewTicker(heapLook)
	defer tick.Stop()
	for room := (heapRoom{}); ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		metrics.Read(samples)
		percent, release := room.look(samples[0].Value.Uint64(), samples[1].Value.Uint64())
		if percent != 0 {
			debug.SetGCPercent(percent)
		}
		if release {
			debug.FreeOSMemory()
		}
	}
}
