package admin

import (
	"context"
	"sync"
	"time"

	"bellwether/engine/route"
)

// hour sums up the requests of the last hour by app as they end, in slices of
// a minute, whether or not anybody watches; what ended before this start comes
// from the records kept. Its memory is bounded by appsKept, tagsKept and the
// samples kept of each. Its mutex guards all of it; it is held for one request
// or one app's sums at a time.
type hour struct {
	began time.Time // of this start

	mu      sync.Mutex
	apps    appSums
	touched map[string]bool // apps whose view is out of date
	minute  slot            // of the latest request
	seeded  bool            // what ended before this start is in
	leftOut slot            // the latest minute an app found no room in
}

func newHour(began time.Time) *hour {
	return &hour{began: began, apps: appSums{}, touched: map[string]bool{}}
}

func (h *hour) add(rec *route.Record) {
	h.mu.Lock()
	defer h.mu.Unlock()
	in := minuteOf(rec.At)
	if in > h.minute {
		h.minute = in
		h.forget(rec.At)
	}
	if h.apps[rec.App] == nil && len(h.apps) >= appsKept {
		h.leftOut = max(h.leftOut, in)
		return
	}
	h.apps.add(rec, in)
	h.touched[rec.App] = true
}

// since is the beginning of the window: a whole minute, so that it is between
// 60 and 61 minutes long.
func (h *hour) since(now time.Time) time.Time { return now.Add(-appsWindow).Truncate(time.Minute) }

// forget lets go of what is older than the window. The caller holds the mutex.
func (h *hour) forget(now time.Time) {
	oldest := minuteOf(h.since(now))
	for name, u := range h.apps {
		if u.forget(oldest) {
			h.touched[name] = true
		}
		if len(u.slots) == 0 {
			delete(h.apps, name)
		}
	}
}

// complete reports whether every request of the window is counted. The caller
// holds the mutex.
func (h *hour) complete(now time.Time) bool {
	since := h.since(now)
	return (h.seeded || since.After(h.began)) && (h.leftOut == 0 || h.leftOut < minuteOf(since))
}

// whole reports the same to others.
func (h *hour) whole(now time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.complete(now)
}

// answer is the window for GET /admin/apps.
func (h *hour) answer(now time.Time, active map[string]int) AppsAnswer {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.forget(now)
	return AppsAnswer{Since: h.since(now).UTC(), Complete: h.complete(now), Apps: h.apps.views(active)}
}

// seed takes in what ended before this start.
func (h *hour) seed(ctx context.Context, past func(ctx context.Context, since, before time.Time, each func(*route.Record)) error) error {
	if past != nil {
		if err := past(ctx, h.since(h.began), h.began, h.add); err != nil {
			return err
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.seeded = true
	return nil
}

// takeTouched returns the apps whose view is out of date, now being told.
func (h *hour) takeTouched(now time.Time) map[string]bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.forget(now)
	names := h.touched
	h.touched = map[string]bool{}
	return names
}

// names are the apps of the window.
func (h *hour) names(now time.Time) map[string]bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.forget(now)
	names := make(map[string]bool, len(h.apps))
	for name := range h.apps {
		names[name] = true
	}
	return names
}

// lay puts the views of the named apps on the shelf. An app without requests in
// the window is there while it has some under way.
func (h *hour) lay(s *shelf, names map[string]bool, active map[string]int) {
	for name := range names {
		if v, there := h.view(name, active[name]); there || active[name] > 0 {
			s.put(SectionApps, name, v)
		} else {
			s.drop(SectionApps, name)
		}
	}
}

func (h *hour) view(name string, active int) (v AppView, there bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	u := h.apps[name]
	if u == nil {
		return (&appUse{}).view(name, active), false
	}
	return u.view(name, active), true
}

// otherwise are the apps whose number of requests under way is another.
func otherwise(active, before map[string]int, names map[string]bool) {
	for name := range active {
		if active[name] != before[name] {
			names[name] = true
		}
	}
	for name := range before {
		if active[name] != before[name] {
			names[name] = true
		}
	}
}
