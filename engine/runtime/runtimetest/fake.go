package runtimetest

import (
	"context"
	"fmt"
	"net"
	"net/http"
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
	Version string // "" = 0.33.0 (Ollama) or b1-80fb11a (llama-server's build_info)

	Parallel  int           // slots of each loaded model; 0 = 1
	MaxLoaded int           // most models loaded at once; 0 = 3 (Ollama), 1 (llama-server router)
	MaxQueue  int           // Ollama: most requests that wait for a load; 0 = 512
	Context   int           // tokens per slot when nobody asks for more; 0 = 4096
	KeepAlive time.Duration // Ollama: how long an idle model stays; 0 = 5 min, negative = for ever

	MemoryBytes        int64   // resident sizes of all loaded models fit in here; 0 = no limit
	GPU                float64 // share of a resident size that is in VRAM, 0 to 1
	LoadBytesPerSecond float64 // bytes of model file a load reads in a second; 0 = instant
	PrefillRate        float64 // prompt tokens/s, 0 = unpaced
	DecodeRate         float64 // output tokens/s per slot, 0 = unpaced
	FlushEvery         int     // unpaced streams: tokens per write to the socket; 0 = 1, as the real ones

	APIKey    string // llama-server --api-key; "" = none
	NoMetrics bool   // llama-server without --metrics
	NoSlots   bool   // llama-server with --no-slots

	// RecordingsDir makes the fake answer a request equal to a recorded one
	// (method, path, equal JSON) with the recorded bytes. Others as usual.
	RecordingsDir string
	// KeepRequests is how many requests the log remembers; 0 = 1000, negative = none.
	KeepRequests int
}

// FakeModel is one model a Fake has. Only Name is required.
type FakeModel struct {
	Name       string // "qwen3:8b"; without a tag ":latest" is meant
	Digest     string // 64 hex digits; "" = derived from the name
	Family     string // "" = llama
	Quant      string // "" = Q4_K_M
	Parameters int64  // parameter count; 0 = derived from Size
	Size       int64  // bytes of the model file; 0 = 4 MiB
	Context    int    // tokens the model was trained for; 0 = 32768
	NumCtx     int    // num_ctx of its Modelfile; 0 = the runtime's default
	// Capabilities in Ollama's words: completion, tools, thinking, vision,
	// embedding, insert. nil = completion.
	Capabilities   []string
	Think          bool // short for the capability thinking
	EmbeddingWidth int  // numbers in a vector (embedding models) or hidden size; 0 = 256

	KVBytesPerToken int64   // memory of one token of context; 0 = Size/65536
	Overhead        int64   // compute buffers of a loaded model; 0 = 10 MiB
	CharsPerToken   float64 // how its tokenizer counts; 0 = 4

	PrefillRate, DecodeRate, LoadBytesPerSecond float64 // 0 = the config's

	Tokens int                    // length of the default answer; 0 = 13, negative = it never stops by itself
	Script []Answer               // first one whose Match fits is the answer
	Reply  func(Question) *Answer // asked after Script; nil result = the default answer
	Broken string                 // every load fails with this reason
	Path   string                 // llama-server: the model file; "" = /models/<name>.gguf
}

// Answer is a scripted answer.
type Answer struct {
	Match    string   // substring of the last user message; "" = any
	Text     string   // what the model says
	Pieces   []string // Text cut in tokens, instead of Text
	Thinking string   // said before Text when the request lets the model think
	Calls    []Call   // tool calls, after Text; given even when no tools were sent
	Reason   string   // "" = stop
	Times    int      // how often it is given; 0 = without limit
}

// Call is one tool call of a scripted answer.
type Call struct {
	Name      string
	Arguments string // a JSON object
}

// Question is what a Reply function may look at.
type Question struct {
	Path     string // of the request
	Model    string // the model's full name
	Last     string // text of the last user message or prompt
	LastRole string // role of the last message
	Messages int
	Tools    []string // names
	Images   int
	Body     []byte // as received; not to be changed
}

// Fake is a stand-in runtime on a real socket. It is safe for concurrent use.
type Fake struct {
	config FakeConfig

	mu     sync.Mutex // guards server, addr, ended
	server *http.Server
	addr   string
	ended  chan struct{}
}

// NewFake checks the config and prepares a fake; nothing listens before Start.
func NewFake(c FakeConfig) (*Fake, error) {
	switch c.Kind {
	case "":
		c.Kind = Ollama
	case Ollama, LlamaServer:
	default:
		return nil, fmt.Errorf("fake runtime: unknown kind %q", c.Kind)
	}
	if c.Addr == "" {
		c.Addr = "127.0.0.1:0"
	}
	return &Fake{config: c, addr: c.Addr}, nil
}

// Start listens and serves until Close or Kill; after those it may be called
// again and takes the same port.
func (f *Fake) Start() error {
	l, err := net.Listen("tcp", f.addr)
	if err != nil {
		return fmt.Errorf("fake runtime: %w", err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.addr = l.Addr().String()
	f.server = &http.Server{Handler: http.NotFoundHandler()}
	f.ended = make(chan struct{})
	go func(s *http.Server, ended chan struct{}) {
		defer close(ended)
		_ = s.Serve(l)
	}(f.server, f.ended)
	return nil
}

// Close stops listening, ends every request and returns when all have ended.
func (f *Fake) Close() {}

// Kill drops every connection at once, like SIGKILL to a real runtime: no
// end of stream, nothing loaded any more.
func (f *Fake) Kill() {}

// URL is the base address, "http://127.0.0.1:54321"; before the first Start the configured one.
func (f *Fake) URL() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return "http://" + f.addr
}

// Request is one request the fake received.
type Request struct {
	Method, Path string
	Header       http.Header
	Body         []byte
	At           time.Time
	Model        string // as spelled in the body, "" = none
	Status       int    // 0 = nothing was sent yet
	Tokens       int    // written so far
	Disconnected bool   // the client left before the answer was complete
	Done         bool
}

// Requests is the log, oldest first: copies, without /__control.
func (f *Fake) Requests() []Request { return nil }

// Running is the number of requests that hold a slot of the model now.
func (f *Fake) Running(model string) int { return 0 }

// MaxRunning is the most that ever held one at once.
func (f *Fake) MaxRunning(model string) int { return 0 }

// Waiting is the number of requests that wait for a slot or a load of the model.
func (f *Fake) Waiting(model string) int { return 0 }

// Loads counts the loads of the model that completed.
func (f *Fake) Loads(model string) int { return 0 }

// Loaded lists the models in memory by full name, sorted.
func (f *Fake) Loaded() []string { return nil }

// KillRunner ends the model's runner like SIGKILL: running answers break off
// as recorded, and the next request loads again.
func (f *Fake) KillRunner(model string) {}

// Unload takes the model out of memory, whether it runs or not.
func (f *Fake) Unload(model string) {}

// Inject adds a fault. Faults add up; each says whom it hits and how often.
func (f *Fake) Inject(faults ...Fault) {}

// Heal forgets all faults. Requests already hit keep theirs; held and hung
// ones go on.
func (f *Fake) Heal() {}

// Release lets answers held by BreakHold go on.
func (f *Fake) Release() {}

// Await returns when cond holds, asking it after every change of the fake's
// state, or with ctx's error. cond may call the fake's methods.
func (f *Fake) Await(ctx context.Context, cond func() bool) error { return nil }
