package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"bellwether/engine"
	"bellwether/engine/admin"
	"bellwether/platform/desktop"
)

// client asks the engine of a data folder, whoever runs it. It reads the
// engine's state file at every call: the engine may be another one by now.
type client struct {
	folders desktop.Folders
	http    http.Client
}

var errNoEngine = errors.New("no engine is running")

// How long the engine may take for what a click asks: it answers at once, but
// for unloading a model.
const (
	patience     = 10 * time.Second
	slowPatience = time.Minute
)

// post sends body, which may be nil, and decodes the answer into out, which may.
func (c *client) post(ctx context.Context, path string, body, out any) error {
	state, err := engine.ReadState(c.folders)
	if err != nil {
		return errNoEngine
	}
	within := patience
	if path == "/admin/models/unload" {
		within = slowPatience
	}
	asked := ctx
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	raw, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, state.Admin+path, bytes.NewReader(raw))
	if err != nil {
		return err
	}
	req.Header.Set("X-Fleet-Admin", state.Token)
	resp, err := c.http.Do(req)
	switch {
	case err != nil && ctx.Err() != nil && asked.Err() == nil: // our patience, not the caller's
		return fmt.Errorf("the engine (pid %d) has answered nothing for %.0f s: end that process, and start it again (%w)", state.PID, within.Seconds(), ctx.Err())
	case err != nil:
		return fmt.Errorf("the engine does not answer: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode >= 400 {
		return refusal(resp)
	}
	if out == nil {
		_, err = io.Copy(io.Discard, resp.Body)
		return err
	}
	return json.NewDecoder(resp.Body).Decode(out)
}

// postKept is post of what has to outlive a restart; an error also says why it
// will not.
func (c *client) postKept(ctx context.Context, path string, body any) error {
	var after admin.Status
	if err := c.post(ctx, path, body, &after); err != nil {
		return err
	}
	if after.Unsaved != "" {
		return fmt.Errorf("it is done, but a restart undoes it, since it could not be saved: %s", after.Unsaved)
	}
	return nil
}

// refusal is why the engine would not, in its own words.
func refusal(resp *http.Response) error {
	var said struct {
		Error admin.Refusal `json:"error"`
	}
	raw, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if json.Unmarshal(raw, &said) != nil || said.Error.Message == "" {
		return fmt.Errorf("the engine answered %s", resp.Status)
	}
	return errors.New(strings.TrimSpace(said.Error.Message + " " + said.Error.Remedy))
}

// link makes a one-time link into the admin UI.
func (c *client) link(ctx context.Context) (string, error) {
	var l admin.EnterLink
	err := c.post(ctx, "/admin/enter-link", nil, &l)
	return l.URL, err
}
