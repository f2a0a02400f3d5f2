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
// mutex guards wanted. The zero value is ready.
type approvals struct {
	mu     sync.Mutex
	wanted []approval // the oldest first
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
)

// ask notes that an app asked for a model which may be fetched.
func (a *approvals) ask(model, app string, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if i := slices.IndexFunc(a.wanted, func(w approval) bool { return fleet.SameModel(w.model, model) }); i >= 0 {
		a.wanted[i].app, a.wanted[i].last = app, now
		return
	}
	if len(a.wanted) < mostApprovals {
		a.wanted = append(a.wanted, approval{model, app, now})
	}
}

// open are the wishes that still stand: not too old, and not fulfilled.
func (a *approvals) open(now time.Time, has func(model string) bool) []approval {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.wanted = slices.DeleteFunc(a.wanted, func(w approval) bool { return now.Sub(w.last) > approvalLife || has(w.model) })
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
			button("Fetch "+w.model, "", func(ctx context.Context) error { return s.do.pull(ctx, w.model) }).about("routing.auto_pull"))
	}
	return out
}
