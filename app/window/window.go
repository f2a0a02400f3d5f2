// Package window shows the admin UI: in a window of its own, which is a child
// process (cmd/bellwether-window), or else in the browser. It owns that child
// and nothing of the product's state. Its methods may be called from any
// goroutine; besides the child's own, none runs between the calls.
package window

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"sync"
	"time"

	"bellwether/app/window/child"
)

// Options are what a Window is made from. Link, OpenBrowser and Log are required.
type Options struct {
	// Program is the path of bellwether-window; "" = beside this program, then
	// where installers put it.
	Program string
	// Link makes a fresh one-time link into the admin UI.
	Link func(ctx context.Context) (url string, err error)
	// OpenBrowser shows an address where the window cannot, or is not to: those
	// are whatever a page names, so it takes web addresses and nothing else. It
	// does not wait for the browser.
	OpenBrowser func(url string) error
	Log         *slog.Logger

	times // zero = the usual ones
}

// times are how long things may take.
type times struct {
	ready  time.Duration // until a new window has its page; a loaded machine takes four seconds
	early  time.Duration // a crash sooner than this after the start counts as a window that cannot be
	answer time.Duration // until a window that was told to come to the front, and says nothing, counts as hung
	quit   time.Duration // until a window that was told to quit is killed
}

var usual = times{ready: 30 * time.Second, early: 10 * time.Second, answer: 5 * time.Second, quit: 2 * time.Second}

// Window is the admin UI's window, at most one at a time. Its mutex guards
// what stands below it.
type Window struct {
	opts Options
	turn chan struct{} // held by the Open under way: one buffer, one at a time
	done sync.WaitGroup

	mu      sync.Mutex
	running *process
	reason  string
	broken  string // why no window is tried any more, "" = it is
	closed  bool
}

// New makes a Window that is not shown yet. It starts nothing.
func New(o Options) *Window {
	if o.times == (times{}) {
		o.times = usual
	}
	return &Window{opts: o, turn: make(chan struct{}, 1)}
}

// ErrClosed says that Close was called.
var ErrClosed = errors.New("the window is closed for good")

// Open shows the window, or raises the one there is; one that does not answer
// within five seconds is ended, and another takes its place. Where it cannot be shown,
// the browser is opened instead and Reason says why; an error means that
// neither could. It returns when the page stands, or after some 35 s at most.
func (w *Window) Open(ctx context.Context) error {
	select {
	case w.turn <- struct{}{}:
		defer func() { <-w.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	p, broken, closed := w.state()
	if closed {
		return ErrClosed
	}
	if p != nil {
		err := p.show(ctx, w.opts.answer)
		if err == nil || ctx.Err() != nil {
			return err
		}
		if errors.Is(err, errHung) {
			w.giveUp(p)
		}
	}
	if broken != "" {
		return w.browse(ctx, broken)
	}
	err := w.start(ctx)
	var cannot *cannotError
	switch {
	case err == nil:
		w.note("", "")
		return nil
	case errors.As(err, &cannot):
		return w.browse(ctx, cannot.why)
	}
	return err
}

// Close ends the window, if there is one, and returns when its process and
// what watched it are gone. It opens no more.
func (w *Window) Close() {
	w.mu.Lock()
	w.closed = true
	p := w.running
	w.mu.Unlock()
	if p != nil {
		p.end(w.opts.quit)
	}
	w.done.Wait()
}

// Reason says why the last Open used the browser; "" = it did not.
func (w *Window) Reason() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.reason
}

// cannotError says why there can be no window here.
type cannotError struct{ why string }

func (e *cannotError) Error() string { return e.why }

// start has a window run and waits for its page. A *cannotError is why it
// could not; others are of the link or the caller.
func (w *Window) start(ctx context.Context) error {
	if child.DisplayMissing(runtime.GOOS, os.Getenv) {
		return &cannotError{"there is no display: neither DISPLAY nor WAYLAND_DISPLAY is set"}
	}
	program := w.opts.Program
	if program == "" {
		program = find()
	}
	if program == "" {
		return &cannotError{"bellwether-window is not installed beside bellwether, nor where installers put it"}
	}
	url, err := w.opts.Link(ctx)
	if err != nil {
		return fmt.Errorf("make a link to the admin UI: %w", err)
	}
	p, err := launch(program, url, w.outside, w.lost)
	if err != nil {
		return &cannotError{fmt.Sprintf("%s could not be started: %v", program, err)}
	}
	if !w.keep(p) {
		p.end(w.opts.quit)
		return ErrClosed
	}
	return w.await(ctx, p)
}

// await waits for a new window's page, or for what keeps it from coming.
func (w *Window) await(ctx context.Context, p *process) error {
	patience := time.NewTimer(w.opts.ready)
	defer patience.Stop()
	select {
	case <-p.ready:
		w.done.Go(func() { w.watch(p) })
		return nil
	case <-p.gone:
		if _, _, closed := w.state(); closed {
			return ErrClosed
		}
		return &cannotError{p.why()}
	case <-patience.C:
		p.kill()
		why := fmt.Sprintf("its window showed nothing for %s", w.opts.ready)
		w.note("", why)
		return &cannotError{why}
	case <-ctx.Done():
		p.end(w.opts.quit)
		return ctx.Err()
	}
}

// watch waits for a window's end. One that dies while its user has hardly seen
// it is followed by the browser, and no other is tried: it would die again.
func (w *Window) watch(p *process) {
	<-p.gone
	_, _, closed := w.state()
	if closed || p.exit() == 0 || p.hung.Load() {
		return
	}
	if lived := p.lived(); lived >= w.opts.early {
		w.opts.Log.Warn("the window ended by itself", "why", p.why(), "after", lived.Round(time.Second))
		return
	}
	w.note("", p.why())
	if err := w.browse(context.Background(), p.why()); err != nil {
		w.opts.Log.Warn("the admin UI could not be shown", "err", err)
	}
}

// giveUp ends a window that hangs, so that another can take its place.
func (w *Window) giveUp(p *process) {
	w.opts.Log.Warn("the window hangs, it is ended and another one opened", "why", "it did not answer within "+w.opts.answer.String(), "process", p.cmd.Process.Pid)
	p.hung.Store(true)
	p.kill()
}

// lost tells of a page that went away under its window, which loads it again.
func (w *Window) lost(why string) {
	w.opts.Log.Warn("the window's page went away and is loaded again", "why", why)
}

// outside opens the browser for what its user wants to see and the window does
// not show.
func (w *Window) outside(url string) {
	if err := w.opts.OpenBrowser(url); err != nil {
		w.opts.Log.Warn("a page that is not the admin UI's could not be shown in the browser", "url", url, "err", err)
	}
}

// browse opens the browser in the window's place.
func (w *Window) browse(ctx context.Context, why string) error {
	w.mu.Lock()
	w.reason = why
	w.mu.Unlock()
	w.opts.Log.Info("the admin UI opens in the browser, not in a window", "why", why)
	url, err := w.opts.Link(ctx)
	if err != nil {
		return fmt.Errorf("make a link to the admin UI: %w", err)
	}
	if err := w.opts.OpenBrowser(url); err != nil {
		return fmt.Errorf("show the admin UI: there is no window (%s), and no browser: %w", why, err)
	}
	return nil
}

// state is the window there is, if it runs, why none is tried any more, and
// whether this is over.
func (w *Window) state() (p *process, broken string, closed bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.running != nil && !w.running.alive() {
		w.running = nil
	}
	return w.running, w.broken, w.closed
}

// keep makes p the window there is; false after Close.
func (w *Window) keep(p *process) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return false
	}
	w.running = p
	return true
}

func (w *Window) note(reason, broken string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reason = reason
	if broken != "" {
		w.broken = broken
	}
}
