package main

import (
	"context"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"bellwether/app"
	"bellwether/engine"
	"bellwether/platform/desktop"
)

type trayCmd struct {
	settingFlags
	Hidden bool `help:"Do not open the admin window: for the start at login."`
}

// Run is the desktop app: the engine of serve with an icon in the bar. Where
// there is no desktop it serves without one, and says so.
func (c *trayCmd) Run(e *environ) error {
	config, folders, err := c.load(e)
	if err != nil {
		app.CannotStart(err) // started from a menu, nobody sees what is printed
		return err
	}
	log, level := e.logger(config)
	if file, err := engine.OpenAppLog(folders); err == nil { // a desktop shows nobody what is printed
		defer func() { _ = file.Close() }()
		log = slog.New(slog.NewTextHandler(io.MultiWriter(e.err, file), &slog.HandlerOptions{Level: level}))
	}
	login := e.loginItem(&c.settingFlags)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	go keepHeap(ctx)
	return served(app.Run(ctx, app.Options{
		Folders: folders, Version: version, Hidden: c.Hidden, Browser: desktop.OpenURL, Out: e.aside, Log: log,
		Login: login,
		Notifies: func(kind string) bool {
			config, _, err := c.load(e) // seldom asked, and as it is now
			return err != nil || config.Notifies(kind)
		},
		Start: func() (app.Engine, error) {
			config, folders, err := c.load(e) // as they are now: a start that failed is tried again
			if err != nil {
				return nil, err
			}
			level.Set(config.Level())
			return e.newEngine(config, folders, slog.New(slog.NewTextHandler(e.err, &slog.HandlerOptions{Level: level})), level, login, true)
		},
	}))
}
