// Package runtime speaks to inference servers: it recognises them, reads
// their inventory, loads, unloads and pulls models, and runs requests. One
// adapter per kind (Ollama, llama-server); runtimetest is the suite they all
// pass. Adapters hold no state about budgets or queues and are safe for
// concurrent use; they run on the caller's goroutine, but for calls left to run
// out after their reader has gone (Target.Drain), which Close waits for.
package runtime

import (
	"context"
	"time"

	"bellwether/engine/dialect"
	"bellwether/engine/fleet"
)

// Kinds of runtime known here.
const (
	KindOllama      = "ollama"
	KindLlamaServer = "llama-server"
)

// Target says where a runtime is and how to talk to it.
type Target struct {
	Name   string // unique on the node
	Kind   string // "" = recognise it
	URL    string // http://127.0.0.1:11434
	APIKey string // sent as Bearer, "" = none
	// Parallel is the declared number of parallel requests, 0 = not declared.
	Parallel int
	// MaxLoaded is the declared most models kept at once, 0 = not declared.
	MaxLoaded int
	// FirstContent, Idle and Total are the runtime's own deadlines; a call has
	// the tightest of these and its grant's. 0 = none of its own.
	FirstContent, Idle, Total time.Duration
	// Drain lets an abandoned call run to its end instead of cutting it
	// (runtimes[].cancel: drain).
	Drain bool
}

// Identity is what a probe found at an address.
type Identity struct {
	Kind    string
	Version string
	Router  bool // llama-server in router mode
}

// Inventory is one observation of a runtime, with its residency. Deployment
// ids carry only Model; the agent fills node and runtime in.
type Inventory struct {
	// Server is where the connection led, "" = not known: runtimes that have it in
	// common and say the same of themselves are one under two names.
	Server      string
	Version     string
	Deployments []fleet.Deployment
	// Leftovers were deleted while in memory: they are no models any more, and take
	// their bytes until they expire.
	Leftovers []fleet.Deployment
	// MaxLoaded is the most models the runtime says it keeps at once, 0 = it
	// does not say.
	MaxLoaded int
	// StartedAt is when the observation began: only memory assumed before that
	// is settled by it.
	StartedAt time.Time
	// ReportsResidency is false for runtimes that cannot say what is loaded.
	ReportsResidency bool
}

// LoadOptions say how to load a model.
type LoadOptions struct {
	Context   int         // tokens per slot, 0 = the runtime's own
	KeepAlive dialect.Raw // as a client sent it, nil = the runtime's own
}

// Call is one granted request on its way to the runtime.
type Call struct {
	Request *dialect.Request
	Model   string // the runtime's own name
	Context int    // num_ctx to send, 0 = none
	// Output is the output limit to send, lower or higher than the client's, 0 =
	// leave as asked.
	Output int
	// Deployment tells the adapter what the model can do (drop think for
	// models without it, images...). Never nil.
	Deployment *fleet.Deployment
}

// PullProgress is one step of a pull. Sizes in bytes, 0 = not said.
type PullProgress struct {
	Status           string
	Digest           string
	Total, Completed int64
}

// Adapter drives one inference server. Errors of Do and of its Stream are
// *fleet.Failure; errors of the others wrap one where the runtime answered.
type Adapter interface {
	Target() Target
	// Identify asks what answers at the address, without loading anything.
	Identify(ctx context.Context) (Identity, error)
	// Inventory lists models and what is loaded. A half answer is an error.
	Inventory(ctx context.Context) (*Inventory, error)
	// Load brings a model into memory and returns when it is there.
	Load(ctx context.Context, model string, o LoadOptions) error
	// Unload takes it out; it may still be listed for a moment after.
	Unload(ctx context.Context, model string) error
	// Do starts a request. edits lists in words what was changed on the way
	// (record's "edits"). Cancelling ctx aborts the call upstream.
	Do(ctx context.Context, c Call) (s dialect.Stream, edits []string, err error)
	// ConfirmsCancel reports whether an aborted stream certainly stops there.
	ConfirmsCancel() bool
}

// Manager is what adapters offer whose runtime can manage models. Bodies and
// answers are the Ollama wire forms, for the merged metadata endpoints.
type Manager interface {
	Pull(ctx context.Context, model string, progress func(PullProgress)) error
	Delete(ctx context.Context, model string) error
	Copy(ctx context.Context, from, to string) error
	Show(ctx context.Context, model string, verbose bool) (dialect.Raw, error)
	// Create forwards a create request and streams its progress lines.
	Create(ctx context.Context, body dialect.Raw, line func(dialect.Raw)) error
	// Blob uploads (put) or asks for (head) a blob by digest "sha256:<64 hex>".
	HasBlob(ctx context.Context, digest string) (bool, error)
	PutBlob(ctx context.Context, digest string, body Reader) error
}

// Reader is io.Reader, named here so that Manager reads without a package name.
type Reader interface{ Read(p []byte) (int, error) }
