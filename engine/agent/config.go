package agent

import (
	"context"
	"log/slog"
	"time"

	"bellwether/engine/fleet"
	"bellwether/engine/runtime"
	"bellwether/platform/hardware"
	"bellwether/platform/sense"
)

// Config is what an Agent is made from. Functions in it are called from the
// agent's goroutines and must be safe for concurrent use.
type Config struct {
	Node string // the node's id, constant
	Name string // for people

	// Settings are the owner's; Configure changes them later.
	Settings Settings

	// Connect makes the adapter of a target. It may ask the address what it is
	// (a target without Kind); an error means "not up" with that reason, and is
	// tried again with the next poll. Required.
	Connect func(ctx context.Context, t runtime.Target) (runtime.Adapter, error)
	// Discover looks for runtimes on this machine, at start and every 30 s. It
	// must load nothing and return within seconds. nil = declared ones only.
	Discover func(ctx context.Context) []runtime.Target

	// Hardware is what the machine is made of; nil = hardware.Find.
	Hardware *hardware.Facts
	// Sense reads the machine's live state, every 5 s; nil = sense.Read.
	Sense func(ctx context.Context) sense.Readings

	// Declare lays the operator's declarations (deployments[], pinned_models)
	// over a deployment as its runtime reported it. nil = none.
	Declare func(d *fleet.Deployment)

	// Report gets a heartbeat at once on a change and every 5 s. Release gets
	// one Released for every grant that was not refused. Both are called by the
	// loop, in order, and must return without waiting for the agent.
	Report  func(fleet.Heartbeat)
	Release func(fleet.Released)

	// Parallel gets what an ended call shows of a deployment whose parallelism
	// nobody declares: how many requests were with the runtime when it came, the
	// most it worked on at one moment, and whether the call waited there. Called
	// by the loop like Report; nil = it is not learned.
	Parallel func(d *fleet.Deployment, running, atOnce int, waited bool)

	// JobsChanged is told that a pull began or ended; nil = nobody is. It must not
	// wait for the agent.
	JobsChanged func()

	// Persist keeps the ledger over restarts; nil = nothing is kept.
	Persist Persist

	Log *slog.Logger
	Now func() time.Time // nil = time.Now
}

// Persist stores one blob. SaveLedger returns when it is safely stored.
type Persist interface {
	LoadLedger() ([]byte, error) // nil, nil: nothing was saved yet
	SaveLedger([]byte) error
}

// Settings are the owner's wishes for this node (config.md, scope node, and
// the fleet policy's parts that agents apply).
type Settings struct {
	Runtimes []runtime.Target // declared; discovered ones come on top
	Pools    []PoolSetting    // overrides by pool name; others are found

	// RejectUnknown refuses whenever a counted size is unknown
	// (unknown_memory_policy: reject); else unknown counts 0 and is labelled.
	RejectUnknown bool
	// AssumedTTL ends assumed residency of runtimes that cannot report it; 0 = never.
	AssumedTTL time.Duration
	// UncertainHold is how long a call that may still run keeps its memory and
	// slot; 0 = the default of 120 s, negative = not at all.
	UncertainHold time.Duration
	// MaxSlots caps parallel requests of a deployment whose runtime declares
	// none; default 8.
	MaxSlots int

	OnPause     OnPause       // what a pause does to running requests; default finish
	CancelGrace time.Duration // OnPause cancel: time to finish; 0 = the default of 20 s, negative = none

	// Battery (serve, own, none) and OwnRequests (serve, "") ride in the
	// heartbeat for the router and are checked again here.
	Battery     string
	OwnRequests string
	// Meetings says that a meeting keeps others' requests out; default of the product: true.
	Meetings bool
	// Learning is reported; the senses behind it are not part of this package yet.
	Learning bool
}

// PoolSetting overrides a memory pool. Bytes.
type PoolSetting struct {
	Name   string // "" = the main pool, where models go first
	Memory int64  // limit for models in all; 0 = auto (see pools.go)
	Margin int64  // kept free below Memory; negative = default 2 GB
}

// OnPause says what a pause does to requests already running.
type OnPause string

// What a pause does to running requests.
const (
	PauseFinish   OnPause = "finish"   // they run to their end
	PauseHandover OnPause = "handover" // those without content yet go elsewhere, the others finish
	PauseCancel   OnPause = "cancel"   // they may finish within CancelGrace, then are cut
)

// Defaults of the settings, and the agent's fixed rhythm.
const (
	DefaultUncertainHold = 120 * time.Second
	DefaultMaxSlots      = 8
	DefaultCancelGrace   = 20 * time.Second
	DefaultMargin        = 2 << 30

	heartbeatEvery = 5 * time.Second
	pollEvery      = 5 * time.Second         // inventory of a quiet runtime
	pollFast       = time.Second             // while something loads or leaves
	discoverEvery  = 30 * time.Second        // rediscovery
	pollTimeout    = 10 * time.Second        // of one inventory
	senseBound     = 20 * time.Second        // of one reading of the machine, until it is given up
	hangSlack      = 5 * time.Second         // beyond its timeout, until a look is given up
	factsPatience  = 10 * time.Second        // the start waits this long for what the machine is
	restPatience   = 15 * time.Second        // the end waits this long for what the agent began
	pollLeaving    = 250 * time.Millisecond  // while a load waits for a victim's absence
	leaveTimeout   = 30 * time.Second        // from unload to observed absence
	helloPatience  = 2500 * time.Millisecond // the first report waits this long for the first observations
)

func (s Settings) withDefaults() Settings {
	s.UncertainHold = orDefault(s.UncertainHold, DefaultUncertainHold)
	if s.MaxSlots <= 0 {
		s.MaxSlots = DefaultMaxSlots
	}
	if s.OnPause == "" {
		s.OnPause = PauseFinish
	}
	s.CancelGrace = orDefault(s.CancelGrace, DefaultCancelGrace)
	if s.Battery == "" {
		s.Battery = "own"
	}
	return s
}

// orDefault reads a duration whose zero value means the default and whose
// negative ones mean none.
func orDefault(d, fallback time.Duration) time.Duration {
	if d == 0 {
		return fallback
	}
	return max(d, 0)
}
