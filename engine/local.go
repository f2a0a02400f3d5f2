package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"bellwether/engine/admin"
	"bellwether/engine/agent"
	"bellwether/engine/dialect"
	"bellwether/engine/fleet"
	"bellwether/engine/gateway"
	"bellwether/engine/route"
	"bellwether/engine/runtime"
)

// localNode is this machine's agent as gateway and admin see it. The fleet
// will add a second one behind the peer link; the calls are the same.
type localNode struct {
	id     string
	agent  *agent.Agent
	doctor func(ctx context.Context) []admin.Finding
	// mayPull refuses names and registries that nobody may pull.
	mayPull func(model string) *dialect.Problem
}

// Do runs a granted request on this machine.
func (n *localNode) Do(ctx context.Context, g fleet.Grant, r *dialect.Request) (gateway.Running, error) {
	run, err := n.agent.Do(ctx, g, r)
	if err != nil {
		return nil, err // a typed nil would look like an answer
	}
	return run, nil
}

// manager returns the model management of a deployment's runtime.
func (n *localNode) manager(name string) (runtime.Manager, error) {
	if m, ok := n.agent.Manager(name); ok {
		return m, nil
	}
	no := false
	return nil, &dialect.Problem{Status: http.StatusNotImplemented, Code: "runtime_cannot",
		Message: "The runtime " + name + " is not up, or cannot manage models.", Remedy: "Only Ollama runtimes can; see bellwether doctor.", Retry: &no}
}

// anyManager returns the first runtime of this machine that manages models.
func (n *localNode) anyManager() (runtime.Manager, string, error) {
	for _, rt := range n.agent.Heartbeat().Runtimes {
		if m, ok := n.agent.Manager(rt.Name); ok && rt.Up {
			return m, rt.Name, nil
		}
	}
	no := false
	return nil, "", &dialect.Problem{Status: http.StatusServiceUnavailable, Code: "no_runtime",
		Message: "No runtime of this machine that can manage models is up.", Remedy: "Start Ollama; bellwether doctor says more.", Retry: &no}
}

// checkNode refuses a command meant for another machine.
func (n *localNode) checkNode(node string) error {
	if hb := n.agent.Heartbeat(); node == "" || node == hb.Node || strings.EqualFold(node, hb.Name) {
		return nil
	}
	no := false
	return &dialect.Problem{Status: http.StatusNotFound, Code: "no_such_node",
		Message: "No machine of this name is in the fleet.", Remedy: "bellwether status lists them.", Retry: &no}
}

// Show returns Ollama's description of a model.
func (n *localNode) Show(ctx context.Context, d fleet.DeploymentID, verbose bool) (dialect.Raw, error) {
	m, err := n.manager(d.Runtime)
	if err != nil {
		return nil, err
	}
	return m.Show(ctx, d.Model, verbose)
}

// Copy names a model a second time on its runtime.
func (n *localNode) Copy(ctx context.Context, d fleet.DeploymentID, to string) error {
	m, err := n.manager(d.Runtime)
	if err != nil {
		return err
	}
	if err := m.Copy(ctx, d.Model, to); err != nil {
		return err
	}
	return n.agent.Refresh(ctx)
}

// Create makes a model on a runtime of this machine.
func (n *localNode) Create(ctx context.Context, node string, body dialect.Raw, line func(dialect.Raw)) error {
	if err := n.checkNode(node); err != nil {
		return err
	}
	m, _, err := n.anyManager()
	if err != nil {
		return err
	}
	if err := m.Create(ctx, body, line); err != nil {
		return err
	}
	return n.agent.Refresh(ctx)
}

// HasBlob asks whether a blob for create is there.
func (n *localNode) HasBlob(ctx context.Context, node, digest string) (bool, error) {
	if err := n.checkNode(node); err != nil {
		return false, err
	}
	m, _, err := n.anyManager()
	if err != nil {
		return false, err
	}
	return m.HasBlob(ctx, digest)
}

// PutBlob uploads a blob for create.
func (n *localNode) PutBlob(ctx context.Context, node, digest string, body io.Reader) error {
	if err := n.checkNode(node); err != nil {
		return err
	}
	m, _, err := n.anyManager()
	if err != nil {
		return err
	}
	return m.PutBlob(ctx, digest, body)
}

// Delete removes a model; refused while it runs.
func (n *localNode) Delete(ctx context.Context, d fleet.DeploymentID) error {
	return n.agent.Delete(ctx, d.Runtime, d.Model)
}

// Load brings a model into memory.
func (n *localNode) Load(ctx context.Context, d fleet.DeploymentID) error {
	err := n.agent.Load(ctx, d.Runtime, d.Model)
	var r *fleet.Refusal
	if !errors.As(err, &r) {
		return err
	}
	no := false
	p := &dialect.Problem{Status: http.StatusConflict, Code: string(r.Code), Retry: &no}
	p.Message, p.Remedy = route.RefusalWords(r, n.agent.Heartbeat().Name)
	return p
}

// Unload takes a model out of memory; refused while it runs.
func (n *localNode) Unload(ctx context.Context, d fleet.DeploymentID) error {
	return n.agent.Unload(ctx, d.Runtime, d.Model)
}

// pull fetches a model to the first runtime that can.
func (n *localNode) pull(ctx context.Context, node, model string, progress func(runtime.PullProgress)) error {
	if err := n.checkNode(node); err != nil {
		return err
	}
	_, name, err := n.anyManager()
	if err != nil {
		return err
	}
	return n.agent.Pull(ctx, name, model, progress)
}

// clientModels is localNode as the gateway's clients use it.
type clientModels struct{ *localNode }

// Pull fetches a model, with Ollama's progress lines.
func (c clientModels) Pull(ctx context.Context, node, model string, line func(gateway.PullLine)) error {
	return c.pull(ctx, node, model, func(p runtime.PullProgress) {
		line(gateway.PullLine{Status: p.Status, Digest: p.Digest, Total: p.Total, Completed: p.Completed})
	})
}

// ownerNode is localNode as its owner's commands use it.
type ownerNode struct{ *localNode }

// Pause stops taking new work; a zero until means until resumed.
func (o ownerNode) Pause(reason string, until time.Time) error { return o.agent.Pause(reason, until) }

// Resume takes work again.
func (o ownerNode) Resume() error { return o.agent.Resume() }

// Refresh observes every runtime anew.
func (o ownerNode) Refresh(ctx context.Context) error { return o.agent.Refresh(ctx) }

// Pull fetches a model to this machine.
func (o ownerNode) Pull(ctx context.Context, model string, progress func(admin.Progress)) error {
	if p := o.mayPull(model); p != nil {
		return p
	}
	return o.pull(ctx, "", model, func(p runtime.PullProgress) {
		progress(admin.Progress{Status: p.Status, Digest: p.Digest, Total: p.Total, Completed: p.Completed})
	})
}

// StartPull begins a pull that goes on by itself.
func (o ownerNode) StartPull(ctx context.Context, model string) (admin.JobView, error) {
	if p := o.mayPull(model); p != nil {
		return admin.JobView{}, p
	}
	_, name, err := o.anyManager()
	if err != nil {
		return admin.JobView{}, err
	}
	j, err := o.agent.StartPull(ctx, name, model)
	if err != nil {
		return admin.JobView{}, err
	}
	return pullView(o.id, &j), nil
}

// CancelJob ends a pull.
func (o ownerNode) CancelJob(id string) bool { return o.agent.CancelJob(id) }

// DismissJob takes an ended pull off the list.
func (o ownerNode) DismissJob(id string) (found, dismissed bool) { return o.agent.DismissJob(id) }

// Doctor runs every check.
func (o ownerNode) Doctor(ctx context.Context) []admin.Finding { return o.doctor(ctx) }

func finding(id, severity, remedy, format string, args ...any) admin.Finding {
	return admin.Finding{ID: id, Severity: severity, Text: fmt.Sprintf(format, args...), Remedy: remedy}
}
