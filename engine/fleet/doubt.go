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
//     while that lasts, but no longer than it takes a node to be offline.
type doubt struct {
	until       time.Time // of rule 1
	silentSince time.Time // of rule 2; zero = not all are silent
}

// of returns whether the registry is in doubt at now. The caller holds the mutex.
func (d *doubt) of(r *Registry, nodes []Node, now time.Time) bool {
	if gap := now.Sub(r.lastTick); !r.lastTick.IsZero() && gap > r.late/3 { // 1
		d.until = now.Add(r.late)
	}
	switch silent := silentTogether(nodes, now, r); { // 2
	case !silent:
		d.silentSince = time.Time{}
	case d.silentSince.IsZero():
		d.silentSince = now
	}
	return now.Before(d.until) || !d.silentSince.IsZero() && now.Sub(d.silentSince) < r.offline
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
