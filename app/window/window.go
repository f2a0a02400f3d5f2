// Package window shows the admin UI: in a window of its own, which is a child
// process (cmd/bellwether-window), or else in the browser. It owns that child
// and nothing of the product's state.
package window

import (
	"context"
	"log/slog"
)

// Options are what a Window is made from. Link, OpenBrowser and Log are required.
type Options struct {
	// Program is the path of bellwether-window; "" = beside this program, then
	// where installers put it.
	Program string
	// Link makes a fresh one-time link into the admin UI.
	Link func(ctx context.Context) (url string, err error)
	// OpenBrowser shows an address where the window cannot.
	OpenBrowser func(url string) error
	Log         *slog.Logger
}

// Window is the admin UI's window, at most one at a time.
type Window struct{ opts Options }

// New makes a Window that is not shown yet. It starts nothing.
func New(o Options) *Window { return &Window{opts: o} }

// Open shows the window, or raises the one there is. Where it cannot be shown,
// the browser is opened instead and Reason says why; an error means that
// neither could. It returns when the page stands, at most after half a minute.
func (w *Window) Open(ctx context.Context) error {
	url, err := w.opts.Link(ctx)
	if err != nil {
		return err
	}
	return w.opts.OpenBrowser(url)
}

// Close ends the window, if there is one, and returns when its process is gone.
func (w *Window) Close() {}

// Reason says why the last Open used the browser; "" = it did not.
func (w *Window) Reason() string { return "the window is not built yet" }
