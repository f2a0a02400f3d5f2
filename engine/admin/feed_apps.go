package admin

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"bellwether/engine/fleet"
	"bellwether/engine/route"
)

const (
	appsWindow = time.Hour
	// appSamples is how many of an app's latest answers its percentiles are of.
	appSamples = 512
	// tagSamples is the same of a tag within a minute, or of a tag in all.
	tagSamples = 64
	// tagsKept is how many tags of an app are told apart, tagsShown how many are
	// told; more are labels that mean one request each. Of those, tagsCounted are
	// counted.
	tagsKept, tagsShown, tagsCounted = 64, 24, 1000
	// appsKept is how many apps are told apart; more are a program that calls
	// itself something new each time.
	appsKept = 200
)

// use sums up requests.
type use struct {
	requests, failed, refused int
	input, output             int64
	ttft, total               []float64 // ms, the latest last
	last                      time.Time
}

// add counts a request; of answers' times the latest keep are kept.
func (u *use) add(rec *route.Record, keep int) {
	u.requests++
	switch rec.Outcome {
	case fleet.OutcomeFailed, fleet.OutcomeHeldOut, fleet.OutcomeStreamInvalidAfterCommit:
		u.failed++
	case fleet.OutcomeRefused:
		u.refused++
	}
	if t := rec.Usage; t != nil {
		u.input += count(t.Input)
		u.output += count(t.Output)
	}
	if rec.Timing.TTFTMs > 0 {
		u.ttft = latest(u.ttft, rec.Timing.TTFTMs, keep)
		u.total = latest(u.total, rec.Timing.TotalMs, keep)
	}
	if rec.At.After(u.last) {
		u.last = rec.At
	}
}

func (u *use) merge(o *use) {
	u.requests += o.requests
	u.failed += o.failed
	u.refused += o.refused
	u.input += o.input
	u.output += o.output
	u.ttft, u.total = append(u.ttft, o.ttft...), append(u.total, o.total...)
	if o.last.After(u.last) {
		u.last = o.last
	}
}

func count(n *int) int64 {
	if n == nil {
		return 0
	}
	return int64(*n)
}

// latest appends a value; of twice what is needed the older half goes.
func latest(list []float64, v float64, keep int) []float64 {
	if len(list) >= 2*keep {
		list = append(list[:0], list[len(list)-keep:]...)
	}
	return append(list, v)
}

// appUse sums up requests of one app, in all and by their tags.
type appUse struct {
	use
	tags map[string]*use
	more map[string]struct{} // tags there was no room for, as many as are told apart
}

func (u *appUse) add(rec *route.Record) {
	u.use.add(rec, appSamples)
	for _, tag := range rec.Tags {
		if t := u.tag(tag); t != nil {
			t.add(rec, tagSamples)
		}
	}
}

// tag returns the sums of a tag, nil when there is no room for another.
func (u *appUse) tag(name string) *use {
	t := u.tags[name]
	switch {
	case t != nil:
	case len(u.tags) >= tagsKept:
		u.leaveOut(name)
	default:
		if u.tags == nil {
			u.tags = map[string]*use{}
		}
		t = &use{}
		u.tags[name] = t
	}
	return t
}

// leaveOut counts a tag that is not told apart.
func (u *appUse) leaveOut(name string) {
	if u.more == nil {
		u.more = map[string]struct{}{}
	}
	if len(u.more) < tagsCounted {
		u.more[name] = struct{}{}
	}
}

func (u *appUse) merge(o *appUse) {
	u.use.merge(&o.use)
	for _, name := range slices.Sorted(maps.Keys(o.tags)) {
		if t := u.tag(name); t != nil {
			t.merge(o.tags[name])
		}
	}
	for name := range o.more {
		if u.tags[name] == nil {
			u.leaveOut(name)
		}
	}
}

func (u *appUse) view(name string, active int) AppView {
	v := AppView{
		Name: name, Requests: u.requests, FailedRequests: u.failed, RefusedRequests: u.refused, ActiveRequests: active,
		InputTokens: u.input, OutputTokens: u.output, LastSeenAt: u.last.UTC().Truncate(time.Millisecond),
		TTFTP50Ms: quantile(u.ttft, 0.5), TotalP50Ms: quantile(u.total, 0.5), TotalP95Ms: quantile(u.total, 0.95),
		Tags: make([]TagView, 0, min(len(u.tags), tagsShown)),
	}
	names := slices.SortedFunc(maps.Keys(u.tags), func(a, b string) int {
		return cmp.Or(cmp.Compare(u.tags[b].requests, u.tags[a].requests), cmp.Compare(a, b))
	})
	for _, name := range names[:min(len(names), tagsShown)] {
		v.Tags = append(v.Tags, u.tags[name].tagView(name))
	}
	v.MoreTags = len(names) - len(v.Tags) + len(u.more)
	return v
}

func (u *use) tagView(name string) TagView {
	return TagView{
		Name: name, Requests: u.requests, FailedRequests: u.failed, RefusedRequests: u.refused,
		InputTokens: u.input, OutputTokens: u.output, LastSeenAt: u.last.UTC().Truncate(time.Millisecond),
		TTFTP50Ms: quantile(u.ttft, 0.5), TotalP50Ms: quantile(u.total, 0.5), TotalP95Ms: quantile(u.total, 0.95),
	}
}

// quantile of the latest values, null of none.
func quantile(values []float64, q float64) *float64 {
	if len(values) == 0 {
		return nil
	}
	sorted := slices.Sorted(slices.Values(values[max(0, len(values)-appSamples):]))
	return ptr(tenth(sorted[int(q*float64(len(sorted)-1)+0.5)]))
}

// sumApps sums records up by app, those with the most requests first.
func sumApps(records []*route.Record, active map[string]int) []AppView {
	uses := map[string]*appUse{}
	for _, rec := range slices.Backward(records) { // they come newest first
		u := uses[rec.App]
		if u == nil {
			u = &appUse{}
			uses[rec.App] = u
		}
		u.add(rec)
	}
	out := make([]AppView, 0, len(uses))
	for name, u := range uses {
		out = append(out, u.view(name, active[name]))
	}
	slices.SortFunc(out, func(a, b AppView) int {
		return cmp.Or(cmp.Compare(b.Requests, a.Requests), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// recentApps sums up the last hour as it goes by, in slices of a minute. The
// feed's loop owns it.
type recentApps struct {
	minutes map[string]map[int64]*appUse // by app, by unix minute
	touched map[string]bool              // apps whose view is out of date
}

func newRecentApps() *recentApps {
	return &recentApps{minutes: map[string]map[int64]*appUse{}, touched: map[string]bool{}}
}

func (a *recentApps) add(rec *route.Record) {
	slots := a.minutes[rec.App]
	if slots == nil {
		if len(a.minutes) >= appsKept {
			return
		}
		slots = map[int64]*appUse{}
		a.minutes[rec.App] = slots
	}
	minute := rec.At.Unix() / 60
	if slots[minute] == nil {
		slots[minute] = &appUse{}
	}
	slots[minute].add(rec)
	a.touched[rec.App] = true
}

// forget lets go of what is older than the window.
func (a *recentApps) forget(now time.Time) {
	oldest := now.Add(-appsWindow).Unix() / 60
	for name, slots := range a.minutes {
		for minute := range slots {
			if minute < oldest {
				delete(slots, minute)
				a.touched[name] = true
			}
		}
		if len(slots) == 0 {
			delete(a.minutes, name)
		}
	}
}

// touch marks the apps whose number of requests under way is another.
func (a *recentApps) touch(active, before map[string]int) {
	for name := range active {
		if active[name] != before[name] {
			a.touched[name] = true
		}
	}
	for name := range before {
		if active[name] != before[name] {
			a.touched[name] = true
		}
	}
}

// lay puts the views of the apps that changed on the shelf. An app without
// requests in the window is there while it has some under way.
func (a *recentApps) lay(s *shelf, active map[string]int) {
	for name := range a.touched {
		slots := a.minutes[name]
		if len(slots) == 0 && active[name] == 0 {
			s.drop(SectionApps, name)
			continue
		}
		var sum appUse
		for _, minute := range slices.Sorted(maps.Keys(slots)) {
			sum.merge(slots[minute])
		}
		s.put(SectionApps, name, sum.view(name, active[name]))
	}
	clear(a.touched)
}
