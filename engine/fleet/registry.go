package fleet

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// SettleWithin is how long a registry that has just begun waits for the
// members it expects before it calls its picture settled without them.
const SettleWithin = 3 * time.Second

// Registry owns the picture of the fleet: who is there and how fresh each
// report is. Others read Snapshot, which is never changed after it is
// published; a change copies the list of nodes and replaces changed ones only.
//
// Its methods may be called from any goroutine; it starts none. Whoever owns
// it calls Tick about once a second. The mutex guards every field but snap,
// which readers load without it.
type Registry struct {
	local         string
	late, offline time.Duration

	mu       sync.Mutex
	retired  map[string]string   // node -> the boot before its current one
	gone     map[string]bool     // taken out, until their next report
	expected map[string]struct{} // members not heard from yet
	within   time.Duration
	settleBy time.Time // zero: the time of settling has not begun
	lastTick time.Time
	doubt    doubt
	watchers []chan struct{}
	snap     atomic.Pointer[Snapshot]
}

// NewRegistry returns an empty registry of a process that runs on node local.
// A node is late, then offline, once its last report is that old. It expects
// to hear from the local node first; a router that knows other members adds
// them with Expect.
func NewRegistry(local string, late, offline time.Duration) *Registry {
	r := &Registry{
		local: local, late: late, offline: offline,
		retired: map[string]string{}, gone: map[string]bool{},
		expected: map[string]struct{}{local: {}}, within: SettleWithin,
	}
	r.snap.Store(&Snapshot{})
	return r
}

// Snapshot returns the fleet as of the last change. It never blocks.
func (r *Registry) Snapshot() *Snapshot { return r.snap.Load() }

// Changed returns a new channel that gets a value after every change of the
// snapshot; changes while one value lies unread are told by that one value
// (hence the buffer of one). Call it once for each watcher and keep it.
func (r *Registry) Changed() <-chan struct{} {
	c := make(chan struct{}, 1)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.watchers = append(r.watchers, c)
	return c
}

// Report takes a node's heartbeat, received at now by this process's clock.
// One that is older than what is known (a lower sequence, or the boot before
// the current one) is dropped. The registry keeps the heartbeat's slices and
// maps: the caller must not change them any more.
func (r *Registry) Report(h Heartbeat, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	old := r.snap.Load().Node(h.Node)
	if old != nil && old.Boot == h.Boot && h.Sequence <= old.Sequence {
		return
	}
	if r.retired[h.Node] == h.Boot && h.Boot != "" {
		return
	}
	if old != nil && old.Boot != h.Boot {
		r.retired[h.Node] = old.Boot
	}
	delete(r.gone, h.Node)
	delete(r.expected, h.Node)
	nodes := slices.Clone(r.snap.Load().Nodes)
	i, found := find(nodes, h.Node)
	if !found {
		nodes = slices.Insert(nodes, i, Node{})
	}
	nodes[i] = Node{Heartbeat: h, LastSeen: now, Liveness: Alive, Local: h.Node == r.local}
	r.publish(nodes, now)
}

// Tick judges how fresh every node is at now, and ends the time of settling.
func (r *Registry) Tick(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	nodes := r.snap.Load().Nodes
	keep := r.doubt.of(r, nodes, now)
	r.lastTick = now
	var changed []Node
	for i := range nodes {
		l := r.judge(&nodes[i], now, keep)
		if l == nodes[i].Liveness {
			continue
		}
		if changed == nil {
			changed = slices.Clone(nodes)
		}
		changed[i].Liveness = l
	}
	if changed != nil || r.settled(now) != r.snap.Load().Settled {
		if changed == nil {
			changed = nodes
		}
		r.publish(changed, now)
	}
}

// Expect begins a time of settling: the snapshot is not settled until all
// these members have reported or within has passed. For a process that just
// took the router role and must not answer from an empty picture.
func (r *Registry) Expect(members []string, within time.Duration, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.expected = make(map[string]struct{}, len(members))
	for _, m := range members {
		if n := r.snap.Load().Node(m); n == nil || n.Liveness == Offline {
			r.expected[m] = struct{}{}
		}
	}
	r.within, r.settleBy = within, now.Add(within)
	if s := r.snap.Load(); s.Settled != r.settledBy(now) {
		r.publish(s.Nodes, now)
	}
}

// Gone takes a node out at once, until it reports again: its link closed and
// membership calls it gone, or it said that it leaves.
func (r *Registry) Gone(node string, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.expected, node)
	nodes := r.snap.Load().Nodes
	i, found := find(nodes, node)
	if !found || nodes[i].Liveness == Offline {
		return
	}
	r.gone[node] = true
	nodes = slices.Clone(nodes)
	nodes[i].Liveness = Offline
	r.publish(nodes, now)
}

// Forget removes a node from the picture: it was revoked.
func (r *Registry) Forget(node string, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.gone, node)
	delete(r.retired, node)
	delete(r.expected, node)
	nodes := r.snap.Load().Nodes
	if i, found := find(nodes, node); found {
		r.publish(slices.Delete(slices.Clone(nodes), i, i+1), now)
	}
}

// judge returns a node's liveness; while keep is set it does not worsen.
func (r *Registry) judge(n *Node, now time.Time, keep bool) Liveness {
	if r.gone[n.Node] {
		return Offline
	}
	l := LivenessOf(n.LastSeen, now, r.late, r.offline)
	if keep && l > n.Liveness {
		return n.Liveness
	}
	return l
}

// publish makes nodes the current snapshot. The caller holds the mutex and
// gives the slice away.
func (r *Registry) publish(nodes []Node, now time.Time) {
	r.snap.Store(&Snapshot{
		Version: r.snap.Load().Version + 1, At: now,
		Nodes: nodes, Settled: r.settled(now),
	})
	for _, c := range r.watchers {
		select {
		case c <- struct{}{}:
		default: // one is lying there already, and tells of this change too
		}
	}
}

// settled starts the time of settling at the first call, and once true stays so.
func (r *Registry) settled(now time.Time) bool {
	if r.settleBy.IsZero() {
		r.settleBy = now.Add(r.within)
	}
	return r.settledBy(now)
}

func (r *Registry) settledBy(now time.Time) bool {
	if len(r.expected) == 0 || !now.Before(r.settleBy) {
		clear(r.expected)
		return true
	}
	return false
}

func find(nodes []Node, id string) (int, bool) {
	return slices.BinarySearchFunc(nodes, id, func(n Node, id string) int { return strings.Compare(n.Node, id) })
}
