package runtime

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"bellwether/engine/fleet"
)

// The wire forms of /v1/models, /models, /props and /slots, as far as read.
type (
	llamaModels struct{ Data []llamaModel }
	llamaModel  struct {
		ID      string   `json:"id"`
		Aliases []string `json:"aliases"`
		Created int64    `json:"created"`
		Meta    struct {
			Context int     `json:"n_ctx"`
			Trained int     `json:"n_ctx_train"`
			Width   int     `json:"n_embd"`
			Params  float64 `json:"n_params"`
			Size    int64   `json:"size"`
			Type    string  `json:"ftype"`
		} `json:"meta"`
		Status struct {
			Value    string   `json:"value"`
			Args     []string `json:"args"`
			Failed   bool     `json:"failed"`
			ExitCode int      `json:"exit_code"`
		} `json:"status"`
		Architecture struct {
			Input  []string `json:"input_modalities"`
			Output []string `json:"output_modalities"`
		} `json:"architecture"`
	}
	llamaProps struct {
		Role         string `json:"role"`
		MaxInstances int    `json:"max_instances"`
		BuildInfo    string `json:"build_info"`
		Alias        string `json:"model_alias"`
		Path         string `json:"model_path"`
		Slots        int    `json:"total_slots"`
		Type         string `json:"model_ftype"`
		Template     string `json:"chat_template"`
		Defaults     struct {
			Context int `json:"n_ctx"` // per slot
		} `json:"default_generation_settings"`
		Caps       map[string]bool `json:"chat_template_caps"`
		Modalities map[string]bool `json:"modalities"`
		NoSlots    *bool           `json:"endpoint_slots"`
	}
	llamaSlot struct {
		Context    int  `json:"n_ctx"`
		Processing bool `json:"is_processing"`
	}
)

// Inventory lists the server's models. While a single server loads, every path
// answers 503: that is a state, not a failure, and the model as last known is
// listed as loading (nothing, when it was never seen).
func (l *LlamaServer) Inventory(ctx context.Context) (*Inventory, error) {
	inv := &Inventory{StartedAt: time.Now(), ReportsResidency: true}
	p, err := l.remote.fetch(ctx, "/props")
	if err != nil {
		return nil, fmt.Errorf("inventory of %s: %w", l.target.Name, err)
	}
	inv.Server = l.remote.server()
	if p.status == http.StatusServiceUnavailable && failureOf(p.status, "", p.body).Code == CodeLoading {
		inv.Deployments = l.whileLoading()
		return inv, nil
	}
	var props llamaProps
	if p.status != http.StatusOK {
		err = l.remote.refused(p.status, p.contentType, p.body)
	} else {
		err = decode("/props", p.body, &props)
	}
	var list llamaModels
	if err == nil {
		err = l.remote.get(ctx, "/v1/models", &list)
	}
	if err != nil {
		return nil, fmt.Errorf("inventory of %s: %w", l.target.Name, err)
	}
	inv.Version = props.BuildInfo
	l.mu.Lock()
	l.router = props.Role == "router"
	l.mu.Unlock()
	if props.Role == "router" {
		inv.MaxLoaded = props.MaxInstances
		return inv, l.routed(ctx, inv, list.Data)
	}
	if len(list.Data) != 1 {
		return nil, fmt.Errorf("inventory of %s: %d models where one server has one", l.target.Name, len(list.Data))
	}
	return inv, l.single(ctx, inv, &list.Data[0], props)
}

func (l *LlamaServer) whileLoading() []fleet.Deployment {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []fleet.Deployment
	if l.router {
		return nil
	}
	for _, f := range l.models {
		d := f.last
		d.Residency, d.SlotsBusy = fleet.Loading, 0
		out = append(out, d)
	}
	return out
}

// single fills in the one model of a server.
func (l *LlamaServer) single(ctx context.Context, inv *Inventory, m *llamaModel, props llamaProps) error {
	name := shownName(m, &props)
	f := l.factsOf(name, props.Path+"\x00"+props.Alias)
	f.props = props
	d := l.deployment(name, m)
	if err := l.asLoaded(ctx, &d, m, &f, false); err != nil {
		return fmt.Errorf("inventory of %s: %w", l.target.Name, err)
	}
	l.keep(map[string]llamaFacts{name: f})
	inv.Deployments = []fleet.Deployment{d}
	return nil
}

// shownName is the model's alias, else its file's name: a path is nobody's business.
func shownName(m *llamaModel, props *llamaProps) string {
	for _, name := range append([]string{m.ID, props.Alias}, m.Aliases...) {
		if name != "" && !isPath(name) {
			return name
		}
	}
	return baseName(m.ID)
}

func isPath(s string) bool {
	return strings.HasPrefix(s, "/") || strings.HasPrefix(s, ".") || strings.Contains(s, `\`) || strings.HasSuffix(strings.ToLower(s), ".gguf")
}

func baseName(s string) string {
	if i := strings.LastIndexAny(s, `/\`); i >= 0 {
		s = s[i+1:]
	}
	if n := len(s) - len(".gguf"); n > 0 && strings.EqualFold(s[n:], ".gguf") {
		s = s[:n]
	}
	if s == "" {
		return "model"
	}
	return s
}

// routed fills in the models of a router.
func (l *LlamaServer) routed(ctx context.Context, inv *Inventory, list []llamaModel) error {
	seen := make(map[string]llamaFacts, len(list))
	for i := range list {
		m := &list[i]
		d := l.deployment(m.ID, m)
		args := parseArgs(m.Status.Args)
		f := l.factsOf(m.ID, args.model)
		switch m.Status.Value {
		case "loaded", "sleeping":
			if !f.asked {
				if err := l.remote.get(ctx, "/props?autoload=false&model="+url.QueryEscape(m.ID), &f.props); err != nil {
					f.props = llamaProps{} // unloaded meanwhile, or a router too old to say
				}
			}
			f.props.Slots, f.props.Defaults.Context = max(f.props.Slots, args.parallel), max(f.props.Defaults.Context, args.perSlot())
			if err := l.asLoaded(ctx, &d, m, &f, true); err != nil {
				return fmt.Errorf("inventory of %s: %w", l.target.Name, err)
			}
		default:
			asUnloaded(&d, &f, args)
			if m.Status.Value == "loading" {
				d.Residency = fleet.Loading
			}
			if m.Status.Failed {
				d.Degraded = fmt.Sprintf("its last load ended with exit code %d", m.Status.ExitCode)
			}
		}
		seen[m.ID] = f
		inv.Deployments = append(inv.Deployments, d)
	}
	l.keep(seen)
	return nil
}

// deployment is what a listing alone says.
func (l *LlamaServer) deployment(name string, m *llamaModel) fleet.Deployment {
	return fleet.Deployment{
		ID:             fleet.DeploymentID{Runtime: l.target.Name, Model: name},
		Kind:           KindLlamaServer,
		Quantization:   m.Meta.Type,
		Parameters:     m.Meta.Params,
		WeightsBytes:   m.Meta.Size,
		EmbeddingWidth: m.Meta.Width,
		Preallocated:   true,
		Honours: []string{"temperature", "top_p", "top_k", "min_p", "seed", "stop", "frequency_penalty", "presence_penalty",
			"repeat_penalty", "logprobs", "top_logprobs", "logit_bias"},
	}
}

// asLoaded adds what a model in memory tells. The context of a running server
// is fixed: what is loaded is also the most that can be set.
func (l *LlamaServer) asLoaded(ctx context.Context, d *fleet.Deployment, m *llamaModel, f *llamaFacts, router bool) error {
	d.Residency = fleet.Loaded
	d.Slots = f.props.Slots
	d.LoadedContext = f.props.Defaults.Context
	perSlot, busy, err := l.slots(ctx, d.ID.Model, router)
	switch {
	case err == nil:
		d.SlotsBusy = busy
		if perSlot > 0 {
			d.LoadedContext = perSlot
		}
	case !noEndpoint(err):
		return err
	}
	if d.LoadedContext == 0 && d.Slots <= 1 {
		d.LoadedContext = m.Meta.Context
	}
	d.MaxContext = d.LoadedContext
	f.asked = true
	for path, known := range map[string]*fleet.Tri{"/v1/embeddings": &f.embed, "/infill": &f.fill} {
		if *known == fleet.Unknown && !router {
			*known = l.free(ctx, path)
		}
	}
	d.Capabilities = llamaCapabilities(f, m)
	d.WeightsFile = f.props.Path
	d.Template = templateHash(f.props.Template)
	f.last = *d
	return nil
}

// asUnloaded says of a model on disk what was seen when it was last loaded.
func asUnloaded(d *fleet.Deployment, f *llamaFacts, args llamaArgs) {
	d.Residency = fleet.OnDisk
	d.Slots = args.parallel
	d.MaxContext = args.perSlot()
	if !f.asked {
		d.Capabilities = fleet.Capabilities{}
		embed := fleet.TriOf(args.embedding)
		d.Capabilities.Set(fleet.CapEmbedding, embed, fleet.SourceRuntime)
		chatOnly(d.Capabilities, !args.embedding)
		return
	}
	d.Capabilities = f.last.Capabilities
	d.Parameters, d.WeightsBytes, d.EmbeddingWidth, d.Quantization = f.last.Parameters, f.last.WeightsBytes, f.last.EmbeddingWidth, f.last.Quantization
	d.Slots, d.MaxContext = max(d.Slots, f.last.Slots), max(d.MaxContext, f.last.MaxContext)
	d.Template, d.WeightsFile = f.last.Template, f.last.WeightsFile
}

// slots asks how many are busy, and the context of each. autoload=false: a
// question must not load the model.
func (l *LlamaServer) slots(ctx context.Context, model string, router bool) (perSlot, busy int, err error) {
	path := "/slots"
	if router {
		path += "?autoload=false&model=" + url.QueryEscape(model)
	}
	var slots []llamaSlot
	if err := l.remote.get(ctx, path, &slots); err != nil {
		return 0, 0, err
	}
	for _, s := range slots {
		perSlot = s.Context
		if s.Processing {
			busy++
		}
	}
	return perSlot, busy, nil
}

// noEndpoint reports whether the server answered that it does not offer this.
func noEndpoint(err error) bool {
	var f *fleet.Failure
	return errors.As(err, &f) && f.Class == fleet.FailStatus && f.Status >= 400 && f.Code != CodeUnauthorized
}

// free asks an endpoint for nothing: a server that offers it complains about
// the empty request (400), one that does not says so first (501; 404 where it
// is too old to know). Nothing is computed either way. Any other answer leaves
// it unknown, to be asked again.
func (l *LlamaServer) free(ctx context.Context, path string) fleet.Tri {
	x, err := l.remote.do(ctx, request{method: http.MethodPost, path: path, body: []byte("{}")})
	if err != nil {
		return fleet.Unknown
	}
	_, _ = x.whole(1 << 20)
	switch x.status {
	case http.StatusBadRequest:
		return fleet.Yes
	case http.StatusNotImplemented, http.StatusNotFound:
		return fleet.No
	}
	return fleet.Unknown
}

// factsOf returns what is remembered of a model, nothing when its file changed.
func (l *LlamaServer) factsOf(name, path string) llamaFacts {
	l.mu.Lock()
	defer l.mu.Unlock()
	if f, ok := l.models[name]; ok && f.path == path {
		return f
	}
	return llamaFacts{path: path}
}

// keep replaces what is remembered by what an inventory saw.
func (l *LlamaServer) keep(seen map[string]llamaFacts) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.models = seen
}
