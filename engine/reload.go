package engine

import (
	"context"
	"errors"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"bellwether/engine/admin"
	"bellwether/engine/evidence"
)

// watchEvery is how often the settings file is looked at. Editors replace files,
// and some file systems report no changes, so looking is surer than listening.
const watchEvery = 2 * time.Second

// watch puts changed settings in force while the engine runs, until ctx ends.
func (e *Engine) watch(ctx context.Context) error {
	look := time.NewTicker(watchEvery)
	defer look.Stop()
	seen := e.watched()
	for {
		select {
		case <-ctx.Done():
			return nil
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

// Reload reads the settings and the owner's catalogue again and puts in force
// what counts at once; what counts after a restart is told. With an error in
// either, both stay as they are.
func (e *Engine) Reload(ctx context.Context) error {
	e.reloading.Lock() // so that what was read first is not put in force last
	defer e.reloading.Unlock()
	old := e.conf()
	next, err := old.Reload()
	catalogue, wrong := ReadCatalogue(e.opts.Catalogue, old.OwnCatalogue())
	if err = errors.Join(err, wrong); err != nil {
		for line := range strings.Lines(err.Error()) {
			e.log.Error("the settings are wrong; the last good ones stay in force", "err", strings.TrimSuffix(line, "\n"))
		}
		e.reloadErr.Store(&err)
		return err
	}
	e.reloadErr.Store(nil)
	live, restart := old.Changes(next)
	if len(restart) > 0 {
		e.log.Warn("changed settings that count after a restart", "settings", strings.Join(restart, ", "))
	}
	learned := !reflect.DeepEqual(catalogue, e.catalogue.Load())
	if len(live) == 0 && len(restart) == 0 && !learned {
		return nil
	}
	e.catalogue.Store(catalogue)
	if learned {
		e.log.Info("the changed catalogue is in force", "models", len(catalogue.Entries()))
	}
	for _, w := range next.Warnings {
		e.log.Warn(w)
	}
	e.config.Store(next)
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
	// What catalogue and settings say of models is laid over them as they are
	// observed; that of their identities counts for contracts.
	if err := e.agent.Refresh(ctx); err != nil && !errors.Is(err, context.Canceled) {
		e.log.Warn("the models could not be looked at again", "err", err)
	}
	e.binder.Saved()
	e.feed.Touched()
	return nil
}

// conf returns the settings in force. Those that count after a restart may
// stand there as they will be.
func (e *Engine) conf() *Config { return e.config.Load() }

// settingsFindings say what the owner must know of the settings file.
func (e *Engine) settingsFindings() []admin.Finding {
	var found []admin.Finding
	c := e.conf()
	if err := e.reloadErr.Load(); err != nil {
		found = append(found, wrongFiles(*err)...)
	}
	if _, restart := e.opts.Config.Changes(c); len(restart) > 0 {
		found = append(found, finding("settings", "note", "Restart Bellwether when it suits.",
			"Changed settings count after a restart: %s.", strings.Join(restart, ", ")))
	}
	for _, w := range c.Warnings {
		if !strings.HasSuffix(w, exposedWarning) { // which the check private tells, with a button
			found = append(found, finding("settings", "note", "", "%s", w))
		}
	}
	return found
}

// wrongFiles tells of the files that were not taken over, each by itself.
func wrongFiles(err error) (out []admin.Finding) {
	var settings, catalogue []string
	var sort func(error)
	sort = func(err error) {
		if many, ok := err.(interface{ Unwrap() []error }); ok {
			for _, e := range many.Unwrap() {
				sort(e)
			}
			return
		}
		var entry *evidence.CatalogueError
		if errors.As(err, &entry) || strings.Contains(err.Error(), ownCatalogue) {
			catalogue = append(catalogue, err.Error())
			return
		}
		settings = append(settings, err.Error())
	}
	sort(err)
	if len(settings) > 0 {
		out = append(out, finding("settings", "broken", "Correct it; it is read again within seconds. bellwether config check shows the same.",
			"The settings file is wrong, and the settings before stay in force: %s.", strings.Join(settings, "; ")))
	}
	if len(catalogue) > 0 {
		out = append(out, finding("catalogue", "broken", "Correct it; it is read again within seconds.",
			"Your "+ownCatalogue+" is wrong, and what was known of models before stays in force: %s.", strings.Join(catalogue, "; ")))
	}
	return out
}
