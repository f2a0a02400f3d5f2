package engine

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"bellwether/engine/runtime/runtimetest"
)

func gzipped(t testing.TB, b []byte) []byte {
	t.Helper()
	var buf bytes.Buffer
	z := gzip.NewWriter(&buf)
	_, _ = z.Write(b)
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func zstded(t testing.TB, b []byte) []byte {
	t.Helper()
	var buf bytes.Buffer
	z, err := zstd.NewWriter(&buf)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = z.Write(b)
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// Agents pack their bodies; a bomb, a broken or an unknown packing is an answer
// in the caller's envelope, and never memory.
func TestPackedBodiesAreReadAndBombsAreNot(t *testing.T) {
	r := door.of(t)
	spaces := bytes.Repeat([]byte(" "), 3<<20)
	gzipBomb, zstdBomb := gzipped(t, spaces), zstded(t, spaces)
	nested := gzipped(t, gzipBomb)
	for _, w := range wires {
		body := []byte(w.body("chat:1b", "go", false))
		for _, c := range []struct {
			name, coding string
			body         []byte
			status       int
		}{
			{"gzip", "gzip", gzipped(t, body), 200}, {"x-gzip", "X-GZIP", gzipped(t, body), 200}, {"zstd", "zstd", zstded(t, body), 200},
			{"identity", "identity", body, 200}, {"gzip then zstd", "gzip, zstd", zstded(t, gzipped(t, body)), 200},
			{"gzip bomb", "gzip", gzipBomb, 413}, {"zstd bomb", "zstd", zstdBomb, 413},
			{"bomb in a bomb", "gzip, gzip", nested, 413},
			{"three codings", "gzip, gzip, gzip", gzipped(t, gzipped(t, gzipped(t, body))), 400},
			{"bad zstd", "zstd", []byte("\x28\xb5\x2f\xfdgarbage garbage"), 400}, {"no zstd at all", "zstd", body, 400},
			{"half a zstd", "zstd", zstded(t, body)[:20], 400}, {"half a gzip", "gzip", gzipped(t, body)[:20], 400},
			{"wrong checksum", "gzip", flip(gzipped(t, body)), 400}, {"unknown", "br", body, 415}, {"not JSON", "", []byte("{"), 400}, {"empty", "", nil, 400},
			{"plain, too large", "", bytes.Repeat([]byte(" "), 1<<20+1), 413},
		} {
			h := []string{}
			if c.coding != "" {
				h = []string{"Content-Encoding", c.coding}
			}
			a := ask(t, r.client, "POST", r.base+w.path, string(c.body), h...)
			if a.Status != c.status {
				t.Errorf("%s, %s: %d, want %d: %s", w.name, c.name, a.Status, c.status, a.Body)
			}
			if c.status != 200 && a.Status != 200 {
				problemText(t, w, a)
			}
		}
	}
	for _, p := range []string{"/api/show", "/api/pull", "/api/copy", "/api/create"} {
		if a := ask(t, r.client, "POST", r.base+p, string(gzipBomb), "Content-Encoding", "gzip"); a.Status != 413 {
			t.Errorf("a bomb for %s: %d", p, a.Status)
		}
	}
}

func flip(b []byte) []byte {
	b[len(b)-6] ^= 0xff
	return b
}

// A body that never comes whole holds no slot, reaches no runtime and leaves
// nothing behind.
func TestABodyThatStopsHalfwayHoldsNothing(t *testing.T) {
	r := door.of(t)
	head := "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n" + `{"model":"chat:1b","mess`
	slow := r.dial(t)
	if _, err := io.WriteString(slow, head); err != nil {
		t.Fatal(err)
	}
	gone := r.dial(t)
	_, _ = io.WriteString(gone, head)
	_ = gone.Close()
	if s, _ := chatWire.say(t, r, "chat:1b", "go", true); !s.ended {
		t.Error("others are not served meanwhile")
	}
	r.idle(t)
	if n := len(served(r.fakes["ollama"])); n != 1 {
		t.Errorf("%d requests reached the runtime", n)
	}
	_ = slow.Close()
	// Two bodies that contradict each other are refused by the server itself.
	smuggled := r.dial(t)
	_, _ = io.WriteString(smuggled, "POST /api/chat HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked, x\r\n\r\n0\r\n\r\n")
	if b, _ := io.ReadAll(smuggled); !strings.HasPrefix(string(b), "HTTP/1.1 501") && !strings.HasPrefix(string(b), "HTTP/1.1 400") {
		t.Errorf("an unknown transfer coding: %q", b)
	}
}

// A client that stalls in the middle of its body is let go in the end.
func TestABodyThatStallsTimesOut(t *testing.T) {
	s := door.spec
	s.listen, s.before = "", func(e *Engine) { e.gateway.BodyPatience = 100 * time.Millisecond }
	r := newRig(t, s)
	c := r.dial(t)
	_, _ = io.WriteString(c, "POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{")
	b, err := io.ReadAll(c)
	if err != nil || !strings.HasPrefix(string(b), "HTTP/1.1 408") || !strings.Contains(string(b), `"type":"error"`) {
		t.Errorf("%q, %v", b, err)
	}
}

// P-25 (a desktop router's #16, #27): Claude Code was not served as one path
// was missing. Every dialect, its doubled prefixes, both families of loopback,
// and the answers to what does not exist.
func TestPathsOfAllDialectsAndTheirUsualMistakes(t *testing.T) {
	s := door.spec
	s.listen = "localhost:0"
	r := newRig(t, s)
	bases := []string{r.base}
	if a, err := send(t.Context(), r.client, "GET", strings.Replace(r.base, "127.0.0.1", "[::1]", 1), ""); err == nil {
		_ = a.Body.Close()
		bases = append(bases, strings.Replace(r.base, "127.0.0.1", "[::1]", 1))
	}
	for _, base := range bases {
		for _, prefix := range []string{"", "/", "/v1", "/api", "/api/v1", "//v1/"} {
			for _, w := range wires {
				if prefix == "/v1" && !strings.HasPrefix(w.path, "/v1") {
					continue
				}
				a := ask(t, r.client, "POST", base+prefix+w.path, w.body("chat:1b", "go", false))
				if a.Status != 200 {
					t.Errorf("%s%s: %d %s", prefix, w.path, a.Status, a.Body)
				}
			}
		}
		if a := ask(t, r.client, "POST", base+"/v1/messages/count_tokens?beta=true", messagesWire.body("chat:1b", "one two three", false)); a.Status != 200 || a.json(t).num("input_tokens") <= 0 {
			t.Errorf("count_tokens: %d %s", a.Status, a.Body)
		}
		if a := ask(t, r.client, "HEAD", base+"/", ""); a.Status != 200 {
			t.Errorf("HEAD /: %d", a.Status)
		}
	}
	for _, e := range r.gateway.Endpoints() {
		path := strings.ReplaceAll(e.Path, "*", "x")
		for _, m := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "TRACE", "BREW"} {
			if strings.Contains(strings.Join(e.Methods, " "), m) {
				continue
			}
			if a := ask(t, r.client, m, r.base+path, ""); a.Status != 405 || a.Header.Get("Allow") != strings.Join(e.Methods, ", ") {
				t.Errorf("%s %s: %d, Allow %q", m, path, a.Status, a.Header.Get("Allow"))
			}
		}
	}
	for _, p := range []string{"/v1", "/v1/", "/v1beta/models", "/v1/audio/speech", "/v1/messages/batches", "/v1/responses/resp_1"} {
		if a := r.get(t, p); a.Status != 404 || a.json(t).str("error.message") == "" { // W-07: a string crashes SDKs
			t.Errorf("%s: %d %s", p, a.Status, a.Body)
		}
	}
	if a := r.get(t, "/api/nothing"); a.Status != 404 || string(a.Body) != "404 page not found" {
		t.Errorf("/api/nothing: %d %s", a.Status, a.Body)
	}
}

// S-01 (golang/vulndb#2901, CVE-2024-37032, ollama/ollama#17178): a digest or
// a model's name with ../ in it wrote outside the store.
func TestNamesAndDigestsThatLeaveTheirPlaceReachNoRuntime(t *testing.T) {
	r := door.of(t)
	manage := []string{"x-api-key", secretManage}
	for _, name := range []string{"../../etc/passwd", "a/../b", "..", ".", "a//b", "/etc/passwd", "a\\b", "a b", "a\x00b", "a\nb", "%2e%2e%2f", "a:..", "http://x/y", "a?x=1", "a#b", "ünïcode", "-rf", "~root/x", strings.Repeat("a", 300), "a/.hidden", "file:///etc/passwd", "C:\\x"} {
		q, _ := quote(name)
		for _, w := range wires {
			a := r.post(t, w.path, strings.Replace(w.body("MODEL", "go", false), `"MODEL"`, q, 1))
			if problemText(t, w, a); a.Status != 400 {
				t.Errorf("%s with the model %q: %d %s", w.name, name, a.Status, a.Body)
			}
		}
		for path, body := range map[string]string{"/api/show": `{"model":` + q + `}`, "/api/pull": `{"name":` + q + `}`, "/api/create": `{"model":` + q + `,"from":"chat:1b"}`,
			"/api/copy": `{"source":"chat:1b","destination":` + q + `}`, "/v1/embeddings": `{"model":` + q + `,"input":"x"}`, "/api/embed": `{"model":` + q + `,"input":"x"}`} {
			if a := r.post(t, path, body, manage...); a.Status != 400 {
				t.Errorf("%s of %q: %d %s", path, name, a.Status, a.Body)
			}
		}
		if a := ask(t, r.client, "DELETE", r.base+"/api/delete", `{"model":`+q+`}`, manage...); a.Status != 400 {
			t.Errorf("delete of %q: %d %s", name, a.Status, a.Body)
		}
		if a := r.get(t, "/v1/models/"+url.PathEscape(name)); a.Status != 400 && a.Status != 404 {
			t.Errorf("GET of %q: %d", name, a.Status)
		}
	}
	for _, digest := range []string{"sha256:../../../../etc/passwd", "..%2f..%2fetc%2fpasswd", "sha256:" + strings.Repeat("g", 64), "sha256:" + strings.Repeat("a", 63), "sha256:" + strings.Repeat("A", 64), "md5:" + strings.Repeat("a", 32), "sha256:" + strings.Repeat("a", 64) + "/..", "sha256-" + strings.Repeat("a", 64) + "%00"} {
		for _, m := range []string{"HEAD", "POST"} {
			if a := ask(t, r.client, m, r.base+"/api/blobs/"+digest, "x", manage...); a.Status != 400 {
				t.Errorf("%s of the digest %q: %d", m, digest, a.Status)
			}
		}
	}
	for _, q := range r.fakes["ollama"].Requests() {
		if q.Path != "/api/tags" && q.Path != "/api/ps" && q.Path != "/api/version" && q.Path != "/api/show" {
			t.Errorf("a runtime was asked %s %s %s", q.Method, q.Path, q.Body)
		}
	}
	if a := ask(t, r.client, "HEAD", r.base+"/api/blobs/sha256:"+strings.Repeat("a", 64), "", manage...); a.Status != 404 {
		t.Errorf("a well-formed digest nobody has: %d", a.Status)
	}
}

func quote(s string) (string, error) {
	b, err := jsonQuote(s)
	return string(b), err
}

// S-02 (ollama/ollama#16236): anyone could have the machine fetch from any
// host. S-03 (mudler/LocalAI#9395, #10665): also from inside the network.
func TestPullsNeedTheRightAndAListedRegistry(t *testing.T) {
	r := door.of(t)
	base, far := r.beyond(t)
	for _, who := range [][]string{nil, {"x-api-key", secretKey}, append([]string{"x-api-key", secretKey}, far...)} {
		for _, p := range []way{{"POST", "/api/pull"}, {"POST", "/api/create"}, {"POST", "/api/copy"}, {"DELETE", "/api/delete"}, {"POST", "/api/blobs/sha256:" + strings.Repeat("a", 64)}} {
			from := base
			if who == nil {
				from = r.base
			}
			if a := ask(t, r.client, p.method, from+p.path, `{"model":"tiny","source":"chat:1b","destination":"x"}`, who...); a.Status != 403 {
				t.Errorf("%s %s with %v: %d %s", p.method, p.path, who, a.Status, a.Body)
			}
		}
	}
	for _, name := range []string{"169.254.169.254/library/x", "localhost:5000/a/b", "127.0.0.1/a/b:c", "evil.example/a/b", "registry.local:80/x/y", "10.0.0.1:11434/x/y"} {
		for _, who := range [][]string{{"x-api-key", secretManage}, {"X-Fleet-Admin", r.token}, nil} {
			a := r.post(t, "/api/pull", `{"model":"`+name+`"}`, who...)
			if a.Status != 403 || !strings.Contains(string(a.Body), "auto_pull") {
				t.Errorf("pull of %s with %v: %d %s", name, who, a.Status, a.Body)
			}
		}
		if a := r.post(t, "/admin/models/pull", `{"model":"`+name+`"}`, "X-Fleet-Admin", r.token); a.Status/100 == 2 && !strings.Contains(string(a.Body), "error") {
			t.Errorf("the owner's pull of %s: %d %s", name, a.Status, a.Body)
		}
	}
	for _, q := range r.fakes["ollama"].Requests() {
		if q.Path == "/api/pull" {
			t.Errorf("the runtime was told to pull: %s", q.Body)
		}
	}
	a := r.post(t, "/api/pull", `{"model":"tiny"}`, "x-api-key", secretManage)
	lines := a.objects(t)
	if a.Status != 200 || lines[len(lines)-1].str("status") != "success" {
		t.Errorf("with the right: %d %s", a.Status, a.Body)
	}
	if a := ask(t, r.client, "DELETE", r.base+"/api/delete", `{"model":"tiny"}`, "x-api-key", secretManage); a.Status != 200 {
		t.Errorf("delete with the right: %d %s", a.Status, a.Body)
	}
}

// S-04 (songquanpeng/one-api#2387): the server fetched an image's address.
func TestRemoteImagesAreRefusedAndNeverFetched(t *testing.T) {
	r := both.of(t)
	var fetched atomic.Int32
	trap := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { fetched.Add(1) }))
	defer trap.Close()
	for _, m := range chatModels {
		for _, at := range []string{trap.URL + "/cat.png", "http://169.254.169.254/latest/meta-data", "https://example.com/x.png", "file:///etc/passwd"} {
			for path, body := range map[string]string{
				"/v1/chat/completions": `"messages":[{"role":"user","content":[{"type":"text","text":"what is it"},{"type":"image_url","image_url":{"url":"` + at + `"}}]}]`,
				"/v1/responses":        `"input":[{"role":"user","content":[{"type":"input_image","image_url":"` + at + `"}]}]`,
				"/v1/messages":         `"max_tokens":9,"messages":[{"role":"user","content":[{"type":"image","source":{"type":"url","url":"` + at + `"}}]}]`,
			} {
				if a := r.post(t, path, `{"model":"`+m+`",`+body+`}`); a.Status != 400 || code(t, a) == "" {
					t.Errorf("%s with %s: %d %s", path, at, a.Status, a.Body)
				}
			}
		}
		if n := len(served(r.fakes[runtimeOf(m)])); n != 0 {
			t.Errorf("%s was asked %d times", m, n)
		}
	}
	if n := fetched.Load(); n != 0 {
		t.Errorf("fetched %d times", n)
	}
}

// S-09 (ollama/ollama#13738): a token was sent to the host a redirect named.
func TestARuntimesKeyIsNotSentToTheHostOfARedirect(t *testing.T) {
	var strangers atomic.Int32
	stranger := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { strangers.Add(1) }))
	defer stranger.Close()
	fake, err := runtimetest.NewFake(runtimetest.FakeConfig{Kind: runtimetest.LlamaServer, APIKey: "runtime-key-1", Models: []runtimetest.FakeModel{{Name: "gguf-1b"}}})
	if err == nil {
		err = fake.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer fake.Close()
	target, _ := url.Parse(fake.URL())
	proxy := httputil.NewSingleHostReverseProxy(target)
	var turn atomic.Bool
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if turn.Load() && r.Method == http.MethodPost {
			http.Redirect(w, r, stranger.URL+r.URL.Path, http.StatusTemporaryRedirect)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	defer front.Close()
	r := newRig(t, spec{config: quick, before: nil, runtimes: `  - {name: gate, kind: llama-server, url: "` + front.URL + `", api_key: runtime-key-1}` + "\n", want: 1})
	chatWire.say(t, r, "gguf-1b", "go", false)
	turn.Store(true)
	a := r.post(t, "/v1/chat/completions", chatWire.body("gguf-1b", "go", false))
	if a.Status != 502 || strangers.Load() != 0 || strings.Contains(string(a.Body), stranger.URL) {
		t.Errorf("a redirect: %d, %d calls elsewhere: %s", a.Status, strangers.Load(), a.Body)
	}
	if s := r.logs.String() + string(r.get(t, "/admin/settings").Body); strings.Contains(s, "runtime-key-1") {
		t.Error("the runtime's key is shown")
	}
	front.CloseClientConnections()
}

// S-11 (an earlier router, by reading): any host could register as a node, get
// prompts, and be given commands in the answers to its heartbeats.
func TestNobodyRegistersAsANodeThroughTheDoor(t *testing.T) {
	r := door.of(t)
	nodes := len(r.registry.Snapshot().Nodes)
	for _, p := range []string{"/heartbeat", "/api/heartbeat", "/fleet/heartbeat", "/fleet/join", "/fleet/nodes", "/fleet/status", "/admin/heartbeat", "/admin/join", "/link", "/fleet/queue"} {
		for _, m := range []string{"POST", "PUT"} {
			a := ask(t, r.client, m, r.base+p, `{"node":"intruder","name":"intruder","deployments":[{"id":"intruder/ollama/chat:1b"}]}`, "X-Fleet-Node", "intruder")
			if a.Status != 404 && a.Status != 405 {
				t.Errorf("%s %s: %d %s", m, p, a.Status, a.Body)
			}
		}
	}
	if n := len(r.registry.Snapshot().Nodes); n != nodes || nodes != 1 {
		t.Errorf("%d nodes, before %d", n, nodes)
	}
	if a := r.post(t, "/api/chat", ollamaChatWire.body("chat:1b", "go", false), "X-Fleet-Router", "bellwether"); a.Status != http.StatusLoopDetected {
		t.Errorf("a request that a Bellwether sent on: %d %s", a.Status, a.Body)
	}
}

// What people wrote stays between them and the model: it is in no log, no
// error, no record, no metric and no file, however the request ends.
func TestPromptsAndKeysAreWrittenNowhere(t *testing.T) {
	dir := t.TempDir()
	r, err := door.start(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []runtimetest.Fault{{}, {Status: 500, Body: `{"error":"boom"}`}, {Break: runtimetest.BreakCut, After: 2}, {Break: runtimetest.BreakGarbage}, {Status: 200, Body: "odd"}} {
		r.fakes["ollama"].Inject(f)
		for _, w := range wires {
			for _, stream := range []bool{false, true} {
				a := r.post(t, w.path, w.body("chat:1b", secretPrompt, stream), "Authorization", "Bearer "+secretKey)
				if a.Status != 200 && strings.Contains(string(a.Body), secretPrompt) {
					t.Errorf("%s: the error quotes the prompt: %s", w.name, a.Body)
				}
			}
			r.post(t, w.path, `{"model":"chat:1b","stream":"`+secretPrompt+`",`+w.ask(secretPrompt)+`}`, "x-api-key", secretManage)
			r.post(t, w.path, w.body("chat:1b", secretPrompt, false)[:60]) // broken JSON
		}
		r.fakes["ollama"].Heal()
	}
	r.post(t, "/v1/embeddings", `{"model":"embed:1b","input":"`+secretPrompt+`"}`)
	if err := r.store.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{"/admin/decisions?limit=500", "/admin/status", "/metrics", "/fleet/status", "/fleet/queue", "/admin/snapshot", "/admin/settings"} {
		a := r.get(t, p)
		for _, secret := range []string{secretPrompt, secretKey, secretManage} {
			if strings.Contains(string(a.Body), secret) {
				t.Errorf("%s holds %q", p, secret)
			}
		}
	}
	if err := r.end(); err != nil {
		t.Fatal(err)
	}
	r.logs.search(t)
	err = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == "config.yaml" {
			return err
		}
		b, err := os.ReadFile(path)
		for _, secret := range []string{secretPrompt, secretKey, secretManage} {
			if bytes.Contains(b, []byte(secret)) {
				t.Errorf("%s holds %q", d.Name(), secret)
			}
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	if strings.Contains(r.logs.String(), "panic") {
		t.Error(fmt.Sprint("a handler panicked:\n", r.logs.tail(3000)))
	}
}
