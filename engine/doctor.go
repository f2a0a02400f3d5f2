package engine

import (
	"context"
	"slices"

	"bellwether/engine/admin"
	"bellwether/engine/agent"
	"bellwether/engine/runtime"
)

// Examine checks this machine without a running engine: which runtimes answer,
// and which programs are installed and how to start them. It loads and starts
// nothing. c may be nil when the settings cannot be read.
func Examine(ctx context.Context, c *Config) []admin.Finding {
	var declared []string
	if c != nil {
		for _, rt := range c.Runtimes {
			declared = append(declared, rt.URL)
		}
	}
	var found []admin.Finding
	up := map[string]bool{}
	for _, f := range runtime.Discover(ctx, declared) {
		if !f.Supported {
			found = append(found, finding("runtime."+f.Kind, "note", "", "%s at %s cannot be used: %s", f.Kind, f.URL, f.Reason))
			continue
		}
		up[f.Kind] = true
		found = append(found, finding("runtime."+f.Kind, "ok", "", "%s answers at %s", f.Kind, f.URL))
	}
	for _, f := range agent.Programs(ctx, up) {
		found = append(found, admin.Finding{ID: f.ID, Severity: string(f.Severity), Text: f.Text, Remedy: f.Remedy})
	}
	return ranked(found)
}

// ranked puts the worst first.
func ranked(found []admin.Finding) []admin.Finding {
	rank := map[string]int{"broken": 0, "warning": 1, "note": 2, "ok": 3}
	slices.SortStableFunc(found, func(a, b admin.Finding) int { return rank[a.Severity] - rank[b.Severity] })
	return found
}
