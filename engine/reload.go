package engine

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"bellwether/engine/admin"
)

// watchEvery is how often the settings file is looked at. Editors replace files,
// and some file systems report no changes, so looking is surer than listening.
const watchEvery = 2 * time.Second

// watch puts changed settings in force while the engine runs, until ctx ends.
func (e *Engine) watch(ctx context.Context) error {
	defer close(e.watching.ended)
	look := time.NewTicker(watchEvery)
	defer look.Stop()
	var seen [2]fileMark // nothing yet: the files may have changed since they were read
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-e.watching.asked:
			continue
		case <-look.C:
		}
		if now := e.watched(); now != seen {
			seen = now
			_ = e.Reload(ctx) // logged, and told by doctor
		}
	}
}

// fileMark tells one state of a file from another.
type fileMark struct {
	size    int64
	changed time.Time
}

// watched marks the settings file and the owner's catalogue beside it.
func (e *Engine) watched() [2]fileMark {
	return [2]fileMark{markOf(e.conf().file), markOf(e.conf().OwnCatalogue())}
}

func markOf(path string) fileMark {
	info, err := os.Stat(path)
	if err != nil {
		return fileMark{size: -1}
	}
	return fileMark{info.Size(), info.ModTime()}
}

// slowReload is how long a reload may take before the log says that it is under
// way, so that whoever has saved and sees no effect knows why.
const slowReload = 2 * time.Second

// Reload reads the settings and the owner's catalogue again and puts in force
// what counts at once; what counts after a restart is told. Each is taken over by
// itself: with an error in one it stays as it was, and the other counts. The
// error is that of the settings; both are logged, and told by doctor.
func (e *Engine) Reload(ctx context.Context) error { return e.reload(ctx, false) }

// reload is Reload. emptied says that settings that hold nothing any more are
// meant so, and no editor's that is about to write them.
func (e *Engine) reload(ctx context.Context, emptied bool) error {
	e.reloading.Lock() // so that what was read first is not put in force last
	defer e.reloading.Unlock()
	defer tellIfSlow(e.log, slowReload)()
	defer e.feed.Touched() // even where nothing else has changed, the revision may have
	learned := e.reloadCatalogue()
	changed, err := e.reloadSettings(emptied)
	if !learned && !changed {
		return err
	}
	// What catalogue and settings say of models is laid over them as they are
	// observed; that of their identities counts for contracts.
	if err := e.agent.Refresh(ctx); err != nil && !errors.Is(err, context.Canceled) {
		e.log.Warn("the models could not be looked at again", "err", err)
	}
	e.binder.Saved()
	return err
}

// tellIfSlow logs that a reload is under way once it has taken so long, and how
// long it took when end is called.
func tellIfSlow(log *slog.Logger, after time.Duration) (end func()) {
	began := time.Now()
	slow := time.AfterFunc(after, func() {
		log.Warn("changed settings are being taken over, and it takes long; until then those before count")
	})
	return func() {
		if !slow.Stop() {
			log.Info("the changed settings are taken over", "took", time.Since(began).Round(time.Millisecond))
		}
	}
}

// reloadCatalogue takes the owner's catalogue over, and reports whether it says
// something else than before.
func (e *Engine) reloadCatalogue() (learned bool) {
	next, own, err := readCatalogue(e.opts.Catalogue, e.conf().OwnCatalogue())
	if err == nil && own == ownEmptied && e.own == ownSays {
		err = &EmptiedError{File: ownCatalogue}
	}
	if err != nil {
		e.logWrong("the catalogue is wrong; the last good one stays in force", err)
		e.catalogueErr.Store(&err)
		return false
	}
	e.catalogueErr.Store(nil)
	e.own = own
	if reflect.DeepEqual(next, e.catalogue.Load()) {
		return false
	}
	e.catalogue.Store(next)
	e.log.Info("the changed catalogue is in force", "models", len(next.Entries()))
	return true
}

// reloadSettings takes the settings over, and reports whether any has changed.
func (e *Engine) reloadSettings(emptied bool) (changed bool, err error) {
	was := e.reading.Load()
	now := was.config.look(emptied)
	e.reading.Store(now)
	if now.err != nil {
		if was.err == nil || was.revision != now.revision {
			e.logWrong("the settings are wrong; the last good ones stay in force", now.err)
		}
		return false, now.err
	}
	old, next := was.config, now.config
	live, restart := old.Changes(next)
	if len(restart) > 0 {
		e.log.Warn("changed settings that count after a restart", "settings", strings.Join(restart, ", "))
	}
	if len(live) == 0 && len(restart) == 0 {
		return false, nil
	}
	for _, w := range next.Warnings {
		e.log.Warn(w)
	}
	e.publish()
	e.gateway.Configure(next.GatewayRules())
	e.agent.Configure(next.AgentSettings())
	if e.opts.Level != nil {
		e.opts.Level.Set(next.Level())
	}
	if slices.Contains(live, "start_at_login") {
		e.inBackground(e.followLogin)
	}
	if len(live) > 0 {
		e.log.Info("changed settings are in force", "settings", strings.Join(live, ", "))
	}
	return true, nil
}

// logWrong logs every fault of a file by itself.
func (e *Engine) logWrong(what string, err error) {
	for line := range strings.Lines(err.Error()) {
		e.log.Error(what, "err", strings.TrimSuffix(line, "\n"))
	}
}

// EmptiedError says that a file that held something holds nothing any more: an
// editor may have emptied it and be about to write it.
type EmptiedError struct{ File string }

func (e *EmptiedError) Error() string { return e.File + " is empty or gone" }

// conf returns the settings in force. Those that count after a restart may
// stand there as they will be.
func (e *Engine) conf() *Config { return e.reading.Load().config }

// settingsFindings say what the owner must know of the settings file.
func (e *Engine) settingsFindings() []admin.Finding {
	var found []admin.Finding
	now := e.reading.Load()
	c := now.config
	if now.err != nil {
		found = append(found, wrongSettingsFile(now.err))
	}
	if err := e.catalogueErr.Load(); err != nil {
		found = append(found, wrongCatalogue(*err))
	}
	if _, restart := e.opts.Config.Changes(c); len(restart) > 0 {
		found = append(found, finding("settings", "note", "Restart Bellwether when it suits.",
			"Changed settings count after a restart: %s.", strings.Join(restart, ", ")))
	}
	for _, w := range c.Warnings {
		told := strings.HasSuffix(w, exposedWarning) || // by the check private, with a button
			strings.HasSuffix(w, poolWarning) // by checkPools, which knows the pools there are
		if !told {
			found = append(found, finding("settings", "note", "", "%s", w))
		}
	}
	return found
}

// wrongSettingsFile tells why the settings file was not taken over.
func wrongSettingsFile(err error) admin.Finding {
	if errors.As(err, new(*EmptiedError)) {
		return finding("settings", "warning", "Write them again; it is read within seconds. For the defaults restart Bellwether.",
			"The settings file is empty or gone, and the settings before stay in force.")
	}
	return finding("settings", "broken", "Correct it; it is read again within seconds. bellwether config check shows the same.",
		"The settings file is wrong, and the settings before stay in force: %s.", strings.ReplaceAll(err.Error(), "\n", "; "))
}

// wrongCatalogue tells why the owner's catalogue was not taken over.
func wrongCatalogue(err error) admin.Finding {
	if errors.As(err, new(*EmptiedError)) {
		return finding("catalogue", "warning", "Write it again, or delete it; it is read within seconds.",
			"Your "+ownCatalogue+" is empty, and what it said of models before stays in force.")
	}
	return finding("catalogue", "broken", "Correct it; it is read again within seconds.",
		"Your "+ownCatalogue+" is wrong, and what was known of models before stays in force: %s.", strings.ReplaceAll(err.Error(), "\n", "; "))
}
