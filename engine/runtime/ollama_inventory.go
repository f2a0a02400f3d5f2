package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"bellwether/engine/dialect"
	"bellwether/engine/fleet"
)

// The wire forms of /api/tags, /api/ps and /api/show, as far as read here.
type (
	ollamaDetails struct {
		Parent        string   `json:"parent_model"`
		Format        string   `json:"format"`
		Family        string   `json:"family"`
		Families      []string `json:"families"`
		ParameterSize string   `json:"parameter_size"`
		Quantization  string   `json:"quantization_level"`
		Context       int      `json:"context_length"`
		Embedding     int      `json:"embedding_length"`
	}
	ollamaTag struct {
		Name         string        `json:"name"`
		Model        string        `json:"model"`
		ModifiedAt   time.Time     `json:"modified_at"`
		Size         int64         `json:"size"`
		Digest       string        `json:"digest"`
		Details      ollamaDetails `json:"details"`
		Capabilities []string      `json:"capabilities"`
		RemoteHost   string        `json:"remote_host"`
	}
	ollamaResident struct {
		Name      string        `json:"name"`
		Model     string        `json:"model"`
		Size      int64         `json:"size"`
		SizeVRAM  int64         `json:"size_vram"`
		Digest    string        `json:"digest"`
		Details   ollamaDetails `json:"details"`
		ExpiresAt time.Time     `json:"expires_at"`
		Context   int           `json:"context_length"`
	}
	ollamaShow struct {
		Template     string         `json:"template"`
		Modelfile    string         `json:"modelfile"`
		Details      ollamaDetails  `json:"details"`
		Info         map[string]any `json:"model_info"`
		Projector    map[string]any `json:"projector_info"`
		Capabilities []string       `json:"capabilities"`
	}
)

// modelFacts is what show says of one digest.
type modelFacts struct {
	capabilities []string
	weights      string // file, see weightsFile
	guessed      bool   // read from the template, by a runtime too old to report them
	partial      bool   // from tags only, which leave some out (vision): no word is no answer
	geometry     geometry
}

// Inventory lists what is installed and what is in memory. It asks show once
// for each new digest. ps goes on listing a model whose runner has died, until
// the next request: that cannot be told from here.
func (o *Ollama) Inventory(ctx context.Context) (*Inventory, error) {
	inv := &Inventory{StartedAt: time.Now(), ReportsResidency: true}
	var version struct{ Version string }
	var tags struct{ Models []ollamaTag }
	var ps struct{ Models []ollamaResident }
	for _, q := range []struct {
		path string
		into any
	}{{"/api/version", &version}, {"/api/tags", &tags}, {"/api/ps", &ps}} {
		if err := o.remote.get(ctx, q.path, q.into); err != nil {
			return nil, fmt.Errorf("inventory of %s: %w", o.target.Name, err)
		}
	}
	inv.Server = o.remote.server()
	for _, p := range ps.Models {
		if p.Name == "" || p.Digest == "" || p.Size <= 0 {
			// ps raced with an unload (ollama#17376): what it says of the others
			// may be half true as well.
			return nil, fmt.Errorf("inventory of %s: %w", o.target.Name, errHalfEmpty)
		}
	}
	inv.Version = version.Version
	o.learn(ctx, tags.Models)
	for i := range tags.Models {
		inv.Deployments = append(inv.Deployments, o.deployment(&tags.Models[i], version.Version))
	}
	for i := range ps.Models {
		o.settle(inv, &ps.Models[i])
	}
	o.remember(inv)
	return inv, nil
}

var errHalfEmpty = errors.New("a model in memory is listed without its size or digest; not an observation")

// deployment is a model on disk.
func (o *Ollama) deployment(t *ollamaTag, version string) fleet.Deployment {
	facts := o.factsOf(t.Digest)
	if facts == nil {
		facts = &modelFacts{partial: true, capabilities: t.Capabilities, geometry: geometry{Context: t.Details.Context, Embedding: t.Details.Embedding}}
	}
	d := fleet.Deployment{
		ID:             fleet.DeploymentID{Runtime: o.target.Name, Model: t.Name},
		Digest:         t.Digest,
		Kind:           KindOllama,
		Family:         t.Details.Family,
		Families:       t.Details.Families,
		Format:         t.Details.Format,
		ParentModel:    t.Details.Parent,
		ParameterSize:  t.Details.ParameterSize,
		Quantization:   t.Details.Quantization,
		Parameters:     facts.geometry.Parameters,
		WeightsBytes:   t.Size,
		KVBytesToken:   facts.geometry.KVBytesToken(),
		MaxContext:     max(facts.geometry.Context, t.Details.Context),
		EmbeddingWidth: max(facts.geometry.Embedding, t.Details.Embedding),
		WeightsFile:    facts.weights,
		Residency:      fleet.OnDisk,
		Slots:          o.target.Parallel,
		Preallocated:   true,
		ModifiedAt:     t.ModifiedAt,
		Capabilities:   ollamaCapabilities(facts, version),
		Honours:        ollamaHonours(version),
	}
	if d.Parameters == 0 {
		d.Parameters = parseCount(t.Details.ParameterSize)
	}
	if d.Can(fleet.CapEmbedding).Support == fleet.Yes || serialised(t.Details.Families) {
		d.Slots = 1
	}
	if t.RemoteHost != "" {
		// Ollama would send the prompt to another company's machine.
		d.Disabled, d.Tags = true, append(d.Tags, "remote")
	}
	return d
}

// settle marks a model as being in memory.
func (o *Ollama) settle(inv *Inventory, p *ollamaResident) {
	i := slices.IndexFunc(inv.Deployments, func(d fleet.Deployment) bool { return fleet.SameModel(d.ID.Model, p.Name) })
	if i < 0 {
		inv.Leftovers = append(inv.Leftovers, fleet.Deployment{
			ID: fleet.DeploymentID{Runtime: o.target.Name, Model: p.Name}, Kind: KindOllama,
			Residency: fleet.Loaded, ResidentBytes: p.Size, ResidentVRAM: p.SizeVRAM,
		})
		return
	}
	d := &inv.Deployments[i]
	d.Residency = fleet.Loaded
	d.ResidentBytes, d.ResidentVRAM = p.Size, p.SizeVRAM
	d.LoadedContext = p.Context
	d.ExpiresAt = p.ExpiresAt
	if d.Digest != p.Digest && d.Digest != "" {
		d.Degraded = "an earlier version of the model is still in memory"
	}
}

// remember keeps which models embed, for Load.
func (o *Ollama) remember(inv *Inventory) {
	embed := make(map[string]bool, len(inv.Deployments))
	for i := range inv.Deployments {
		d := &inv.Deployments[i]
		embed[fleet.CanonicalModel(d.ID.Model)] = d.Can(fleet.CapEmbedding).Support == fleet.Yes
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.embed = embed
}

// learn asks show for digests not seen before, four at a time, and forgets
// those no longer installed. A show that fails is asked again next time.
func (o *Ollama) learn(ctx context.Context, tags []ollamaTag) {
	installed := make(map[string]bool, len(tags))
	var wg sync.WaitGroup
	room := make(chan struct{}, 4) // calls at once: a machine with a hundred models must not feel this
	for i := range tags {
		t := &tags[i]
		if installed[t.Digest] {
			continue
		}
		installed[t.Digest] = true
		if t.Digest == "" || t.RemoteHost != "" || o.factsOf(t.Digest) != nil {
			continue
		}
		room <- struct{}{}
		wg.Go(func() {
			defer func() { <-room }()
			if f, err := o.ask(ctx, t.Name); err == nil {
				o.mu.Lock()
				o.facts[t.Digest] = f
				o.mu.Unlock()
			}
		})
	}
	wg.Wait()
	o.mu.Lock()
	defer o.mu.Unlock()
	for digest := range o.facts {
		if !installed[digest] {
			delete(o.facts, digest)
		}
	}
}

func (o *Ollama) factsOf(digest string) *modelFacts {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.facts[digest]
}

func (o *Ollama) ask(ctx context.Context, model string) (*modelFacts, error) {
	body, err := o.call(ctx, http.MethodPost, "/api/show", append(dialect.AppendString([]byte(`{"model":`), model), '}'))
	if err != nil {
		return nil, err
	}
	var s ollamaShow
	if err := json.Unmarshal(body, &s); err != nil {
		return nil, err
	}
	f := &modelFacts{capabilities: s.Capabilities, geometry: geometryOf(s.Info), weights: weightsFile(s.Modelfile)}
	if len(f.capabilities) == 0 {
		f.capabilities, f.guessed = guessCapabilities(&s), true
	}
	return f, nil
}

// weightsFile finds the file of weights in a modelfile, "" where the model is
// more than its weights: an adapter, a system prompt or example messages make
// it another one than whoever serves the bare file.
func weightsFile(modelfile string) (path string) {
	for line := range strings.Lines(modelfile) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch strings.ToUpper(word) {
		case "FROM":
			if path == "" { // a second one is the projector of a vision model
				path = strings.TrimSpace(rest)
			}
		case "ADAPTER", "SYSTEM", "MESSAGE":
			return ""
		}
	}
	return path
}

// guessCapabilities reads what runtimes before 0.6.4 do not report.
func guessCapabilities(s *ollamaShow) []string {
	if strings.Contains(s.Details.Family, "bert") {
		return []string{"embedding"}
	}
	caps := []string{"completion"}
	if strings.Contains(s.Template, ".Tools") {
		caps = append(caps, "tools")
	}
	if strings.Contains(s.Template, ".Suffix") {
		caps = append(caps, "insert")
	}
	if len(s.Projector) > 0 {
		caps = append(caps, "vision")
	}
	return caps
}

// ollamaNames maps Ollama's words for capabilities to ours.
var ollamaNames = []struct {
	word string
	name fleet.Capability
}{
	{"completion", fleet.CapChat}, {"embedding", fleet.CapEmbedding}, {"tools", fleet.CapTools}, {"vision", fleet.CapVision},
	{"thinking", fleet.CapThinking}, {"insert", fleet.CapInsert}, {"audio", fleet.CapAudio},
}

// ollamaCapabilities says what a model can do. The list a runtime reports is
// whole: what is not in it is a no. What holds of every model on Ollama is the
// adapter's word: it can be held to JSON by its grammar and, by the same means,
// to a call; it cannot be told to make one call only.
func ollamaCapabilities(f *modelFacts, version string) fleet.Capabilities {
	caps := fleet.Capabilities{}
	if len(f.capabilities) == 0 {
		return caps
	}
	source := fleet.SourceRuntime
	if f.guessed {
		source = fleet.SourceTemplate
	}
	for _, n := range ollamaNames {
		if has := slices.Contains(f.capabilities, n.word); has || !f.partial {
			caps.Set(n.name, fleet.TriOf(has), source)
		}
	}
	chat := caps[fleet.CapChat].Support
	schema := chat
	if !atLeast(version, 0, 5, 0) {
		schema = fleet.No // before 0.5 format was "json" only
	}
	caps.Set(fleet.CapStreaming, chat, fleet.SourceAdapter)
	caps.Set(fleet.CapContinuation, chat, fleet.SourceAdapter)
	caps.Set(fleet.CapJSONObject, chat, fleet.SourceAdapter)
	caps.Set(fleet.CapJSONSchema, schema, fleet.SourceAdapter)
	required := caps[fleet.CapTools].Support
	if schema != fleet.Yes {
		required = fleet.No
	}
	caps.Set(fleet.CapToolChoiceRequired, required, fleet.SourceAdapter)
	return caps
}

func ollamaHonours(version string) []string {
	h := []string{"temperature", "top_p", "top_k", "min_p", "seed", "stop", "frequency_penalty", "presence_penalty", "repeat_penalty", "dimensions", "keep_alive", "num_ctx"}
	if atLeast(version, 0, 12, 11) {
		h = append(h, "logprobs", "top_logprobs")
	}
	return h
}

// serialised are families Ollama runs one request at a time, whatever
// OLLAMA_NUM_PARALLEL says.
func serialised(families []string) bool {
	return slices.ContainsFunc(families, func(f string) bool {
		return f == "mllama" || f == "qwen3vl" || f == "qwen3vlmoe" || f == "qwen3next" || f == "lfm2" || f == "lfm2moe"
	})
}

// atLeast compares the leading numbers of a version. A version without any (a
// build from source says 0.0.0) counts as new.
func atLeast(version string, want ...int) bool {
	version = strings.TrimPrefix(version, "v")
	if version == "" || strings.HasPrefix(version, "0.0.0") {
		return true
	}
	parts := strings.FieldsFunc(version, func(r rune) bool { return r == '.' || r == '-' || r == '+' })
	for i, w := range want {
		if i >= len(parts) {
			return false
		}
		n, err := strconv.Atoi(parts[i])
		if err != nil {
			return true
		}
		if n != w {
			return n > w
		}
	}
	return true
}
