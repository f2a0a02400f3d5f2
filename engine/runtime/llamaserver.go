package runtime

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"bellwether/engine/dialect"
	"bellwether/engine/fleet"
)

// LlamaServer drives llama.cpp's server through its OpenAI endpoints, as one
// model's server or in router mode (--models-dir), where it loads and unloads
// models itself. Safe for concurrent use.
type LlamaServer struct {
	target Target
	remote *remote

	mu     sync.Mutex            // guards the following
	router bool                  // as of the last observation
	models map[string]llamaFacts // by the name we show; values are replaced, never changed
}

// llamaFacts is what is known of one model beyond a listing: what props,
// template and two free questions told while it was loaded.
type llamaFacts struct {
	path  string // model file and alias: what they hold changed when these did
	props llamaProps
	asked bool
	embed fleet.Tri
	fill  fleet.Tri        // fill in the middle
	last  fleet.Deployment // as last seen loaded
}

// NewLlamaServer makes the adapter. It sends nothing.
func NewLlamaServer(t Target) (*LlamaServer, error) {
	t.Kind = KindLlamaServer
	r, err := newRemote(t)
	if err != nil {
		return nil, err
	}
	r.onceOnly = true
	return &LlamaServer{target: t, remote: r, models: map[string]llamaFacts{}}, nil
}

// Target returns what the adapter was made from.
func (l *LlamaServer) Target() Target { return l.target }

// Close closes idle connections and waits for drained calls.
func (l *LlamaServer) Close() { l.remote.shut() }

// ConfirmsCancel is false: the server notices a departed client only when it
// next writes or looks. Idle asks it.
func (l *LlamaServer) ConfirmsCancel() bool { return false }

// Identify reads the server's header and properties.
func (l *LlamaServer) Identify(ctx context.Context) (Identity, error) {
	id, err := identifyLlamaServer(ctx, l.remote)
	if err != nil {
		return Identity{}, fmt.Errorf("identify %s: %w", l.target.Name, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if id.Version != "" {
		l.router = id.Router
	}
	return id, nil
}

// Load returns when the model serves. In router mode it is loaded first; a
// single server has its model already, or is loading it. Cancelling ctx gives
// up waiting; a load under way in the server goes on.
func (l *LlamaServer) Load(ctx context.Context, model string, o LoadOptions) error {
	router, err := l.mode(ctx)
	if err != nil {
		return loadError(model, err)
	}
	if router {
		body := append(dialect.AppendString([]byte(`{"model":`), model), '}')
		if _, err := l.remote.call(ctx, http.MethodPost, "/models/load", body); err != nil && !l.isLoaded(ctx, model) {
			return loadError(model, err)
		}
	}
	return loadError(model, l.await(ctx, func() (bool, error) { return l.loaded(ctx, model, router, router) }))
}

// Unload takes a model out of memory; only a router can.
func (l *LlamaServer) Unload(ctx context.Context, model string) error {
	router, err := l.mode(ctx)
	if err != nil {
		return fmt.Errorf("unload %s: %w", model, err)
	}
	if !router {
		return unsupported(model + " stays in memory as long as " + l.target.Name + " runs, a llama-server of this one model: end that server to free its memory")
	}
	loaded, err := l.loaded(ctx, model, true, false)
	if err != nil || !loaded {
		return err
	}
	body := append(dialect.AppendString([]byte(`{"model":`), model), '}')
	if _, err := l.remote.call(ctx, http.MethodPost, "/models/unload", body); err != nil {
		return fmt.Errorf("unload %s: %w", model, err)
	}
	return nil
}

// Idle reports whether at most running requests of the model hold a slot.
func (l *LlamaServer) Idle(ctx context.Context, model string, running int) (bool, error) {
	router, err := l.mode(ctx)
	if err != nil {
		return false, err
	}
	if router && !l.isLoaded(ctx, model) {
		return true, nil
	}
	_, busy, err := l.slots(ctx, model, router)
	if noEndpoint(err) {
		return false, unsupported("the server does not tell of its slots")
	}
	return err == nil && busy <= running, err
}

// mode asks once whether this is a router.
func (l *LlamaServer) mode(ctx context.Context) (router bool, err error) {
	id, err := identifyLlamaServer(ctx, l.remote)
	if err != nil {
		return false, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if id.Version != "" {
		l.router = id.Router
	}
	return l.router, nil
}

func (l *LlamaServer) isLoaded(ctx context.Context, model string) bool {
	ok, err := l.loaded(ctx, model, true, false)
	return ok && err == nil
}

// loaded asks whether the model serves now. The error is that of its load:
// with begun a router that neither has it nor loads it has failed to.
func (l *LlamaServer) loaded(ctx context.Context, model string, router, begun bool) (bool, error) {
	if !router {
		p, err := l.remote.fetch(ctx, "/health")
		if err != nil {
			return false, err
		}
		if p.status == http.StatusServiceUnavailable {
			return false, nil
		}
		if p.status != http.StatusOK {
			return false, l.remote.refused(p.status, p.contentType, p.body)
		}
		return true, nil
	}
	var list llamaModels
	if err := l.remote.get(ctx, "/models", &list); err != nil {
		return false, err
	}
	for i := range list.Data {
		m := &list.Data[i]
		if m.ID != model {
			continue
		}
		if begun && m.Status.Failed {
			return false, &fleet.Failure{Class: fleet.FailLoad, Code: CodeRuntimeError, Message: fmt.Sprintf("its process ended while loading (exit code %d)", m.Status.ExitCode)}
		}
		if begun && m.Status.Value == "unloaded" {
			return false, &fleet.Failure{Class: fleet.FailLoad, Code: CodeRuntimeError, Message: "its process ended while loading"}
		}
		return m.Status.Value == "loaded" || m.Status.Value == "sleeping", nil
	}
	return false, &fleet.Failure{Class: fleet.FailStatus, Status: 404, Code: CodeModelNotFound, Message: "model '" + model + "' not found"}
}

// await asks until done says yes, less and less often.
func (l *LlamaServer) await(ctx context.Context, done func() (bool, error)) error {
	wait := 20 * time.Millisecond
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		ok, err := done()
		if ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ended(ctx, true)
		case <-timer.C:
		}
		wait = min(2*wait, 500*time.Millisecond)
		timer.Reset(wait)
	}
}
