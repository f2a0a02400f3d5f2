package engine

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bellwether/engine/admin"
	"bellwether/engine/evidence"
	"bellwether/engine/fleet"
	"bellwether/engine/route"
	"bellwether/engine/runtime/runtimetest"
)

// Digests of embedding models, as Ollama reports them.
const (
	oldWeights = "0a109f422b47e3a30ba2b10eca18548e944e8a23073ee3f3e947efcf3c45e59f"
	newWeights = "d5c1b2a39f004455aabbccddeeff00112233445566778899aabbccddeeff0011"
)

func embedder(name, digest string) runtimetest.FakeModel {
	return runtimetest.FakeModel{Name: name, Digest: digest, Capabilities: []string{"embedding"}, EmbeddingWidth: 32}
}

// replicas are two Ollamas with the same weights, a llama-server of which the
// owner says that it has them too, and an Ollama with others of the same name.
var replicaSpec = spec{
	fakes: map[string]runtimetest.FakeConfig{
		"left":  {Models: []runtimetest.FakeModel{embedder("nomic", oldWeights)}},
		"right": {Models: []runtimetest.FakeModel{embedder("nomic", oldWeights)}},
		"tower": {Kind: runtimetest.LlamaServer, Parallel: 4, Models: []runtimetest.FakeModel{embedder("nomic.gguf", oldWeights)}},
		"odd":   {Models: []runtimetest.FakeModel{embedder("nomic:odd", newWeights)}},
	},
	config: `
embeddings:
  wiki: {members: [nomic, nomic:odd], dimensions: 32, normalized: true}
  Plain: {members: [nomic]}
deployments:
  - {match: "*/tower/*", identity: ` + oldWeights[:12] + `}
`,
}

var replicas = share(replicaSpec)

// texts are inputs that all differ, in length too.
func texts(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("text %d %s", i, strings.Repeat("é\"\n", i%37))
	}
	return out
}

func embedBodyOf(model string, inputs []string, more string) string {
	list, _ := json.Marshal(inputs)
	return `{"model":"` + model + `","input":` + string(list) + more + `}`
}

// straight asks a runtime itself what it makes of the texts.
func (r *rig) straight(t *testing.T, name string, inputs []string) [][]float32 {
	t.Helper()
	a := ask(t, r.client, http.MethodPost, r.fakes[name].URL()+"/api/embed", embedBodyOf("nomic", inputs, "")).ok(t)
	r.fakes[name].ForgetRequests()
	return floatsOf(t, a.at("embeddings"))
}

func floatsOf(t *testing.T, list any) (vectors [][]float32) {
	t.Helper()
	rows, _ := list.([]any)
	for _, row := range rows {
		var v []float32
		for _, f := range row.([]any) {
			v = append(v, float32(f.(float64)))
		}
		vectors = append(vectors, v)
	}
	return vectors
}

// packedOf reads OpenAI's list, as numbers or base64, by its indices.
func packedOf(t *testing.T, body tree) (vectors [][]float32) {
	t.Helper()
	for i := range body.len("data") {
		at := fmt.Sprintf("data.%d.", i)
		if int(body.num(at+"index")) != i {
			t.Fatalf("index %v at place %d", body.at(at+"index"), i)
		}
		if text, ok := body.at(at + "embedding").(string); ok {
			raw, err := base64.StdEncoding.DecodeString(text)
			if err != nil {
				t.Fatal(err)
			}
			var v []float32
			for ; len(raw) >= 4; raw = raw[4:] {
				v = append(v, math.Float32frombits(binary.LittleEndian.Uint32(raw)))
			}
			vectors = append(vectors, v)
			continue
		}
		vectors = append(vectors, floatsOf(t, []any{body.at(at + "embedding")})...)
	}
	return vectors
}

func sameVectors(a, b [][]float32) bool {
	return slices.EqualFunc(a, b, func(x, y []float32) bool { return slices.Equal(x, y) })
}

// inMemory waits until the router has heard that all models are loaded: only
// then are there places for parts.
func (r *rig) inMemory(t *testing.T) *rig {
	t.Helper()
	r.await(t, "all models to be loaded", func() bool {
		return !slices.ContainsFunc(r.registry.Snapshot().Nodes[0].Deployments, func(d fleet.Deployment) bool { return d.Residency != fleet.Loaded })
	})
	return r
}

// A large batch is spread over all replicas. However late each of them answers,
// the vectors come back in the order of the texts, in the encoding asked for,
// and the record tells of one request.
func TestLargeBatchIsSplitOverReplicasInOrder(t *testing.T) {
	r := replicas.of(t).inMemory(t)
	inputs := texts(300)
	want := r.straight(t, "left", inputs)
	random := rand.New(rand.NewPCG(7, 7))
	for round, c := range []struct{ path, more string }{
		{"/v1/embeddings", ""}, {"/v1/embeddings", `,"encoding_format":"base64"`}, {"/api/embed", ""}, {"/api/embed", `,"keep_alive":"10m"`},
	} {
		r.fresh(t)
		r.inMemory(t)
		for _, f := range r.fakes {
			for skip := range 6 {
				f.Inject(runtimetest.Fault{Skip: skip, Times: 1, Delay: time.Duration(random.IntN(40)) * time.Millisecond})
			}
		}
		a := r.post(t, c.path, embedBodyOf("wiki", inputs, c.more))
		body := a.ok(t)
		got, used := packedOf(t, body), body.num("usage.prompt_tokens")
		if c.path == "/api/embed" {
			got, used = floatsOf(t, body.at("embeddings")), body.num("prompt_eval_count")
		}
		if !sameVectors(got, want) {
			t.Fatalf("round %d, %s: %d vectors, out of order or wrong", round, c.path, len(got))
		}
		rec := r.decision(t, a.Header)
		if rec.Outcome != fleet.OutcomeOK || len(rec.Parts) != 6 || rec.Alias != "wiki" || *rec.Usage.Input != int(used) {
			t.Fatalf("recorded %s in %d parts, %+v", rec.Outcome, len(rec.Parts), rec.Usage)
		}
		next, where, tokens := 0, map[string]int{}, 0
		for _, p := range rec.Parts {
			if p.First != next || p.Outcome != fleet.OutcomeOK {
				t.Errorf("parts %+v", rec.Parts)
			}
			next = p.Last + 1
			where[p.Deployment]++
			tokens += *p.Usage.Input
		}
		if next != len(inputs) || len(where) != 3 || tokens != int(used) {
			t.Errorf("parts %+v, %v tokens", rec.Parts, used)
		}
		sent := 0
		for name, f := range r.fakes {
			for _, q := range served(f) {
				if name == "odd" {
					t.Errorf("other weights were asked: %s", q.Path)
				}
				sent += len(parse(t, q.Body).at("input").([]any))
			}
		}
		if sent != len(inputs) {
			t.Errorf("%d texts were sent for %d", sent, len(inputs))
		}
	}
}

func TestSmallBatchStaysWhole(t *testing.T) {
	r := replicas.of(t).inMemory(t)
	a := r.post(t, "/v1/embeddings", embedBodyOf("wiki", texts(64), ""))
	if n := len(packedOf(t, a.ok(t))); n != 64 || r.decision(t, a.Header).Parts != nil {
		t.Errorf("%d vectors, %+v", n, r.decision(t, a.Header).Parts)
	}
}

// A part that fails is tried at another replica, like any request.
func TestPartThatFailsIsTriedAtAReplica(t *testing.T) {
	r := replicas.of(t).inMemory(t)
	inputs := texts(200)
	want := r.straight(t, "left", inputs)
	r.fakes["tower"].Inject(runtimetest.Fault{Status: 500, Times: 2})
	a := r.post(t, "/v1/embeddings", embedBodyOf("wiki", inputs, ""))
	if !sameVectors(packedOf(t, a.ok(t)), want) {
		t.Error("other vectors")
	}
	rec := r.decision(t, a.Header)
	if rec.Retries != 2 || len(rec.Failover) != 2 || a.Header.Get("X-Fleet-Retries") != "2" || rec.Outcome != fleet.OutcomeOK {
		t.Errorf("recorded %+v, %d retries, %s", rec.Failover, rec.Retries, rec.Outcome)
	}
	r.idle(t)
}

// One part that fails for good fails the whole, once, and ends the others.
func TestPartThatFailsForGoodFailsTheWhole(t *testing.T) {
	r := newRig(t, replicaSpec)
	r.load(t, replicaSpec)
	r.inMemory(t)
	r.fakes["left"].Inject(runtimetest.Fault{Break: runtimetest.BreakHang})
	r.fakes["right"].Inject(runtimetest.Fault{Break: runtimetest.BreakHang})
	r.fakes["tower"].Inject(runtimetest.Fault{Status: 400, Body: `{"error":{"code":400,"message":"no such input","type":"invalid_request_error"}}`})
	a := r.post(t, "/v1/embeddings", embedBodyOf("wiki", texts(300), ""))
	if a.Status != 400 || !strings.Contains(string(a.Body), "no such input") {
		t.Errorf("got %d %s", a.Status, a.Body)
	}
	rec := r.decision(t, a.Header)
	if rec.Outcome != fleet.OutcomeRefused || rec.Status != 400 || len(rec.Parts) != 6 {
		t.Errorf("recorded %s, status %d, %+v", rec.Outcome, rec.Status, rec.Parts)
	}
	r.idle(t)
	for _, name := range []string{"left", "right"} {
		for _, q := range r.fakes[name].Requests() {
			if q.Held && !q.Done {
				t.Errorf("%s still works for nobody", name)
			}
		}
	}
}

func TestClientThatLeavesEndsAllParts(t *testing.T) {
	r := newRig(t, replicaSpec)
	r.load(t, replicaSpec)
	r.inMemory(t)
	for _, name := range []string{"left", "right", "tower"} {
		r.fakes[name].Inject(runtimetest.Fault{Break: runtimetest.BreakHang})
	}
	ctx, leave := context.WithCancel(t.Context())
	gone := make(chan error, 1)
	go func() {
		resp, err := send(ctx, r.client, http.MethodPost, r.base+"/v1/embeddings", embedBodyOf("wiki", texts(300), ""))
		if err == nil {
			_ = resp.Body.Close()
		}
		gone <- err
	}()
	held := func() (n int) {
		for _, f := range r.fakes {
			for _, q := range f.Requests() {
				if q.Held && !q.Done {
					n++
				}
			}
		}
		return n
	}
	if !r.until(func() bool { return held() == 6 }) {
		t.Fatalf("%d of six parts are under way; %+v", held(), r.queue.Status())
	}
	leave()
	if err := <-gone; err == nil {
		t.Fatal("it was answered")
	}
	r.await(t, "all parts to end", func() bool { return held() == 0 })
	r.idle(t)
	r.await(t, "the record", func() bool { return r.latest(t).Outcome == fleet.OutcomeClientDisconnected })
	if rec := r.latest(t); len(rec.Parts) != 6 || rec.RequestedModel != "wiki" {
		t.Errorf("recorded %+v", rec.Parts)
	}
}

// Whatever a runtime sends, a vector that is not what was promised reaches nobody.
func TestVectorsThatBreakTheContractAreRefused(t *testing.T) {
	r := newRig(t, spec{
		fakes:  map[string]runtimetest.FakeConfig{"left": {Models: []runtimetest.FakeModel{embedder("nomic", oldWeights)}}},
		config: "embeddings:\n  wiki: {members: [nomic], dimensions: 32, normalized: true}\n  free: {members: [nomic]}\nrouting: {circuit: 1000/1000 in 60s}\n",
	})
	good := strings.TrimSuffix(strings.Repeat("0.1767767,", 32), ",") // 32 of these have length 1
	vectors := func(all ...string) string {
		return `{"model":"nomic","embeddings":[[` + strings.Join(all, "],[") + `]],"prompt_eval_count":2}`
	}
	if a := r.post(t, "/v1/embeddings", `{"model":"free","input":["a","b"]}`); a.Status != 200 { // 32 are learned
		t.Fatalf("got %d %s", a.Status, a.Body)
	}
	for name, c := range map[string]struct{ path, model, body, says string }{
		"one for two":      {"/v1/embeddings", "wiki", vectors(good), "1 vectors for 2 inputs"},
		"three for two":    {"/v1/embeddings", "free", vectors(good, good, good), "3 vectors for 2 inputs"},
		"an empty one":     {"/v1/embeddings", "free", vectors(good, ""), "no vector for input 1"},
		"of two lengths":   {"/api/embed", "free", vectors(good, "1,0"), "vector 1 has 2 dimensions, the first 32"},
		"shorter than due": {"/api/embed", "wiki", vectors("1,0", "0,1"), "the contract wiki declares 32"},
		"than before":      {"/v1/embeddings", "free", vectors("1,0", "0,1"), "the same model made 32 before"},
		"than before, own": {"/v1/embeddings", "nomic", vectors("1,0", "0,1"), "the same model made 32 before"},
		"not of unit":      {"/api/embed", "wiki", vectors(good, strings.ReplaceAll(good, "0.17", "0.27")), "the contract declares unit length"},
		"old and as made":  {"/api/embeddings", "wiki", `{"embedding":[` + strings.ReplaceAll(good, "0.17", "0.27") + `]}`, "use /api/embed"},
		"zero":             {"/api/embed", "wiki", vectors(good, strings.ReplaceAll(good, "0.1767767", "0")), "has length 0"},
	} {
		r.fakes["left"].Heal()
		r.fakes["left"].Inject(runtimetest.Fault{Status: 200, Body: c.body})
		input := `"input":["a","b"]`
		if c.path == "/api/embeddings" {
			input = `"prompt":"a"`
		}
		a := r.post(t, c.path, `{"model":"`+c.model+`",`+input+`}`)
		if a.Status != http.StatusBadGateway || !strings.Contains(string(a.Body), c.says) {
			t.Errorf("%s: got %d %s", name, a.Status, a.Body)
		}
		if code := a.json(t).str("error.code"); c.path == "/v1/embeddings" && code != "embedding_contract_violation" {
			t.Errorf("%s: code %q", name, code)
		}
	}
	r.fakes["left"].Heal()
	if a := r.post(t, "/v1/embeddings", `{"model":"free","input":["a","b"],"dimensions":8}`); a.Status != 400 || !strings.Contains(string(a.Body), "32 dimensions, 8 were asked for") {
		t.Errorf("a contract's, shortened on request: %d %s", a.Status, a.Body)
	}
	if a := r.post(t, "/v1/embeddings", `{"model":"nomic","input":["a","b"],"dimensions":8}`); a.Status != 200 || len(packedOf(t, a.json(t))[0]) != 8 {
		t.Errorf("shortened on request: %d %s", a.Status, a.Body)
	}
	if a := r.post(t, "/v1/embeddings", `{"model":"nomic","input":"a","dimensions":1536}`); a.Status != 400 || a.json(t).str("error.param") != "dimensions" ||
		!strings.Contains(string(a.Body), "have 32 dimensions, and 1,536 were asked for") ||
		slices.ContainsFunc(r.fakes["left"].Requests(), func(q runtimetest.Request) bool { return strings.Contains(string(q.Body), "1536") }) {
		t.Errorf("more than it has: %d %s", a.Status, a.Body)
	}
	if a := r.post(t, "/v1/embeddings", `{"model":"free","input":"a"}`); a.Status != 200 {
		t.Errorf("a shortened one was taken for the model's own: %d %s", a.Status, a.Body)
	}
}

func TestContractsAreListedAsEmbeddingModels(t *testing.T) {
	r := replicas.of(t).inMemory(t)
	seen := map[string]bool{}
	list := r.get(t, "/v1/models").ok(t)
	for i := range list.len("data") {
		seen[list.str(fmt.Sprintf("data.%d.id", i))] = true
	}
	if !seen["wiki"] || !seen["plain"] {
		t.Errorf("listed are %v", seen)
	}
	found := false
	tags := r.get(t, "/api/tags").ok(t)
	for i := range tags.len("models") {
		at := fmt.Sprintf("models.%d.", i)
		if tags.str(at+"name") == "wiki" {
			found = true
			if can, _ := tags.at(at + "capabilities").([]any); len(can) != 1 || can[0] != "embedding" || tags.num(at+"details.embedding_length") != 32 {
				t.Errorf("wiki is shown as %s", tree{tags.at(fmt.Sprintf("models.%d", i))})
			}
		}
	}
	if a := r.get(t, "/v1/models/wiki"); !found || a.Status != 200 {
		t.Errorf("found %v, by name %d", found, a.Status)
	}
}

func TestContractIsForEmbeddingsOfItsLengthOnly(t *testing.T) {
	r := replicas.of(t).inMemory(t)
	a := r.post(t, "/v1/chat/completions", `{"model":"wiki","messages":[{"role":"user","content":"go"}]}`)
	if a.Status != 400 || !strings.Contains(string(a.Body), "does not support chat") {
		t.Errorf("chat: %d %s", a.Status, a.Body)
	}
	for path, body := range map[string]string{
		"/v1/embeddings": `{"model":"wiki","input":"a","dimensions":16}`, "/api/embed": `{"model":"wiki:latest","input":"a","dimensions":16}`,
	} {
		a := r.post(t, path, body)
		if a.Status != 400 || !strings.Contains(string(a.Body), "32 dimensions, 16 were asked for") {
			t.Errorf("%s: %d %s", path, a.Status, a.Body)
		}
	}
	if a := r.post(t, "/v1/embeddings", `{"model":"wiki","input":"a","dimensions":16}`); a.json(t).str("error.code") != "unsupported_contract_option" || a.json(t).str("error.param") != "dimensions" {
		t.Errorf("got %s", a.Body)
	}
	if a := r.post(t, "/v1/embeddings", `{"model":"wiki","input":"a","dimensions":32}`); a.Status != 200 {
		t.Errorf("all it has: %d %s", a.Status, a.Body)
	}
	if a := r.post(t, "/api/embed", `{"model":"wiki","input":"a","query_prefix":"q: "}`); a.Status != 400 {
		t.Errorf("prefix: %d %s", a.Status, a.Body)
	}
}

// start of one machine with one embedding model, on a data folder that is kept.
func oneEmbedder(t *testing.T, dir, digest, identity string) *rig {
	t.Helper()
	r, err := spec{
		fakes:  map[string]runtimetest.FakeConfig{"left": {Models: []runtimetest.FakeModel{embedder("nomic", digest)}}},
		config: "embeddings:\n  wiki: {members: [nomic]" + identity + "}\n",
	}.start(dir)
	if err != nil {
		t.Fatal(err)
	}
	r.await(t, "the fleet's picture to settle", func() bool { return r.registry.Snapshot().Settled })
	return r
}

// The index of a contract outlives the engine, so its anchor does too: after a
// restart with another model of the same name nothing is embedded until the
// owner says so, in the very words of the remedy.
func TestRestartKeepsTheContractWhateverIsInstalledNow(t *testing.T) {
	dir := t.TempDir()
	const one = `{"model":"wiki","input":"a"}`
	for step, c := range []struct {
		digest, identity string
		status           int
		says             string
	}{
		{oldWeights, "", 200, ""},
		{oldWeights, "", 200, ""},
		{newWeights, "", 503, "set embeddings.wiki.identity to d5c1b2a39f00"},
		{newWeights, ", identity: d5c1b2a39f00", 200, ""},
		{newWeights, "", 200, ""}, // what was declared is recorded
		{oldWeights, "", 503, "while the vectors of wiki are of d5c1b2a39f00"},
	} {
		r := oneEmbedder(t, dir, c.digest, c.identity)
		a := r.post(t, "/v1/embeddings", one)
		if a.Status != c.status || !strings.Contains(string(a.Body), c.says) {
			t.Errorf("step %d: %d %s", step, a.Status, a.Body)
		}
		if rec := r.decision(t, a.Header); c.status == 503 && (rec.Outcome != fleet.OutcomeRefused || len(rec.Exclusions) != 1) {
			t.Errorf("step %d: recorded %s, %+v", step, rec.Outcome, rec.Exclusions)
		}
		if err := r.end(); err != nil {
			t.Fatal(err)
		}
	}
}

// Asked while it is being started, a contract is bound first and answers then.
func TestFirstRequestBindsItsContract(t *testing.T) {
	r := oneEmbedder(t, t.TempDir(), oldWeights, "")
	defer func() { _ = r.end() }()
	a := r.post(t, "/api/embed", `{"model":"wiki","input":["a","b"]}`)
	if a.Status != 200 {
		t.Fatalf("got %d %s", a.Status, a.Body)
	}
	rec := r.decision(t, a.Header)
	if !slices.Contains(rec.Reasons, "wiki is bound to 0a109f422b47, of studio/left/nomic:latest") {
		t.Errorf("reasons %q", rec.Reasons)
	}
}

// A llama-server reports no digest: what it has is unknown until its owner says.
func TestUnknownWeightsAreNoReplica(t *testing.T) {
	r, err := spec{
		fakes:  map[string]runtimetest.FakeConfig{"tower": {Kind: runtimetest.LlamaServer, Models: []runtimetest.FakeModel{embedder("nomic.gguf", oldWeights)}}},
		config: "embeddings:\n  wiki: {members: [nomic]}\n",
	}.start(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.end() }()
	r.await(t, "the fleet's picture to settle", func() bool { return r.registry.Snapshot().Settled })
	a := r.post(t, "/v1/embeddings", `{"model":"wiki","input":"a"}`)
	if a.Status != 503 || a.json(t).str("error.code") != "contract_unbound" || a.Header.Get("Retry-After") == "" || !strings.Contains(string(a.Body), "deployments[].identity") {
		t.Errorf("got %d %v %s", a.Status, a.Header, a.Body)
	}
	if a := r.post(t, "/v1/embeddings", `{"model":"nomic","input":"a"}`); a.Status != 200 {
		t.Errorf("by its own name: %d %s", a.Status, a.Body)
	}
}

// Settings count at once: a contract that is added while the engine runs, and
// the identity that its owner sets after re-indexing.
func TestContractsFollowTheSettingsWhileTheEngineRuns(t *testing.T) {
	dir := t.TempDir()
	r := oneEmbedder(t, dir, oldWeights, "")
	defer func() { _ = r.end() }()
	file := filepath.Join(dir, "config.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	change := func(old, now string) {
		t.Helper()
		text = []byte(strings.Replace(string(text), old, now, 1))
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := r.Reload(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	status := func(model string) int {
		t.Helper()
		return r.post(t, "/v1/embeddings", `{"model":"`+model+`","input":"a"}`).Status
	}
	if got := status("wiki"); got != 200 {
		t.Fatalf("got %d", got)
	}
	change("  wiki:", "  notes: {members: [nomic]}\n  wiki:")
	if a := r.fleetPolicy.Current().Anchors["notes"]; a.Identity != oldWeights || a.Source != route.AnchorBound {
		t.Errorf("bound when it is saved: %+v", r.fleetPolicy.Current())
	}
	if got := status("notes"); got != 200 {
		t.Errorf("added: %d", got)
	}
	change("  wiki: {members: [nomic]}", "  wiki: {members: [nomic], identity: "+newWeights[:12]+"}")
	if got := status("wiki"); got != 503 {
		t.Errorf("of other weights now: %d", got)
	}
	found := r.contractFindings()
	if !slices.ContainsFunc(found, func(f admin.Finding) bool {
		return f.Severity == "warning" && strings.Contains(f.Text, "wiki is bound to d5c1b2a39f00, which no machine has")
	}) {
		t.Errorf("doctor: %+v", found)
	}
	change("identity: "+newWeights[:12], "identity: "+oldWeights[:12])
	if got := status("wiki"); got != 200 {
		t.Errorf("back again: %d", got)
	}
	before := r.fleetPolicy.Current().Revision
	change("  notes: {members: [nomic]}\n", "")
	if got := status("notes"); got == 200 {
		t.Errorf("taken out: %d", got)
	}
	change("  wiki:", "  notes: {members: [nomic]}\n  wiki:")
	if doc := r.fleetPolicy.Current(); doc.Revision != before || doc.Anchors["notes"].Identity != oldWeights {
		t.Errorf("what it was bound to is forgotten: %+v", doc)
	}
}

func TestProbedWidthIsWhatAnswersAreCheckedBy(t *testing.T) {
	r := oneEmbedder(t, t.TempDir(), oldWeights, "")
	defer func() { _ = r.end() }()
	d := r.registry.Snapshot().Nodes[0].Deployments[0]
	r.evidence.SetProbe(&d, evidence.Probed{At: time.Now(), Suite: "test/1", Dimensions: 31, Norm: 1})
	a := r.post(t, "/v1/embeddings", `{"model":"wiki","input":"a"}`)
	if a.Status != 502 || !strings.Contains(string(a.Body), "has 32 dimensions, a probe found that this model makes 31") {
		t.Errorf("got %d %s", a.Status, a.Body)
	}
}

// Somebody pulls the model again beside us. Until the next look at the runtime
// the router goes by what it was; the vectors of what it is now reach nobody.
func TestModelPulledAgainBesideUsNeverAnswersForTheContract(t *testing.T) {
	r, err := spec{
		fakes: map[string]runtimetest.FakeConfig{"left": {
			Models: []runtimetest.FakeModel{embedder("nomic", oldWeights)}, Registry: []runtimetest.FakeModel{embedder("nomic", newWeights)},
		}},
		config: "embeddings:\n  wiki: {members: [nomic]}\n",
	}.start(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.end() }()
	r.await(t, "the fleet's picture to settle", func() bool { return r.registry.Snapshot().Settled })
	const one = `{"model":"wiki","input":["a","b"]}`
	old := packedOf(t, r.post(t, "/v1/embeddings", one).ok(t))
	if a := ask(t, r.client, http.MethodPost, r.fakes["left"].URL()+"/api/pull", `{"model":"nomic","stream":false}`); a.Status != 200 {
		t.Fatalf("the pull beside us: %d %s", a.Status, a.Body)
	}
	refused := 0
	for !slices.ContainsFunc(r.registry.Snapshot().Nodes[0].Deployments, func(d fleet.Deployment) bool { return d.Digest == newWeights }) {
		a := r.post(t, "/v1/embeddings", one)
		switch {
		case a.Status == 200 && !sameVectors(packedOf(t, a.json(t)), old):
			t.Fatal("vectors of the new weights came out")
		case a.Status != 200:
			refused++
		}
		if refused > 2 { // the same for as long as nobody looks
			break
		}
	}
	if err := r.agent.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.await(t, "the new weights to be seen", func() bool {
		return slices.ContainsFunc(r.registry.Snapshot().Nodes[0].Deployments, func(d fleet.Deployment) bool { return d.Digest == newWeights })
	})
	if a := r.post(t, "/v1/embeddings", one); a.Status != 503 || a.json(t).str("error.code") != "contract_unavailable" || !strings.Contains(string(a.Body), "was pulled again") {
		t.Errorf("got %d %s", a.Status, a.Body)
	}
	if a := r.post(t, "/v1/embeddings", `{"model":"nomic","input":["a","b"]}`); a.Status != 200 || sameVectors(packedOf(t, a.json(t)), old) {
		t.Errorf("by its own name: %d", a.Status)
	}
	t.Logf("%d refused before anyone looked", refused)
}

// Whoever is refused for a model that was pulled again learns at once what was
// found and what the contract holds. It is no fault of the runtime: its circuit
// stays closed, and who asks for the model by its own name is served.
func TestModelPulledAgainIsRefusedByBothIdentitiesAndHurtsNobodyElse(t *testing.T) {
	wide := embedder("nomic", newWeights)
	wide.EmbeddingWidth = 48 // vectors of another length tell first, and are not what helps
	r, err := spec{
		fakes:  map[string]runtimetest.FakeConfig{"left": {Models: []runtimetest.FakeModel{embedder("nomic", oldWeights)}, Registry: []runtimetest.FakeModel{wide}}},
		config: "embeddings:\n  wiki: {members: [nomic], dimensions: 32}\n",
	}.start(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.end() }()
	r.await(t, "the fleet's picture to settle", func() bool { return r.registry.Snapshot().Settled })
	r.post(t, "/v1/embeddings", `{"model":"wiki","input":["a","b"]}`).ok(t)
	if a := ask(t, r.client, http.MethodPost, r.fakes["left"].URL()+"/api/pull", `{"model":"nomic","stream":false}`); a.Status != 200 {
		t.Fatalf("the pull beside us: %d %s", a.Status, a.Body)
	}
	for i := range 8 { // some before anybody looked at the runtime again, some after
		a := r.post(t, "/v1/embeddings", `{"model":"wiki","input":["a","b"]}`)
		body := string(a.Body)
		if a.Status != 503 || a.json(t).str("error.code") != "contract_unavailable" || !strings.Contains(body, newWeights[:12]) || !strings.Contains(body, oldWeights[:12]) ||
			!strings.Contains(body, "was pulled again") || !strings.Contains(body, "set embeddings.wiki.identity to "+newWeights[:12]) {
			t.Errorf("request %d: %d %s", i, a.Status, body)
		}
		if a := r.post(t, "/v1/embeddings", `{"model":"nomic","input":["a"]}`); a.Status != 200 || len(packedOf(t, a.json(t))[0]) != 48 {
			t.Errorf("by its own name, request %d: %d %s", i, a.Status, a.Body)
		}
	}
	r.await(t, "the new weights to be seen without anyone asking for a look", func() bool {
		return slices.ContainsFunc(r.registry.Snapshot().Nodes[0].Deployments, func(d fleet.Deployment) bool { return d.Digest == newWeights })
	})
	if open := r.queue.Status().Circuits; len(open) > 0 {
		t.Errorf("circuits: %+v", open)
	}
}

// An app that asks for vectors of a length the runtime does not honour, or a
// contract that declares what its model does not make, must not take the model
// from everybody else.
func TestBrokenPromiseOfVectorsOpensNoCircuit(t *testing.T) {
	r := oneEmbedder(t, t.TempDir(), oldWeights, "")
	defer func() { _ = r.end() }()
	d := r.registry.Snapshot().Nodes[0].Deployments[0]
	r.evidence.SetProbe(&d, evidence.Probed{At: time.Now(), Suite: "test/1", Dimensions: 31, Norm: 1})
	for range 8 {
		if a := r.post(t, "/v1/embeddings", `{"model":"wiki","input":"a"}`); a.Status != 502 || a.json(t).str("error.code") != "embedding_contract_violation" {
			t.Errorf("got %d %s", a.Status, a.Body)
		}
	}
	if open := r.queue.Status().Circuits; len(open) > 0 {
		t.Errorf("circuits: %+v", open)
	}
}

// Headers name a deployment as people read it in decisions and the docs, and that
// name may be asked for.
func TestAnswersNameTheirDeploymentAsPeopleReadIt(t *testing.T) {
	r := replicas.of(t).inMemory(t)
	name := r.post(t, "/v1/embeddings", `{"model":"nomic:odd","input":"a"}`).Header.Get("X-Fleet-Deployment")
	if name != "studio/odd/nomic:odd" {
		t.Fatalf("X-Fleet-Deployment: %q", name)
	}
	a := r.post(t, "/v1/embeddings", `{"model":"`+name+`","input":"a"}`)
	if a.Status != 200 || a.Header.Get("X-Fleet-Deployment") != name {
		t.Errorf("asked for by that name: %d by %q", a.Status, a.Header.Get("X-Fleet-Deployment"))
	}
	if one := r.get(t, "/v1/models/"+name).ok(t); one.str("id") != name {
		t.Errorf("/v1/models/%s: %s", name, one)
	}
}

func TestDoctorCountsWhoServesAContract(t *testing.T) {
	anchor := &route.Anchor{Identity: oldWeights, Source: route.AnchorBound}
	many := make([]string, 60)
	for i := range many {
		many[i] = fmt.Sprintf("n%02d/ollama/m", i)
	}
	for want, replicas := range map[string][]string{
		"which n00/ollama/m serves.":                               many[:1],
		"which n00/ollama/m and n01/ollama/m serve.":               many[:2],
		"which n00/ollama/m, n01/ollama/m and n02/ollama/m serve.": many[:3],
		"n03/ollama/m, n04/ollama/m and 55 more serve.":            many,
	} {
		if f := contractFinding(&admin.ContractStatus{Name: "wiki", Members: []string{"m"}, Anchor: anchor, Replicas: replicas}); !strings.HasSuffix(f.Text, want) {
			t.Errorf("%q does not end with %q", f.Text, want)
		}
	}
}
