package app

import (
	"maps"
	"slices"
	"time"

	"bellwether/app/notice"
)

// notify tells the owner what takes an act of theirs. It is called with news
// and from time to time: some trouble is told only after it lasted.
func (d *desk) notify(now time.Time) {
	if d.heard == nil || !d.linked || d.heard.found == nil {
		return
	}
	var due []notice.Notice
	d.board, due = notice.Look(d.board, now, d.heard.found)
	if len(due) == 0 {
		return
	}
	d.work.Go(func() { // one after the other: a desktop takes its time
		for _, n := range due {
			d.a.remind(n.Kind, n.Title, n.Text)
		}
	})
}

// found are the findings in the notices' own words, nil before the first.
func (p *picture) found() []notice.Finding {
	var out []notice.Finding
	for _, id := range slices.Sorted(maps.Keys(p.findings)) {
		f := p.findings[id]
		out = append(out, notice.Finding{ID: id, Severity: f.Severity, Title: f.Title, Text: f.Text, Remedy: f.Remedy})
	}
	return out
}
