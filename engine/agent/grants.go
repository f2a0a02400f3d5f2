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
	used  []uint64 // hashes of used grants' ids, each where its sequence number falls

	low  uint64               // every grant up to here is accounted for
	seen map[uint64]time.Time // above low: when it came
}

// grantMemory is how many used grants are remembered. A grant is good for 2 s;
// this many never pass in that time.
const grantMemory = 1 << 16

func newGrantBook() grantBook {
	return grantBook{seed: maphash.MakeSeed(), used: make([]uint64, grantMemory), seen: map[uint64]time.Time{}}
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
func (b *grantBook) spent(g *fleet.Grant) bool { return *b.place(g) == b.hash(g) }

// use marks a grant as used.
func (b *grantBook) use(g *fleet.Grant) { *b.place(g) = b.hash(g) }

func (b *grantBook) place(g *fleet.Grant) *uint64 { return &b.used[g.Sequence%grantMemory] }

// hash is never that of a place where nothing was.
func (b *grantBook) hash(g *fleet.Grant) uint64 { return maphash.String(b.seed, g.ID) | 1 }

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
