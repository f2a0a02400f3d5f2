package admin

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"
)

func TestTheUIIsServedWithItsRules(t *testing.T) {
	api, _, _ := newAPI(t)
	for _, c := range []struct {
		path, body, cache string
		status            int
	}{
		{"/ui/", "<html>ui</html>", "no-cache", 200},
		{"/ui/index.html", "<html>ui</html>", "no-cache", 200},
		{"/ui/decisions/abc", "<html>ui</html>", "no-cache", 200}, // the UI's own path
		{"/ui/../ui/", "<html>ui</html>", "no-cache", 200},
		{"/ui/assets/app-1a2b.js", "js", "public, max-age=31536000, immutable", 200},
		{"/ui/assets/app-gone.js", "", "no-store", 404}, // of another build: not the page in its place
		{"/ui/favicon.svg", "<svg/>", "public, max-age=3600", 200},
		{"/ui/.gitkeep", "", "no-store", 404},
		{"/ui/nope.js", "", "no-store", 404},                // the page is no script
		{"/ui/assets/", "<html>ui</html>", "no-cache", 200}, // no list of files
	} {
		w := do(api, "GET", c.path, "", "")
		if w.Code == http.StatusMovedPermanently || w.Code == http.StatusTemporaryRedirect {
			w = do(api, "GET", w.Header().Get("Location"), "", "")
		}
		if w.Code != c.status || c.body != "" && w.Body.String() != c.body || w.Header().Get("Cache-Control") != c.cache {
			t.Errorf("%s: %d %q, cached %q", c.path, w.Code, w.Body, w.Header().Get("Cache-Control"))
		}
		policy := w.Header().Get("Content-Security-Policy")
		for _, want := range []string{"default-src 'self'", "style-src 'self'", "connect-src 'self'", "frame-ancestors 'none'"} {
			if !strings.Contains(policy, want) || strings.Contains(policy, "unsafe") {
				t.Errorf("%s: policy %q", c.path, policy)
			}
		}
		if w.Header().Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s may be sniffed", c.path)
		}
	}
	for path, to := range map[string]string{"/ui": "/ui/", "/admin/ui": "/ui/"} {
		if w := do(api, "GET", path, "", ""); w.Code != http.StatusPermanentRedirect || w.Header().Get("Location") != to {
			t.Errorf("%s: %d to %q", path, w.Code, w.Header().Get("Location"))
		}
	}
	if w := do(api, "POST", "/ui/", "secret", ""); w.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", w.Code)
	}
}

// A slow line needs fewer round trips for what is packed.
func TestAssetsArePackedForWhoTakesThem(t *testing.T) {
	text := strings.Repeat("export const bell = 'wether';\n", 500)
	u := newUI(fstest.MapFS{"index.html": {Data: []byte("<html>")}, "assets/app-1a2b.js": {Data: []byte(text)}}, nil)
	ask := func(accepts string) *httptest.ResponseRecorder {
		r := httptest.NewRequest("GET", "/ui/assets/app-1a2b.js", nil)
		r.Header.Set("Accept-Encoding", accepts)
		w := httptest.NewRecorder()
		u.ServeHTTP(w, r)
		if w.Code != 200 || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/javascript") || w.Header().Get("Vary") != "Accept-Encoding" || !strings.Contains(w.Header().Get("Cache-Control"), "immutable") {
			t.Errorf("%q: %d %v", accepts, w.Code, w.Header())
		}
		return w
	}
	for _, accepts := range []string{"gzip", "deflate, gzip;q=0.5, br", "br,GZIP;q=1.0"} {
		w := ask(accepts)
		z, err := gzip.NewReader(w.Body)
		if err != nil || w.Header().Get("Content-Encoding") != "gzip" || w.Body.Len() > len(text)/3 {
			t.Fatalf("%q: %v, %v, %d bytes", accepts, err, w.Header(), w.Body.Len())
		}
		if got, err := io.ReadAll(z); err != nil || string(got) != text {
			t.Errorf("%q: unpacked to %d bytes, %v", accepts, len(got), err)
		}
	}
	for _, accepts := range []string{"", "br", "gzip;q=0", "gzip; q=0.0"} {
		if w := ask(accepts); w.Header().Get("Content-Encoding") != "" || w.Body.String() != text {
			t.Errorf("%q: %v", accepts, w.Header())
		}
	}
}

func TestWithoutABuiltUIAPageSaysHowToBuildIt(t *testing.T) {
	for name, files := range map[string]*ui{"none": newUI(nil, nil), "an empty folder": newUI(fstest.MapFS{".gitkeep": {}}, nil)} {
		w := do(files, "GET", "/ui/", "", "")
		if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "go run ./build ui") || !strings.Contains(w.Header().Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
}
