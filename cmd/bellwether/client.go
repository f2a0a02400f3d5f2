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
	"os"
	"strings"
	"syscall"
	"time"

	"bellwether/engine"
	"bellwether/engine/admin"
	"bellwether/engine/dialect"
	"bellwether/engine/fleet"
	"bellwether/platform/desktop"
)

// client talks to the running engine of a data folder.
type client struct {
	state   engine.State
	folders desktop.Folders
	http    http.Client
	// patience is how long the engine may take to begin an answer that it gives
	// at once.
	patience time.Duration
}

// answerWithin is patience for people at a terminal.
const answerWithin = 10 * time.Second

func (e *environ) folders() (desktop.Folders, error) {
	if dir := e.cli.DataDir; dir != "" {
		info, err := os.Stat(dir)
		if err == nil && !info.IsDir() {
			err = &fs.PathError{Op: "stat", Path: dir, Err: syscall.ENOTDIR}
		}
		if errors.Is(err, syscall.ENOTDIR) {
			return desktop.Folders{}, coded(exitUsage, "%w", &desktop.FolderError{Dir: dir, Err: err})
		}
		return desktop.FoldersUnder(dir)
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
	return &client{state: state, folders: folders, patience: e.patience}, nil
}

// call sends in (nil = no body) and decodes the answer into out (nil = drop it).
// headers add to the request's own. It is for what the engine answers at once.
func (c *client) call(method, path string, in, out any, headers ...func(set func(name, value string))) error {
	return c.callWith(c.prompt, method, path, in, out, headers...)
}

// await is call for what takes as long as it takes: a model that is loaded, say.
func (c *client) await(method, path string, in, out any) error {
	return c.callWith(func(method, path string, body io.Reader, headers ...header) (*http.Response, error) {
		return c.open(context.Background(), method, path, body, headers...)
	}, method, path, in, out)
}

// header adds to the headers of a request.
type header = func(set func(name, value string))

func (c *client) callWith(send func(method, path string, body io.Reader, headers ...header) (*http.Response, error), method, path string, in, out any, headers ...header) error {
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
	resp, err := send(method, path, body, headers...)
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

// prompt makes a request whose answer begins at once; where it does not, the
// engine hangs, and the error says so. What follows the beginning may take.
func (c *client) prompt(method, path string, body io.Reader, headers ...header) (*http.Response, error) {
	ctx, end := context.WithCancelCause(context.Background())
	late := time.AfterFunc(c.patience, func() { end(errHangs) })
	resp, err := c.send(ctx, method, path, body, headers...)
	if !late.Stop() && errors.Is(context.Cause(ctx), errHangs) {
		if err == nil {
			_ = resp.Body.Close()
		}
		return nil, c.hung(method)
	}
	return resp, err
}

// errHangs ends a request that the engine did not begin to answer.
var errHangs = errors.New("the engine answers nothing")

// hung says what is known of an engine that answers nothing, and what helps.
func (c *client) hung(method string) error {
	left := ""
	if method != http.MethodGet {
		left = " What was asked may still be done if it comes round."
	}
	return &codedError{exitFailed, fmt.Errorf("%w: process %d has been silent for %.0f s at %s, so it hangs or was stopped.%s\n"+
		"End it (%s) and start Bellwether again. What it did last stands in %s, and in hang.txt beside it if a part of it hung before",
		errHangs, c.state.PID, c.patience.Seconds(), c.state.Address, left, desktop.EndCommand(c.state.PID), engine.LogPath(c.folders))}
}

// open is for answers that take as long as they take, and are given up with
// ctx. An engine that hangs is told from one that works by asking for something
// small first.
func (c *client) open(ctx context.Context, method, path string, body io.Reader, headers ...header) (*http.Response, error) {
	resp, err := c.prompt(http.MethodGet, "/admin/session", nil)
	if err != nil {
		return nil, err
	}
	_ = resp.Body.Close()
	return c.send(ctx, method, path, body, headers...)
}

// send makes the request; an answer that is an error becomes one here.
func (c *client) send(ctx context.Context, method, path string, body io.Reader, headers ...header) (*http.Response, error) {
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
	return nil, coded(code, "%s", (&dialect.Problem{Message: refusal.Error.Message, Remedy: refusal.Error.Remedy}).Text())
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
