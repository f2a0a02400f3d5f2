package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
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

// given reports whether any flag says which settings are meant.
func (f *settingFlags) given() bool { return f.Config != "" || f.Listen != "" || len(f.Set) > 0 }

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
	log, level := e.logger(config)
	eng, err := e.newEngine(config, folders, log, level, e.loginItem(&c.settingFlags), false)
	if err != nil {
		return served(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	e.greet(eng)
	go keepHeap(ctx)
	return eng.Run(ctx)
}

// logger is the log of a program that serves, and its level, which a reload of
// the settings changes.
func (e *environ) logger(config *engine.Config) (*slog.Logger, *slog.LevelVar) {
	level := new(slog.LevelVar)
	level.Set(config.Level())
	return slog.New(slog.NewTextHandler(e.err, &slog.HandlerOptions{Level: level})), level
}

// newEngine makes the engine of serve and of the desktop app. What keeps it
// from being made is for served to say. ask has the admin UI ask, once, whether
// to start at login.
func (e *environ) newEngine(config *engine.Config, folders desktop.Folders, log *slog.Logger, level *slog.LevelVar, login *desktop.LoginItem, ask bool) (*engine.Engine, error) {
	for _, w := range config.Warnings {
		log.Warn(w)
	}
	eng, err := engine.New(engine.Options{Config: config, Folders: folders, Version: version, Log: log, Level: level, Catalogue: assets.Catalogue(), Sandbox: sandbox(), UI: frontend.Dist(), Login: login, AskLogin: ask, Supervisor: desktop.FindSupervisor(os.Getenv)})
	var taken *engine.PortTakenError
	if errors.As(err, &taken) {
		taken.Owner = portOwner(taken.Port)
		return nil, taken
	}
	if err != nil {
		return nil, err
	}
	return eng, nil
}

// served gives what kept an engine from serving the exit code it means.
func served(err error) error {
	var held *desktop.HeldError
	var taken *engine.PortTakenError
	var entry *evidence.CatalogueError
	switch {
	case errors.As(err, &entry):
		return coded(exitUsage, "%w", err)
	case errors.As(err, &held), errors.As(err, &taken):
		return coded(exitRefused, "%w", err)
	}
	return err
}

// greet tells a person at a terminal what to do next.
func (e *environ) greet(eng *engine.Engine) {
	address := eng.Address()
	fmt.Fprintf(e.aside, "Bellwether serves at %s\n  OpenAI apps     %s/v1\n  Anthropic apps  %s\n  Ollama apps     %s\n", address, address, address, address)
	if wanted, moved := eng.Moved(); moved {
		fmt.Fprintf(e.aside, "%s holds port %d, so this address is another one. It stays the same from now on.\n", cmp.Or(portOwner(wanted), "Another program"), wanted)
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
