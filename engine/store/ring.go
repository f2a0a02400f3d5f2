package store

import (
	"sync"

	"bellwether/engine/route"
)

// ring holds the latest records, so that a decision can be seen the moment it
// was made, and while the file is out of reach. mu guards all of it.
type ring struct {
	mu    sync.Mutex
	slots []*route.Record
	next  int // slot of the next record; the oldest once the ring is full
}

func (r *ring) init(size int) { r.slots = make([]*route.Record, size) }

func (r *ring) add(rec *route.Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.slots[r.next] = rec
	r.next = (r.next + 1) % len(r.slots)
}

// latest returns the records kept, the last added first; of two with the same
// id only the later.
func (r *ring) latest() []*route.Record {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]*route.Record, 0, len(r.slots))
	seen := make(map[string]bool, len(r.slots))
	for i := range r.slots {
		rec := r.slots[(r.next-1-i+2*len(r.slots))%len(r.slots)]
		if rec == nil {
			break
		}
		if !seen[rec.RequestID] {
			seen[rec.RequestID] = true
			out = append(out, rec)
		}
	}
	return out
}
