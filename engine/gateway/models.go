package gateway

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"bellwether/engine/dialect"
	"bellwether/engine/fleet"
	"bellwether/engine/route"
)

// ollamaVersion is the version we report to Ollama clients: they gate
// features (capabilities, streamed tools, thinking) on it, so it is the newest
// one whose surface we serve whenever no node runs a newer.
const ollamaVersion = "0.33.0"

// listing is one model of the fleet as the merged views show it: the union of
// all deployments of one name.
type listing struct {
	name        string // as the deployment that represents it spells it
	best        fleet.Deployment
	deployments []fleet.Deployment
	alias       bool // a name for a choice; best is made up of what its members can do
}

// listings merges the fleet's deployments by canonical name, sorted by name.
// thisNode keeps to the machine the caller asks (header X-Fleet-Local).
func (g *Gateway) listings(thisNode bool) []listing {
	byName := map[string]*listing{}
	snap := g.Fleet()
	for i := range snap.Nodes {
		n := &snap.Nodes[i]
		if n.Liveness == fleet.Offline || thisNode && !n.Local {
			continue
		}
		for _, d := range n.Deployments {
			rt := n.Runtime(d.ID.Runtime)
			if d.Disabled || rt == nil || !rt.Up {
				continue
			}
			key := fleet.CanonicalModel(d.ID.Model)
			l := byName[key]
			if l == nil {
				l = &listing{}
				byName[key] = l
			}
			l.deployments = append(l.deployments, d)
		}
	}
	all := make([]listing, 0, len(byName))
	for _, l := range byName {
		slices.SortFunc(l.deployments, preferred)
		l.best = l.deployments[0]
		l.name = l.best.ID.Model
		all = append(all, *l)
	}
	slices.SortFunc(all, func(a, b listing) int { return strings.Compare(a.name, b.name) })
	return all
}

// preferred orders deployments of one name by who will most likely serve it:
// loaded first, then id.
func preferred(a, b fleet.Deployment) int {
	loaded := func(d fleet.Deployment) int {
		if d.Residency == fleet.Loaded {
			return 0
		}
		return 1
	}
	return cmp.Or(cmp.Compare(loaded(a), loaded(b)), a.ID.Compare(b.ID))
}

// find returns the listing a client's name means.
func (g *Gateway) find(name string, thisNode bool) (listing, bool) {
	for _, l := range g.listings(thisNode) {
		if fleet.SameModel(l.name, name) {
			return l, true
		}
	}
	if _, ok := fleet.ParseDeploymentID(name); ok {
		snap := g.Fleet()
		for _, l := range g.listings(thisNode) {
			for _, d := range l.deployments {
				if d.ID.String() == name || strings.EqualFold(snap.Called(d.ID), name) {
					return listing{name: name, best: d, deployments: []fleet.Deployment{d}}, true
				}
			}
		}
	}
	return listing{}, false
}

func localOnly(r *http.Request) bool {
	on, _ := route.FlagOf(r.Header.Get("X-Fleet-Local"))
	return on
}

func (l listing) modified() time.Time {
	if l.best.ModifiedAt.IsZero() {
		return time.Unix(0, 0).UTC()
	}
	return l.best.ModifiedAt
}

// advertisedContext is the context window a client may count on wherever the
// name is served: the smallest over its deployments, 0 = unknown. An alias goes
// to a member with enough, so the largest counts.
func (l listing) advertisedContext() int {
	if l.alias {
		return l.best.MaxContext
	}
	least := 0
	for _, d := range l.deployments {
		c := d.LoadedContext
		if c == 0 {
			c = d.MaxContext
		}
		if c > 0 && (least == 0 || c < least) {
			least = c
		}
	}
	return least
}

// openAIModel is a row of GET /v1/models. Bellwether adds context_window.
type openAIModel struct {
	ID            string `json:"id"`
	Object        string `json:"object"`
	Created       int64  `json:"created"`
	OwnedBy       string `json:"owned_by"`
	ContextWindow int    `json:"context_window,omitempty"`
}

// anthropicModel is a row of GET /v1/models for Anthropic clients.
type anthropicModel struct {
	Type        string    `json:"type"`
	ID          string    `json:"id"`
	DisplayName string    `json:"display_name"`
	CreatedAt   time.Time `json:"created_at"`
}

func (l listing) openAI() openAIModel {
	owner := "library"
	if l.alias {
		owner = "bellwether"
	}
	if ns, _, ok := strings.Cut(l.name, "/"); ok {
		owner = ns
	}
	return openAIModel{ID: l.name, Object: "model", Created: max(l.modified().Unix(), 0), OwnedBy: owner, ContextWindow: l.advertisedContext()}
}

func (l listing) anthropic() anthropicModel {
	return anthropicModel{Type: "model", ID: l.name, DisplayName: l.name, CreatedAt: l.modified()}
}

func (g *Gateway) listModels(w http.ResponseWriter, r *http.Request, _ caller) {
	all := slices.Concat(g.listings(localOnly(r)), g.aliasListings(localOnly(r)), g.contractListings(localOnly(r)))
	if r.Header.Get("anthropic-version") != "" {
		data := make([]anthropicModel, 0, len(all))
		for _, l := range all {
			data = append(data, l.anthropic())
		}
		page := map[string]any{"data": data, "has_more": false, "first_id": nil, "last_id": nil}
		if len(data) > 0 {
			page["first_id"], page["last_id"] = data[0].ID, data[len(data)-1].ID
		}
		writeJSON(w, http.StatusOK, page)
		return
	}
	data := make([]openAIModel, 0, len(all))
	for _, l := range all {
		data = append(data, l.openAI())
	}
	writeJSON(w, http.StatusOK, map[string]any{"object": "list", "data": data})
}

func (g *Gateway) oneModel(w http.ResponseWriter, r *http.Request, _ caller) {
	id := strings.TrimPrefix(cleanPath(r.URL.Path), "/v1/models/")
	proto := protocolOf("/v1/models", r)
	if p := g.checkAsked(id); p != nil {
		g.refuse(w, proto, p, "")
		return
	}
	l, ok := g.findAny(id, localOnly(r))
	if !ok {
		g.refuse(w, proto, g.missing(id), "")
		return
	}
	l.name = id
	if proto == dialect.Anthropic {
		writeJSON(w, http.StatusOK, l.anthropic())
		return
	}
	writeJSON(w, http.StatusOK, l.openAI())
}

// missing is the answer for a model that is not listed: there is none, or nobody
// can say, as its runtime is down. A client that hears 404 of it may fetch it anew.
func (g *Gateway) missing(name string) *dialect.Problem {
	x, may := route.OutOfReach(g.Fleet(), name)
	if !may {
		return unknownModel(name)
	}
	yes := true
	_, remedy := route.Sentences(x)
	return &dialect.Problem{Status: http.StatusServiceUnavailable, Code: string(x.Code), RetryAfter: retryDown, Retry: &yes,
		Message: "model '" + printable(name) + "' is out of reach: " + route.Render(x).Reason + ".", Remedy: remedy}
}

// retryDown is when to ask again for what is on a runtime that is down.
const retryDown = 5 * time.Second

func unknownModel(name string) *dialect.Problem {
	no := false
	return &dialect.Problem{Status: http.StatusNotFound, Code: "model_not_found", Param: "model",
		Message: "model '" + printable(name) + "' not found", Retry: &no}
}

// ollamaDetails is the details object of tags and ps. The strings are always
// there, empty at worst: strict clients drop the whole list otherwise.
type ollamaDetails struct {
	ParentModel       string   `json:"parent_model"`
	Format            string   `json:"format"`
	Family            string   `json:"family"`
	Families          []string `json:"families"`
	ParameterSize     string   `json:"parameter_size"`
	QuantizationLevel string   `json:"quantization_level"`
	ContextLength     int      `json:"context_length,omitempty"`
	EmbeddingLength   int      `json:"embedding_length,omitempty"`
}

func details(d *fleet.Deployment) ollamaDetails {
	families := d.Families
	if families == nil && d.Family != "" {
		families = []string{d.Family}
	}
	if families == nil {
		families = []string{}
	}
	return ollamaDetails{ParentModel: d.ParentModel, Format: cmp.Or(d.Format, "gguf"), Family: d.Family, Families: families,
		ParameterSize: d.ParameterSize, QuantizationLevel: d.Quantization}
}

// ollamaTag is a row of GET /api/tags. fleet_nodes is ours: where the model is.
type ollamaTag struct {
	Name         string        `json:"name"`
	Model        string        `json:"model"`
	ModifiedAt   time.Time     `json:"modified_at"`
	Size         int64         `json:"size"`
	Digest       string        `json:"digest"`
	Details      ollamaDetails `json:"details"`
	Capabilities []string      `json:"capabilities,omitempty"`
	FleetNodes   []string      `json:"fleet_nodes"`
}

func (g *Gateway) tags(w http.ResponseWriter, r *http.Request, _ caller) {
	models := []ollamaTag{}
	for _, l := range slices.Concat(g.listings(localOnly(r)), g.aliasListings(localOnly(r)), g.contractListings(localOnly(r))) {
		d := &l.best
		t := ollamaTag{Name: l.name, Model: l.name, ModifiedAt: l.modified(), Size: d.WeightsBytes, Digest: d.Digest,
			Details: details(d), Capabilities: ollamaCapabilities(d), FleetNodes: g.nodesOf(l)}
		t.Details.ContextLength, t.Details.EmbeddingLength = d.MaxContext, d.EmbeddingWidth
		models = append(models, t)
	}
	writeJSON(w, http.StatusOK, map[string]any{"models": models})
}

func (g *Gateway) nodesOf(l listing) []string {
	names := []string{}
	snap := g.Fleet()
	for _, d := range l.deployments {
		if n := snap.Node(d.ID.Node); n != nil && !slices.Contains(names, n.Name) {
			names = append(names, n.Name)
		}
	}
	slices.Sort(names)
	return names
}

// ollamaCapabilities names what is known to be supported, in Ollama's words.
func ollamaCapabilities(d *fleet.Deployment) []string {
	words := []struct {
		cap  fleet.Capability
		word string
	}{
		{fleet.CapChat, "completion"}, {fleet.CapTools, "tools"}, {fleet.CapInsert, "insert"}, {fleet.CapVision, "vision"},
		{fleet.CapEmbedding, "embedding"}, {fleet.CapThinking, "thinking"}, {fleet.CapAudio, "audio"},
	}
	var out []string
	for _, w := range words {
		if d.Can(w.cap).Support == fleet.Yes {
			out = append(out, w.word)
		}
	}
	return out
}

// ollamaPS is a row of GET /api/ps.
type ollamaPS struct {
	Name          string        `json:"name"`
	Model         string        `json:"model"`
	Size          int64         `json:"size"`
	Digest        string        `json:"digest"`
	Details       ollamaDetails `json:"details"`
	ExpiresAt     time.Time     `json:"expires_at"`
	SizeVRAM      int64         `json:"size_vram"`
	ContextLength int           `json:"context_length"`
	FleetNode     string        `json:"fleet_node"`
}

// never is what a runtime that keeps models for good shows as expires_at.
var never = time.Date(2318, time.March, 12, 0, 0, 0, 0, time.UTC)

func (g *Gateway) ps(w http.ResponseWriter, r *http.Request, _ caller) {
	models := []ollamaPS{}
	snap := g.Fleet()
	for _, l := range g.listings(localOnly(r)) {
		for i := range l.deployments {
			d := &l.deployments[i]
			if d.Residency != fleet.Loaded && d.Residency != fleet.Leaving {
				continue
			}
			expires := d.ExpiresAt
			if expires.IsZero() {
				expires = never
			}
			node := d.ID.Node
			if n := snap.Node(node); n != nil {
				node = n.Name
			}
			models = append(models, ollamaPS{Name: d.ID.Model, Model: d.ID.Model, Size: d.Size(), Digest: d.Digest, Details: details(d),
				ExpiresAt: expires, SizeVRAM: d.ResidentVRAM, ContextLength: d.LoadedContext, FleetNode: node})
		}
	}
	writeJSON(w, http.StatusOK, map[string]any{"models": models})
}

func (g *Gateway) version(w http.ResponseWriter, _ *http.Request, _ caller) {
	v := ollamaVersion
	snap := g.Fleet()
	for i := range snap.Nodes {
		for _, rt := range snap.Nodes[i].Runtimes {
			if rt.Kind == "ollama" && rt.Up && newer(rt.Version, v) {
				v = rt.Version
			}
		}
	}
	writeJSON(w, http.StatusOK, map[string]string{"version": v})
}

// newer compares dotted versions numerically, suffixes ignored.
func newer(a, b string) bool {
	next := func(s string) (int, string) {
		n, i := 0, 0
		for ; i < len(s) && s[i] >= '0' && s[i] <= '9'; i++ {
			n = n*10 + int(s[i]-'0')
		}
		_, rest, _ := strings.Cut(s[i:], ".")
		return n, rest
	}
	for a != "" || b != "" {
		var x, y int
		x, a = next(a)
		y, b = next(b)
		if x != y {
			return x > y
		}
	}
	return false
}

// root answers as Ollama does, which its clients look for; a person's browser
// is led to the admin UI.
func (g *Gateway) root(w http.ResponseWriter, r *http.Request, who caller) {
	if g.Admin != nil && who.loopback && strings.Contains(r.Header.Get("Accept"), "text/html") {
		w.Header().Set("Vary", "Accept")
		w.Header().Set("Cache-Control", "no-store")
		http.Redirect(w, r, "/ui/", http.StatusFound)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if r.Method != http.MethodHead {
		_, _ = w.Write([]byte("Ollama is running"))
	}
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		http.Error(w, "internal error", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(body)
}
