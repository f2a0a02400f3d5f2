package evidence

import (
	"sync"
	"sync/atomic"
	"time"

	"bellwether/engine/fleet"
)

// Sample is one request that ended, as its gateway saw it. Counts below 0 and
// durations of 0 are unknown.
type Sample struct {
	Deployment *fleet.Deployment
	Task       string // "" while tasks are not told apart
	Validated  bool   // a complete, well-formed completion; others teach nothing
	Truncated  bool   // cut by its output limit: its length says nothing of the habit
	Took       time.Duration
	TTFT       time.Duration // dispatch to first content
	Load       time.Duration // part of TTFT spent loading
	// Estimate is our uncalibrated count of the prompt (Requirements.Tokens.Input).
	Estimate                         int
	Input, Output, Reasoning, Cached int
	// Prefill and Decode are the runtime's own measurements.
	Prefill, Decode time.Duration
}

// Ledger is the owner of all that was measured. Its mutex guards every field
// but book, which readers load without it.
type Ledger struct {
	mu   sync.Mutex
	book atomic.Pointer[Book]
}

// NewLedger returns a ledger that knows nothing.
func NewLedger() *Ledger {
	l := &Ledger{}
	l.book.Store(&Book{})
	return l
}

// Book returns what is known now. It never blocks.
func (l *Ledger) Book() *Book { return l.book.Load() }

// Observe learns from a request that ended.
func (l *Ledger) Observe(s Sample) {}

// ObserveLoad learns how long a deployment took to load.
func (l *Ledger) ObserveLoad(d *fleet.Deployment, took time.Duration) {}

// ObserveParallel learns how many requests a deployment works on at once:
// running were given to it, producing of them have brought content so far.
func (l *Ledger) ObserveParallel(d *fleet.Deployment, running, producing int) {}

// ObserveLoaded learns how many models a runtime holds at this moment.
func (l *Ledger) ObserveLoaded(node, runtime string, loaded int) {}

// ObserveEviction learns that a runtime dropped a model by itself when a new
// one came, with loaded models in memory after that: its own cap.
func (l *Ledger) ObserveEviction(node, runtime string, loaded int) {}

// Export returns everything measured, as JSON for the store.
func (l *Ledger) Export() []byte { return nil }

// Import replaces everything by what Export returned.
func (l *Ledger) Import(b []byte) error { return nil }
