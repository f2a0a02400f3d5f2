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
	// tagSamples is the same of a tag.
	tagSamples = 64
	// tagsKept is how many tags of an app are told apart, tagsShown how many are
	// told; more are labels that mean one request each. Of those, tagsCounted are
	// counted.
	tagsKept, tagsShown, tagsCounted = 64, 24, 1000
	// appsKept is how many apps are told apart; more are a program that calls
	// itself something new each time.
	appsKept = 200
)

// slot is where a request is counted: its unix minute where sums go by with the
// time, 0 where they do not.
type slot int64

func minuteOf(t time.Time) slot { return slot(t.Unix() / 60) }

// counts are the sums of one slot.
type counts struct {
	requests, failed, refused int
	input, output             int64
	last                      time.Time
}

func (c *counts) add(rec *route.Record) {
	c.requests++
	switch rec.Outcome {
	case fleet.OutcomeFailed, fleet.OutcomeHeldOut, fleet.OutcomeStreamInvalidAfterCommit, fleet.OutcomeTruncated:
		c.failed++
	case fleet.OutcomeRefused:
		c.refused++
	}
	if t := rec.Usage; t != nil {
		c.input += count(t.Input)
		c.output += count(t.Output)
	}
	if rec.At.After(c.last) {
		c.last = rec.At
	}
}

func (c *counts) merge(o *counts) {
	c.requests += o.requests
	c.failed += o.failed
	c.refused += o.refused
	c.input += o.input
	c.output += o.output
	if o.last.After(c.last) {
		c.last = o.last
	}
}

func count(n *int) int64 {
	if n == nil {
		return 0
	}
	return int64(*n)
}

// times are an answer's, in ms.
type times struct {
	at          time.Time
	ttft, total float64
}

// use sums up requests, whatever order they come in.
type use struct {
	slots map[slot]*counts
	times []times // of the latest answers, the latest last
}

// add counts a request; of answers' times the latest keep are kept.
func (u *use) add(rec *route.Record, in slot, keep int) {
	if u.slots == nil {
		u.slots = map[slot]*counts{}
	}
	if u.slots[in] == nil {
		u.slots[in] = &counts{}
	}
	u.slots[in].add(rec)
	if rec.Timing.TTFTMs <= 0 {
		return
	}
	if len(u.times) >= keep && rec.At.Before(u.times[len(u.times)-keep].at) {
		return // older than all that are kept
	}
	if len(u.times) >= 2*keep {
		u.times = append(u.times[:0], u.times[len(u.times)-keep:]...)
	}
	at := len(u.times)
	for at > 0 && rec.At.Before(u.times[at-1].at) {
		at--
	}
	u.times = slices.Insert(u.times, at, times{rec.At, rec.Timing.TTFTMs, rec.Timing.TotalMs})
}

// forget lets go of what is older than a minute; true when something was.
func (u *use) forget(oldest slot) (gone bool) {
	for in := range u.slots {
		if in < oldest {
			delete(u.slots, in)
			gone = true
		}
	}
	if gone {
		u.times = slices.DeleteFunc(u.times, func(t times) bool { return minuteOf(t.at) < oldest })
	}
	return gone
}

func (u *use) sum() (c counts) {
	for _, in := range u.slots {
		c.merge(in)
	}
	return c
}

// appUse sums up requests of one app, in all and by their tags.
type appUse struct {
	use
	tags map[string]*use
	more map[string]slot // tags there was no room for and when they came last, as many as are told apart
}

func (u *appUse) add(rec *route.Record, in slot) {
	u.use.add(rec, in, appSamples)
	for _, tag := range rec.Tags {
		if t := u.tag(tag, in); t != nil {
			t.add(rec, in, tagSamples)
		}
	}
}

// tag returns the sums of a tag, nil when there is no room for another.
func (u *appUse) tag(name string, in slot) *use {
	t := u.tags[name]
	switch {
	case t != nil:
	case len(u.tags) >= tagsKept:
		u.leaveOut(name, in)
	default:
		if u.tags == nil {
			u.tags = map[string]*use{}
		}
		t = &use{}
		u.tags[name] = t
		delete(u.more, name)
	}
	return t
}

// leaveOut counts a tag that is not told apart.
func (u *appUse) leaveOut(name string, in slot) {
	if u.more == nil {
		u.more = map[string]slot{}
	}
	if last, there := u.more[name]; there || len(u.more) < tagsCounted {
		u.more[name] = max(last, in)
	}
}

func (u *appUse) forget(oldest slot) (gone bool) {
	gone = u.use.forget(oldest)
	for name, t := range u.tags {
		if t.forget(oldest); len(t.slots) == 0 {
			delete(u.tags, name)
		}
	}
	maps.DeleteFunc(u.more, func(_ string, last slot) bool { return last < oldest })
	return gone
}

func (u *appUse) view(name string, active int) AppView {
	c := u.sum()
	v := AppView{
		Name: name, Requests: c.requests, FailedRequests: c.failed, RefusedRequests: c.refused, ActiveRequests: active,
		InputTokens: c.input, OutputTokens: c.output, LastSeenAt: c.last.UTC().Truncate(time.Millisecond),
		Tags: make([]TagView, 0, min(len(u.tags), tagsShown)),
	}
	v.TTFTP50Ms, v.TotalP50Ms, v.TotalP95Ms = u.quantiles(appSamples)
	tags := make([]TagView, 0, len(u.tags))
	for name, t := range u.tags {
		tags = append(tags, t.tagView(name))
	}
	slices.SortFunc(tags, func(a, b TagView) int {
		return cmp.Or(cmp.Compare(b.Requests, a.Requests), cmp.Compare(a.Name, b.Name))
	})
	v.Tags = append(v.Tags, tags[:min(len(tags), tagsShown)]...)
	v.MoreTags = len(tags) - len(v.Tags) + len(u.more)
	return v
}

func (u *use) tagView(name string) TagView {
	c := u.sum()
	v := TagView{
		Name: name, Requests: c.requests, FailedRequests: c.failed, RefusedRequests: c.refused,
		InputTokens: c.input, OutputTokens: c.output, LastSeenAt: c.last.UTC().Truncate(time.Millisecond),
	}
	v.TTFTP50Ms, v.TotalP50Ms, v.TotalP95Ms = u.quantiles(tagSamples)
	return v
}

// quantiles of the latest answers, null of none.
func (u *use) quantiles(keep int) (ttft50, total50, total95 *float64) {
	latest := u.times[max(0, len(u.times)-keep):]
	if len(latest) == 0 {
		return nil, nil, nil
	}
	ttft, total := make([]float64, len(latest)), make([]float64, len(latest))
	for i, t := range latest {
		ttft[i], total[i] = t.ttft, t.total
	}
	slices.Sort(ttft)
	slices.Sort(total)
	return quantile(ttft, 0.5), quantile(total, 0.5), quantile(total, 0.95)
}

// quantile of sorted values.
func quantile(sorted []float64, q float64) *float64 {
	return ptr(tenth(sorted[int(q*float64(len(sorted)-1)+0.5)]))
}

// appSums sums records up by app.
type appSums map[string]*appUse

func (s appSums) add(rec *route.Record, in slot) {
	if s[rec.App] == nil {
		s[rec.App] = &appUse{}
	}
	s[rec.App].add(rec, in)
}

// views are the apps, those with the most requests first.
func (s appSums) views(active map[string]int) []AppView {
	out := make([]AppView, 0, len(s))
	for name, u := range s {
		out = append(out, u.view(name, active[name]))
	}
	slices.SortFunc(out, func(a, b AppView) int {
		return cmp.Or(cmp.Compare(b.Requests, a.Requests), cmp.Compare(a.Name, b.Name))
	})
	return out
}
