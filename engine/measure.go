package engine

import (
	"cmp"
	"context"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"bellwether/engine/admin"
	"bellwether/engine/dialect"
	"bellwether/engine/evidence"
	"bellwether/engine/fleet"
	"bellwether/engine/gateway"
	"bellwether/engine/measure"
)

// journalFile remembers the items of evals that were broken off.
const journalFile = "evals.jsonl"

// measuring is evals and probes: at most one runs at a time, since two would
// measure each other. A run ends with its ctx, which is that of the client that
// waits for it or, in the background, the engine's; what was answered is kept.
type measuring struct {
	e       *Engine
	mu      sync.Mutex // guards what follows
	running string     // what runs, "" = nothing
	journal *measure.Journal
}

// begin takes the one place there is; end gives it back.
func (m *measuring) begin(what string) (end func(), p *dialect.Problem) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.running != "" {
		no := false
		return nil, &dialect.Problem{Status: http.StatusConflict, Code: "already_measuring", Retry: &no,
			Message: "There is " + m.running + " under way, and two at once would measure each other.", Remedy: "Wait for its end, or cancel it: under Models in the admin window, or with Ctrl-C in the terminal that it was started in."}
	}
	m.running = what
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.running = ""
	}, nil
}

// opened returns the journal, reading it when it is first needed.
func (m *measuring) opened() (*measure.Journal, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.journal == nil {
		j, err := measure.OpenJournal(filepath.Join(m.e.opts.Folders.Data, journalFile), time.Now())
		if err != nil {
			return nil, err
		}
		m.journal = j
	}
	return m.journal, nil
}

func (m *measuring) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.journal != nil {
		_ = m.journal.Close()
	}
}

// Eval plans an eval, and runs it when the wish says so. One whose questions all
// got no answer is an error.
func (m *measuring) Eval(ctx context.Context, w admin.EvalWish, watch func(measure.Step)) error {
	if w.Items < 0 {
		return invalid("items", "The number of items is 1 or more; 0 or none means all.")
	}
	targets, err := m.e.targets(w.Models, answers)
	if err != nil {
		return err
	}
	journal, err := m.opened()
	if err != nil {
		return err
	}
	known := func(t *measure.Target, task, item string) bool { return !w.Fresh && journal.Has(t, task, item) }
	plan, err := measure.PlanEval(measure.Wish{Targets: targets, Tasks: w.Tasks, Items: w.Items}, m.e.evidence.Book(), known)
	if err != nil {
		return err
	}
	if !w.Live {
		watch(measure.Step{Plan: plan})
		return nil
	}
	end, refusal := m.begin("an eval")
	if refusal != nil {
		return refusal
	}
	defer end()
	if w.Fresh {
		for i := range targets {
			if err := journal.End(&targets[i]); err != nil {
				return err
			}
		}
	}
	run := measure.Eval{
		Plan: plan, Ask: asker{m.e.gateway}, Grader: &measure.Grader{Sandbox: m.e.opts.Sandbox}, Journal: journal, Watch: watch, Now: time.Now,
	}
	if w.Save {
		run.Save = m.saveGrade
	}
	results, stopped, err := run.Run(ctx)
	m.e.keepEvidence()
	if err != nil {
		return err
	}
	if run.Answered == 0 && plan.Requests > 0 {
		for _, r := range results {
			stopped = cmp.Or(stopped, r.Why)
		}
		return &dialect.Problem{Status: http.StatusServiceUnavailable, Code: "no_answer", Message: stopped}
	}
	watch(measure.Step{Done: results, Stopped: stopped})
	return nil
}

// saveGrade keeps a grade for the model as it is now: once asked, its runtime
// has loaded it and can tell all of its make. A model that was replaced
// meanwhile gets none.
func (m *measuring) saveGrade(t *measure.Target, task string, g evidence.Grade) bool {
	d := m.e.deployment(t.Deployment.ID)
	if d == nil || d.Digest != t.Deployment.Digest {
		return false
	}
	m.e.evidence.SetQuality(d, task, g)
	return true
}

// Probe asks deployments what they can do, and has what was established known
// at once. Where none of them answered that is an error, and no probe of them.
func (m *measuring) Probe(ctx context.Context, w admin.ProbeWish, watch func(measure.Finding)) error {
	if len(w.Models) == 0 && !w.All {
		return invalid("models", "Name a model to probe, or ask for all.")
	}
	targets, err := m.e.targets(w.Models, whatever)
	if err != nil {
		return err
	}
	end, refusal := m.begin("a probe")
	if refusal != nil {
		return refusal
	}
	defer end()
	var early []error // by target, why its probe ended before its end
	answered := false
	for _, t := range targets {
		current := func() *fleet.Deployment { return m.e.deployment(t.Deployment.ID) }
		run := measure.Probe{Target: t, Current: current, Book: m.e.evidence.Book(), Ask: asker{m.e.gateway}, Watch: watch, Now: time.Now}
		found, err := run.Run(ctx)
		early = append(early, err)
		if !found.At.IsZero() {
			answered = true
			if d := current(); d != nil && d.Digest == t.Deployment.Digest {
				m.e.evidence.SetProbe(d, found)
			}
		}
		if ctx.Err() != nil {
			break
		}
	}
	m.e.keepEvidence()
	for i, err := range early {
		switch {
		case err == nil:
		case !answered:
			return err
		default:
			watch(measure.Finding{Deployment: targets[i].Deployment.ID, Name: targets[i].Name(), Reason: err.Error()})
		}
	}
	if ctx.Err() != nil {
		return nil
	}
	return m.e.agent.Refresh(ctx) // deployments are told of it when they are observed
}

// Filters of targets.
func whatever(*fleet.Deployment) bool { return true }

func answers(d *fleet.Deployment) bool { return d.Can(fleet.CapChat).Support != fleet.No }

// targets finds the deployments that names mean: a model's name all that have
// it, runtime/model and node/runtime/model one. No names mean all that pass the
// filter. What is down or switched off is left out.
func (e *Engine) targets(names []string, pass func(*fleet.Deployment) bool) ([]measure.Target, error) {
	var all []measure.Target
	snapshot := e.registry.Snapshot()
	for i := range snapshot.Nodes {
		n := &snapshot.Nodes[i]
		for k := range n.Deployments {
			d := &n.Deployments[k]
			if rt := n.Runtime(d.ID.Runtime); rt == nil || !rt.Up || d.Disabled || d.Unhealthy != "" {
				continue
			}
			all = append(all, measure.Target{Deployment: *d, Node: n.Name, Bandwidth: n.Hardware.BandwidthGBs.V})
		}
	}
	if len(names) == 0 {
		return keep(all, func(t *measure.Target) bool { return pass(&t.Deployment) }), nil
	}
	var out []measure.Target
	for _, name := range names {
		found := keep(all, func(t *measure.Target) bool { return means(name, t) })
		if len(found) == 0 {
			no := false
			p := &dialect.Problem{Status: http.StatusNotFound, Code: "no_such_model", Param: "models", Retry: &no,
				Message: "No model " + name + " is here, or its runtime is down.", Remedy: "bellwether models lists them."}
			if s := named(e.policy.Load(), snapshot, name); s != nil {
				p.Message, p.Remedy = name+" stands for a choice and is no model.", "Name models; bellwether models show "+name+" lists those it may choose."
			}
			return nil, p
		}
		able := keep(found, func(t *measure.Target) bool { return pass(&t.Deployment) })
		if len(able) == 0 {
			return nil, invalid("models", name+" does not answer questions: it cannot be graded.")
		}
		out = append(out, keep(able, func(t *measure.Target) bool { return !contains(out, t) })...)
	}
	return out, nil
}

func means(name string, t *measure.Target) bool {
	id := t.Deployment.ID
	return fleet.SameModel(id.Model, name) || strings.EqualFold(name, id.Runtime+"/"+id.Model) || name == id.String() || strings.EqualFold(name, t.Name())
}

func keep(all []measure.Target, pass func(*measure.Target) bool) (out []measure.Target) {
	for i := range all {
		if pass(&all[i]) {
			out = append(out, all[i])
		}
	}
	return out
}

func contains(all []measure.Target, t *measure.Target) bool {
	for i := range all {
		if all[i].Deployment.ID == t.Deployment.ID {
			return true
		}
	}
	return false
}

// deployment returns one as it is known now, nil if it is not.
func (e *Engine) deployment(id fleet.DeploymentID) *fleet.Deployment {
	if n := e.registry.Snapshot().Node(id.Node); n != nil {
		return n.Deployment(id)
	}
	return nil
}

func invalid(param, message string) *dialect.Problem {
	no := false
	return &dialect.Problem{Status: http.StatusBadRequest, Code: "invalid_request", Param: param, Message: message, Retry: &no}
}

// asker is the gateway as measuring asks it.
type asker struct{ g *gateway.Gateway }

// Ask puts a question of class batch: apps go first.
func (a asker) Ask(ctx context.Context, r *dialect.Request, q measure.Question) (*measure.Answer, error) {
	got, err := a.g.Ask(ctx, r, gateway.AskOptions{
		Deployment: q.Deployment, App: q.App, Task: q.Task, Timeout: q.Timeout, NoHold: q.NoHold, Probing: q.Probing,
		Batch: true, NoFallback: true,
	})
	out := &measure.Answer{Reply: got.Reply, Usage: got.Usage, Timings: got.Timings, TTFT: got.TTFT, Took: got.Took, Load: got.Load, Failure: got.Failure}
	return out, err
}
