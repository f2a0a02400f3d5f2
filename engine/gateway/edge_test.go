package gateway

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
)

func testEdge() *edge {
	e := newEdge(&Config{
		NodeName: "studio",
		Keys:     func() []Key { return []Key{{Name: "ha", Matches: func(s string) bool { return s == "secret" }}} },
	}, &Rules{AllowedHosts: []string{"ai.example.lan"}, CIDR: []string{"192.168.1.0/24"}})
	return &e
}

func TestOnlyNamesOfThisMachineAreHosts(t *testing.T) {
	e := testEdge()
	for host, want := range map[string]bool{
		"localhost:11435": true, "localhost": true, "127.0.0.1:11435": true, "[::1]:11435": true, "::1": true,
		"studio": true, "studio.local:11435": true, "STUDIO.local.": true, "ai.example.lan:80": true,
		"host.docker.internal:11435": true, "app.localhost": true, "192.168.1.20:11435": true, "": true,
		"evil.example": false, "localhost.evil.example": false, "127.0.0.1.evil.example:80": false, "studio.example": false,
		"evil.local": false, "xlocalhost": false, "[::1].evil": false, "a b": false,
	} {
		if got := e.hostAllowed(host); got != want {
			t.Errorf("Host %q allowed = %v, want %v", host, got, want)
		}
	}
}

func TestOriginsOfLocalAppsAreListedAndNoOthers(t *testing.T) {
	e := testEdge()
	for origin, want := range map[string]bool{
		"http://localhost": true, "http://localhost:3000": true, "https://127.0.0.1:8443": true, "http://[::1]:5173": true,
		"app://obsidian.md": true, "vscode-webview://abc": true, "chrome-extension://abcdef": true, "tauri://localhost": true, "file://": true,
		"http://localhost.evil.example": false, "http://localhost:80.evil.example": false, "http://evil.example": false,
		"null": false, "https://localhost:3000:1": false, "http://evil.example:3000": false, "": false,
	} {
		r := httptest.NewRequest(http.MethodPost, "http://localhost:11435/api/chat", nil)
		r.Header.Set("Origin", origin)
		got := e.checkOrigin(http.Header{}, r, "/api/chat") == nil
		if origin == "" {
			got = e.originListed("", "")
		}
		if got != want {
			t.Errorf("Origin %q allowed = %v, want %v", origin, got, want)
		}
	}
}

func TestTheAdminSurfaceTakesOnlyItsOwnOrigin(t *testing.T) {
	e := testEdge()
	for origin, want := range map[string]bool{"http://localhost:11435": true, "http://localhost:3000": false, "app://obsidian.md": false} {
		r := httptest.NewRequest(http.MethodGet, "http://localhost:11435/admin/status", nil)
		r.Header.Set("Origin", origin)
		h := http.Header{}
		if got := e.checkOrigin(h, r, "/admin/status") == nil; got != want {
			t.Errorf("Origin %q on /admin/status allowed = %v, want %v", origin, got, want)
		}
		if v := h.Get("Access-Control-Allow-Origin"); v != "" {
			t.Errorf("/admin/status grants CORS to %q", v)
		}
	}
}

func TestBeyondLoopbackAKeyIsNeeded(t *testing.T) {
	e := testEdge()
	for _, c := range []struct {
		name, remote, forwarded, auth, apiKey string
		status                                int // 0 = let in
	}{
		{"loopback", "127.0.0.1:5000", "", "", "", 0},
		{"loopback, any key", "127.0.0.1:5000", "", "Bearer anything", "", 0},
		{"loopback, IPv6", "[::1]:5000", "", "", "", 0},
		{"loopback, mapped", "[::ffff:127.0.0.1]:5000", "", "", "", 0},
		{"through a proxy", "127.0.0.1:5000", "10.0.0.9", "", "", http.StatusUnauthorized},
		{"through a proxy with a key", "127.0.0.1:5000", "10.0.0.9", "Bearer secret", "", 0},
		{"neighbour", "192.168.1.7:5000", "", "", "", http.StatusUnauthorized},
		{"neighbour, wrong key", "192.168.1.7:5000", "", "Bearer wrong", "", http.StatusUnauthorized},
		{"neighbour, bearer", "192.168.1.7:5000", "", "bearer secret", "", 0},
		{"neighbour, x-api-key", "192.168.1.7:5000", "", "", "secret", 0},
		{"other network, right key", "10.1.1.1:5000", "", "Bearer secret", "", http.StatusForbidden},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodPost, "http://localhost:11435/api/chat", nil)
			r.RemoteAddr = c.remote
			for name, v := range map[string]string{"X-Forwarded-For": c.forwarded, "Authorization": c.auth, "x-api-key": c.apiKey} {
				if v != "" {
					r.Header.Set(name, v)
				}
			}
			_, p := e.admit(httptest.NewRecorder(), r, "/api/chat")
			got := 0
			if p != nil {
				got = p.Status
			}
			if got != c.status {
				t.Errorf("status %d, want %d", got, c.status)
			}
		})
	}
}

func TestARequestOfABellwetherIsRefusedAsALoop(t *testing.T) {
	r := httptest.NewRequest(http.MethodPost, "http://localhost:11435/api/chat", nil)
	r.RemoteAddr = "127.0.0.1:1"
	r.Header.Set("X-Fleet-Router", "call")
	if _, p := testEdge().admit(httptest.NewRecorder(), r, "/api/chat"); p == nil || p.Status != http.StatusLoopDetected {
		t.Errorf("got %+v, want 508", p)
	}
}

// The grammar of model names, as an expression.
var modelNames = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._+@-]*([/:][A-Za-z0-9_][A-Za-z0-9._+@-]*)*$`)

func FuzzModelNamesFollowTheirGrammar(f *testing.F) {
	for _, s := range []string{"", "qwen3:8b", "hf.co/a/b-GGUF:Q4_K_M", "a..b", "a./b", "a/.b", "/a", "a/", "a:", "a//b", "-a", "a@sha", "a b", "ä", "a.", "..", "localhost:5000/x/y:z"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if want := modelNames.MatchString(name) && !strings.Contains(name, ".."); modelGrammar(name) != want {
			t.Errorf("%q: got %v", name, !want)
		}
	})
}
