package engine

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"bellwether/engine/fleet"
)

// approvals are the models that requests wait for until the owner fetches them
// (auto_pull: ask). Apps ask again and again: each model is there once. Its
// mutex guards both lists. The zero value is ready.
type approvals struct {
	mu     sync.Mutex
	wanted []approval // the oldest first
	aside  []approval // dismissed by the owner, and still asked for; the first dismissed first
}

type approval struct {
	model, app string
	last       time.Time // when it was asked for last
}

const (
	// approvalLife is how long a wish stands after it was last repeated.
	approvalLife = 30 * time.Minute
	// mostApprovals keeps an app that asks for everything from filling Health.
	mostApprovals = 8
	// mostAside bounds what is remembered of dismissed wishes.
	mostAside = 64
)

// ask notes that an app asked for a model which may be fetched.
func (a *approvals) ask(model, app string, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, list := range [][]approval{a.wanted, a.aside} {
		if i := slices.IndexFunc(list, func(w approval) bool { return fleet.SameModel(w.model, model) }); i >= 0 {
			list[i].app, list[i].last = app, now
			return
		}
	}
	if len(a.wanted) < mostApprovals {
		a.wanted = append(a.wanted, approval{model, app, now})
	}
}

// dismiss puts a wish aside: it is told no more while apps repeat it, and anew
// when one comes after approvalLife of silence. False: there is no such wish.
func (a *approvals) dismiss(model string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	i := slices.IndexFunc(a.wanted, func(w approval) bool { return w.model == model })
	if i < 0 {
		return false
	}
	if len(a.aside) == mostAside {
		a.aside = slices.Delete(a.aside, 0, 1)
	}
	a.aside = append(a.aside, a.wanted[i])
	a.wanted = slices.Delete(a.wanted, i, i+1)
	return true
}

// open are the wishes that still stand: not too old, and not fulfilled.
func (a *approvals) open(now time.Time, has func(model string) bool) []approval {
	a.mu.Lock()
	defer a.mu.Unlock()
	over := func(w approval) bool { return now.Sub(w.last) > approvalLife || has(w.model) }
	a.wanted, a.aside = slices.DeleteFunc(a.wanted, over), slices.DeleteFunc(a.aside, over)
	return slices.Clone(a.wanted)
}

// checkApprovals tells of models that requests wait for, with a button that
// fetches them.
func checkApprovals(s *scene) (out []check) {
	if s.approvals == nil {
		return nil
	}
	has := func(model string) (there bool) {
		s.eachModel(func(_ *fleet.Node, d *fleet.Deployment) { there = there || fleet.SameModel(d.ID.Model, model) })
		return there
	}
	for _, w := range s.approvals.open(s.now, has) {
		who := "An app"
		if w.app != "" {
			who = "The app " + w.app
		}
		out = append(out, found("pull."+w.model, isWarning, "Model asked for", "Fetch it, or run bellwether models pull "+w.model+". Later requests for it are answered then.",
			"%s asked for %s, which no machine has.", who, strings.TrimSpace(w.model)).
			button("Fetch "+w.model, "", func(ctx context.Context) error { return s.do.pull(ctx, w.model) }).about("routing.auto_pull").
			dismissable(func() bool { return s.approvals.dismiss(w.model) }))
	}
	return out
}
