package main

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"

	"bellwether/assets"
	"bellwether/engine"
	"bellwether/engine/evidence"
	"bellwether/frontend"
	"bellwether/platform/desktop"
)

// settingFlags are the flags that say what settings say.
type settingFlags struct {
	Config string            `help:"Settings file." type:"path" placeholder:"FILE"`
	Listen string            `help:"Where apps connect (setting listen)." placeholder:"HOST:PORT"`
	Set    map[string]string `help:"Any setting: --set node.name=studio. Repeatable." placeholder:"KEY=VALUE" mapsep:"none"`
}

// load reads all sources of settings.
func (f *settingFlags) load(e *environ) (*engine.Config, desktop.Folders, error) {
	folders, err := e.folders()
	if err != nil {
		return nil, folders, err
	}
	flags := map[string]string{}
	for k, v := range f.Set {
		flags[k] = v
	}
	if f.Listen != "" {
		flags["listen"] = f.Listen
	}
	name, err := os.Hostname()
	if err != nil {
		name = "localhost"
	}
	name, _, _ = strings.Cut(name, ".")
	from := engine.Sources{DataDir: folders.Data, NodeName: name, File: f.Config, FileAsked: f.Config != "", Env: os.Environ(), Flags: flags}
	if from.File == "" {
		from.File = configPath(folders)
	}
	c, err := engine.Load(from)
	if err != nil {
		return nil, folders, coded(exitUsage, "the settings are wrong:\n%w", err)
	}
	if c.DataDir != folders.Data {
		if folders, err = desktop.FoldersUnder(c.DataDir); err != nil {
			return nil, folders, err
		}
	}
	return c, folders, nil
}

// configPath is the settings file used when none is named.
func configPath(f desktop.Folders) string { return filepath.Join(f.Config, "config.yaml") }

type serveCmd struct{ settingFlags }

func (c *serveCmd) Run(e *environ) error {
	config, folders, err := c.load(e)
	if err != nil {
		return err
	}
	var level slog.LevelVar
	level.Set(config.Level())
	log := slog.New(slog.NewTextHandler(e.err, &slog.HandlerOptions{Level: &level}))
	for _, w := range config.Warnings {
		log.Warn(w)
	}
	eng, err := engine.New(engine.Options{Config: config, Folders: folders, Version: version, Log: log, Level: &level, Catalogue: assets.Catalogue(), Sandbox: sandbox(), UI: frontend.Dist()})
	if err != nil {
		var held *desktop.HeldError
		var taken *engine.PortTakenError
		var entry *evidence.CatalogueError
		switch {
		case errors.As(err, &entry):
			return coded(exitUsage, "%w", err)
		case errors.As(err, &held):
			return coded(exitRefused, "%w", err)
		case errors.As(err, &taken):
			taken.Owner = portOwner(taken.Port)
			return coded(exitRefused, "%w", taken)
		}
		return err
	}
	if os.Getenv("GOGC") == "" {
		// The live heap is some ten MB, so that Go's own target collects a dozen
		// times a second under load. Twice that spares 3 to 5 percent of the work a
		// request takes, for about 12 MB more under load and next to none idle.
		debug.SetGCPercent(200)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	e.greet(eng)
	return eng.Run(ctx)
}

// greet tells a person at a terminal what to do next.
func (e *environ) greet(eng *engine.Engine) {
	address := eng.Address()
	e.printf("Bellwether serves at %s\n  OpenAI apps     %s/v1\n  Anthropic apps  %s\n  Ollama apps     %s\n", address, address, address, address)
	if wanted, moved := eng.Moved(); moved {
		e.printf("%s holds port %d, so this address is another one. It stays the same from now on.\n", cmp.Or(portOwner(wanted), "Another program"), wanted)
	}
}

// portOwner names the program that holds a port, "" where the system does not tell.
func portOwner(port int) string {
	owner, err := desktop.OwnerOfPort(context.Background(), port)
	if err != nil {
		return ""
	}
	return owner.Name
}
