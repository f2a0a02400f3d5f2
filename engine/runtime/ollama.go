package runtime

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"bellwether/engine/dialect"
	"bellwether/engine/fleet"
)

// Ollama drives an Ollama server, always through /api: its /v1 endpoints hide
// errors in mid-stream, cannot set the context, and put their own sampling
// over the model's (protocols.md 1). Safe for concurrent use.
type Ollama struct {
	target Target
	remote *remote

	mu    sync.Mutex             // guards facts, roles
	facts map[string]*modelFacts // by digest: what show says does not change under one digest
	embed map[string]bool        // by canonical name: as of the last inventory, is it an embedding model
}

// NewOllama makes the adapter. It sends nothing.
func NewOllama(t Target) (*Ollama, error) {
	t.Kind = KindOllama
	r, err := newRemote(t)
	if err != nil {
		return nil, err
	}
	return &Ollama{target: t, remote: r, facts: map[string]*modelFacts{}, embed: map[string]bool{}}, nil
}

// Target returns what the adapter was made from.
func (o *Ollama) Target() Target { return o.target }

// Close closes idle connections and waits for drained calls.
func (o *Ollama) Close() { o.remote.shut() }

// ConfirmsCancel: an Ollama stops a generation as soon as its client leaves.
func (o *Ollama) ConfirmsCancel() bool { return !o.target.Drain }

// Identify asks for the version, and for the greeting that only Ollama gives.
func (o *Ollama) Identify(ctx context.Context) (Identity, error) {
	id, err := identifyOllama(ctx, o.remote)
	if err != nil {
		return Identity{}, fmt.Errorf("identify %s: %w", o.target.Name, err)
	}
	return id, nil
}

// Load brings a model into memory and returns when it is there. Cancelling ctx
// aborts the load: its runner is ended.
func (o *Ollama) Load(ctx context.Context, model string, opt LoadOptions) error {
	o.mu.Lock()
	embed := o.embed[fleet.CanonicalModel(model)]
	o.mu.Unlock()
	var err error
	if !embed {
		if err = o.touch(ctx, "/api/generate", "", model, opt); err == nil || !callerAtFault(err) {
			return loadError(model, err)
		}
		// An embedding model refuses to generate; embedding nothing loads it.
	}
	if err2 := o.touch(ctx, "/api/embed", `,"input":[]`, model, opt); err2 == nil || err == nil {
		err = err2
	}
	return loadError(model, err)
}

// Unload takes a model out of memory: 200 also where it was not loaded.
func (o *Ollama) Unload(ctx context.Context, model string) error {
	err := o.touch(ctx, "/api/generate", "", model, LoadOptions{KeepAlive: dialect.Raw("0")})
	if err != nil {
		return fmt.Errorf("unload %s: %w", model, err)
	}
	return nil
}

// touch sends a request that generates nothing.
func (o *Ollama) touch(ctx context.Context, path, extra, model string, opt LoadOptions) error {
	b := []byte(`{"model":`)
	b = dialect.AppendString(b, model)
	b = append(b, extra...)
	b = append(b, `,"stream":false`...)
	if opt.KeepAlive != nil {
		b = append(b, `,"keep_alive":`...)
		b = append(b, opt.KeepAlive...)
	}
	if opt.Context > 0 {
		b = fmt.Appendf(b, `,"options":{"num_ctx":%d}`, opt.Context)
	}
	b = append(b, '}')
	body, err := o.call(ctx, http.MethodPost, path, b)
	if err != nil {
		return err
	}
	if !validJSON(body) {
		return &fleet.Failure{Class: fleet.FailInvalid, Status: 200, Message: "the runtime answered a load with something else"}
	}
	if said := dialect.Raw(body).Get("error"); !said.None() {
		return &fleet.Failure{Class: fleet.FailLoad, Code: CodeRuntimeError, Message: o.remote.said(said).text}
	}
	return nil
}

func callerAtFault(err error) bool {
	f, ok := err.(*fleet.Failure)
	return ok && f.Caller
}

// loadError gives a load's failure its class, whatever it failed with, but for
// those that say more: never reached, back-pressure, cancelled, model missing.
func loadError(model string, err error) error {
	f, ok := err.(*fleet.Failure)
	if !ok {
		return err
	}
	if f.Class == fleet.FailStatus && f.Code != CodeModelNotFound {
		g := *f
		g.Class, g.Caller = fleet.FailLoad, false
		f = &g
	}
	return fmt.Errorf("load %s: %w", model, f)
}

// call sends one request and returns its whole answer. Its error is a
// *fleet.Failure, also for a status that is no success.
func (r *remote) call(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	x, err := r.do(ctx, request{method: method, path: path, body: body})
	if err != nil {
		return nil, err
	}
	if x.status != http.StatusOK {
		return nil, x.statusFailure()
	}
	return x.whole(lineMost)
}

func (o *Ollama) call(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	return o.remote.call(ctx, method, path, body)
}

// get reads a JSON answer into v. Metadata only: answers of models are read
// frame by frame.
func (r *remote) get(ctx context.Context, path string, v any) error {
	body, err := r.call(ctx, http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	return decode(path, body, v)
}

func decode(path string, body []byte, v any) error {
	if err := json.Unmarshal(body, v); err != nil {
		path, _, _ = strings.Cut(path, "?")
		return &fleet.Failure{Class: fleet.FailInvalid, Status: 200, Message: "the runtime's answer to " + path + " is not what it should be"}
	}
	return nil
}
