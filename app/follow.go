package app

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"bellwether/app/notice"
	"bellwether/app/tray"
	"bellwether/engine"
	"bellwether/engine/socket"
)

// news is what the follower tells the desk.
type news struct {
	state   tray.State
	at      time.Time // when the feed said it
	started time.Time // of the engine, which tells one from the next
	asked   uint64    // EngineView.WindowAsked
	// found is what Health found, nil until it was looked at.
	found []notice.Finding
}

// How soon the feed is tried again: an engine that starts is there within a
// second, one that has ended may stay away.
const (
	retryFirst = 100 * time.Millisecond
	retryMost  = 2 * time.Second
)

// mostFrame is the largest frame of the feed: a hello of a large fleet.
const mostFrame = 64 << 20

// follow reads the feed of whatever engine runs on the data folder, until ctx
// ends. told and lost are called by its goroutine.
func (c *client) follow(ctx context.Context, told func(news), lost func()) {
	wait := retryFirst
	for ctx.Err() == nil {
		heard := false
		_ = c.feed(ctx, func(n news) { heard = true; told(n) }) // why it ended is of no use: it is tried again
		if heard {
			wait = retryFirst
			lost()
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
		wait = min(2*wait, retryMost)
	}
}

// feed reads one connection to its end.
func (c *client) feed(ctx context.Context, told func(news)) error {
	state, err := engine.ReadState(c.folders)
	if err != nil {
		return err
	}
	address := "ws" + strings.TrimPrefix(state.Admin, "http") + "/admin/ws"
	conn, err := socket.Dial(ctx, address, http.Header{"X-Fleet-Admin": {state.Token}}, socket.Options{ReadLimit: mostFrame})
	if err != nil {
		return err
	}
	var p picture
	return conn.Serve(ctx, func(text []byte) error {
		switch err := p.apply(text); {
		case errors.Is(err, errGap):
			conn.Send([]byte(`{"type":"hello"}`))
		case err != nil:
			return err
		default:
			told(news{state: p.show(), at: time.Now(), started: p.engine.StartedAt, asked: p.engine.WindowAsked, found: p.found()})
		}
		return nil
	})
}
