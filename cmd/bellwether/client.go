package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strings"
	"time"

	"bellwether/engine"
	"bellwether/engine/admin"
	"bellwether/engine/fleet"
	"bellwether/platform/desktop"
)

// client talks to the running engine of a data folder.
type client struct {
	state engine.State
	http  http.Client
}

func (e *environ) folders() (desktop.Folders, error) {
	if e.cli.DataDir != "" {
		return desktop.FoldersUnder(e.cli.DataDir)
	}
	return desktop.DefaultFolders("bellwether")
}

// engine finds the running engine by the state file it keeps.
func (e *environ) engine() (*client, error) {
	folders, err := e.folders()
	if err != nil {
		return nil, err
	}
	state, err := engine.ReadState(folders)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, coded(exitNoEngine, "no engine is running here: start one with bellwether serve")
	}
	if err != nil {
		return nil, coded(exitNoEngine, "the state of the engine cannot be read: %w", err)
	}
	return &client{state: state}, nil
}

// call sends in (nil = no body) and decodes the answer into out (nil = drop it).
// headers add to the request's own.
func (c *client) call(method, path string, in, out any, headers ...func(set func(name, value string))) error {
	var body io.Reader
	switch v := in.(type) {
	case nil:
	case []byte:
		body = bytes.NewReader(v)
	default:
		b, err := json.Marshal(v)
		if err != nil {
			return err
		}
		body = bytes.NewReader(b)
	}
	resp, err := c.send(method, path, body, headers...)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if out == nil {
		return nil
	}
	if raw, ok := out.(*[]byte); ok {
		*raw, err = io.ReadAll(resp.Body)
		return err
	}
	if err := json.NewDecoder(resp.Body).Decode(out); err != nil {
		return fmt.Errorf("the engine's answer to %s cannot be read: %w", path, err)
	}
	return nil
}

// send makes the request; an answer that is an error becomes one here.
func (c *client) send(method, path string, body io.Reader, headers ...func(set func(name, value string))) (*http.Response, error) {
	return c.open(context.Background(), method, path, body, headers...)
}

// open is send for answers that are given up with ctx.
func (c *client) open(ctx context.Context, method, path string, body io.Reader, headers ...func(set func(name, value string))) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.state.Admin+path, body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("X-Fleet-Admin", c.state.Token)
	for _, add := range headers {
		add(req.Header.Set)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, coded(exitNoEngine, "the engine does not answer at %s: start it with bellwether serve", c.state.Address)
	}
	if resp.StatusCode < 400 {
		return resp, nil
	}
	defer resp.Body.Close()
	var refusal struct {
		Error admin.Refusal `json:"error"`
	}
	raw, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if json.Unmarshal(raw, &refusal) != nil || refusal.Error.Message == "" {
		return nil, coded(exitFailed, "the engine answered %s to %s", resp.Status, path)
	}
	code := exitRefused // the engine would not
	if resp.StatusCode >= 500 && resp.StatusCode != http.StatusNotImplemented {
		code = exitFailed // it could not
	}
	return nil, coded(code, "%s", strings.TrimSpace(refusal.Error.Message+" "+refusal.Error.Remedy))
}

// status asks the engine how everything stands.
func (c *client) status() (*admin.Status, error) {
	var s admin.Status
	if err := c.call("GET", "/admin/status", nil, &s); err != nil {
		return nil, err
	}
	return &s, nil
}

// names tells machines' names from their ids: ids are for programs. What it
// does not know, and what shares its name with another, it calls by its id.
type names map[string]string

func namesOf(nodes []admin.NodeStatus) names {
	n, called := names{}, map[string]int{}
	for _, node := range nodes {
		called[strings.ToLower(node.Name)]++
	}
	for _, node := range nodes {
		if node.Name != "" && called[strings.ToLower(node.Name)] == 1 {
			n[node.ID] = node.Name
		}
	}
	return n
}

// of writes a deployment as people call it.
func (n names) of(id fleet.DeploymentID) string {
	if name, known := n[id.Node]; known {
		id.Node = name
	}
	return id.String()
}

func (e *environ) json(v any) error {
	out := json.NewEncoder(e.out)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	return out.Encode(v)
}

// jsonLine prints v on one line.
func (e *environ) jsonLine(v any) error {
	out := json.NewEncoder(e.out)
	out.SetEscapeHTML(false)
	return out.Encode(v)
}

// memory says bytes to people, a dash for those not known.
func memory(n int64) string {
	if n <= 0 {
		return "-" // nothing, or not known
	}
	return fleet.Bytes(n)
}

func clock(t time.Time) string { return t.Local().Format("Jan 02 15:04:05") }
