package engine

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"bellwether/engine/admin"
	"bellwether/engine/fleet"
	"bellwether/engine/queue"
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
		Jobs: e.jobs, Findings: e.health, Recent: e.recent, Past: e.kept,
	})
}

// view is this engine in the feed.
func (e *Engine) view() admin.EngineView {
	c, health := e.conf(), e.store.Health()
	return admin.EngineView{
		Version: e.opts.Version, StartedAt: e.started.UTC().Truncate(time.Millisecond), Address: e.address,
		NodeID: e.nodeID, NodeName: c.Node.Name, Settled: e.registry.Snapshot().Settled,
		RouterNodeID: e.nodeID, RouterName: c.Node.Name, RouterHere: true,
		HeldUntil:        heldUntil(e.queue.Status().Held, time.Now()),
		SettingsRevision: e.reading.Load().revision, Measuring: e.measuringNow(), WindowAsked: e.windowAsked.Load(), Login: e.loginSeen(),
		Store: admin.StoreView{OK: health.OK, Reason: health.Reason, DroppedRecords: health.Dropped, WaitingRecords: health.Waiting, FileBytes: health.Bytes},
	}
}

// heldUntil is when the first of the held requests is given up, to the second.
func heldUntil(held []queue.HeldStatus, now time.Time) *time.Time {
	if len(held) == 0 {
		return nil
	}
	first := slices.MinFunc(held, func(a, b queue.HeldStatus) int { return cmp.Compare(a.Left, b.Left) })
	at := now.Add(first.Left).Round(time.Second).UTC()
	return &at
}

// recent are the latest records; without the file, those in memory.
func (e *Engine) recent(ctx context.Context, since time.Time, most int) []*route.Record {
	list, err := e.store.Decisions(ctx, store.Filter{Since: since, Limit: most})
	if err != nil {
		e.log.Debug("decisions could not be read", "err", err)
	}
	return list
}

// underWay is the record so far of a request that has not ended, nil when there
// is none.
func (e *Engine) underWay(id string) *route.Record {
	u := e.queue.UnderWay(id)
	if u == nil {
		return nil
	}
	rec := route.ToRecord(u.Decision, &u.Query)
	rec.Timing.QueueMs = float64(u.Queued.Round(10*time.Microsecond)) / 1e6
	return rec
}

// kept hands over every record of requests that came within a time.
func (e *Engine) kept(ctx context.Context, since, before time.Time, each func(*route.Record)) error {
	f := store.Filter{Since: since, Before: before, Limit: 1000}
	for {
		page, err := e.store.Decisions(ctx, f)
		if err != nil {
			return err
		}
		for _, r := range page {
			each(r)
		}
		if len(page) < f.Limit {
			return nil
		}
		f.After = page[len(page)-1].RequestID
	}
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

// formerHour is the last hour as the process before this one kept it. What
// cannot be read is told, and the hour begins anew.
func (e *Engine) formerHour() *admin.Past {
	past := admin.NewPast()
	kept, err := e.store.LoadHistory()
	if err == nil {
		err = past.Restore(kept, time.Now())
	}
	if err != nil {
		e.log.Warn("the memory of the last hour begins anew: what was kept of it cannot be read", "err", err)
	}
	return past
}

// keepHistory saves the last hour, once a minute and at the end: a start shows
// what was before it.
func (e *Engine) keepHistory() {
	kept := e.past.Keep()
	if kept == nil {
		return
	}
	if err := e.store.SaveHistory(kept); err != nil {
		e.log.Warn("the memory of the last hour could not be kept", "err", err)
	}
}

// jobs are the pulls, evals and probes of this machine, each kind newest first.
func (e *Engine) jobs() []admin.JobView {
	out := e.runs.List()
	for _, j := range e.agent.Jobs() {
		out = append(out, pullView(e.nodeID, &j))
	}
	return out
}

// measuringNow names the eval or probe under way, "" = none.
func (e *Engine) measuringNow() string {
	for _, j := range e.runs.List() {
		if j.EndedAt == nil {
			return j.Kind
		}
	}
	return ""
}

// inBackground has work done that ends with the engine; false when too much
// waits already.
func (e *Engine) inBackground(work func(ctx context.Context)) bool {
	select {
	case e.errands <- work:
		return true
	default:
		return false
	}
}

// runErrands does what inBackground was given, each by itself, until ctx ends.
func (e *Engine) runErrands(ctx context.Context) error {
	var group errgroup.Group
	for {
		select {
		case <-ctx.Done():
			return group.Wait()
		case work := <-e.errands:
			group.Go(func() error { work(ctx); return nil })
		}
	}
}

// startProbe probes one deployment, as a job.
func (e *Engine) startProbe(d fleet.DeploymentID) error {
	wish := admin.ProbeWish{Models: []string{d.String()}}
	if !e.inBackground(func(ctx context.Context) { e.runs.Probe(ctx, e.measuring, e.nodeID, wish) }) {
		return errors.New("too much is waiting to be begun: try again in a moment")
	}
	return nil
}

// openLog has what is logged kept for the admin UI, and in a file of its own.
func (e *Engine) openLog() {
	e.logs = admin.NewLogBook()
	others := []slog.Handler{e.opts.Log.Handler()}
	if e.logFile, e.logErr = openLogFile(e.opts.Folders.Logs, logFileName); e.logErr == nil {
		e.logs.File = LogPath(e.opts.Folders)
		var level slog.Leveler = slog.LevelInfo
		if e.opts.Level != nil {
			level = e.opts.Level
		}
		others = append(others, slog.NewTextHandler(e.logFile, &slog.HandlerOptions{Level: level}))
	}
	e.log = slog.New(e.logs.Handler(others...))
	e.opts.Log = e.log
	if e.logErr != nil {
		e.log.Warn("the log is not written to a file", "err", e.logErr)
	}
}
