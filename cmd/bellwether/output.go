package main

import (
	"errors"
	"io"
	"sync"

	"bellwether/platform/desktop"
)

// output is where a command prints. It keeps the first error of writing, after
// which nothing is written any more: a command may print without looking, and
// run still tells a person whose disk is full that what they asked for is not
// there. What a program says in passing while it works goes past it, to environ.aside.
type output struct {
	to io.Writer

	mu   sync.Mutex // guards lost
	lost error
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.lost != nil {
		return 0, o.lost
	}
	n, err := o.to.Write(p)
	o.lost = err
	return n, err
}

// ended is err, with which a command ended, unless its output was lost: that is
// a failure whatever the command says of itself. A reader that has seen enough
// (| head) loses nothing.
func (o *output) ended(err error) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	own := err != nil && !errors.Is(err, o.lost)
	switch {
	case o.lost == nil, desktop.ReaderGone(o.lost) && own:
		return err
	case desktop.ReaderGone(o.lost):
		return nil
	case own && err.Error() != "":
		return coded(exitFailed, "%w\nNor could anything be printed: %w", err, o.lost)
	}
	return coded(exitFailed, "what was to be printed is lost: %w", o.lost)
}
