package fleet

import "time"

// doubt is the registry's suspicion that it is itself at fault when reports
// stop coming: a process that was frozen, or cut off, must not declare the
// whole fleet lost. While in doubt nobody's liveness worsens; it improves as
// ever.
//
//  1. Its own tick came late: reports may lie unread. In doubt for as long as
//     it takes a node to become late.
//  2. All (of two or more) fell silent within the same few seconds: in doubt
//     for as long as it takes a node to be offline, then it believes it.
type doubt struct {
	until    time.Time
	together bool // rule 2 has been used for the silence under way
}

// of returns whether the registry is in doubt at now. The caller holds the mutex.
func (d *doubt) of(r *Registry, nodes []Node, now time.Time) bool {
	if gap := now.Sub(r.lastTick); !r.lastTick.IsZero() && gap > r.late/3 { // 1
		d.raise(now.Add(r.late))
	}
	silent := silentTogether(nodes, now, r)
	if silent && !d.together { // 2
		d.raise(now.Add(r.offline))
	}
	d.together = silent
	return now.Before(d.until)
}

func (d *doubt) raise(until time.Time) {
	if until.After(d.until) {
		d.until = until
	}
}

// silentTogether reports whether every node that should report has stopped,
// all within half the time that makes one late. The local node reports by a
// call, not over the network, so it is left out when two others are there.
func silentTogether(nodes []Node, now time.Time, r *Registry) bool {
	remotes := 0
	for i := range nodes {
		if !nodes[i].Local && !r.gone[nodes[i].Node] {
			remotes++
		}
	}
	count := 0
	var first, last time.Time
	for i := range nodes {
		n := &nodes[i]
		if r.gone[n.Node] || n.Local && remotes >= 2 {
			continue
		}
		if now.Sub(n.LastSeen) < r.late {
			return false
		}
		if count == 0 || n.LastSeen.Before(first) {
			first = n.LastSeen
		}
		if count == 0 || n.LastSeen.After(last) {
			last = n.LastSeen
		}
		count++
	}
	return count >= 2 && last.Sub(first) <= r.late/2
}
