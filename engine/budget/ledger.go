package budget

import (
	"time"

	"bellwether/engine/fleet"
)

// Ledger says who holds what of a node's memory pools. Its zero value is not
// usable; see New.
type Ledger struct{}

// Options are the owner's rules for a ledger.
type Options struct {
	// RejectUnknown refuses whenever a counted size is unknown
	// (unknown_memory_policy: reject); else unknown counts 0 and is labelled.
	RejectUnknown bool
	// AssumedTTL ends assumed residency that no observation can settle; 0 = never.
	AssumedTTL time.Duration
}

// New returns an empty ledger.
func New(o Options) *Ledger { return &Ledger{} }

// Configure replaces the rules; what is held stays held.
func (l *Ledger) Configure(o Options) {}

// SetPools replaces the pools: their limits, margins and readings. Holders in
// them are ignored; claims on a pool that vanished stay and count again if it
// comes back.
func (l *Ledger) SetPools(pools []fleet.Pool) {}

// SetPinned replaces the set of deployments that are never evicted.
func (l *Ledger) SetPinned(ids []fleet.DeploymentID) {}

// Candidate asks to come in.
type Candidate struct {
	Deployment fleet.DeploymentID
	Need       Need
	// Evict names the idle, unpinned victims that leave for it.
	Evict []fleet.DeploymentID
	// MaxLoaded is the most deployments its runtime keeps at once; 0 = unknown.
	MaxLoaded int
}

// Admit says whether the candidate may come in now; nil = yes. Nothing changes.
func (l *Ledger) Admit(c Candidate) *Denial { return nil }

// Reserve admits and reserves in one step, under a key (the grant's id, or
// any name for a load or probe), and marks the plan's victims as leaving.
func (l *Ledger) Reserve(key string, c Candidate) *Denial { return nil }

// Sent notes that a byte of the reservation's call left for the runtime at at
// (also the order to load). From now on its residency is assumed.
func (l *Ledger) Sent(key string, at time.Time) {}

// Release ends a reservation at at. What was sent stays assumed until an
// observation that starts later. Unknown keys are ignored.
func (l *Ledger) Release(key string, at time.Time) {}

// Hold ends a reservation whose call may still be running: its memory stays
// held for d from now.
func (l *Ledger) Hold(key string, d time.Duration, now time.Time) {}

// Observation is one successful reading of what a runtime holds.
type Observation struct {
	Runtime   string
	StartedAt time.Time
	// Resident lists what is in memory. Nothing else of this runtime is.
	Resident map[fleet.DeploymentID]Need
}

// Observe replaces what is resident on a runtime and settles what was assumed
// before the observation started.
func (l *Ledger) Observe(o Observation) {}

// Forget drops everything known of a runtime but live reservations: it is gone
// for good, or its process was seen to end.
func (l *Ledger) Forget(runtime string) {}

// Expire ends the holds whose time is over and reports whether any ended.
func (l *Ledger) Expire(now time.Time) bool { return false }

// Leaving reports whether a deployment is marked for eviction.
func (l *Ledger) Leaving(id fleet.DeploymentID) bool { return false }

// Stay takes the mark of eviction back: the unload failed or is not needed.
func (l *Ledger) Stay(id fleet.DeploymentID) {}

// Busy reports whether a deployment has a live reservation or uncertain hold.
func (l *Ledger) Busy(id fleet.DeploymentID) bool { return false }

// Uncertain returns how long each deployment is still held as uncertain.
func (l *Ledger) Uncertain(now time.Time) map[fleet.DeploymentID]time.Duration { return nil }

// Pools returns the pools with their holders, for heartbeat, refusal and status.
func (l *Ledger) Pools(now time.Time) []fleet.Pool { return nil }

// Export returns the whole state but pools and pins, as JSON. Times are written
// as ages and durations left, since clocks restart.
func (l *Ledger) Export(now time.Time) ([]byte, error) { return nil, nil }

// Import replaces the state by what Export returned.
func (l *Ledger) Import(data []byte, now time.Time) error { return nil }

// Recover turns what Import brought into the state of a fresh process:
// reservations whose call had begun become uncertain holds of d.
func (l *Ledger) Recover(d time.Duration, now time.Time) {}
