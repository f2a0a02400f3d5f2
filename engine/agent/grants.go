package agent

import (
	"hash/maphash"
	"time"

	"bellwether/engine/fleet"
)

// grantBook knows which grants came, so that each is good once, and up to
// which sequence number all have come or can no longer come.
type grantBook struct {
	epoch uint64
	seed  maphash.Seed
	used  map[uint64]struct{} // hashes of ids: tens of thousands of strings would be looked through at every garbage collection
	order []uint64            // of used, in a ring; bounds it
	next  int                 // of order

	low  uint64               // every grant up to here is accounted for
	seen map[uint64]time.Time // above low: when it came
}

// grantMemory is how many used grant ids are remembered. A grant is good for
// 2 s; this many never pass in that time.
const grantMemory = 1 << 16

func newGrantBook() grantBook {
	return grantBook{seed: maphash.MakeSeed(), used: map[uint64]struct{}{}, seen: map[uint64]time.Time{}}
}

// take notes that a grant was presented. A higher epoch is a new router, which
// counts its grants anew.
func (b *grantBook) take(g *fleet.Grant, now time.Time) {
	if g.Epoch > b.epoch {
		b.epoch, b.low = g.Epoch, 0
		clear(b.seen)
	}
	switch {
	case g.Sequence == b.low+1: // in order, as nearly all are
		b.low++
		for len(b.seen) > 0 {
			if _, next := b.seen[b.low+1]; !next {
				break
			}
			b.low++
			delete(b.seen, b.low)
		}
	case g.Sequence > b.low:
		b.seen[g.Sequence] = now
	}
}

// spent reports whether a grant was used.
func (b *grantBook) spent(id string) bool {
	_, is := b.used[maphash.String(b.seed, id)]
	return is
}

// use marks a grant as used; false when it was already.
func (b *grantBook) use(id string) bool {
	h := maphash.String(b.seed, id)
	if _, twice := b.used[h]; twice {
		return false
	}
	b.used[h] = struct{}{}
	if len(b.order) < grantMemory {
		b.order = append(b.order, h)
		return true
	}
	delete(b.used, b.order[b.next])
	b.order[b.next] = h
	b.next = (b.next + 1) % grantMemory
	return true
}

// included is the highest sequence up to which a heartbeat has taken every
// grant into account. A gap in the numbers is a grant still on its way, which
// the report must not claim to include, until it is too old to be used.
func (b *grantBook) included(now time.Time) uint64 {
	for len(b.seen) > 0 {
		next := b.low + 1
		if _, here := b.seen[next]; !here {
			least := uint64(0)
			for n := range b.seen {
				if least == 0 || n < least {
					least = n
				}
			}
			if now.Sub(b.seen[least]) < fleet.GrantTTL {
				break
			}
			next = least
		}
		delete(b.seen, next)
		b.low = next
	}
	return b.low
}
