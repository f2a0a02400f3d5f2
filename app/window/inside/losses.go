package inside

import (
	"net/url"
	"time"
)

// A page that takes its process down again and again is not loaded for ever:
// at most againAtMost times within againIn.
const (
	againAtMost = 3
	againIn     = time.Minute
)

// losses are the times at which the page's process ended. Only GTK's thread
// uses them.
type losses []time.Time

// again notes one more and reports whether the page is to be loaded again.
func (l *losses) again(now time.Time) bool {
	recent := (*l)[:0]
	for _, at := range *l {
		if now.Sub(at) < againIn {
			recent = append(recent, at)
		}
	}
	*l = append(recent, now)
	return len(*l) <= againAtMost
}

// loadable reports whether an address can be loaded a second time: a page of
// the origin, and not the link that opened it, which is good once.
func (o Origin) loadable(address string) bool {
	u, err := url.Parse(address)
	return err == nil && o.owns(u) && u.String() != o.home.String()
}
