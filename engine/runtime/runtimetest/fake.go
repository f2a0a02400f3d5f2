package runtimetest

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Kinds of fake.
const (
	Ollama      = "ollama"
	LlamaServer = "llama-server"
)

// FakeConfig says what a Fake pretends to be. The zero value of every field
// is a usable default.
type FakeConfig struct {
	Kind    string // Ollama or LlamaServer; "" = Ollama
	Router  bool   // llama-server in router mode (--models-dir): several models, loaded on first use
	Models  []FakeModel
	Addr    string // where to listen; "" = 127.0.0.1:0
	Version string // "" = 0.33.0; llama-server tells none but its build

	Parallel  int           // slots of each loaded model; 0 = 1
	MaxLoaded int           // most models loaded at once; 0 = 3 (Ollama), 1 (llama-server router)
	MaxQueue  int           // Ollama: most requests that wait for a load besides the one in work; 0 = 512
	Context   int           // tokens per slot when nobody asks for more; 0 = 4096
	KeepAlive time.Duration // Ollama: how long an idle model stays; 0 = 5 min, negative = for ever

	MemoryBytes        int64   // resident sizes of all loaded models fit in here; 0 = no limit
	GPU                float64 // share of a resident size that is in VRAM, 0 to 1
	LoadBytesPerSecond float64 // bytes of model file a load reads in a second; 0 = instant
	PrefillRate        float64 // prompt tokens/s, 0 = unpaced
	DecodeRate         float64 // output tokens/s per slot, 0 = unpaced
	FlushEvery         int     // tokens per write to the socket; 0 = 1, as the real ones

	APIKey    string // llama-server --api-key; "" = none
	NoMetrics bool   // llama-server without --metrics
	NoSlots   bool   // llama-server with --no-slots

	// Registry is what /api/pull can fetch. nil = any name, as a model of 4 MiB.
	Registry           []FakeModel
	PullBytesPerSecond float64 // 0 = instant

	// Exam holds questions that models with a Strength answer right or wrong.
	Exam []ExamItem

	// RecordingsDir makes the fake answer a request equal to a recorded one
	// (method, path, equal JSON) with the recorded bytes. Others as usual.
	RecordingsDir string
	Recordings    []*Exchange // likewise, already read; see Recorded
	// KeepRequests is how many requests the log remembers; 0 = 1000, negative = none.
	KeepRequests int
}

// Fake is a stand-in runtime on a real socket. It is safe for concurrent use.
//
// Owners: mu guards models, runners, the queue, the counters and the faults;
// the journal and the listener have locks of their own. No two are ever held
// together.
type Fake struct {
	config  FakeConfig
	bell    bell
	journal journal
	replay  *Replay
	exam    exam
	serving serving

	mu      sync.Mutex // guards what follows
	models  map[string]*model
	order   []*model // newest first, as Ollama lists
	runners map[string]*runner
	pending []*pending
	counts  map[string]*counts
	blobs   map[string]int64
	faults  faultBook
	tasks   int
	ports   int
	totals  totals
}

// counts are of one model, over all its runners.
type counts struct{ running, most, loads, waiting int }

// NewFake checks the config and prepares a fake; nothing listens before Start.
func NewFake(c FakeConfig) (*Fake, error) {
	switch c.Kind {
	case "":
		c.Kind = Ollama
	case Ollama, LlamaServer:
	default:
		return nil, fmt.Errorf("fake runtime: unknown kind %q", c.Kind)
	}
	if c.Kind == LlamaServer && !c.Router && len(c.Models) != 1 {
		return nil, fmt.Errorf("fake runtime: llama-server without router mode has one model, not %d", len(c.Models))
	}
	c.Addr = cmp.Or(c.Addr, "127.0.0.1:0")
	c.Version = cmp.Or(c.Version, "0.33.0")
	c.Parallel = max(1, c.Parallel)
	if c.MaxLoaded == 0 {
		c.MaxLoaded = 3
		if c.Kind == LlamaServer {
			c.MaxLoaded = 1
		}
	}
	c.MaxQueue = cmp.Or(c.MaxQueue, 512)
	c.Context = cmp.Or(c.Context, 4096)
	c.KeepAlive = orForever(cmp.Or(c.KeepAlive, 5*time.Minute))
	c.KeepRequests = cmp.Or(c.KeepRequests, 1000)
	f := &Fake{config: c, models: map[string]*model{}, runners: map[string]*runner{},
		counts: map[string]*counts{}, blobs: map[string]int64{}, exam: newExam(c.Exam)}
	f.journal.keep = max(0, c.KeepRequests)
	f.serving.addr = c.Addr
	for _, m := range c.Models {
		if err := f.addModel(m); err != nil {
			return nil, err
		}
	}
	if c.RecordingsDir != "" {
		replay, err := OpenReplay(c.RecordingsDir)
		if err != nil {
			return nil, err
		}
		f.replay = replay
	} else if c.Recordings != nil {
		f.replay = NewReplay(c.Recordings)
	}
	return f, nil
}

func (f *Fake) addModel(m FakeModel) error {
	made, err := newModel(m, f.config.Kind, time.Now())
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, double := f.models[made.key]; double {
		return fmt.Errorf("fake runtime: two models are called %q", made.full)
	}
	f.models[made.key] = made
	f.order = append(f.order, made)
	return nil
}

// Start listens and serves until Close or Kill; after those it may be called
// again, takes the same port, and has nothing loaded.
func (f *Fake) Start() error {
	if err := f.serving.start(http.HandlerFunc(f.serve)); err != nil {
		return err
	}
	if f.single() {
		f.loadOnly()
	}
	return nil
}

// single reports whether this is a llama-server of one model, which loads it
// when it starts and never lets go.
func (f *Fake) single() bool { return f.config.Kind == LlamaServer && !f.config.Router }

// loadOnly begins the load of the one model.
func (f *Fake) loadOnly() {
	f.mu.Lock()
	defer f.mu.Unlock()
	m := f.order[0]
	f.beginLoad(&pending{m: m, ctx: f.contextFor(m, 0), ready: make(chan placed, 1)})
}

// Close stops listening, ends every request and returns when all have ended.
func (f *Fake) Close() {
	f.serving.stop(false)
	f.forgetRunners()
}

// Kill drops every connection at once, like SIGKILL to a real runtime: no end
// of stream, nothing loaded any more.
func (f *Fake) Kill() {
	f.serving.stop(true)
	f.forgetRunners()
}

func (f *Fake) forgetRunners() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, rn := range f.runners {
		f.remove(rn)
	}
	f.pending = nil
	f.bell.ring()
}

// URL is the base address, "http://127.0.0.1:54321"; before the first Start
// the configured one.
func (f *Fake) URL() string { return "http://" + f.serving.address() }

// Requests is the log, oldest first: copies, without /__control.
func (f *Fake) Requests() []Request { return f.journal.all() }

// ForgetRequests empties the log.
func (f *Fake) ForgetRequests() { f.journal.forget() }

// Running is the number of requests that hold a slot of the model now.
func (f *Fake) Running(model string) int { return f.count(model).running }

// MaxRunning is the most that ever held one at once.
func (f *Fake) MaxRunning(model string) int { return f.count(model).most }

// Waiting is the number of requests that wait for a slot or a load of the model.
func (f *Fake) Waiting(model string) int { return f.count(model).waiting }

// Loads counts the loads of the model that completed.
func (f *Fake) Loads(model string) int { return f.count(model).loads }

func (f *Fake) count(model string) counts {
	f.mu.Lock()
	defer f.mu.Unlock()
	return *f.stats(f.key(model))
}

// stats is called with the lock held.
func (f *Fake) stats(key string) *counts {
	c := f.counts[key]
	if c == nil {
		c = &counts{}
		f.counts[key] = c
	}
	return c
}

// key is how a model is found under any spelling of its name.
func (f *Fake) key(name string) string {
	if f.config.Kind == LlamaServer {
		return strings.ToLower(name)
	}
	return strings.ToLower(fullName(name))
}

// find returns the model of that name, nil when there is none.
func (f *Fake) find(name string) *model {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.models[f.key(name)]
}

// contextFor is the context a load of m gets.
func (f *Fake) contextFor(m *model, asked int) int {
	ctx := cmp.Or(m.NumCtx, f.config.Context)
	if f.config.Kind == Ollama && asked > 0 {
		ctx = asked
	}
	return min(ctx, m.Context)
}

// Loaded lists the models in memory by full name, sorted.
func (f *Fake) Loaded() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var names []string
	for _, rn := range f.runners {
		if !rn.loading && !rn.broken {
			names = append(names, rn.m.full)
		}
	}
	slices.Sort(names)
	return names
}

// Loading reports whether the model is being loaded.
func (f *Fake) Loading(model string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	rn := f.runners[f.key(model)]
	return rn != nil && rn.loading
}

// Connections is how many connections were accepted since Start.
func (f *Fake) Connections() int { return f.serving.count() }

// SetGPU changes the share of a loaded model that is in VRAM: a runtime that
// fell back to the CPU reports 0.
func (f *Fake) SetGPU(share float64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.config.GPU = share
}

// KillRunner ends the model's runner like SIGKILL: running answers break off
// as recorded, /api/ps goes on listing it, and the next request loads again.
func (f *Fake) KillRunner(model string) {
	f.mu.Lock()
	rn := f.runners[f.key(model)]
	f.mu.Unlock()
	if rn != nil {
		f.breakRunner(rn)
	}
}

func (f *Fake) breakRunner(rn *runner) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !rn.broken && !rn.loading {
		rn.broken = true
		close(rn.dead)
	}
	f.bell.ring()
}

// Unload takes the model out of memory, whether it runs or not; answers under
// way go on.
func (f *Fake) Unload(model string) {
	f.mu.Lock()
	rn := f.runners[f.key(model)]
	f.mu.Unlock()
	if rn != nil {
		f.forceOut(rn)
	}
}

func (f *Fake) forceOut(rn *runner) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !rn.gone {
		f.remove(rn)
		f.step()
	}
	f.bell.ring()
}

// Inject adds faults. They add up; each says whom it hits and how often. It
// panics on a break that does not exist.
func (f *Fake) Inject(faults ...Fault) {
	for i := range faults {
		if err := faults[i].check(); err != nil {
			panic(err)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults.inject(faults)
}

// Heal forgets all faults. Requests already hit keep theirs, but held ones go on.
func (f *Fake) Heal() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults.heal()
}

// Release lets go the requests that BreakHold has hit so far, those included
// that still wait for their slot. Later ones are held again.
func (f *Fake) Release() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults.release()
}

// Await returns when cond holds, asking it after every change of the fake's
// state, or with ctx's error. cond may call the fake's methods.
func (f *Fake) Await(ctx context.Context, cond func() bool) error { return f.bell.await(ctx, cond) }
