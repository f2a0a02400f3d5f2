package engine

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"bellwether/engine/admin"
	"bellwether/engine/agent"
	"bellwether/engine/runtime"
	"bellwether/engine/store"
	"bellwether/platform/desktop"
)

// Examine checks this machine without a running engine: which runtimes answer,
// and which programs are installed and how to start them. It loads and starts
// nothing. c may be nil when the settings cannot be read.
func Examine(ctx context.Context, c *Config) []admin.Finding {
	var declared []string
	kinds := map[string]bool{}
	if c != nil {
		for _, rt := range c.Runtimes {
			declared = append(declared, rt.URL)
			kinds[rt.Kind] = false
		}
	}
	var found []admin.Finding
	answers := map[string]bool{} // by address
	for _, f := range runtime.Discover(ctx, declared) {
		answers[f.URL] = true
		if !f.Supported {
			found = append(found, finding("runtime."+f.Kind, "note", "", "%s at %s cannot be used: %s", f.Kind, f.URL, f.Reason))
			continue
		}
		kinds[f.Kind] = true
		found = append(found, finding("runtime."+f.Kind, "ok", "", "%s answers at %s", f.Kind, f.URL))
	}
	if c != nil {
		found = append(found, unanswered(ctx, c.Runtimes, answers)...)
	}
	for _, f := range agent.Programs(ctx, kinds) {
		found = append(found, admin.Finding{ID: f.ID, Severity: string(f.Severity), Text: f.Text, Remedy: f.Remedy})
	}
	return ranked(found)
}

// ExamineStore checks the database of a machine where no engine runs.
func ExamineStore(ctx context.Context, f desktop.Folders) []admin.Finding {
	var closed *store.UnavailableError
	if errors.As(store.Examine(ctx, storePath(f)), &closed) {
		return []admin.Finding{finding("store", "broken", closed.Remedy, "Decision records cannot be written: %s.", closed.Reason)}
	}
	return nil
}

// unanswered are the declared runtimes that none of the found ones is.
func unanswered(ctx context.Context, declared []RuntimeConfig, answers map[string]bool) (found []admin.Finding) {
	for _, rt := range declared {
		u, err := runtime.ParseTarget(rt.URL)
		if err != nil || answers[u.String()] || answers[strings.Replace(u.String(), "127.0.0.1", "[::1]", 1)] {
			continue
		}
		name := cmp.Or(rt.Name, rt.Kind, "a runtime")
		fault, remedy := "does not answer", "start it, or mend its url under runtimes in the settings"
		switch answers, err := runtime.Look(ctx, rt.URL); {
		case errors.Is(err, runtime.ErrOurselves):
			fault, remedy = "cannot be used: "+err.Error(), runtime.CureOurselves
		case errors.Is(err, runtime.ErrUnknownRuntime):
			fault, remedy = "cannot be used: "+err.Error(), runtime.CureUnknown
		case err == nil && answers.Supported:
			continue // only just started
		}
		found = append(found, finding("runtime."+name, "broken", remedy, "%s at %s %s", name, u, fault))
	}
	return found
}

// ranked puts the worst first.
func ranked(found []admin.Finding) []admin.Finding {
	rank := map[string]int{"broken": 0, "warning": 1, "note": 2, "ok": 3}
	slices.SortStableFunc(found, func(a, b admin.Finding) int { return rank[a.Severity] - rank[b.Severity] })
	return found
}
