// Package budget is the ledger of a node's memory pools: what is resident,
// reserved, assumed or held as uncertain, and whether one more deployment may
// come in (routing.md 10). One implementation, used by the agent as the truth
// and by the router as its mirror.
//
//	Reserve --> reserved --Sent--> reserved + assumed --Release--> assumed
//	                |                       |                          |
//	             Release                  Hold --> uncertain      Observe, started later
//	                |                       (+ assumed)                |
//	                v                                                  v
//	             nothing                                     resident, or nothing
//
// A deployment counts once in a pool, by its largest claim, however many of
// these states it is in at the same time.
//
// A Ledger is a plain value owned by one goroutine: it touches no clock, log,
// lock or file; now is an argument, and its whole state can be exported, so
// that a killed agent forgets nothing.
package budget

import (
	"time"

	"bellwether/engine/fleet"
)

// Ledger says who holds what of a node's memory pools. See New.
type Ledger struct {
	opts    Options
	pools   []fleet.Pool // without holders, in the order given
	pinned  map[fleet.DeploymentID]struct{}
	entries map[fleet.DeploymentID]*entry
	keys    map[string]fleet.DeploymentID // of live reservations
}

// Options are the owner's rules for a ledger.
type Options struct {
	// RejectUnknown refuses whenever a counted size is unknown
	// (unknown_memory_policy: reject); else unknown counts 0 and is labelled.
	RejectUnknown bool
	// AssumedTTL ends assumed residency that no observation settles; 0 = never.
	AssumedTTL time.Duration
}

// entry is all claims of one deployment. An entry without claims is dropped.
type entry struct {
	resident Need // none: not seen in memory
	reserved map[string]reservation
	assumed  assumption
	holds    []hold
	leaving  bool
}

// reservation is a live claim: a granted request, a load, a probe.
type reservation struct {
	need Need
	sent bool // a byte left for the runtime
}

// assumption is residency nobody has seen yet; at is when the deployment was
// last known to be worked on.
type assumption struct {
	need Need
	at   time.Time
}

// hold keeps memory for a call that may still be running.
type hold struct {
	need  Need
	until time.Time
}

// New returns an empty ledger.
func New(o Options) *Ledger {
	return &Ledger{
		opts:    o,
		pinned:  map[fleet.DeploymentID]struct{}{},
		entries: map[fleet.DeploymentID]*entry{},
		keys:    map[string]fleet.DeploymentID{},
	}
}

// Configure replaces the rules; what is held stays held.
func (l *Ledger) Configure(o Options) { l.opts = o }

// SetPools replaces the pools: their limits, margins and readings. Holders in
// them are ignored (see Mirror). Claims on a pool that vanished stay, and
// count again when it comes back.
func (l *Ledger) SetPools(pools []fleet.Pool) {
	l.pools = l.pools[:0:0]
	for _, p := range pools {
		p.Holders = nil
		l.pools = append(l.pools, p)
	}
}

// SetPinned replaces the set of deployments that are never evicted.
func (l *Ledger) SetPinned(ids []fleet.DeploymentID) {
	l.pinned = make(map[fleet.DeploymentID]struct{}, len(ids))
	for _, id := range ids {
		l.pinned[id] = struct{}{}
	}
}

// Reserve admits and reserves in one step, under a key (the grant's id, or any
// name for a load, probe or eval), and marks the plan's victims as leaving:
// they still count for everyone else until an observation misses them. On a
// denial nothing has changed.
func (l *Ledger) Reserve(key string, c Candidate) *Denial {
	if denial := l.Admit(c); denial != nil {
		return denial
	}
	l.Claim(key, c)
	return nil
}

// Claim reserves without asking: the router's mirror repeats what it granted.
func (l *Ledger) Claim(key string, c Candidate) {
	l.drop(key)
	for _, id := range c.Evict {
		if e := l.entries[id]; e != nil {
			e.leaving = true
		}
	}
	e := l.entry(c.Deployment)
	if e.reserved == nil {
		e.reserved = map[string]reservation{}
	}
	e.reserved[key] = reservation{need: c.Need}
	l.keys[key] = c.Deployment
}

// Sent notes that a byte of the reservation's call (a request, an order to
// load) leaves for the runtime at at. Its residency is assumed from now on,
// whatever becomes of the call.
func (l *Ledger) Sent(key string, at time.Time) {
	id, live := l.keys[key]
	if !live {
		return
	}
	e := l.entries[id]
	r := e.reserved[key]
	r.sent = true
	e.reserved[key] = r
	e.assume(r.need, at)
}

// Release ends a reservation at at. What was sent stays assumed until an
// observation that starts later: the model was in memory up to now, so an
// older look at the runtime proves nothing. Unknown keys are ignored.
func (l *Ledger) Release(key string, at time.Time) {
	id, live := l.keys[key]
	if !live {
		return
	}
	e := l.entries[id]
	if r := e.reserved[key]; r.sent {
		e.assume(r.need, at)
	}
	l.drop(key)
}

// Hold ends a reservation whose call may still be running: its memory stays
// held for d from now. Unknown keys are ignored.
func (l *Ledger) Hold(key string, d time.Duration, now time.Time) {
	id, live := l.keys[key]
	if !live {
		return
	}
	e := l.entries[id]
	e.holds = append(e.holds, hold{e.reserved[key].need, now.Add(d)})
	l.Release(key, now)
}

// Settle ends the holds of a deployment: its calls were seen to have ended.
func (l *Ledger) Settle(id fleet.DeploymentID) {
	if e := l.entries[id]; e != nil {
		e.holds = nil
		l.sweep(id)
	}
}

// Expire ends the holds whose time is over, and assumptions past their TTL,
// and reports whether any ended.
func (l *Ledger) Expire(now time.Time) bool {
	ended := false
	for id, e := range l.entries {
		kept := e.holds[:0:0]
		for _, h := range e.holds {
			if h.until.After(now) {
				kept = append(kept, h)
			}
		}
		ended = ended || len(kept) != len(e.holds)
		e.holds = kept
		if ttl := l.opts.AssumedTTL; ttl > 0 && !e.assumed.need.none() && !e.assumed.at.Add(ttl).After(now) {
			e.assumed, ended = assumption{}, true
		}
		l.sweep(id)
	}
	return ended
}

// Leaving reports whether a deployment is marked for eviction.
func (l *Ledger) Leaving(id fleet.DeploymentID) bool {
	e := l.entries[id]
	return e != nil && e.leaving
}

// Stay takes the mark of eviction back: the unload failed or is not needed.
func (l *Ledger) Stay(id fleet.DeploymentID) {
	if e := l.entries[id]; e != nil {
		e.leaving = false
	}
}

// Busy reports whether a deployment has a live reservation or uncertain hold.
func (l *Ledger) Busy(id fleet.DeploymentID) bool {
	e := l.entries[id]
	return e != nil && e.busy()
}

// Uncertain returns how long each deployment is still held as uncertain; nil
// when none is.
func (l *Ledger) Uncertain(now time.Time) map[fleet.DeploymentID]time.Duration {
	var out map[fleet.DeploymentID]time.Duration
	for id, e := range l.entries {
		if left := e.uncertainFor(now); left > 0 {
			if out == nil {
				out = map[fleet.DeploymentID]time.Duration{}
			}
			out[id] = left
		}
	}
	return out
}

func (l *Ledger) entry(id fleet.DeploymentID) *entry {
	e := l.entries[id]
	if e == nil {
		e = &entry{}
		l.entries[id] = e
	}
	return e
}

// drop removes a reservation.
func (l *Ledger) drop(key string) {
	id, live := l.keys[key]
	if !live {
		return
	}
	delete(l.keys, key)
	delete(l.entries[id].reserved, key)
	l.sweep(id)
}

// sweep forgets an entry that claims nothing.
func (l *Ledger) sweep(id fleet.DeploymentID) {
	e := l.entries[id]
	if e != nil && e.resident.none() && len(e.reserved) == 0 && e.assumed.need.none() && len(e.holds) == 0 {
		delete(l.entries, id)
	}
}

func (e *entry) busy() bool { return len(e.reserved) > 0 || len(e.holds) > 0 }

// assume records that the deployment was worked on at at. A later moment
// replaces an earlier one.
func (e *entry) assume(need Need, at time.Time) {
	if e.assumed.need.none() || !at.Before(e.assumed.at) {
		e.assumed = assumption{need, at}
	}
}

// uncertainFor is the longest time left of the entry's holds.
func (e *entry) uncertainFor(now time.Time) time.Duration {
	var left time.Duration
	for _, h := range e.holds {
		left = max(left, h.until.Sub(now))
	}
	return left
}
