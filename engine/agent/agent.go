package agent

import (
	"context"
	"errors"
	"time"

	"bellwether/engine/dialect"
	"bellwether/engine/fleet"
	"bellwether/engine/runtime"
)

// Agent is this machine's node role. Its methods are safe for concurrent use.
type Agent struct {
	cfg Config
}

// New checks the configuration and reads the saved ledger. Nothing runs until Run.
func New(cfg Config) (*Agent, error) { return &Agent{cfg: cfg}, errors.New("agent: not built yet") }

// Run is the agent until ctx ends; it returns when all it started has ended.
func (a *Agent) Run(ctx context.Context) error { return nil }

// Boot is the id of this start; grants must name it.
func (a *Agent) Boot() string { return "" }

// Do runs one granted request. It admits (all checks in one step of the loop),
// loads the model if it must, and starts the call. The error is a
// *fleet.Refusal (nothing happened, no Released follows) or a *fleet.Failure
// (its Released has been or is being sent). Do returns when the runtime begins
// to answer. Cancelling ctx ends the call at the runtime.
func (a *Agent) Do(ctx context.Context, g fleet.Grant, r *dialect.Request) (*Running, error) {
	return nil, &fleet.Refusal{Code: fleet.CodeDraining}
}

// Running is a granted request under way: the runtime's answer with the
// agent's deadlines around it. It is a dialect.Stream. Its end (EOF, an error,
// Close, or the end of Do's ctx, whichever is first) sends the one Released.
type Running struct{}

// Next returns the next chunk; see dialect.Stream.
func (r *Running) Next() (*dialect.Chunk, error) { return nil, nil }

// Buffered reports whether a whole further frame is here already.
func (r *Running) Buffered() bool { return false }

// Close ends the call; idempotent, at any time.
func (r *Running) Close() {}

// Edits lists in words what the adapter changed in the body.
func (r *Running) Edits() []string { return nil }

// LoadTime is how long the request waited for its model to load; 0 = not at all.
func (r *Running) LoadTime() time.Duration { return 0 }

// Pause refuses all new work from now on, for reason, until the given time
// (zero: until Resume). It holds over restarts.
func (a *Agent) Pause(reason string, until time.Time) {}

// Resume ends a pause.
func (a *Agent) Resume() {}

// Drain refuses new work for good and reports the node as draining, so that
// the router moves on; used before quitting or sleep.
func (a *Agent) Drain() {}

// Configure replaces the owner's settings, live.
func (a *Agent) Configure(s Settings) {}

// Heartbeat returns the state as last reported.
func (a *Agent) Heartbeat() fleet.Heartbeat { return fleet.Heartbeat{} }

// Refresh observes every runtime anew and returns when that is in the heartbeat.
func (a *Agent) Refresh(ctx context.Context) error { return nil }

// Load brings a model into memory under the same admission as a request.
func (a *Agent) Load(ctx context.Context, runtime, model string) error { return nil }

// Unload takes an idle model out of memory and returns when it is observed gone.
func (a *Agent) Unload(ctx context.Context, runtime, model string) error { return nil }

// Manager returns the model management of a runtime, where it has one. Pull and
// delete go through Agent.Pull and Agent.Delete, which know what runs.
func (a *Agent) Manager(name string) (runtime.Manager, bool) { return nil, false }

// Pull fetches a model, joining a pull of the same model already under way,
// and returns when it is there. It is aborted when the last who waits leaves.
func (a *Agent) Pull(ctx context.Context, runtime, model string, progress func(runtime.PullProgress)) error {
	return nil
}

// Delete removes a model from its runtime's disk; refused while it is in use.
func (a *Agent) Delete(ctx context.Context, runtime, model string) error { return nil }

// Jobs lists pulls and creates under way and the last ended ones, newest first.
func (a *Agent) Jobs() []Job { return nil }

// Job is one long piece of model management.
type Job struct {
	ID        string               `json:"id"`
	Kind      string               `json:"kind"` // pull, create
	Runtime   string               `json:"runtime"`
	Model     string               `json:"model"`
	Progress  runtime.PullProgress `json:"progress"`
	StartedAt time.Time            `json:"started_at"`
	EndedAt   time.Time            `json:"ended_at,omitzero"`
	Error     string               `json:"error,omitempty"`
}

// Doctor checks the node and says what is missing with the exact command that cures it.
func (a *Agent) Doctor(ctx context.Context) []Finding { return nil }

// Finding is one line of the doctor's report.
type Finding struct {
	ID       string   `json:"id"`
	Severity Severity `json:"severity"`
	Text     string   `json:"text"`
	Remedy   string   `json:"remedy,omitempty"` // a command or a setting
}

// Severity grades a finding.
type Severity string

// Severities.
const (
	OK      Severity = "ok"
	Note    Severity = "note"
	Warning Severity = "warning"
	Broken  Severity = "broken"
)
