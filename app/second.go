package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"

	"bellwether/engine"
	"bellwether/platform/desktop"
)

const (
	// startPatience is how long an engine may take from its start to its answer.
	startPatience = 15 * time.Second
	// endPatience is how long a program may take to end: what its requests get,
	// what was begun, and some to spare.
	endPatience = 45 * time.Second
	// glance is how often a lock or a file of another process is looked at, which
	// rings no bell here.
	glance = 50 * time.Millisecond
)

// first takes the claim. Where a tray of this data folder runs that one is asked
// to show its window, and this start ends (false). One that is about to end is
// waited for.
func (a *app) first(ctx context.Context, c *claim) (ours bool, err error) {
	patience := startPatience
	ends, stuck := false, false // what the other one does
	var asked error
	tick := time.NewTicker(glance)
	defer tick.Stop()
	for began := time.Now(); ; {
		err := c.take()
		var held *desktop.HeldError
		switch {
		case err == nil:
			return true, nil
		case !errors.As(err, &held):
			a.cannotStart(err)
			return false, err
		case held.Leaving:
			if !ends {
				a.say("Bellwether (pid %d) is just ending; it starts again when that is done.\n", held.PID)
				ends, patience = true, endPatience
			}
		case a.o.Hidden:
			a.say("Bellwether runs already.\n")
			return false, nil
		default:
			if state, known := a.client.known(); known {
				ask, cancel := context.WithTimeout(ctx, max(startPatience-time.Since(began), glance))
				asked = a.client.post(ask, "/admin/window", nil, nil)
				stuck = errors.Is(ask.Err(), context.DeadlineExceeded)
				cancel()
				if asked == nil && !c.leaves() {
					a.say("%s\n", shows(state.Address, held.PID, screen(os.Getenv)))
					return false, nil
				}
			}
		}
		if time.Since(began) >= patience {
			return false, a.other(held, ends, stuck)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return false, fmt.Errorf("wait for the Bellwether that runs: %w", ctx.Err())
		}
	}
}

// other tells how it stands with a Bellwether that shows nothing when it is
// asked to. One that hangs is for its owner to end.
func (a *app) other(held *desktop.HeldError, ends, stuck bool) error {
	does := ""
	switch {
	case stuck:
		does = "does not answer"
	case ends:
		does = "does not come to its end"
	}
	if does != "" {
		text := fmt.Sprintf("Bellwether runs already (pid %d) and %s: end that process, and start it again", held.PID, does)
		a.remind("trouble", "Bellwether "+does, text+".")
		return errors.New(text)
	}
	a.say("Bellwether runs already (pid %d) and serves nothing at present; its icon in the bar says why.\n", held.PID)
	a.notify("trouble", "Bellwether runs already", "It serves nothing at present; its icon in the bar says why.")
	return nil
}

// shows says what a second start comes to.
func shows(address string, pid int, screen bool) string {
	text := fmt.Sprintf("Bellwether runs already at %s (pid %d)", address, pid)
	if screen {
		return text + ". Its window opens."
	}
	return text + ", and was asked to show its window. This session has no screen: bellwether open --print gives an address for a browser."
}

// screen reports that what is shown may be seen here.
func screen(env func(string) string) bool {
	return runtime.GOOS == "darwin" || runtime.GOOS == "windows" || graphical(env)
}

// startAlone makes the engine of a program without an icon. One that ends is
// waited for: it has taken its address back, and holds the folder still.
func (a *app) startAlone(ctx context.Context) (Engine, error) {
	tick := time.NewTicker(5 * glance)
	defer tick.Stop()
	for began := time.Now(); ; {
		eng, err := a.o.Start()
		var held *desktop.HeldError
		if !errors.As(err, &held) {
			return eng, err
		}
		if _, known := a.client.known(); known || time.Since(began) >= startPatience {
			return nil, err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, err
		}
	}
}

// secondAlone is a start without an icon while an engine of this data folder
// runs: nobody opens a window for it.
func (a *app) secondAlone(held *desktop.HeldError) error {
	state, known := a.client.known()
	if !known {
		return fmt.Errorf("the Bellwether that runs (pid %d) serves nothing: end that process, and start it again", held.PID)
	}
	a.say("Bellwether runs already at %s (pid %d), and no icon can be shown here: bellwether open shows the admin UI.\n", state.Address, held.PID)
	return nil
}

// known is where the engine of the data folder is, as far as it has said so.
func (c *client) known() (engine.State, bool) {
	state, err := engine.ReadState(c.folders)
	return state, err == nil
}

// leaves asks whether who has the claim is about to end.
func (c *claim) leaves() bool {
	var held *desktop.HeldError
	err := c.take()
	return err == nil || errors.As(err, &held) && held.Leaving
}

// awaitEngine waits until the engine of the data folder has said where it is.
func (a *app) awaitEngine(ctx context.Context) error {
	tick := time.NewTicker(glance)
	defer tick.Stop()
	for {
		if _, known := a.client.known(); known {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return errNoEngine
			}
			return fmt.Errorf("wait for the engine: %w", ctx.Err())
		}
	}
}
