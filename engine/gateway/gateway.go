// Package gateway is the localhost door: it takes one client request from
// socket to reply. It checks who may come in, reads the request in the
// client's protocol, asks the dispatcher for a grant, has the granted node run
// it, and renders the answer or the refusal in the caller's own dialect.
//
// Every request runs on its own net/http goroutine; the package's only shared
// state is the bounded memory of Responses items and the metrics. It never
// chooses a node (route, queue) and never speaks to a runtime (agent).
package gateway

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"bellwether/engine/dialect"
	"bellwether/engine/fleet"
	"bellwether/engine/queue"
	"bellwether/engine/route"
)

// Running is a started answer: a stream with what the node knows about it.
type Running interface {
	dialect.Stream
	// Edits lists in words what was changed in the request on its way.
	Edits() []string
	// LoadTime is how long the model's load took for this request, 0 = none.
	LoadTime() time.Duration
	// Recycle is called by the reader when it looks at no chunk any more.
	Recycle()
}

// Nodes runs granted requests: this machine's agent by a call, others by the
// peer link. Errors are *fleet.Refusal or *fleet.Failure.
type Nodes interface {
	Do(ctx context.Context, g fleet.Grant, r *dialect.Request) (Running, error)
}

// Models manages the models of one runtime of one node (Ollama's metadata
// endpoints). Errors are *dialect.Problem or *fleet.Failure.
type Models interface {
	Show(ctx context.Context, d fleet.DeploymentID, verbose bool) (dialect.Raw, error)
	Pull(ctx context.Context, node, model string, line func(PullLine)) error
	Delete(ctx context.Context, d fleet.DeploymentID) error
	Copy(ctx context.Context, d fleet.DeploymentID, to string) error
	Create(ctx context.Context, node string, body dialect.Raw, line func(dialect.Raw)) error
	HasBlob(ctx context.Context, node, digest string) (bool, error)
	PutBlob(ctx context.Context, node, digest string, body io.Reader) error
	Unload(ctx context.Context, d fleet.DeploymentID) error
}

// PullLine is one progress line of a pull; sizes in bytes, 0 = not said.
type PullLine struct {
	Status    string `json:"status"`
	Digest    string `json:"digest,omitempty"`
	Total     int64  `json:"total,omitempty"`
	Completed int64  `json:"completed,omitempty"`
}

// Key is one API key. Its name is the app that requests by it count as.
type Key struct {
	Name    string
	Matches func(sent string) bool // in constant time
	Manage  bool                   // may also pull, delete, copy, create
	Limit   int                    // most requests under way, 0 = the fleet's
	Batch   bool                   // its requests are of class batch
}

// Config is what a Gateway needs. All fields without a "may be" are required.
type Config struct {
	NodeID, NodeName string
	Version          string // of Bellwether

	Dispatcher *queue.Dispatcher
	Nodes      Nodes
	Models     Models
	Policy     func() *route.Policy
	Fleet      func() *fleet.Snapshot
	// Seen is closed once this machine was looked at.
	Seen <-chan struct{}
	// Read extracts requirements (route.Read with the evidence of the moment).
	Read func(*dialect.Request, route.Meta) route.Requirements
	// Record keeps a finished request's record; it never blocks.
	Record func(*route.Record)
	// Learn takes what a finished attempt showed; it never blocks.
	Learn func(fleet.Completed, *fleet.Deployment)
	// ToolKey is the secret of the tag in the tool-call ids we mint.
	ToolKey []byte

	Keys  func() []Key
	Rules Rules // Configure changes them later
	// BodyPatience is how long a client may take to send its body; 0 = 2 min.
	BodyPatience time.Duration
	// Bind gives an embedding contract that is asked for its anchor, if some
	// member's identity is known; it may wait for the disk. May be nil.
	Bind func(contract string)
	// Digest asks a deployment's runtime which weights its name stands for right
	// now; able is false where it cannot say. May be nil.
	Digest func(ctx context.Context, d fleet.DeploymentID) (digest string, able bool, err error)
	// Recheck asks the node to look at its runtimes at once, since one of them
	// serves something else than it last reported. It never blocks. May be nil.
	Recheck func(d fleet.DeploymentID)
	// ProbedWidth returns the dimensions that a probe found a deployment's vectors
	// to have, 0 = none did. Answers are checked by it. May be nil.
	ProbedWidth func(*fleet.Deployment) int
	// Images returns the bytes at the address of an image; its errors say nothing
	// of the address. It is called only where Policy allows RemoteImages. Nil = no
	// image is fetched.
	Images func(ctx context.Context, address string) ([]byte, error)
	// AskPull is called when a pull waits for the owner's approval; may be nil.
	AskPull func(model, app string)

	Admin      http.Handler // /admin/ and /ui/; may be nil
	AdminToken string       // of this machine's owner
	Metrics    *prometheus.Registry
	Log        *slog.Logger
}

// Rules are the owner's for who may come in, with what, and what they read.
type Rules struct {
	AllowedHosts   []string // beyond loopback, own names and IP literals of this machine
	AllowedOrigins []string // patterns; nil = the defaults of local apps
	// CIDR limits who may call from beyond loopback to these networks; empty =
	// whoever has a key. It never replaces a key.
	CIDR          []string
	MaxBody       int64  // bytes of a request body, decompressed
	ResponseModel string // what answers carry as model: requested, deployment
	Classify      Classify
}

// inForce is what Configure swaps as a whole.
type inForce struct {
	Rules
	edge edge
}

// Gateway serves the app endpoints. It is safe for concurrent use.
type Gateway struct {
	Config
	live    atomic.Pointer[inForce]
	items   *itemStore
	widths  widths
	tasks   taskCache
	metrics *metrics
	routes  map[string]endpoint
}

// New builds a Gateway; nothing is started.
func New(c Config) *Gateway {
	g := &Gateway{Config: c, items: newItemStore(64<<20, time.Hour), metrics: newMetrics(c.Metrics)}
	g.BodyPatience = cmp.Or(c.BodyPatience, bodyPatience)
	g.Configure(c.Rules)
	g.Rules = Rules{} // only live is read from now on
	g.routes = g.table()
	return g
}

// Configure puts new rules in force for whoever comes from now on.
func (g *Gateway) Configure(r Rules) {
	g.live.Store(&inForce{r, newEdge(&g.Config, &r)})
}

// ServeHTTP takes a request through the edge to its endpoint.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := cleanPath(r.URL.Path)
	who, refusal := g.live.Load().edge.admit(w, r, path)
	if refusal != nil {
		g.refusePath(w, r, path, refusal)
		return
	}
	if r.Method == http.MethodOptions {
		w.WriteHeader(http.StatusNoContent) // preflight: admit wrote the headers
		return
	}
	if ownsPath(path) && g.Admin != nil {
		if !who.loopback {
			g.refusePath(w, r, path, &dialect.Problem{Status: http.StatusForbidden, Code: "loopback_only",
				Message: "The admin surface answers on this machine only.", Remedy: "Open it there, or use a paired machine's own."})
			return
		}
		g.Admin.ServeHTTP(w, r)
		return
	}
	ep, known := g.lookup(path)
	switch {
	case !known:
		g.unknownPath(w, r, path)
	case !ep.takes(r.Method):
		w.Header().Set("Allow", ep.allow())
		g.refuse(w, protocolOf(path, r), wrongMethod(r.Method, ep), "")
	default:
		if p := checkFlags(r.Header); p != nil {
			g.refuse(w, protocolOf(path, r), p, "")
			return
		}
		ep.serve(w, r, who)
	}
}
