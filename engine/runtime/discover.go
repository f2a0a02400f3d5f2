package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"bellwether/engine/fleet"
)

// probeTimeout is what one address gets to say what it is.
const probeTimeout = 300 * time.Millisecond

// usualPorts are where runtimes listen unless told otherwise. Those of kinds
// without an adapter are looked at too, so that a person sees why what runs
// there is not used.
var usualPorts = []string{"11434", "8080", "1234", "8000"}

// Found is what answers at an address.
type Found struct {
	URL string
	Identity
	Supported bool   // an adapter exists
	Reason    string // why not, in words for a person
}

// Discover looks for runtimes on this machine's usual ports and at the extra
// addresses (any form ParseTarget reads), all at once, 300 ms each. It only
// asks for metadata: it can load nothing. What is no runtime, and a Bellwether
// (also this one), is left out. Extra addresses come first, then by port.
func Discover(ctx context.Context, extra []string) []Found {
	var addresses []string
	add := func(s string) {
		if u, err := ParseTarget(s); err == nil && !slices.Contains(addresses, u.String()) {
			addresses = append(addresses, u.String())
		}
	}
	for _, s := range extra {
		add(s)
	}
	for _, port := range usualPorts {
		add("127.0.0.1:" + port)
	}
	found := make([]*Found, len(addresses))
	var wg sync.WaitGroup
	for i, address := range addresses {
		wg.Go(func() { found[i] = probe(ctx, address) })
	}
	wg.Wait()
	var out []Found
	for _, f := range found {
		if f != nil {
			out = append(out, *f)
		}
	}
	return out
}

// probe asks one address. A port closed on IPv4 loopback is tried on IPv6:
// some servers listen there only.
func probe(ctx context.Context, address string) *Found {
	f, err := Look(ctx, address)
	var failure *fleet.Failure
	if rest, ok := strings.CutPrefix(address, "http://127.0.0.1:"); ok && errors.As(err, &failure) && failure.Class == fleet.FailConnect {
		address = "http://[::1]:" + rest
		f, err = Look(ctx, address)
	}
	if err != nil {
		return nil
	}
	return f
}

// Look asks one address what answers there, 300 ms long. It can load nothing.
func Look(ctx context.Context, address string) (*Found, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	id, err := Recognise(ctx, Target{Name: address, URL: address})
	if err != nil {
		return nil, err
	}
	f := &Found{URL: address, Identity: id, Supported: id.Kind == KindOllama || id.Kind == KindLlamaServer}
	if !f.Supported {
		f.Reason = id.Kind + " runs here; this version has no adapter for it"
	}
	return f, nil
}

// Kinds that are recognised and have no adapter.
const (
	kindLMStudio = "lm-studio"
	kindVLLM     = "vllm"
	kindOpenAI   = "openai" // something that speaks its protocol
)

// Recognise asks what answers at an address, by fingerprint: llama-server by
// its Server header, whatever the status; Ollama by version and greeting, which
// must both be its own; others by what their model lists say. Nothing asked
// here can load a model.
func Recognise(ctx context.Context, t Target) (Identity, error) {
	r, err := newRemote(t)
	if err != nil {
		return Identity{}, err
	}
	defer r.shut()
	id, err := identifyOllama(ctx, r)
	if err == nil || errors.Is(err, ErrOurselves) || unreachable(err) {
		return id, err
	}
	if id, err := identifyLlamaServer(ctx, r); err == nil || errors.Is(err, ErrOurselves) {
		return id, err
	}
	return identifyOther(ctx, r)
}

func unreachable(err error) bool {
	var f *fleet.Failure
	return errors.As(err, &f) && (f.Class == fleet.FailConnect || f.Class == fleet.FailTimeout || f.Class == fleet.FailCancelled)
}

// page is an answer looked at for its fingerprint.
type page struct {
	head
	body []byte
}

// fetch reads a small answer of whatever status; a Bellwether is refused.
func (r *remote) fetch(ctx context.Context, path string) (*page, error) {
	x, err := r.do(ctx, request{method: http.MethodGet, path: path})
	var f *fleet.Failure
	if errors.As(err, &f) && f.Code == CodeOurselves {
		return nil, ErrOurselves
	}
	if err != nil {
		return nil, err
	}
	body, err := x.whole(1 << 20)
	if err != nil {
		return nil, err
	}
	return &page{x.head, body}, nil
}

func identifyOllama(ctx context.Context, r *remote) (Identity, error) {
	p, err := r.fetch(ctx, "/api/version")
	if err != nil {
		return Identity{}, err
	}
	var v struct{ Version string }
	if p.status != http.StatusOK || json.Unmarshal(p.body, &v) != nil || v.Version == "" {
		return Identity{}, ErrUnknownRuntime
	}
	if p, err = r.fetch(ctx, "/"); err != nil {
		return Identity{}, err
	}
	if p.status != http.StatusOK || strings.TrimSpace(string(p.body)) != "Ollama is running" {
		return Identity{}, ErrUnknownRuntime
	}
	return Identity{Kind: KindOllama, Version: v.Version}, nil
}

// identifyLlamaServer reads /props where it may; while loading, and without
// the key, the header alone tells.
func identifyLlamaServer(ctx context.Context, r *remote) (Identity, error) {
	p, err := r.fetch(ctx, "/props")
	if err != nil {
		return Identity{}, err
	}
	if !strings.EqualFold(p.server, "llama.cpp") {
		return Identity{}, ErrUnknownRuntime
	}
	id := Identity{Kind: KindLlamaServer}
	var props llamaProps
	if p.status == http.StatusOK && json.Unmarshal(p.body, &props) == nil {
		id.Version, id.Router = props.BuildInfo, props.Role == "router"
	}
	return id, nil
}

func identifyOther(ctx context.Context, r *remote) (Identity, error) {
	if p, err := r.fetch(ctx, "/api/v0/models"); err == nil && p.status == http.StatusOK && validJSON(p.body) {
		return Identity{Kind: kindLMStudio}, nil
	}
	p, err := r.fetch(ctx, "/v1/models")
	if err != nil {
		return Identity{}, err
	}
	var list struct {
		Data []struct {
			OwnedBy string `json:"owned_by"`
		}
	}
	if p.status != http.StatusOK || json.Unmarshal(p.body, &list) != nil || list.Data == nil {
		return Identity{}, ErrUnknownRuntime
	}
	if len(list.Data) > 0 && list.Data[0].OwnedBy == "vllm" {
		return Identity{Kind: kindVLLM}, nil
	}
	return Identity{Kind: kindOpenAI}, nil
}
