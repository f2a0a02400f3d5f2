package fleet

import (
	"strings"
	"time"
)

// DeploymentID names one model on one runtime on one node. Written
// node/runtime/model; node and runtime hold no slash, the model may.
type DeploymentID struct {
	Node    string `json:"node"`
	Runtime string `json:"runtime"`
	Model   string `json:"model"` // the runtime's own spelling
}

// String returns node/runtime/model.
func (d DeploymentID) String() string { return d.Node + "/" + d.Runtime + "/" + d.Model }

// MarshalText writes the id as node/runtime/model, so that it can key JSON maps.
func (d DeploymentID) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (d *DeploymentID) UnmarshalText(b []byte) error {
	id, ok := ParseDeploymentID(string(b))
	if !ok {
		return &IDError{Text: string(b)}
	}
	*d = id
	return nil
}

// ParseDeploymentID reads node/runtime/model; ok is false when a part is missing.
func ParseDeploymentID(s string) (id DeploymentID, ok bool) {
	node, rest, ok1 := strings.Cut(s, "/")
	rt, model, ok2 := strings.Cut(rest, "/")
	if !ok1 || !ok2 || node == "" || rt == "" || model == "" {
		return DeploymentID{}, false
	}
	return DeploymentID{node, rt, model}, true
}

// Compare orders ids by node, runtime, model: the last tie-break everywhere.
func (d DeploymentID) Compare(o DeploymentID) int {
	if c := strings.Compare(d.Node, o.Node); c != 0 {
		return c
	}
	if c := strings.Compare(d.Runtime, o.Runtime); c != 0 {
		return c
	}
	return strings.Compare(d.Model, o.Model)
}

// IDError reports a text that is no deployment id.
type IDError struct{ Text string }

func (e *IDError) Error() string {
	return "not a deployment id (node/runtime/model): " + e.Text
}

// CanonicalModel returns the key by which model names are compared: lower
// case, short (ShortModel), and ":latest" added when no tag is given. qwen3,
// qwen3:latest and registry.ollama.ai/library/qwen3 are one model, as they are
// for Ollama. Answers keep the caller's spelling.
func CanonicalModel(name string) string {
	n := strings.ToLower(ShortModel(name))
	if strings.LastIndexByte(n, ':') <= strings.LastIndexByte(n, '/') {
		n += ":latest"
	}
	return n
}

// ShortModel returns a model's name without the registry and the namespace that
// a name without any stands for, in any case. Any others belong to the name.
func ShortModel(name string) string {
	const registry, namespace = "registry.ollama.ai/", "library/"
	if rest := cutFold(name, registry); strings.Contains(rest, "/") { // registry.ollama.ai/x is a model x of that namespace
		name = rest
	}
	if rest := cutFold(name, namespace); rest != "" && !strings.Contains(rest, "/") {
		return rest
	}
	return name
}

// cutFold returns what follows a prefix in either case, else the whole.
func cutFold(s, prefix string) string {
	if len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix) {
		return s[len(prefix):]
	}
	return s
}

// SameModel reports whether two spellings name the same model.
func SameModel(a, b string) bool { return a == b || CanonicalModel(a) == CanonicalModel(b) }

// Tri is a fact that may be unknown. Unknown is never the same as No.
type Tri uint8

// The three values of a Tri.
const (
	Unknown Tri = iota
	Yes
	No
)

// TriOf turns a known bool into a Tri.
func TriOf(b bool) Tri {
	if b {
		return Yes
	}
	return No
}

func (t Tri) String() string { return [...]string{"unknown", "yes", "no"}[t] }

// MarshalText writes yes, no or unknown.
func (t Tri) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText reads yes, no or unknown; anything else is Unknown.
func (t *Tri) UnmarshalText(b []byte) error {
	switch string(b) {
	case "yes":
		*t = Yes
	case "no":
		*t = No
	default:
		*t = Unknown
	}
	return nil
}

// Source says who established a capability, strongest first.
type Source uint8

// Sources, strongest first: a claim is only replaced by an equal or stronger one.
const (
	SourceNone      Source = iota
	SourceOperator         // declared in the settings
	SourceProbe            // established by asking
	SourceRuntime          // reported by the runtime
	SourceTemplate         // read from the chat template
	SourceAdapter          // true of every model on this kind and version of runtime
	SourceCatalogue        // shipped with the product
)

var sourceNames = [...]string{"none", "operator", "probe", "runtime", "template", "adapter", "catalogue"}

func (s Source) String() string { return sourceNames[s] }

// MarshalText writes the source's name.
func (s Source) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads a source's name; an unknown one is SourceNone.
func (s *Source) UnmarshalText(b []byte) error {
	*s = SourceNone
	for i, n := range sourceNames {
		if n == string(b) {
			*s = Source(i)
		}
	}
	return nil
}

// Capability names something a deployment can or cannot do.
type Capability string

// The capabilities the router asks about.
const (
	CapChat               Capability = "chat"                 // answers conversations and prompts
	CapEmbedding          Capability = "embedding"            // turns text into vectors
	CapTools              Capability = "tools"                // takes tool schemas and calls them
	CapToolChoiceRequired Capability = "tool_choice_required" // can be made to call a (named) tool
	CapParallelTools      Capability = "parallel_tools"       // makes several calls in a turn, and reads them back
	CapJSONObject         Capability = "json_object"          // can be held to JSON
	CapJSONSchema         Capability = "json_schema"          // can be held to a schema
	CapVision             Capability = "vision"               // takes images
	CapAudio              Capability = "audio_in"             // takes audio
	CapThinking           Capability = "thinking"             // has a reasoning channel
	CapInsert             Capability = "insert"               // fills in the middle (suffix)
	CapStreaming          Capability = "streaming"
	CapContinuation       Capability = "continuation" // continues a trailing assistant message
)

// AllCapabilities are the names there are, in the order they are listed.
var AllCapabilities = []Capability{
	CapChat, CapEmbedding, CapTools, CapToolChoiceRequired, CapParallelTools, CapJSONObject, CapJSONSchema,
	CapVision, CapAudio, CapThinking, CapInsert, CapStreaming, CapContinuation,
}

// Claim is what is known of one capability, and from whom.
type Claim struct {
	Support Tri    `json:"support"`
	Source  Source `json:"source"`
}

// Capabilities maps each capability to what is known of it; absent = unknown.
// A published map is never changed.
type Capabilities map[Capability]Claim

// Set records a claim unless a stronger source has spoken.
func (c Capabilities) Set(name Capability, support Tri, source Source) {
	if old, ok := c[name]; ok && old.Source != SourceNone && old.Source < source {
		return
	}
	c[name] = Claim{support, source}
}

// Residency is where a deployment's weights are.
type Residency uint8

// Residency states.
const (
	OnDisk  Residency = iota // installed, not in memory
	Loading                  // a load is under way
	Loaded                   // in memory, serves at once
	Leaving                  // an unload is under way; takes no new work
)

var residencyNames = [...]string{"on_disk", "loading", "loaded", "leaving"}

func (r Residency) String() string { return residencyNames[r] }

// MarshalText writes the state's name.
func (r Residency) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads a state's name; an unknown one is OnDisk.
func (r *Residency) UnmarshalText(b []byte) error {
	*r = OnDisk
	for i, n := range residencyNames {
		if n == string(b) {
			*r = Residency(i)
		}
	}
	return nil
}

// Deployment is one model on one runtime on one node, as its agent reports it.
// Sizes are bytes; 0 means unknown wherever a zero makes no sense.
type Deployment struct {
	ID     DeploymentID `json:"id"`
	Digest string       `json:"digest,omitempty"` // of the weights and template, where the runtime reports one
	Kind   string       `json:"kind"`             // runtime kind: ollama, llama-server
	// DeclaredIdentity is its operator's word for what the weights are, for
	// runtimes that report no digest (see KnownIdentity).
	DeclaredIdentity string `json:"declared_identity,omitempty"`

	Family         string   `json:"family,omitempty"`
	Families       []string `json:"families,omitempty"`       // as the runtime lists them
	Format         string   `json:"format,omitempty"`         // of the weights: gguf, safetensors
	ParentModel    string   `json:"parent_model,omitempty"`   // it was made from, as the runtime says
	ParameterSize  string   `json:"parameter_size,omitempty"` // as the runtime writes it: 8.2B
	Quantization   string   `json:"quantization,omitempty"`
	Parameters     float64  `json:"parameters,omitempty"`      // count, e.g. 8.2e9
	ActiveParams   float64  `json:"active_params,omitempty"`   // count used per token (MoE), 0 = all
	WeightsBytes   int64    `json:"weights_bytes,omitempty"`   // size on disk
	KVBytesToken   int64    `json:"kv_bytes_token,omitempty"`  // KV cache bytes one token of context costs
	MaxContext     int      `json:"max_context,omitempty"`     // largest context window that can be set, tokens
	EmbeddingWidth int      `json:"embedding_width,omitempty"` // dimensions of its vectors or hidden state

	Residency     Residency `json:"residency"`
	ResidentBytes int64     `json:"resident_bytes,omitempty"` // measured while loaded, else as last measured
	ResidentVRAM  int64     `json:"resident_vram,omitempty"`  // the part of ResidentBytes in discrete VRAM
	LoadedContext int       `json:"loaded_context,omitempty"` // tokens per slot, while loaded
	Slots         int       `json:"slots,omitempty"`          // parallel requests the runtime runs, 0 = undeclared
	Preallocated  bool      `json:"preallocated,omitempty"`   // KV for all slots is allocated at load
	SlotsBusy     int       `json:"slots_busy,omitempty"`     // running as the runtime says, whoever asked
	LoadedAt      time.Time `json:"loaded_at,omitzero"`
	UnloadedAt    time.Time `json:"unloaded_at,omitzero"`
	ExpiresAt     time.Time `json:"expires_at,omitzero"` // when the runtime will unload it if idle

	Capabilities Capabilities `json:"capabilities,omitempty"`
	Honours      []string     `json:"honours,omitempty"` // request fields its adapter passes on: seed, logprobs, min_p ...
	Tags         []string     `json:"tags,omitempty"`
	// Priors are by task, "" = any; its operator's, else the catalogue's. A
	// published map is never changed.
	Priors map[string]Prior `json:"priors,omitempty"`
	// AlsoNamed are other names for the same weights on this node: another runtime
	// serves the very same file under them. Sorted.
	AlsoNamed []string `json:"also_named,omitempty"`
	// WeightsFile is where the weights lie, as the runtime says, "" = not told. It
	// never leaves the node.
	WeightsFile string `json:"-"`
	// Template is a short hash of the chat template, where the digest does not
	// cover it; "" = unknown.
	Template   string    `json:"template,omitempty"`
	Disabled   bool      `json:"disabled,omitempty"` // switched off by its operator
	Unhealthy  string    `json:"unhealthy,omitempty"`
	Pinned     bool      `json:"pinned,omitempty"` // never evicted by us
	Degraded   string    `json:"degraded,omitempty"`
	ModifiedAt time.Time `json:"modified_at,omitzero"`
}

// Can returns what is known of a capability.
func (d *Deployment) Can(c Capability) Claim { return d.Capabilities[c] }

// Honour reports whether the deployment's adapter passes a request field on.
func (d *Deployment) Honour(field string) bool {
	for _, f := range d.Honours {
		if f == field {
			return true
		}
	}
	return false
}

// Identity is what two deployments must share to be the same model: the
// digest where the runtime reports one, else the normalised name.
func (d *Deployment) Identity() string {
	if d.Digest != "" {
		return d.Digest
	}
	return CanonicalModel(d.ID.Model)
}

// Size returns the bytes the deployment occupies when loaded: as measured
// (weights and KV at that context and parallelism), else its weights
// (routing.md 0), 0 when neither is known.
func (d *Deployment) Size() int64 {
	if d.ResidentBytes > 0 {
		return d.ResidentBytes
	}
	return d.WeightsBytes
}
