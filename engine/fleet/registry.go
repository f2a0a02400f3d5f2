package fleet

import (
	"sync"
	"sync/atomic"
	"time"
)

// Registry owns the picture of the fleet: who is there, how fresh each report
// is. Others read Snapshot, which is never changed after it is published; a
// change copies the list of nodes and replaces the changed ones only.
//
// Its mutex guards every field but snap, which readers load without it. No
// goroutine of its own: who owns it calls Tick about once a second.
type Registry struct {
	local         string
	late, offline time.Duration

	mu       sync.Mutex
	version  uint64
	retired  map[string]string   // node -> the boot before its current one
	gone     map[string]bool     // declared gone, until their next report
	expected map[string]struct{} // members not heard from yet
	settleBy time.Time           // when waiting for expected ends; zero = not begun
	within   time.Duration
	lastTick time.Time
	watchers []chan struct{}
	snap     atomic.Pointer[Snapshot]
}

// NewRegistry returns an empty registry of a process running on node local. A
// node is late, then offline, when its last report is that old.
func NewRegistry(local string, late, offline time.Duration) *Registry {
	return &Registry{}
}

// Snapshot returns the fleet as of the last change. It never blocks.
func (r *Registry) Snapshot() *Snapshot { return r.snap.Load() }

// Changed returns a new channel that gets a value after every change of the
// snapshot. Changes while one value lies unread are told by that one value.
func (r *Registry) Changed() <-chan struct{} { return nil }

// Report takes a node's heartbeat, received at now.
func (r *Registry) Report(h Heartbeat, now time.Time) {}

// Tick judges how fresh every node is.
func (r *Registry) Tick(now time.Time) {}

// Expect begins a time of settling.
func (r *Registry) Expect(members []string, within time.Duration, now time.Time) {}

// Gone takes a node out at once, until it reports again: its link closed and
// membership calls it gone, or it said that it leaves.
func (r *Registry) Gone(node string, now time.Time) {}

// Forget removes a node from the picture: it was revoked.
func (r *Registry) Forget(node string, now time.Time) {}
