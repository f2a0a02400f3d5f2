// Package engine is the product without a screen: it assembles store,
// evidence, fleet registry, dispatcher, agent and gateway from one Config and
// runs them until its context ends.
//
// The engine owns the parts and the settings in force; every part owns its own
// state. New builds and opens (store, sockets), Run starts the loops and
// returns when all of them have ended.
package engine

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"golang.org/x/sync/errgroup"

	"bellwether/engine/admin"
	"bellwether/engine/agent"
	"bellwether/engine/dialect"
	"bellwether/engine/event"
	"bellwether/engine/evidence"
	"bellwether/engine/fleet"
	"bellwether/engine/gateway"
	"bellwether/engine/measure"
	"bellwether/engine/picture"
	"bellwether/engine/pulse"
	"bellwether/engine/queue"
	"bellwether/engine/route"
	"bellwether/engine/runtime"
	"bellwether/engine/store"
	"bellwether/platform/desktop"
)

// mostPulls is how many models may be asked for before the first is begun.
const mostPulls = 16

// Options are what an Engine is made from.
type Options struct {
	Config  *Config
	Folders desktop.Folders
	Version string
	Log     *slog.Logger
	Level   *slog.LevelVar // of Log, which a reload changes; nil = it stays
	// Catalogue holds the files of the catalogue that the program carries; nil =
	// it carries none.
	Catalogue fs.FS
	// Sandbox runs the code that models write in evals; without it coding is not
	// graded.
	Sandbox measure.Sandbox
	// UI holds the built admin UI, index.html at its root; nil = none was built.
	UI fs.FS
	// Login is the system's entry that starts Bellwether at login; nil = there is
	// none to speak of. AskLogin has the admin UI ask for it, once.
	Login    LoginItem
	AskLogin bool
	// Supervisor restarts this program when it is told nothing; nil = there is none.
	Supervisor *desktop.Supervisor
	// Browser opens an address for the admin UI's window; nil = as the system does.
	Browser func(address string) error
}

// Engine is the assembled product.
type Engine struct {
	opts    Options
	reading atomic.Pointer[reading] // of the settings; replaced as a whole by Reload
	log     *slog.Logger
	started time.Time

	lock      *desktop.InstanceLock
	store     *store.Store
	evidence  *evidence.Ledger
	registry  *fleet.Registry
	seen      chan struct{} // closed by this machine's first report
	queue     *queue.Dispatcher
	events    *event.Hub[queue.Event]
	agent     *agent.Agent
	gateway   *gateway.Gateway
	node      *localNode
	measuring *measuring
	feed      *admin.Feed
	past      *admin.Past
	runs      *admin.Runs
	logs      *admin.LogBook
	logFile   *logFile // nil = it could not be opened, which logErr says
	logErr    error
	clock     clockWatch
	approvals approvals
	space     atomic.Pointer[desktop.Space] // in place of the disk's, in tests
	shelves   shelves

	nodeID      string
	token       string
	secret      []byte // signs our tool-call ids
	fleetPolicy *policyFile
	binder      *binder
	policy      atomic.Pointer[route.Policy]
	catalogue   atomic.Pointer[evidence.Catalogue]
	// catalogueErr is why the owner's catalogue was not taken over; own is what the
	// one in force is, which a reload alone changes once the engine is assembled.
	catalogueErr atomic.Pointer[error]
	own          ownState
	reloading    sync.Mutex // held over a reload
	saving       sync.Mutex // held over a change of the settings file: read, compare, write
	logins       sync.Mutex // held over a look at the login item and what is done about it
	publishing   sync.Mutex // guards published
	published    policyParts
	listeners    []net.Listener
	address      string // what apps point at
	// pulls takes what autoPull asks for; its buffer is what may wait for Run.
	pulls chan string
	// errands takes work of inBackground; its buffer is what may wait for Run.
	errands chan func(ctx context.Context)
	jobNews chan struct{} // holds a token while a job has begun or ended that keepJobs has not looked at
	moved   bool          // the wanted port was taken at first start

	windowAsked atomic.Uint64 // wishes to see the admin window

	login    atomic.Pointer[admin.LoginView] // as last seen
	tray     atomic.Pointer[trayNews]        // how the icon fares; nil = nobody has told
	looks    lookout
	hangs    *pulse.Watch
	ticking  turn // of tick
	watching turn // of watch
}

// New builds the engine and opens what it needs: the data folder's lock, the
// store and the sockets. Another engine on the folder is a *desktop.HeldError,
// a taken port a *PortTakenError. On an error nothing stays open.
func New(o Options) (e *Engine, err error) {
	e = &Engine{opts: o, log: o.Log, started: time.Now(), pulls: make(chan string, mostPulls), errands: make(chan func(context.Context), mostPulls), jobNews: make(chan struct{}, 1), ticking: newTurn(), watching: newTurn()}
	e.reading.Store(&reading{config: o.Config, revision: o.Config.revision})
	defer func() {
		if err != nil {
			e.close()
		}
	}()
	if err := o.Folders.Create(); err != nil {
		return e, err
	}
	if e.lock, err = desktop.LockInstance(o.Folders.Data); err != nil {
		return e, err
	}
	e.openLog()
	e.tidy()
	limits := store.Options{Log: e.log, MaxAge: time.Duration(o.Config.Store.RetentionDays * 24 * float64(time.Hour)), MaxBytes: int64(o.Config.Store.MaxMB * fleet.MB)}
	if e.store, err = store.Open(storePath(o.Folders), limits); err != nil {
		return e, fmt.Errorf("open the store: %w", err)
	}
	if e.secret, err = e.identity(); err != nil {
		return e, desktop.InFolder(o.Folders.Data, err)
	}
	if e.fleetPolicy, err = openPolicy(PolicyPath(o.Folders), e.store, e.log); err != nil {
		return e, desktop.InFolder(o.Folders.Data, err)
	}
	if err := e.listen(); err != nil {
		return e, err
	}
	return e, e.assemble()
}

func storePath(f desktop.Folders) string { return filepath.Join(f.Data, "bellwether.db") }

// tidy removes the half files of a process that was killed while it wrote. In
// the folder of the settings others may be writing just now.
func (e *Engine) tidy() {
	now := time.Now()
	err := desktop.RemoveUnfinished(e.opts.Folders.Data, now)
	if file := e.conf().file; file != "" && filepath.Dir(file) != e.opts.Folders.Data {
		err = errors.Join(err, desktop.RemoveUnfinished(filepath.Dir(file), now.Add(-time.Minute)))
	}
	if err != nil {
		e.log.Warn("half files of an earlier run could not be removed", "err", err)
	}
}

// identity reads or makes what names this node: a secret that signs our
// tool-call ids, and the node's id derived from it.
func (e *Engine) identity() ([]byte, error) {
	path := filepath.Join(e.opts.Folders.Data, "node.key")
	secret, err := desktop.ReadPrivate(path)
	if errors.Is(err, os.ErrNotExist) {
		secret = make([]byte, 32)
		_, _ = rand.Read(secret)
		err = desktop.WritePrivate(path, secret)
	}
	var odd *desktop.NoFileError
	if errors.As(err, &odd) {
		return nil, fmt.Errorf("read the node's key: %w: move it away, and this machine becomes a new node", err)
	}
	if err != nil {
		return nil, fmt.Errorf("read the node's key: %w", err)
	}
	if len(secret) != 32 {
		return nil, fmt.Errorf("%s is damaged: delete it, and this machine becomes a new node", filepath.Base(path))
	}
	sum := sha256.Sum256(append([]byte("bellwether node "), secret...))
	e.nodeID = hex.EncodeToString(sum[:8])
	var token [24]byte
	_, _ = rand.Read(token[:])
	e.token = hex.EncodeToString(token[:])
	return secret, nil
}

// portSetting remembers the port taken when the usual one was not free.
const portSetting = "listen.port"

// assemble makes the parts and ties them together. Data flows one way: agent
// -> registry -> dispatcher -> gateway; what flows back are messages.
func (e *Engine) assemble() error {
	c := e.conf()
	e.publish()
	if err := e.loadCatalogue(); err != nil {
		return fmt.Errorf("the catalogue is wrong:\n%w", err)
	}
	e.evidence = evidence.NewLedger()
	if saved, err := e.store.LoadEvidence(); err != nil {
		e.log.Warn("what was measured before could not be read; it is learned anew", "err", err)
	} else if err := e.evidence.Import(saved); saved != nil && err != nil {
		e.log.Warn("what was measured before could not be read; it is learned anew", "err", err)
	}
	e.seen = make(chan struct{})
	e.registry = fleet.NewRegistry(e.nodeID, c.Heartbeat.Late, c.Heartbeat.Offline)
	e.registry.Expect([]string{e.nodeID}, c.Routing.Settle, time.Now())
	e.binder = e.newBinder()
	e.events = event.NewHub[queue.Event](1024)
	e.queue = queue.New(queue.Config{
		Policy: e.policy.Load, Fleet: e.registry.Snapshot, Book: e.evidence.Book, Log: e.log, Events: e.events, Pull: e.autoPull,
	})
	a, err := agent.New(e.agentConfig())
	if err != nil {
		return fmt.Errorf("make the agent: %w", err)
	}
	e.agent = a
	e.node = &localNode{id: e.nodeID, agent: a, doctor: e.doctor, mayPull: func(model string) *dialect.Problem {
		return gateway.CheckPull(model, e.policy.Load().AutoPullAllow)
	}}
	e.measuring = &measuring{e: e}
	e.feed, e.past = e.newFeed(), e.formerHour()
	e.hangs = e.newWatch()
	e.runs = admin.NewRuns(time.Now, e.jobsChanged, e.formerJobs()...)
	e.gateway = gateway.New(e.gatewayConfig())
	return nil
}

func (e *Engine) agentConfig() agent.Config {
	c := e.conf()
	return agent.Config{
		Node: e.nodeID, Name: c.Node.Name, Settings: c.AgentSettings(),
		Connect: func(ctx context.Context, t runtime.Target) (runtime.Adapter, error) {
			a, _, err := runtime.Open(ctx, t)
			return a, err
		},
		Discover: e.discover,
		Declare:  e.declare,
		Report: func(h fleet.Heartbeat) {
			e.registry.Report(h, time.Now())
			if h.Sequence == 1 {
				close(e.seen)
				if !slices.ContainsFunc(h.Runtimes, func(r fleet.RuntimeState) bool { return r.Up }) {
					e.log.Warn("no runtime is up: bellwether doctor says what to start")
				}
			}
			e.queue.FleetChanged()
		},
		Release:  e.queue.Released,
		Parallel: e.evidence.ObserveParallel,
		Persist:  e.store, Log: e.log, JobsChanged: e.jobsChanged,
	}
}

// discover looks for runtimes nobody declared. A machine whose owner declared
// some gets those only: they know what should be used.
func (e *Engine) discover(ctx context.Context) []runtime.Target {
	if len(e.conf().Runtimes) > 0 {
		return nil
	}
	var targets []runtime.Target
	taken := map[string]bool{}
	for _, f := range runtime.Discover(ctx, nil) {
		if !f.Supported {
			continue
		}
		// The name is part of deployment ids, so it must be the same after every
		// start: the kind, and for a second one of it the port too.
		name := f.Kind
		if taken[name] {
			name += "-" + f.URL[strings.LastIndexByte(f.URL, ':')+1:]
		}
		taken[name] = true
		targets = append(targets, runtime.Target{Name: name, Kind: f.Kind, URL: f.URL})
	}
	return targets
}

func (e *Engine) gatewayConfig() gateway.Config {
	c := e.conf()
	reg := prometheus.NewRegistry()
	reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return gateway.Config{
		NodeID: e.nodeID, NodeName: c.Node.Name, Version: e.opts.Version,
		Dispatcher: e.queue, Nodes: e.node, Models: clientModels{e.node},
		Policy: e.policy.Load, Fleet: e.registry.Snapshot, Seen: e.seen,
		Read: func(r *dialect.Request, m route.Meta) route.Requirements {
			m.Book = e.evidence.Book()
			return route.Read(r, m)
		},
		Record: e.keepRecord, Learn: e.learn, ToolKey: e.secret, Bind: e.binder.Want, ProbedWidth: e.probedWidth, Digest: e.agent.Digest, Recheck: e.recheck,
		Keys:  func() []gateway.Key { return e.conf().gatewayKeys() },
		Rules: c.GatewayRules(), Images: picture.New().Fetch,
		Admin: admin.New(admin.Config{
			Token: e.token, Version: e.opts.Version, NodeName: c.Node.Name, Address: e.browserAddress(), UI: e.opts.UI, Feed: e.feed, Past: e.past,
			Status: e.Status, Store: e.store, UnderWay: e.underWay, Snapshot: e.Snapshot, Explain: e.explain,
			Settings: settingsDesk{e}, Desk: uiDesk{e}, Node: ownerNode{e.node}, NodeID: e.nodeID, Measure: e.measuring, Runs: e.runs,
			Background: e.inBackground, AskWindow: e.askWindow, TrayTold: e.trayTold, Host: host{e}, Logs: e.logs, Log: e.log,
		}),
		AdminToken: e.token, Metrics: reg, Log: e.log,
		AskPull: func(model, app string) {
			e.approvals.ask(model, app, time.Now())
			e.feed.Touched()
		},
	}
}

// learn passes what a finished attempt showed to the evidence.
func (e *Engine) learn(c fleet.Completed, d *fleet.Deployment) {
	e.evidence.Observe(evidence.Sample{
		Deployment: d, Task: c.Task, Validated: c.Validated, Truncated: c.Truncated, Internal: c.Internal,
		Took: c.Took, TTFT: c.TTFT, Load: c.Load, Estimate: c.Estimate, Text: c.Text,
		Input: c.Input, Output: c.Output, Reasoning: c.Reasoning, Cached: c.Cached, Prefill: c.Prefill, Decode: c.Decode,
	})
	if f := c.Failure; f != nil && f.Tokens > 0 {
		e.evidence.ObserveCount(d, c.Text, c.Estimate, f.Tokens)
	}
	if c.Load > 0 {
		e.evidence.ObserveLoad(d, c.Load)
	}
	if c.Slower != nil {
		e.evidence.ObserveSlow(d, *c.Slower)
	}
}

// autoPull asks for a model that requests wait for (auto_pull: on). It is
// called by the dispatcher's loop and must not wait.
func (e *Engine) autoPull(model string) {
	select {
	case e.pulls <- model:
	default: // that many at once are a mistake, or an attack
		e.queue.PullFailed(model)
	}
}

// pull fetches the models asked for, each by itself, until ctx ends. The agent
// reports a model when it is there, which wakes whoever waits.
func (e *Engine) pull(ctx context.Context) error {
	var group errgroup.Group
	for {
		select {
		case <-ctx.Done():
			return group.Wait()
		case model := <-e.pulls:
			group.Go(func() error {
				e.log.Info("pulling a model that requests wait for", "model", model)
				if err := (ownerNode{e.node}).Pull(ctx, model, func(admin.Progress) {}); err != nil {
					e.log.Warn("the pull failed", "model", model, "err", err)
					e.queue.PullFailed(model)
				}
				return nil
			})
		}
	}
}

// Address is the base URL apps point at.
func (e *Engine) Address() string { return e.address }

// Moved reports that another program held the port apps look at first, and so
// this first start took and remembered the one in Address.
func (e *Engine) Moved() (wanted int, moved bool) {
	_, wanted, err := splitListen(e.conf().Listen)
	return wanted, err == nil && e.moved
}

// Run serves until ctx ends, then stops in order: no new requests, running
// ones get ten seconds to end and then an error, the records are written, the
// evidence is kept.
func (e *Engine) Run(ctx context.Context) error {
	defer e.close()
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	traffic, cut := context.WithCancel(work)
	defer cut()
	jobs, leave := context.WithCancel(work)
	defer leave()
	var group errgroup.Group
	group.Go(func() error { return e.store.Run(work) })
	group.Go(func() error { return e.queue.Run(traffic) })
	group.Go(func() error { return e.agent.Run(traffic) })
	group.Go(func() error { return e.tick(work) })
	group.Go(func() error { return e.watch(traffic) })
	group.Go(func() error { return e.pull(work) })
	group.Go(func() error { return e.feed.Run(traffic) })
	group.Go(func() error { return e.runErrands(traffic) })
	group.Go(func() error { return e.keepJobs(jobs) })
	group.Go(func() error { return e.watchLogin(traffic) })
	group.Go(func() error { e.hangs.Run(traffic); return nil })
	group.Go(func() error { return e.reassure(work, e.opts.Supervisor) })
	e.inBackground(e.followLogin)
	servers, failed := e.serve(&group)
	state := State{Address: e.address, Admin: e.adminAddress(), Token: e.token, PID: os.Getpid(), Version: e.opts.Version, Started: e.started}
	if err := state.write(e.opts.Folders); err != nil {
		e.log.Warn("commands will not find this engine: its state could not be written", "err", err)
	}
	defer func() { _ = desktop.RemovePrivate(statePath(e.opts.Folders)) }()
	e.log.Info("serving", "address", e.address, "node", e.conf().Node.Name, "version", e.opts.Version)

	var err error
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	e.keepSnapshot() // as it served, not as it leaves
	e.agent.Drain()
	if !finish(servers, stopPatience) {
		leave()
		cut() // who still waits is told so, and what still runs ends with an error
		if !finish(servers, cutPatience) {
			for _, s := range servers {
				_ = s.Close()
			}
		}
	}
	e.keepEvidence()
	e.keepHistory()
	leave()
	stop()
	return errors.Join(err, group.Wait())
}

// serve answers on every listener; failed gets the first that breaks.
func (e *Engine) serve(group *errgroup.Group) (servers []*http.Server, failed chan error) {
	failed = make(chan error, len(e.listeners)) // so that none waits for a reader
	for _, l := range e.listeners {
		s := &http.Server{
			Handler: e.gateway, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
			ErrorLog: slog.NewLogLogger(e.log.Handler(), slog.LevelDebug),
		}
		servers = append(servers, s)
		group.Go(func() error {
			if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
				failed <- fmt.Errorf("serve apps: %w", err)
			}
			return nil
		})
	}
	return servers, failed
}

// How long running requests may go on after a stop, and then their clients
// may take to read the error.
const (
	stopPatience = 10 * time.Second
	cutPatience  = 2 * time.Second
)

// finish accepts nothing more and reports whether all requests ended in time.
func finish(servers []*http.Server, patience time.Duration) bool {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var group errgroup.Group
	for _, s := range servers {
		group.Go(func() error { return s.Shutdown(ctx) })
	}
	return group.Wait() == nil
}

// tick judges liveness once a second and keeps the evidence once a minute.
func (e *Engine) tick(ctx context.Context) error {
	defer close(e.ticking.ended)
	second := time.NewTicker(time.Second)
	defer second.Stop()
	changed := e.registry.Changed()
	e.binder.Saved()
	var passed seconds
	kept := make(chan struct{}, 1) // holds a token while nothing is being kept
	kept <- struct{}{}
	defer func() { <-kept }()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-e.ticking.asked:
		case now := <-second.C:
			e.registry.Tick(now)
			e.clock.see(now, now.Round(0))
			sample, keep := passed.tick(now)
			if sample {
				e.sample(now)
			}
			if keep {
				e.keepSnapshot()
				e.keepEvidence()
				e.keepHistory()
			}
		case <-changed:
			e.binder.FleetChanged()
			e.queue.FleetChanged()
		}
	}
}

// keepEvidence saves what was measured.
func (e *Engine) keepEvidence() {
	if err := e.store.SaveEvidence(e.evidence.Export()); err != nil {
		e.log.Warn("what was measured could not be kept", "err", err)
	}
}

// keepSnapshot saves the fleet's state for explain without a running engine.
func (e *Engine) keepSnapshot() {
	if text := e.Snapshot(); text != "" {
		if err := desktop.WritePrivate(SnapshotPath(e.opts.Folders), []byte(text)); err != nil {
			e.log.Warn("the fleet's state could not be kept", "err", err)
		}
	}
}

func (e *Engine) close() {
	for _, l := range e.listeners {
		_ = l.Close()
	}
	if e.measuring != nil {
		e.measuring.close()
	}
	if e.store != nil {
		if err := e.store.Close(); err != nil {
			e.log.Warn("the store did not close cleanly", "err", err)
		}
	}
	if e.lock != nil {
		_ = e.lock.Unlock()
	}
	if e.logFile != nil {
		_ = e.logFile.Close()
	}
}
