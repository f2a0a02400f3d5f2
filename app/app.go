package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"strings"
	"sync"
	"time"

	"bellwether/app/tray"
	"bellwether/app/window"
	"bellwether/platform/desktop"
)

// Engine is what the app needs of an engine of its own.
type Engine interface {
	// Run serves until ctx ends, and ends in order.
	Run(ctx context.Context) error
	Address() string
	Drain()
	Undrain()
}

// Options are what Run needs. Every field is required but those that say
// otherwise.
type Options struct {
	Folders desktop.Folders
	Version string
	// Hidden starts without the admin window, as at login.
	Hidden bool
	// Start makes an engine on the folders, with the settings as they are now. An
	// engine of another program there is a *desktop.HeldError.
	Start func() (Engine, error)
	// Login is the entry that starts this program at login.
	Login *desktop.LoginItem
	// Notifies reports whether its owner wants notifications of a kind, by the
	// settings of the moment; nil = of each.
	Notifies func(kind string) bool
	// Browser opens an address in the user's browser.
	Browser func(url string) error
	// Out is for a person at a terminal.
	Out io.Writer
	Log *slog.Logger

	// HostPatience is how long something that shows icons may take to appear
	// before its absence is told; 0 = half a minute.
	HostPatience time.Duration
}

// Run is the program until ctx ends or its user quits. It must be called on the
// main goroutine. A second one for the same data folder has the first show its
// window, and returns at once; while the first ends it waits and takes its place.
func Run(ctx context.Context, o Options) error {
	a := newApp(o)
	if err := o.Folders.Create(); err != nil {
		a.cannotStart(err)
		return err
	}
	claim := &claim{dir: o.Folders.Data}
	if ours, err := a.first(ctx, claim); !ours {
		return err
	}
	defer claim.drop()
	place, err := tray.Find(ctx)
	if err != nil {
		claim.drop() // a later start may have a place for an icon: it adopts this engine
		return a.headless(ctx, err)
	}
	return a.withTray(ctx, place, claim)
}

// withTray runs everything, the tray on this goroutine.
func (a *app) withTray(ctx context.Context, place tray.Place, claim *claim) error {
	log.SetOutput(quiet{a.o.Log}) // the tray's library speaks by it
	defer a.awake("Bellwether answers requests")()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var work sync.WaitGroup
	defer context.AfterFunc(ctx, claim.leave)()
	d := newDesk(ctx, a, stop)
	// The feed outlives ctx: it tells how the engine stops.
	listen, deaf := context.WithCancel(context.WithoutCancel(ctx))
	work.Go(func() { defer deaf(); d.run() })
	work.Go(func() { a.client.follow(listen, d.told, d.lost) })
	watch := func() { work.Go(func() { a.watchHost(ctx, place, d.hosted) }) } // until the bus goes away
	watch()
	d.tell((*desk).startEngine)
	// The tray outlives ctx: it shows how the engine stops, until the desk closes
	// its states.
	err := tray.Run(context.WithoutCancel(ctx), place, tray.Options{
		States: d.states, Do: d.clicked, Log: a.o.Log,
		Away: func() {
			a.o.Log.Warn("the icon is gone with the desktop's bus; Bellwether goes on without until there is one again")
			claim.drop() // a start in another session may show this engine
			d.drop()
		},
		Return: func() bool {
			if err := claim.take(); err != nil {
				return false // that one's owner has an icon
			}
			a.o.Log.Info("the desktop's bus is back, and the icon with it")
			d.back()
			watch()
			return true
		},
	})
	if err != nil {
		a.o.Log.Warn("there is no icon", "why", err) // the bus went away in this moment
		claim.drop()
		d.drop()
	} else {
		stop() // it may be the system that ended it
	}
	work.Wait()
	return d.result()
}

// headless serves without an icon.
func (a *app) headless(ctx context.Context, why error) error {
	eng, err := a.startAlone(ctx)
	var held *desktop.HeldError
	if errors.As(err, &held) {
		return a.secondAlone(held)
	}
	if err != nil {
		return err
	}
	a.say("No icon is shown: %s. Serving without one at %s; Ctrl-C ends it, bellwether open shows the admin UI.\n", reason(why), eng.Address())
	a.o.Log.Info("no tray; serving without an icon", "why", reason(why), "address", eng.Address())
	told, stop := context.WithCancel(ctx)
	var telling sync.WaitGroup
	telling.Go(func() { a.keepTelling(told, noSession(why)) })
	defer telling.Wait()
	defer stop()
	return eng.Run(ctx)
}

// reason is an error of tray.Find without what everyone knows.
func reason(err error) string {
	return strings.TrimPrefix(err.Error(), tray.ErrNoTray.Error()+": ")
}

type app struct {
	o        Options
	client   *client
	window   *window.Window
	notifier *desktop.Notifier
	awake    func(why string) (release func()) // desktop.StayAwake, but for tests
	answers  func(address string) bool         // answers, but for tests
}

func newApp(o Options) *app {
	a := &app{o: o, client: &client{folders: o.Folders}, notifier: desktop.NewNotifier("Bellwether", desktop.IconName), awake: desktop.StayAwake, answers: answers}
	a.window = window.New(window.Options{Link: a.client.link, OpenBrowser: o.Browser, Log: o.Log})
	return a
}

func (a *app) say(format string, args ...any) { fmt.Fprintf(a.o.Out, format, args...) }
