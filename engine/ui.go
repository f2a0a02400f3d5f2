package engine

import (
	"context"
	"time"

	"bellwether/engine/admin"
	"bellwether/engine/route"
	"bellwether/engine/store"
)

// newFeed makes what the admin UI watches. The parts it looks at stand already.
func (e *Engine) newFeed() *admin.Feed {
	return admin.NewFeed(admin.Sources{
		Version: e.opts.Version, Log: e.log,
		Fleet: e.registry.Snapshot, Changed: e.registry.Changed(),
		Queue: e.queue.Status, Active: e.queue.Active, Events: e.events,
		Policy: e.policy.Load, Book: e.evidence.Book, Catalogue: e.catalogue.Load,
		Engine: e.view, Router: func() string { return e.nodeID },
		Jobs: e.jobs, Findings: e.health, Recent: e.recent,
	})
}

// view is this engine in the feed.
func (e *Engine) view() admin.EngineView {
	c, health := e.conf(), e.store.Health()
	return admin.EngineView{
		Version: e.opts.Version, StartedAt: e.started.UTC().Truncate(time.Millisecond), Address: e.address,
		NodeID: e.nodeID, NodeName: c.Node.Name, Settled: e.registry.Snapshot().Settled,
		RouterNodeID: e.nodeID, RouterName: c.Node.Name, RouterHere: true,
		Store: admin.StoreView{OK: health.OK, Reason: health.Reason, DroppedRecords: health.Dropped, WaitingRecords: health.Waiting, FileBytes: health.Bytes},
	}
}

// recent are the latest records; without the file, those in memory.
func (e *Engine) recent(ctx context.Context, since time.Time, most int) []*route.Record {
	list, err := e.store.Decisions(ctx, store.Filter{Since: since, Limit: most})
	if err != nil {
		e.log.Debug("decisions could not be read", "err", err)
	}
	return list
}

// keepRecord takes a finished request's record: to the disk, and to whoever
// watches. It is on the way of every request, and waits for neither.
func (e *Engine) keepRecord(r *route.Record) {
	e.store.Record(r)
	e.feed.Ended(r)
}

// sample takes the fleet into the last hour's history.
func (e *Engine) sample(now time.Time) {
	snap, status := e.registry.Snapshot(), e.queue.Status()
	e.past.Sample(now, snap, &status)
}

// jobs are the pulls of this machine, newest first.
func (e *Engine) jobs() []admin.JobView {
	var out []admin.JobView
	for _, j := range e.agent.Jobs() {
		out = append(out, pullView(e.nodeID, &j))
	}
	return out
}

// health runs every check.
func (e *Engine) health(ctx context.Context) []admin.FindingView {
	var out []admin.FindingView
	for _, f := range (ownerNode{e.node}).Doctor(ctx) {
		out = append(out, admin.FindingView{ID: f.ID, Severity: f.Severity, Text: f.Text, Remedy: f.Remedy})
	}
	return out
}
