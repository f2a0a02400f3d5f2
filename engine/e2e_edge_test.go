package engine

import (
	"net"
	"net/http"
	"strings"
	"testing"

	"bellwether/engine/runtime/runtimetest"
)

// door is an engine that listens on every address, with keys.
var door = share(spec{
	listen: "0.0.0.0:0",
	config: `
routing: {circuit: 1000/1000 in 1s, uncertain_hold: 0, settle: 0, auto_pull: "off"}
security:
  max_body_mb: 1
  allowed_hosts: [bells.example, "*.home.example"]
  allowed_origins: ["https://chat.example:8443"]
  api_keys:
    - {name: app, key: ` + secretKey + `}
    - {name: boss, key: ` + secretManage + `, rights: [manage]}
`,
	fakes: map[string]runtimetest.FakeConfig{"ollama": {Models: []runtimetest.FakeModel{{Name: "chat:1b"}, {Name: "embed:1b", Capabilities: []string{"embedding"}}}}},
})

// route is one way into the engine.
type way struct{ method, path string }

// ways are all of them: the gateway's table, the admin API, and paths that do
// not exist, since those must not answer strangers either.
func (r *rig) ways() []way {
	var out []way
	for _, e := range r.gateway.Endpoints() {
		for _, m := range e.Methods {
			out = append(out, way{m, strings.ReplaceAll(e.Path, "*", "x")})
		}
	}
	for _, p := range []string{"/admin/status", "/admin/snapshot", "/admin/decisions", "/admin/decisions/x", "/admin/settings", "/admin/doctor", "/ui/", "/admin", "/ui"} {
		out = append(out, way{"GET", p})
	}
	for _, p := range []string{"/admin/explain/openai-chat", "/admin/refresh", "/admin/pause", "/admin/resume", "/admin/models/load", "/admin/eval", "/admin/probe"} {
		out = append(out, way{"POST", p})
	}
	return append(out, way{"GET", "/nowhere"}, way{"POST", "/v1/nowhere"}, way{"OPTIONS", "/v1/chat/completions"}, way{"GET", "//v1//v1/models"})
}

func (r *rig) try(t testing.TB, base string, w way, header ...string) *answer {
	t.Helper()
	body := ""
	if w.method == "POST" || w.method == "DELETE" {
		body = `{"model":"chat:1b"}`
	}
	return ask(t, r.client, w.method, base+w.path, body, header...)
}

// code is the machine-readable reason of an error, "" where the protocol has
// none (then the text is told).
func code(t testing.TB, a *answer) string {
	t.Helper()
	if len(a.Body) == 0 {
		return ""
	}
	return or(a.json(t).str("error.code"), or(a.json(t).str("error.message"), a.json(t).str("error")))
}

// S-07 (NousResearch/hermes-agent#21939): a web page whose DNS name was bound
// to 127.0.0.1 reads and writes a local API.
func TestAForeignHostNameIsRefusedOnEveryRoute(t *testing.T) {
	r := door.of(t)
	for _, w := range r.ways() {
		for _, host := range []string{"evil.example", "evil.example:11435", "localhost.evil.example", "bells.example.evil.com", "xhome.example", "home.example.", "127.0.0.1.evil.example", "studio.evil.example"} {
			if a := r.try(t, r.base, w, "Host", host); a.Status != 403 || w.method != "HEAD" && !strings.Contains(string(a.Body), "security.allowed_hosts") {
				t.Errorf("%s %s with Host %s: %d %s", w.method, w.path, host, a.Status, a.Body)
			}
		}
	}
	for _, host := range []string{"localhost", "LOCALHOST:1", "127.0.0.1:9", "[::1]:9", "192.168.7.7", "bells.example", "a.home.example:80", "studio", "studio.local", "x.localhost", "host.docker.internal"} {
		if a := r.get(t, "/v1/models", "Host", host); a.Status != 200 {
			t.Errorf("Host %s: %d %s", host, a.Status, a.Body)
		}
	}
	if n := len(served(r.fakes["ollama"])); n != 0 {
		t.Errorf("a runtime was asked %d times", n)
	}
}

// S-06 (mostlygeek/llama-swap#81, #85): any web page could call. P-28 (a
// desktop router's 1.0): the message names the setting.
func TestAForeignOriginIsRefusedOnEveryRoute(t *testing.T) {
	r := door.of(t)
	for _, w := range r.ways() {
		for _, origin := range []string{"https://evil.example", "null", "http://localhost.evil.example", "https://chat.example", "http://chat.example:8443", "https://chat.example:8443.evil.example", "file", "://", "http://"} {
			a := r.try(t, r.base, w, "Origin", origin)
			admins := strings.HasPrefix(w.path, "/admin") || strings.HasPrefix(w.path, "/ui") // which no setting opens
			if a.Status != 403 || a.Header.Get("Access-Control-Allow-Origin") != "" || w.method != "HEAD" && strings.Contains(string(a.Body), "security.allowed_origins") == admins {
				t.Errorf("%s %s from %s: %d %v %s", w.method, w.path, origin, a.Status, a.Header, a.Body)
			}
		}
		if a := r.try(t, r.base, w); a.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s %s without Origin is opened to %s", w.method, w.path, a.Header.Get("Access-Control-Allow-Origin"))
		}
	}
}

// The other half of S-06, and P-26: local apps work without settings, listed
// pages work, and a preflight gets back what it asked for: Anthropic's browser
// clients send headers that Ollama's fixed list lacks.
func TestLocalAppsAndListedPagesMayCallAndPreflight(t *testing.T) {
	r := door.of(t)
	asked := "authorization, x-api-key, anthropic-version, anthropic-dangerous-direct-browser-access, x-stainless-os"
	for _, origin := range []string{"http://localhost:3000", "https://localhost", "http://127.0.0.1:8080", "http://[::1]:5173", "http://0.0.0.0:1", "app://obsidian.md", "file://", "tauri://localhost",
		"vscode-webview://abc123", "vscode-file://vscode-app", "chrome-extension://abcdef", "moz-extension://abc", "safari-web-extension://abc", "https://chat.example:8443"} {
		for _, w := range wires {
			pre := ask(t, r.client, "OPTIONS", r.base+w.path, "", "Origin", origin, "Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", asked)
			if pre.Status != 204 || pre.Header.Get("Access-Control-Allow-Origin") != origin || pre.Header.Get("Access-Control-Allow-Headers") != asked || !strings.Contains(pre.Header.Get("Access-Control-Allow-Methods"), "POST") {
				t.Errorf("preflight of %s by %s: %d %v", w.path, origin, pre.Status, pre.Header)
			}
		}
		a := r.get(t, "/v1/models", "Origin", origin)
		if a.Status != 200 || a.Header.Get("Access-Control-Allow-Origin") != origin || a.Header.Get("Vary") != "Origin" {
			t.Errorf("%s: %d %v", origin, a.Status, a.Header)
		}
		// No setting opens the admin surface, and it refuses in its own envelope.
		a = r.get(t, "/admin/status", "Origin", origin)
		if a.Status != 403 || a.Header.Get("Access-Control-Allow-Origin") != "" || a.json(t).str("error.code") != "origin_not_allowed" ||
			!strings.Contains(a.json(t).str("error.remedy"), "/ui/") || strings.Contains(string(a.Body), "allowed_origins") {
			t.Errorf("the admin API is open to %s, or says so wrongly: %d %s", origin, a.Status, a.Body)
		}
	}
	// The engine's own pages are same-origin.
	if a := r.get(t, "/admin/status", "Origin", r.base); a.Status != 200 {
		t.Errorf("own origin: %d %s", a.Status, a.Body)
	}
}

// beyond is a base URL under which this machine is not loopback, and headers
// that make a request come from elsewhere where there is no such address.
func (r *rig) beyond(t testing.TB) (base string, header []string) {
	t.Helper()
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(r.base, "http://"))
	addrs, _ := net.InterfaceAddrs()
	for _, a := range addrs {
		if ip, ok := a.(*net.IPNet); ok && ip.IP.To4() != nil && !ip.IP.IsLoopback() {
			return "http://" + net.JoinHostPort(ip.IP.String(), port), nil
		}
	}
	return r.base, []string{"X-Forwarded-For", "203.0.113.9"}
}

// S-05 (mostlygeek/llama-swap#717): UI and metrics were outside the key check.
// P-26 (a desktop router's #28, #38): other machines and containers come in
// with a key, the preflight without, and a local reverse proxy is not loopback.
// P-32 (#31, #32): which is all a container needs, beside an address.
func TestBeyondLoopbackEveryRouteNeedsAKey(t *testing.T) {
	r := door.of(t)
	base, far := r.beyond(t)
	proxied := []string{"X-Forwarded-For", "203.0.113.9"}
	for _, from := range []struct {
		base   string
		header []string
	}{{base, far}, {r.base, proxied}, {r.base, []string{"Forwarded", "for=203.0.113.9"}}} {
		for _, w := range r.ways() {
			if w.method == http.MethodOptions {
				continue
			}
			for _, wrong := range [][]string{nil, {"Authorization", "Bearer sk-wrong"}, {"x-api-key", "sk-wrong"}, {"Authorization", "Basic " + secretKey}, {"X-Fleet-Admin", r.token}} {
				a := r.try(t, from.base, w, append(wrong, from.header...)...)
				if a.Status != 401 || w.method != "HEAD" && !strings.Contains(string(a.Body), "API key") {
					t.Errorf("%s %s with %v: %d %s", w.method, w.path, wrong, a.Status, a.Body)
				}
			}
		}
		for _, right := range [][]string{{"Authorization", "Bearer " + secretKey}, {"authorization", "bearer " + secretKey}, {"x-api-key", secretKey}} {
			h := append(right, from.header...)
			if a := ask(t, r.client, "POST", from.base+"/v1/chat/completions", chatWire.body("chat:1b", secretPrompt, false), h...); a.Status != 200 {
				t.Errorf("with a key: %d %s", a.Status, a.Body)
			}
			for _, p := range []string{"/metrics", "/healthz", "/fleet/status", "/"} {
				if a := ask(t, r.client, "GET", from.base+p, "", h...); a.Status != 200 {
					t.Errorf("%s with a key: %d", p, a.Status)
				}
			}
			// A key lets apps in, not owners.
			if a := ask(t, r.client, "GET", from.base+"/admin/status", "", h...); a.Status != 403 || code(t, a) == "" {
				t.Errorf("/admin/status with an app's key from afar: %d %s", a.Status, a.Body)
			}
		}
	}
	for _, q := range served(r.fakes["ollama"]) {
		for name, values := range q.Header {
			if strings.Contains(strings.Join(values, " "), secretKey) || name == "X-Api-Key" || name == "Authorization" {
				t.Errorf("the client's key went on to the runtime: %s: %v", name, values)
			}
		}
	}
	r.await(t, "the record to name the key's app", func() bool { return r.latest(t).App == "app" })
	// On this machine any key, also a wrong one, is as good as none.
	for _, any := range [][]string{nil, {"Authorization", "Bearer ollama"}, {"x-api-key", "dummy"}} {
		if a := r.post(t, "/v1/chat/completions", chatWire.body("chat:1b", "go", false), any...); a.Status != 200 {
			t.Errorf("on loopback with %v: %d %s", any, a.Status, a.Body)
		}
	}
}

// S-08 (janhq/jan#6471): the list of host names was confused with the list of
// addresses. They are two settings, and each refusal names its own.
func TestHostNamesAndClientAddressesAreTwoSettings(t *testing.T) {
	s := door.spec
	s.config = strings.Replace(s.config, "max_body_mb: 1", "cidr: [203.0.113.0/24]", 1)
	r := newRig(t, s)
	base, far := r.beyond(t)
	if far != nil {
		t.Skip("this machine has no address beyond loopback")
	}
	key := []string{"x-api-key", secretKey}
	if a := ask(t, r.client, "GET", base+"/v1/models", "", key...); a.Status != 403 || !strings.Contains(string(a.Body), "security.cidr") || strings.Contains(string(a.Body), "allowed_hosts") {
		t.Errorf("an address that is not listed: %d %s", a.Status, a.Body)
	}
	if a := ask(t, r.client, "GET", r.base+"/v1/models", ""); a.Status != 200 {
		t.Errorf("loopback: %d", a.Status)
	}
	if a := ask(t, r.client, "GET", r.base+"/v1/models", "", "Host", "evil.example"); !strings.Contains(string(a.Body), "security.allowed_hosts") || strings.Contains(string(a.Body), "cidr") {
		t.Errorf("a foreign name: %s", a.Body)
	}
	doctor := string(r.get(t, "/admin/doctor").Body)
	if !strings.Contains(doctor, `"id"`) {
		t.Errorf("the test button, bellwether doctor, says %s", doctor)
	}
}

// What changes the machine needs its owner's token, also on loopback.
func TestChangesNeedTheOwnersToken(t *testing.T) {
	r := door.of(t)
	for _, w := range r.ways() {
		if !strings.HasPrefix(w.path, "/admin/") || w.method != "POST" || strings.HasPrefix(w.path, "/admin/explain") {
			continue
		}
		for _, wrong := range [][]string{nil, {"X-Fleet-Admin", "x"}, {"X-Fleet-Admin", r.token + "x"}, {"x-api-key", secretManage}} {
			if a := r.try(t, r.base, w, wrong...); a.Status != 403 {
				t.Errorf("%s with %v: %d %s", w.path, wrong, a.Status, a.Body)
			}
		}
	}
	if a := r.post(t, "/admin/refresh", "{}", "X-Fleet-Admin", r.token); a.Status/100 != 2 {
		t.Errorf("refresh by the owner: %d %s", a.Status, a.Body)
	}
	for _, p := range []string{"/admin/status", "/admin/settings", "/admin/decisions", "/admin/doctor", "/admin/snapshot"} {
		a := r.get(t, p)
		if a.Status != 200 || !strings.Contains(a.Header.Get("Cache-Control"), "no-store") {
			t.Errorf("%s: %d %v", p, a.Status, a.Header)
		}
		for _, secret := range []string{secretKey, secretManage, secretPrompt, r.token} {
			if strings.Contains(string(a.Body), secret) {
				t.Errorf("%s shows %q", p, secret)
			}
		}
	}
}
