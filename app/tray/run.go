package tray

import (
	"context"
	"errors"
	"log/slog"
)

// ErrNoTray says that this build or this session has no place for an icon.
var ErrNoTray = errors.New("there is no tray here")

// Options are what Run needs.
type Options struct {
	// States brings what to show; the newest counts. Closing it ends Run.
	States <-chan State
	// Do carries out what a click asks for. It is called by a goroutine of its
	// own for every click, so it may take its time.
	Do func(Action)
	// Away is told that the desktop's bus is gone, and the icon with it; Return is
	// asked, once there is a bus again, whether the icon may stand there, and is
	// asked again later where not. Both are called by Run itself.
	Away   func()
	Return func() bool
	Log    *slog.Logger
}

// screen is where a view is shown; its methods are called by one goroutine.
type screen interface {
	// build makes the menu, once, before anything else.
	build(menu []Item)
	icon(Icon)
	tooltip(string)
	// change makes a line of the menu say what it says now.
	change(was, is Item)
}

// draw shows every state that comes until there are no more, or ctx ends. It
// is the one owner of what the screen shows.
func draw(ctx context.Context, s screen, states <-chan State) {
	shown := Menu(State{})
	s.build(shown.Menu)
	s.icon(shown.Icon)
	s.tooltip(shown.Tooltip)
	for {
		select {
		case <-ctx.Done():
			return
		case state, more := <-states:
			if !more {
				return
			}
			view := Menu(state)
			update(s, shown, view)
			shown = view
		}
	}
}

// update changes what differs, and nothing else: an open menu stays open, and
// a bar that draws the icon at every change is left in peace.
func update(s screen, was, is View) {
	if was.Icon != is.Icon {
		s.icon(is.Icon)
	}
	if was.Tooltip != is.Tooltip {
		s.tooltip(is.Tooltip)
	}
	changeItems(s, was.Menu, is.Menu)
}

func changeItems(s screen, was, is []Item) {
	for i := range is {
		changeItems(s, was[i].Items, is[i].Items) // first: what is shown opens on what is so
		if !same(&was[i], &is[i]) {
			s.change(was[i], is[i])
		}
	}
}

// same reports that a line says the same; its submenu is compared by itself.
func same(a, b *Item) bool {
	return a.Label == b.Label && a.Hidden == b.Hidden && a.Off == b.Off && a.Tick == b.Tick && a.Do == b.Do
}
