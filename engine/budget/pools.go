package budget

import (
	"cmp"
	"slices"
	"time"

	"bellwether/engine/fleet"
)

// Pools returns the pools with their holders, sorted by deployment then kind:
// for heartbeats, refusals and status. The result is the caller's.
func (l *Ledger) Pools(now time.Time) []fleet.Pool {
	out := make([]fleet.Pool, len(l.pools))
	copy(out, l.pools)
	for i := range out {
		for id, e := range l.entries {
			out[i].Holders = e.holders(out[i].Holders, id, out[i].Name, now)
		}
		slices.SortFunc(out[i].Holders, func(a, b fleet.Holder) int {
			return cmp.Or(a.Deployment.Compare(b.Deployment), cmp.Compare(a.Kind, b.Kind))
		})
	}
	return out
}

// holders appends the entry's claims on a pool, at most one of each kind.
func (e *entry) holders(dst []fleet.Holder, id fleet.DeploymentID, pool string, now time.Time) []fleet.Holder {
	dst = appendHolder(dst, id, fleet.HoldResident, pool, e.resident, 0)
	dst = appendHolder(dst, id, fleet.HoldAssumed, pool, e.assumed.need, 0)
	var reserved, uncertain Need
	for _, r := range e.reserved {
		reserved = larger(pool, reserved, r.need)
	}
	for _, h := range e.holds {
		uncertain = larger(pool, uncertain, h.need)
	}
	dst = appendHolder(dst, id, fleet.HoldReserved, pool, reserved, 0)
	return appendHolder(dst, id, fleet.HoldUncertain, pool, uncertain, max(0, e.uncertainFor(now)))
}

func appendHolder(dst []fleet.Holder, id fleet.DeploymentID, kind fleet.HoldKind, pool string, n Need, left time.Duration) []fleet.Holder {
	bytes, in := n.in(pool)
	if !in {
		return dst
	}
	label := n.Label
	if !bytes.Known {
		label = Unknown
	}
	return append(dst, fleet.Holder{Deployment: id, Kind: kind, Bytes: bytes, Label: label, Remaining: left})
}

// larger returns the need that takes more of the pool; a known one before an
// unknown one.
func larger(pool string, a, b Need) Need {
	x, in := a.in(pool)
	y, also := b.in(pool)
	switch {
	case !also:
		return a
	case !in, y.Known && !x.Known, y.Known && y.V > x.V:
		return b
	case x == y && b.Label < a.Label: // so that the order of a map does not show
		return b
	}
	return a
}

// Totals is a pool's use, bytes. A deployment counts once: what is resident
// first, and of its other claims only what goes beyond that.
type Totals struct {
	Resident  int64 `json:"resident"`
	Reserved  int64 `json:"reserved"`
	Uncertain int64 `json:"uncertain"`
	Assumed   int64 `json:"assumed"`
	// Unknown counts the deployments whose size nobody knows; they add 0 above.
	Unknown int `json:"unknown"`
}

// Held is the sum of the parts.
func (t Totals) Held() int64 { return t.Resident + t.Reserved + t.Uncertain + t.Assumed }

// Sum adds up a pool's holders, as status shows them (memory_reserved_gb,
// memory_assumed_resident).
func Sum(p *fleet.Pool) Totals {
	claims := map[fleet.DeploymentID]map[fleet.HoldKind]int64{}
	known := map[fleet.DeploymentID]bool{}
	for _, h := range p.Holders {
		if claims[h.Deployment] == nil {
			claims[h.Deployment] = map[fleet.HoldKind]int64{}
		}
		claims[h.Deployment][h.Kind] = max(claims[h.Deployment][h.Kind], h.Bytes.V)
		known[h.Deployment] = known[h.Deployment] || h.Bytes.Known
	}
	var t Totals
	for id, c := range claims {
		var covered int64
		beyond := func(n int64) int64 {
			more := max(0, n-covered)
			covered += more
			return more
		}
		t.Resident += beyond(c[fleet.HoldResident])
		t.Reserved += beyond(c[fleet.HoldReserved])
		t.Uncertain += beyond(c[fleet.HoldUncertain])
		t.Assumed += beyond(c[fleet.HoldAssumed])
		if !known[id] {
			t.Unknown++
		}
	}
	return t
}

// Mirror returns a ledger that stands as another's pools say, for planning on
// it. What they cannot say (keys, moments) it does not know: it is for Claim,
// Admit, Depart and Pools only, and lives as long as one heartbeat is the last.
func Mirror(pools []fleet.Pool, o Options, now time.Time) *Ledger {
	l := New(o)
	l.SetPools(pools)
	for i := range pools {
		p := &pools[i]
		for _, h := range p.Holders {
			share := Share{p.Name, h.Bytes}
			e := l.entry(h.Deployment)
			switch h.Kind {
			case fleet.HoldResident:
				e.resident = e.resident.plus(share, h.Label)
			case fleet.HoldAssumed:
				e.assumed.need = e.assumed.need.plus(share, h.Label)
			case fleet.HoldReserved:
				key := "mirror " + h.Deployment.String()
				if e.reserved == nil {
					e.reserved = map[string]reservation{}
				}
				e.reserved[key] = reservation{need: e.reserved[key].need.plus(share, h.Label)}
				l.keys[key] = h.Deployment
			case fleet.HoldUncertain:
				if len(e.holds) == 0 {
					e.holds = []hold{{until: now.Add(h.Remaining)}}
				}
				e.holds[0].need = e.holds[0].need.plus(share, h.Label)
			}
		}
	}
	return l
}

func (n Need) plus(s Share, label string) Need {
	return Need{Shares: append(slices.Clone(n.Shares), s), Label: label}
}
