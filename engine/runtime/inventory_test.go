package runtime

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"bellwether/engine/fleet"
)

func find(t *testing.T, inv *Inventory, model string) fleet.Deployment {
	t.Helper()
	for _, d := range inv.Deployments {
		if d.ID.Model == model {
			return d
		}
	}
	t.Fatalf("no %s in the inventory", model)
	return fleet.Deployment{}
}

func inventory(t *testing.T, a Adapter) *Inventory {
	t.Helper()
	inv, err := a.Inventory(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return inv
}

func wantClaim(t *testing.T, d fleet.Deployment, c fleet.Capability, support fleet.Tri, source fleet.Source) {
	t.Helper()
	if got := d.Can(c); got.Support != support || got.Source != source {
		t.Errorf("%s %s: got %v from %v, want %v from %v", d.ID.Model, c, got.Support, got.Source, support, source)
	}
}

var ollamaShown = []string{"01-version", "02-tags", "03-ps-before", "04-show-embed", "04-show-think", "04-show-tiny", "04-show-tools", "04-show-vision"}

func TestOllamaInventoryReadsTagsPsAndShow(t *testing.T) {
	p, url := newReplay(t, KindOllama, ollamaShown...)
	a := open(t, Target{Name: "ollama", Kind: KindOllama, URL: url})
	inv := inventory(t, a)
	if inv.Version != "0.33.0-rc2" || !inv.ReportsResidency || inv.StartedAt.IsZero() {
		t.Errorf("got version %q, reports %v, started %v", inv.Version, inv.ReportsResidency, inv.StartedAt)
	}
	tiny := find(t, inv, "tiny:latest")
	if tiny.Residency != fleet.Loaded || tiny.ResidentBytes != 19283311 || tiny.ResidentVRAM != 0 || tiny.LoadedContext != 2048 || tiny.ExpiresAt.IsZero() {
		t.Errorf("residency of tiny: %+v", tiny)
	}
	// 2 layers x 4 kv heads x (64 + 64) x 2 bytes
	if tiny.KVBytesToken != 2048 || tiny.MaxContext != 4096 || tiny.Parameters != 2295040 || tiny.EmbeddingWidth != 256 || tiny.Quantization != "F16" || tiny.Family != "llama" {
		t.Errorf("geometry of tiny: %+v", tiny)
	}
	if tiny.Digest != "b6f5882820d097b0dac15be4074cbd1a621302422a35177388fdc89d13650ce5" || tiny.ID.Runtime != "ollama" || tiny.ID.Node != "" {
		t.Errorf("identity of tiny: %+v", tiny.ID)
	}
	wantClaim(t, tiny, fleet.CapChat, fleet.Yes, fleet.SourceRuntime)
	wantClaim(t, tiny, fleet.CapTools, fleet.No, fleet.SourceRuntime)
	wantClaim(t, tiny, fleet.CapThinking, fleet.No, fleet.SourceRuntime)
	wantClaim(t, tiny, fleet.CapJSONSchema, fleet.Yes, fleet.SourceAdapter)
	wantClaim(t, tiny, fleet.CapParallelTools, fleet.Unknown, fleet.SourceNone)
	wantClaim(t, find(t, inv, "tools:latest"), fleet.CapTools, fleet.Yes, fleet.SourceRuntime)
	wantClaim(t, find(t, inv, "tools:latest"), fleet.CapToolChoiceRequired, fleet.Yes, fleet.SourceAdapter)
	wantClaim(t, find(t, inv, "think:latest"), fleet.CapThinking, fleet.Yes, fleet.SourceRuntime)
	// tags leaves vision out, show has it
	wantClaim(t, find(t, inv, "vision:latest"), fleet.CapVision, fleet.Yes, fleet.SourceRuntime)
	embed := find(t, inv, "embed:latest")
	wantClaim(t, embed, fleet.CapEmbedding, fleet.Yes, fleet.SourceRuntime)
	wantClaim(t, embed, fleet.CapChat, fleet.No, fleet.SourceRuntime)
	if embed.EmbeddingWidth != 128 || embed.Slots != 1 {
		t.Errorf("embed: width %d, slots %d", embed.EmbeddingWidth, embed.Slots)
	}
	mid := find(t, inv, "mid60:latest") // its show was not recorded: only tags speak
	wantClaim(t, mid, fleet.CapChat, fleet.Yes, fleet.SourceRuntime)
	wantClaim(t, mid, fleet.CapVision, fleet.Unknown, fleet.SourceNone)
	if mid.Residency != fleet.OnDisk || mid.MaxContext != 4096 || mid.Parameters == 0 {
		t.Errorf("mid60: %+v", mid)
	}

	before := len(p.seen)
	inventory(t, a)
	for _, asked := range p.seen[before:] {
		if strings.Contains(asked, "show") && !slices.Contains(p.asked[before:], `{"model":"mid60:latest"}`) {
			t.Errorf("show was asked again for a digest known already")
		}
	}
	for _, asked := range p.seen {
		if !strings.HasPrefix(asked, "GET ") && asked != "POST /api/show" {
			t.Errorf("an observation sent %s", asked)
		}
	}
}

// edited serves Ollama's recordings with one answer changed.
func edited(t *testing.T, path string, edit func(string) string) string {
	t.Helper()
	p, _ := newReplay(t, KindOllama, ollamaShown...)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != path {
			p.ServeHTTP(w, r)
			return
		}
		rec := httptest.NewRecorder()
		p.ServeHTTP(rec, r)
		w.WriteHeader(rec.Code)
		_, _ = io.WriteString(w, edit(rec.Body.String()))
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func TestAHalfEmptyPsEntryIsNoObservation(t *testing.T) {
	for _, half := range []string{
		`{"models":[{"name":"","model":"","size":0,"digest":"","expires_at":"0001-01-01T00:00:00Z","size_vram":0}]}`,
		`{"models":[{"name":"tiny:latest","model":"tiny:latest","size":0,"digest":"b6f5"}]}`,
		`{"models":[{"name":"tiny:latest","model":"tiny:latest","size":100,"digest":""}]}`,
	} {
		a := open(t, Target{Name: "ollama", Kind: KindOllama, URL: edited(t, "/api/ps", func(string) string { return half })})
		if inv, err := a.Inventory(t.Context()); err == nil {
			t.Errorf("%s was taken for an observation: %+v", half, inv)
		}
	}
}

func TestHalfAnAnswerIsNoObservation(t *testing.T) {
	for _, path := range []string{"/api/tags", "/api/ps", "/api/version"} {
		a := open(t, Target{Name: "ollama", Kind: KindOllama, URL: edited(t, path, func(s string) string { return s[:len(s)/2] })})
		if _, err := a.Inventory(t.Context()); err == nil {
			t.Errorf("half of %s was taken for an observation", path)
		}
	}
}

func TestABellwetherThatTookTheRuntimesPortIsNoRuntime(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(HeaderRouter, "x")
		_, _ = io.WriteString(w, `{"version":"0.33.0","models":[]}`)
	}))
	defer s.Close()
	a := open(t, Target{Name: "ollama", Kind: KindOllama, URL: s.URL})
	if _, err := a.Inventory(t.Context()); !strings.Contains(failureText(err), CodeOurselves) {
		t.Errorf("got %v", err)
	}
	if _, err := a.Identify(t.Context()); !errors.Is(err, ErrOurselves) {
		t.Errorf("got %v", err)
	}
}

func TestAModelDeletedWhileInMemoryIsNoModelAndStillCounts(t *testing.T) {
	gone := `{"models":[{"name":"gone:latest","model":"gone:latest","size":5000,"digest":"abcd","size_vram":100,"context_length":2048}]}`
	a := open(t, Target{Name: "ollama", Kind: KindOllama, URL: edited(t, "/api/ps", func(string) string { return gone })})
	inv := inventory(t, a)
	if left := inv.Leftovers; len(left) != 1 || left[0].ID.Model != "gone:latest" || left[0].Residency != fleet.Loaded || left[0].ResidentBytes != 5000 {
		t.Errorf("left over: %+v", left)
	}
	if slices.ContainsFunc(inv.Deployments, func(d fleet.Deployment) bool { return d.ID.Model == "gone:latest" }) {
		t.Error("it is listed as a model")
	}
}

func TestARemoteModelIsSwitchedOff(t *testing.T) {
	a := open(t, Target{Name: "ollama", Kind: KindOllama, URL: edited(t, "/api/tags", func(s string) string {
		return strings.Replace(s, `"name":"tiny:latest"`, `"remote_host":"https://ollama.com:443","name":"tiny:latest"`, 1)
	})})
	if d := find(t, inventory(t, a), "tiny:latest"); !d.Disabled {
		t.Error("a model that runs on another company's machine is offered")
	}
}

func TestAnOlderOllamaIsReadFromItsTemplates(t *testing.T) {
	show := `{"template":"{{ .System }}{{ .Tools }}{{ .Suffix }}","details":{"family":"llama"},"model_info":{"general.architecture":"llama"}}`
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/api/version":
			_, _ = io.WriteString(w, `{"version":"0.4.7"}`)
		case "/api/tags":
			_, _ = io.WriteString(w, `{"models":[{"name":"old:latest","digest":"d1","size":1000,"details":{"family":"llama","parameter_size":"7B"}}]}`)
		case "/api/ps":
			_, _ = io.WriteString(w, `{"models":[]}`)
		case "/api/show":
			_, _ = io.WriteString(w, show)
		}
	}))
	t.Cleanup(s.Close)
	d := find(t, inventory(t, open(t, Target{Name: "o", Kind: KindOllama, URL: s.URL})), "old:latest")
	wantClaim(t, d, fleet.CapTools, fleet.Yes, fleet.SourceTemplate)
	wantClaim(t, d, fleet.CapInsert, fleet.Yes, fleet.SourceTemplate)
	wantClaim(t, d, fleet.CapVision, fleet.No, fleet.SourceTemplate)
	wantClaim(t, d, fleet.CapJSONSchema, fleet.No, fleet.SourceAdapter) // before 0.5
	wantClaim(t, d, fleet.CapToolChoiceRequired, fleet.No, fleet.SourceAdapter)
	if d.Honour("logprobs") || !d.Honour("seed") || d.Parameters != 7e9 {
		t.Errorf("honours %v, %v parameters", d.Honours, d.Parameters)
	}
}

func TestLlamaServerInventoryOfOneModel(t *testing.T) {
	p, url := newReplay(t, KindLlamaServer, "01-health", "02-models", "03-props", "04-slots", "13-embeddings-unsupported")
	a := open(t, Target{Name: "llama", Kind: KindLlamaServer, URL: url})
	inv := inventory(t, a)
	d := find(t, inv, "big")
	if inv.Version != "b1-80fb11a" || !inv.ReportsResidency || len(inv.Deployments) != 1 {
		t.Errorf("got %+v", inv)
	}
	if d.Residency != fleet.Loaded || d.LoadedContext != 2048 || d.MaxContext != 2048 || d.Slots != 1 || d.SlotsBusy != 0 || !d.Preallocated {
		t.Errorf("got %+v", d)
	}
	if d.WeightsBytes != 304427008 || d.Parameters != 152194048 || d.EmbeddingWidth != 1024 || d.Quantization != "F16" {
		t.Errorf("got %+v", d)
	}
	wantClaim(t, d, fleet.CapChat, fleet.Yes, fleet.SourceAdapter)
	wantClaim(t, d, fleet.CapEmbedding, fleet.No, fleet.SourceProbe)
	wantClaim(t, d, fleet.CapTools, fleet.No, fleet.SourceTemplate)
	wantClaim(t, d, fleet.CapVision, fleet.No, fleet.SourceRuntime)
	if len(d.Template) != 12 || d.Template == templateHash("another template") {
		t.Errorf("its template is named %q", d.Template)
	}
	if !d.Honour("logit_bias") || d.Honour("n") {
		t.Errorf("honours %v", d.Honours)
	}
	before := len(p.seen)
	inventory(t, a)
	if asked := p.seen[before:]; slices.Contains(asked, "POST /v1/embeddings") || len(asked) != 3 {
		t.Errorf("the second observation asked %v", asked)
	}
}

func TestLlamaServerShowsNoPaths(t *testing.T) {
	_, url := newReplay(t, KindLlamaServer, "51-embed-models", "51-embed-props", "50-embeddings")
	inv := inventory(t, open(t, Target{Name: "llama", Kind: KindLlamaServer, URL: url}))
	if d := find(t, inv, "embed"); d.LoadedContext != 512 || d.Slots != 4 {
		t.Errorf("got %+v", d)
	}
	text, _ := json.Marshal(inv)
	if strings.Contains(string(text), "/models/") {
		t.Errorf("a path is shown: %s", text)
	}
}

func TestBusySlotsAreCounted(t *testing.T) {
	_, url := newReplay(t, KindLlamaServer, "02-models", "03-props", "31-slots-busy")
	a := open(t, Target{Name: "llama", Kind: KindLlamaServer, URL: url})
	if d := find(t, inventory(t, a), "big"); d.SlotsBusy != 1 {
		t.Errorf("got %d busy", d.SlotsBusy)
	}
	if idle, err := a.(Idler).Idle(t.Context(), "big", 0); idle || err != nil {
		t.Errorf("a busy server is called idle (%v)", err)
	}
	if idle, err := a.(Idler).Idle(t.Context(), "big", 1); !idle || err != nil {
		t.Errorf("with one of ours running it is as idle as can be (%v)", err)
	}
}

func TestALoadingServerIsAStateNotAFailure(t *testing.T) {
	_, url := newReplay(t, KindLlamaServer, "00-health-loading", "00-models-loading")
	loading := true
	ready, _ := newReplay(t, KindLlamaServer, "01-health", "02-models", "03-props", "04-slots")
	busy := record(t, KindLlamaServer, "00-health-loading")
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !loading {
			ready.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Server", "llama.cpp")
		w.WriteHeader(busy.status)
		_, _ = io.WriteString(w, busy.answer)
	}))
	t.Cleanup(s.Close)
	_ = url
	a := open(t, Target{Name: "llama", Kind: KindLlamaServer, URL: s.URL})
	if inv := inventory(t, a); len(inv.Deployments) != 0 {
		t.Errorf("never seen and yet listed: %+v", inv.Deployments)
	}
	loading = false
	inventory(t, a)
	loading = true // it was started anew
	if d := find(t, inventory(t, a), "big"); d.Residency != fleet.Loading {
		t.Errorf("got %v", d.Residency)
	}
}

func TestAMissingKeyIsAnErrorThatSaysSo(t *testing.T) {
	rec := record(t, KindLlamaServer, "40-key-models")
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Server", "llama.cpp")
		w.WriteHeader(rec.status)
		_, _ = io.WriteString(w, rec.answer)
	}))
	t.Cleanup(s.Close)
	_, err := open(t, Target{Name: "llama", Kind: KindLlamaServer, URL: s.URL}).Inventory(t.Context())
	if err == nil || !strings.Contains(failureText(err), CodeUnauthorized) {
		t.Errorf("got %v", err)
	}
}

func TestLlamaServerRouterInventory(t *testing.T) {
	p, url := newReplay(t, KindLlamaServer, "61-router-props", "63-router-models-after")
	for i := range p.recs {
		if p.recs[i].path == "/models" {
			rec := p.recs[i]
			rec.path = "/v1/models"
			p.recs = append(p.recs, rec)
		}
	}
	inv := inventory(t, open(t, Target{Name: "router", Kind: KindLlamaServer, URL: url}))
	if len(inv.Deployments) != 3 || inv.MaxLoaded != 1 {
		t.Errorf("got %d models, at most %d loaded", len(inv.Deployments), inv.MaxLoaded)
	}
	a := find(t, inv, "tiny-a")
	if a.Residency != fleet.Loaded || a.LoadedContext != 2048 || a.Slots != 1 || a.WeightsBytes != 4592640 {
		t.Errorf("got %+v", a)
	}
	m := find(t, inv, "mid60")
	if m.Residency != fleet.OnDisk || m.MaxContext != 2048 {
		t.Errorf("got %+v", m)
	}
	wantClaim(t, m, fleet.CapChat, fleet.Yes, fleet.SourceAdapter)
	for _, asked := range p.seen {
		if !strings.HasPrefix(asked, "GET ") {
			t.Errorf("an observation sent %s", asked)
		}
	}
}

func TestGeometryOfUnusualModels(t *testing.T) {
	perLayer := geometryOf(map[string]any{
		"general.architecture": "hybrid", "hybrid.block_count": 4.0, "hybrid.embedding_length": 512.0, "hybrid.attention.head_count": 8.0,
		"hybrid.attention.head_count_kv": []any{2.0, 0.0, 2.0, 0.0}, "hybrid.attention.key_length": 128.0, "hybrid.attention.value_length": 64.0,
	})
	if got := perLayer.KVBytesToken(); got != 4*(128+64)*2 {
		t.Errorf("layers of their own: got %d", got)
	}
	latent := geometryOf(map[string]any{
		"general.architecture": "deepseek2", "deepseek2.block_count": 61.0, "deepseek2.embedding_length": 7168.0, "deepseek2.attention.head_count": 128.0,
		"deepseek2.attention.head_count_kv": 1.0, "deepseek2.attention.kv_lora_rank": 512.0, "deepseek2.attention.key_length_mla": 192.0, "deepseek2.rope.dimension_count": 64.0,
	})
	if got := latent.KVBytesToken(); got != 61*(512+64)*2 {
		t.Errorf("latent attention: got %d", got)
	}
	if got := geometryOf(map[string]any{}).KVBytesToken(); got != 0 {
		t.Errorf("nothing known: got %d", got)
	}
}
