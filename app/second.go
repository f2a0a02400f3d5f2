package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"bellwether/engine"
)

// startPatience is how long an engine may take from its start to its answer.
const startPatience = 15 * time.Second

// second is a start while a tray of this data folder runs: that one shows its
// window, and this one ends. Whether it could be told or not, nothing is wrong.
func (a *app) second(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	if a.o.Hidden {
		a.say("Bellwether runs already.\n")
		return nil
	}
	err := a.awaitEngine(ctx)
	if err == nil {
		err = a.client.post(ctx, "/admin/window", nil, nil)
	}
	if err != nil {
		a.say("Bellwether runs already; its icon in the bar says how it is.\n")
		a.notify("trouble", "Bellwether runs already", "Its icon in the bar says how it is.")
		return nil
	}
	a.say("Bellwether runs already. Its window opens.\n")
	return nil
}

// awaitEngine waits until the engine of the data folder has said where it is.
// Another process rings no bell here, so it looks.
func (a *app) awaitEngine(ctx context.Context) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, err := engine.ReadState(a.o.Folders); err == nil {
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
