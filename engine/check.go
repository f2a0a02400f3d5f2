package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"bellwether/engine/admin"
	"bellwether/engine/evidence"
	"bellwether/engine/fleet"
	"bellwether/engine/pulse"
	"bellwether/engine/queue"
	"bellwether/engine/route"
	"bellwether/engine/store"
	"bellwether/platform/desktop"
)

// check is one finding of Health, with what helps against it.
type check struct {
	admin.FindingView
	cure func(ctx context.Context) error // nil = no button helps
	// dismiss puts it aside, false = it had passed; nil = it stays while it is so.
	dismiss func() bool
	// silent: it found nothing wrong, which a terminal need not be told.
	silent bool
}

// checkKind is the check that a finding is of: model of model.ollama/qwen3:4b.
func checkKind(id string) string {
	kind, _, _ := strings.Cut(id, ".")
	if kind == "store" || kind == "memory" {
		return id
	}
	return kind
}

// Severities, worst first.
const (
	isBroken  = "broken"
	isWarning = "warning"
	isNote    = "note"
	isOK      = "ok"
)

// found makes a check.
func found(id, severity, title, remedy, format string, args ...any) check {
	return check{FindingView: admin.FindingView{ID: id, Severity: severity, Title: title, Text: fmt.Sprintf(format, args...), Remedy: remedy}}
}

// button adds what can be done about it from here.
func (c check) button(label, confirm string, do func(ctx context.Context) error) check {
	c.Cure, c.cure = &admin.CureView{Label: label, Confirm: confirm}, do
	return c
}

// dismissable lets its owner put it aside.
func (c check) dismissable(dismiss func() bool) check {
	c.Dismissable, c.dismiss = true, dismiss
	return c
}

// about says which setting or deployment it is about.
func (c check) about(setting string) check {
	c.Setting = setting
	return c
}

func (c check) of(d fleet.DeploymentID) check {
	c.Deployment = d.String()
	return c
}

// scene is what the checks look at: the engine at one moment, as values.
type scene struct {
	now    time.Time
	config *Config
	policy *route.Policy
	snap   *fleet.Snapshot
	queue  queue.Status
	book   *evidence.Book
	store  store.Health
	recent []*route.Record // of the last minutes, newest first

	space    desktop.Space // of the disk that holds the data folder
	spaceErr error
	shelves  []shelf  // where runtimes of this machine keep models, as far as it is known
	exposed  []string // names of private files that others can read
	logErr   error    // why the log is not written, nil = it is
	jump     jump
	// approvals are what apps asked for and its owner may fetch; nil = nothing.
	approvals *approvals
	// login is why start_at_login: on could not be carried out; nil = nothing.
	login *desktop.LoginStatus
	hung  []pulse.Hang // loops that do not come round
	tray  *trayNews    // nil = nobody has told

	do actions
}

// actions are the cures that checks may offer.
type actions struct {
	refresh     func(ctx context.Context) error
	resume      func(ctx context.Context) error
	unload      func(ctx context.Context, d fleet.DeploymentID) error
	probe       func(ctx context.Context, d fleet.DeploymentID) error
	pull        func(ctx context.Context, model string) error
	makePrivate func(ctx context.Context) error
}

// sceneChecks are the checks that need nothing but a scene.
var sceneChecks = []func(*scene) []check{
	checkNodes, checkPower, checkHeat, checkRuntimes, checkModels, checkCapabilities, checkGrades, checkSizes, checkDeadlines,
	checkPools, checkApprovals, checkAliases, checkCircuits, checkDoubts, checkHeld, checkLanes, checkFailures,
	checkRecords, checkDisk, checkShelves, checkLog, checkLogin, checkLoops, checkTray, checkPrivate, checkClock,
}

// checks runs all of them, the worst first. Every id is there once. Where one
// hangs it answers what was found before, and says so.
func (e *Engine) checks(ctx context.Context) []check {
	return e.looks.run(ctx, time.Now(), e.lookAll)
}

func (e *Engine) lookAll(ctx context.Context) []check {
	s := e.scene(ctx)
	var all []check
	for _, f := range e.findings() {
		all = append(all, check{FindingView: admin.FindingView{ID: f.ID, Severity: f.Severity, Text: f.Text, Remedy: f.Remedy}})
	}
	for _, f := range e.agent.Doctor(ctx) {
		c := check{FindingView: admin.FindingView{ID: f.ID, Severity: string(f.Severity), Text: f.Text, Remedy: f.Remedy}}
		switch {
		case strings.HasPrefix(f.ID, "model."):
			continue // told below, with a button
		case strings.HasPrefix(f.ID, "runtime.") && c.Severity == isBroken:
			c = c.button("Look again", "", s.do.refresh)
		case f.ID == "pause":
			c = c.button("Resume", "", s.do.resume)
		}
		all = append(all, c)
	}
	for _, look := range sceneChecks {
		all = append(all, look(s)...)
	}
	all = append(all, fines(s, all)...)
	seen := map[string]int{}
	for i := range all {
		c := &all[i]
		c.Title = cmp.Or(c.Title, titleOf(c.ID))
		c.Setting = cmp.Or(c.Setting, settingOfCheck[strings.SplitN(c.ID, ".", 2)[0]])
		if seen[c.ID]++; seen[c.ID] > 1 {
			c.ID = fmt.Sprintf("%s-%d", c.ID, seen[c.ID])
		}
	}
	slices.SortStableFunc(all, func(a, b check) int { return severityRank[a.Severity] - severityRank[b.Severity] })
	return all
}

var severityRank = map[string]int{isBroken: 0, isWarning: 1, isNote: 2, isOK: 3}

// titleOf names what a check of the agent or the engine looked at.
func titleOf(id string) string {
	kind, name, _ := strings.Cut(id, ".")
	title := map[string]string{
		"port": "Address for apps", "keys": "API keys", "store": "Decision records", "settings": "Settings file", "catalogue": "Catalogue of your own",
		"declarations": "Declarations", "embeddings": "Embedding contracts", "policy": "Fleet policy", "runtime": "Runtime", "program": "Runtime program", "pool": "Memory pool",
		"memory": "Memory", "gpu": "Graphics card", "pause": "Pause", "state": "Saved state", "agent": "Node", "hang": "No answer:", "bypass": "Apps beside",
	}[kind]
	switch {
	case title == "":
		return id
	case id == "program":
		return "No runtime"
	}
	if name != "" && kind != "memory" {
		title += " " + strings.TrimSuffix(name, ".residency")
	}
	return title
}

// settingOfCheck says which setting a kind of check is about.
var settingOfCheck = map[string]string{
	"port": "listen", "keys": "security.api_keys", "pool": "pools", "embeddings": "embeddings", "policy": "embeddings", "declarations": "deployments",
}

// health runs every check, for the feed and the bundle.
func (e *Engine) health(ctx context.Context) []admin.FindingView {
	all := e.checks(ctx)
	out := make([]admin.FindingView, len(all))
	for i := range all {
		out[i] = all[i].FindingView
	}
	return out
}

// doctor is health as the command shows it: without checks that found nothing
// and have nothing to say.
func (e *Engine) doctor(ctx context.Context) []admin.Finding {
	all := e.checks(ctx)
	out := make([]admin.Finding, 0, len(all))
	for i := range all {
		if c := &all[i]; !c.silent {
			out = append(out, admin.Finding{ID: c.ID, Severity: c.Severity, Text: c.Text, Remedy: c.Remedy})
		}
	}
	return out
}

// scene gathers what the checks look at.
func (e *Engine) scene(ctx context.Context) *scene {
	s := &scene{
		now: time.Now(), config: e.conf(), policy: e.policy.Load(), snap: e.registry.Snapshot(), queue: e.queue.Status(),
		book: e.evidence.Book(), store: e.store.Health(), logErr: e.logErr, jump: e.clock.last(), approvals: &e.approvals, login: e.loginTrouble(ctx), hung: e.hangs.Hung(), tray: e.tray.Load(),
		recent:  e.recent(ctx, time.Now().Add(-failuresWithin), 200),
		exposed: e.exposedFiles(),
	}
	if s.space, s.spaceErr = desktop.SpaceAt(ctx, e.opts.Folders.Data); e.space.Load() != nil {
		s.space = *e.space.Load()
	}
	s.shelves = e.shelves.look(ctx, s.now, e.agent.Shelves)
	owner := ownerNode{e.node}
	s.do = actions{
		refresh: owner.Refresh,
		resume:  func(context.Context) error { return owner.Resume() },
		unload:  owner.Unload,
		probe: func(_ context.Context, d fleet.DeploymentID) error {
			return e.startProbe(d)
		},
		pull: func(ctx context.Context, model string) error {
			_, err := owner.StartPull(ctx, model)
			return err
		},
		makePrivate: func(context.Context) error { return e.hideFiles() },
	}
	return s
}

// local is this machine in the scene, nil before its first report.
func (s *scene) local() *fleet.Node {
	for i := range s.snap.Nodes {
		if s.snap.Nodes[i].Local {
			return &s.snap.Nodes[i]
		}
	}
	return nil
}

// eachModel calls do for every deployment whose runtime is up and which its
// operator has not switched off.
func (s *scene) eachModel(do func(n *fleet.Node, d *fleet.Deployment)) {
	for i := range s.snap.Nodes {
		n := &s.snap.Nodes[i]
		for k := range n.Deployments {
			d := &n.Deployments[k]
			if rt := n.Runtime(d.ID.Runtime); rt != nil && rt.Up && !d.Disabled {
				do(n, d)
			}
		}
	}
}
