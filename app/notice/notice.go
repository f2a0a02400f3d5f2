// Package notice decides what its owner is notified of: only what takes an act
// of theirs, and seldom. It decides purely; who shows a notice, and whether its
// kind is switched on, others say.
package notice

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"
)

// Finding is a line of Health, as the engine tells it.
type Finding struct{ ID, Severity, Title, Text, Remedy string }

// Notice is one notification. Kind is one of engine.NoticeKinds.
type Notice struct{ Kind, Title, Text string }

// Board is what was seen and told. The zero value has seen nothing. A Board is
// a value: Look returns the next.
type Board struct {
	begun bool
	seen  map[string]seen // by finding, those that are there
	told  map[string]time.Time
	times []time.Time // of the last notices, the oldest first
}

type seen struct {
	since time.Time
	old   bool // it was there at the first look
}

const (
	// settle is how long trouble lasts before it is told: a runtime that is
	// restarted is back by then.
	settle = 30 * time.Second
	// again is how long the same trouble is not told a second time.
	again = time.Hour
	// within and most keep a bad day from becoming a bad day of notifications.
	within = 10 * time.Minute
	most   = 3
)

// Look compares what is found now with what was there before.
//
//  1. Only what someone has to act on has a kind; the rest is for who looks at
//     Health.
//  2. A runtime that was down at the first look was not lost while we watched.
//  3. What may pass by itself is told after it lasted; an app's wish at once.
//  4. The same is not told twice within an hour, however often it comes and goes.
//  5. At most three in ten minutes; what is left over waits, and is told
//     together if it is still so.
func Look(b Board, now time.Time, findings []Finding) (Board, []Notice) {
	next := Board{begun: true, seen: map[string]seen{}, told: maps.Clone(b.told)}
	if next.told == nil {
		next.told = map[string]time.Time{}
	}
	for _, t := range b.times {
		if now.Sub(t) < within {
			next.times = append(next.times, t)
		}
	}
	maps.DeleteFunc(next.told, func(_ string, at time.Time) bool { return now.Sub(at) >= again })
	var due []Finding
	for _, f := range findings {
		kind := Kind(f)
		if kind == "" {
			continue // 1
		}
		s, there := b.seen[f.ID]
		if !there {
			s = seen{since: now, old: !b.begun}
		}
		next.seen[f.ID] = s
		_, told := next.told[f.ID]
		lasted := kind == "pull" || now.Sub(s.since) >= settle
		if told || !lasted || kind == "runtime" && s.old { // 4, 3, 2
			continue
		}
		due = append(due, f)
	}
	slices.SortStableFunc(due, func(x, y Finding) int { return cmp.Or(order(x)-order(y), strings.Compare(x.ID, y.ID)) })
	free := most - len(next.times) // 5
	if free <= 0 || len(due) == 0 {
		return next, nil
	}
	var out []Notice
	for i, f := range due {
		if i == free-1 && len(due) > free {
			out = append(out, together(due[i:]))
		} else if i < free {
			out = append(out, Notice{Kind: Kind(f), Title: cmp.Or(f.Title, "Bellwether"), Text: words(f)})
		}
		next.told[f.ID] = now
	}
	for range out {
		next.times = append(next.times, now)
	}
	return next, out
}

// words are what is wrong and, on a line of its own, what helps: that may be a
// sentence or a command to type, so nothing is put behind it.
func words(f Finding) string {
	text := strings.TrimSpace(f.Text)
	if text != "" && !strings.ContainsAny(text[len(text)-1:], ".!?:") {
		text += "."
	}
	if f.Remedy == "" {
		return text
	}
	return strings.TrimSpace(text + "\nWhat helps: " + strings.TrimSpace(f.Remedy))
}

// together tells of more than there is room for.
func together(list []Finding) Notice {
	var titles []string
	for _, f := range list {
		titles = append(titles, cmp.Or(f.Title, f.ID))
	}
	return Notice{Kind: "trouble", Title: "Bellwether needs you", Text: strings.Join(titles, ", ") + ". Health in the admin window says what helps."}
}

// Kind says what a finding is a notice of, "" = it is none.
func Kind(f Finding) string {
	kind, _, _ := strings.Cut(f.ID, ".")
	switch {
	case f.Severity == "ok":
		return ""
	case kind == "pull":
		return "pull"
	case kind == "port":
		return "port"
	case kind == "disk" && f.Severity == "broken", f.ID == "store" && f.Severity != "note", f.ID == "store.dropped":
		return "records"
	case f.Severity != "broken":
		return ""
	case kind == "runtime":
		return "runtime"
	case kind == "pool" || kind == "memory" || kind == "model" || kind == "capability":
		return "" // models of a runtime that is gone; whoever asks for one is told why
	}
	return "trouble"
}

// order is which are told first when not all can be.
func order(f Finding) int {
	return slices.Index([]string{"pull", "records", "runtime", "port", "trouble"}, Kind(f))
}
