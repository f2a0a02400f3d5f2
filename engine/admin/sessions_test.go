package admin

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"
)

// tab is a browser's tab on the admin UI: it keeps cookies, and sends Origin
// and Sec-Fetch-Site as browsers do.
type tab struct {
	t       *testing.T
	api     http.Handler
	cookies map[string]*http.Cookie
	origin  string
	site    string
}

func newTab(t *testing.T, api http.Handler) *tab {
	return &tab{t: t, api: api, cookies: map[string]*http.Cookie{}, origin: "http://localhost:11435", site: "same-origin"}
}

func (b *tab) do(method, path, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "http://localhost:11435"+path, strings.NewReader(body))
	if method != http.MethodGet && b.origin != "" {
		r.Header.Set("Origin", b.origin)
	}
	if b.site != "" {
		r.Header.Set("Sec-Fetch-Site", b.site)
	}
	for _, c := range b.cookies {
		if strings.HasPrefix(path, c.Path) {
			r.AddCookie(c)
		}
	}
	w := httptest.NewRecorder()
	b.api.ServeHTTP(w, r)
	for _, c := range w.Result().Cookies() {
		if b.cookies[c.Name] = c; c.MaxAge < 0 {
			delete(b.cookies, c.Name)
		}
	}
	return w
}

func (b *tab) unlocked() bool {
	b.t.Helper()
	var s Session
	if err := json.Unmarshal(b.do("GET", "/admin/session", "").Body.Bytes(), &s); err != nil {
		b.t.Fatal(err)
	}
	if s.Unlocked == (s.Unlock != "") || s.Version == "" {
		b.t.Errorf("session %+v", s)
	}
	return s.Unlocked
}

// link asks for a one-time link as the owner's command does.
func linkOf(t *testing.T, api http.Handler) string {
	t.Helper()
	var l EnterLink
	w := do(api, "POST", "/admin/enter-link", "secret", "")
	if err := json.Unmarshal(w.Body.Bytes(), &l); err != nil || w.Code != http.StatusOK {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	path, ours := strings.CutPrefix(l.URL, "http://localhost:11435")
	if !ours || time.Until(l.ExpiresAt) > linkLife || time.Until(l.ExpiresAt) < linkLife/2 {
		t.Errorf("link %+v", l)
	}
	return path
}

func TestAOneTimeLinkUnlocksABrowserOnce(t *testing.T) {
	api, node, _ := newAPI(t)
	b := newTab(t, api)
	if b.unlocked() {
		t.Error("unlocked from the start")
	}
	if w := b.do("POST", "/admin/pause", "{}"); w.Code != http.StatusForbidden || !strings.Contains(w.Body.String(), "bellwether open") {
		t.Errorf("a locked browser paused: %d %s", w.Code, w.Body)
	}
	link := linkOf(t, api)
	if w := b.do("HEAD", link, ""); w.Code != http.StatusMethodNotAllowed || b.cookies[cookieName] != nil {
		t.Errorf("HEAD: %d", w.Code)
	}
	w := b.do("GET", link, "")
	nonce := regexp.MustCompile(`script-src 'nonce-([^']+)'`).FindStringSubmatch(w.Header().Get("Content-Security-Policy"))
	if w.Code != http.StatusOK || nonce == nil || !strings.Contains(w.Body.String(), `<script nonce="`+nonce[1]+`">location.replace("/ui/")</script>`) ||
		w.Header().Get("Referrer-Policy") != "no-referrer" || w.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("the page: %d %v %s", w.Code, w.Header(), w.Body)
	}
	c := b.cookies[cookieName]
	if c == nil || !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/admin/" {
		t.Fatalf("the cookie is %v", c)
	}
	if !b.unlocked() {
		t.Error("still locked")
	}
	if w := b.do("POST", "/admin/pause", `{"reason":"lunch"}`); w.Code != http.StatusOK || len(node.told) != 1 {
		t.Errorf("pause: %d %s, told %v", w.Code, w.Body, node.told)
	}
	if w := b.do("POST", "/admin/lock", ""); w.Code != http.StatusOK || b.unlocked() || b.cookies[cookieName] != nil {
		t.Errorf("lock: %d %s", w.Code, w.Body)
	}
	b.cookies[cookieName] = c // kept by somebody
	if b.unlocked() {
		t.Error("a locked session lives on")
	}
}

// Somebody else on this machine may have seen the link on a command line.
func TestALinkThatComesTwiceClosesWhatItOpened(t *testing.T) {
	api, _, _ := newAPI(t)
	link := linkOf(t, api)
	thief, owner := newTab(t, api), newTab(t, api)
	thief.do("GET", link, "")
	if w := owner.do("GET", link, ""); w.Code != http.StatusForbidden || !strings.Contains(w.Body.String(), "bellwether open") || owner.cookies[cookieName] != nil {
		t.Errorf("the second: %d %s", w.Code, w.Body)
	}
	if thief.unlocked() || owner.unlocked() {
		t.Error("one of them is unlocked")
	}
}

func TestLinksEndAndUnknownOnesOpenNothing(t *testing.T) {
	now := time.Now()
	d := newDoors(func() time.Time { return now })
	secret, _ := d.link()
	now = now.Add(linkLife)
	if _, ok := d.enter(secret); ok {
		t.Error("an old link opened")
	}
	for _, s := range []string{"", "x", secret} {
		if _, ok := d.enter(s); ok {
			t.Errorf("%q opened", s)
		}
	}
	first, _ := d.link()
	for range mostLinks {
		now = now.Add(time.Millisecond)
		d.link()
	}
	if _, ok := d.enter(first); ok || len(d.links) > mostLinks {
		t.Errorf("%d links are kept, the oldest too: %v", len(d.links), ok)
	}
}

func TestASessionLeftAloneEnds(t *testing.T) {
	now := time.Now()
	d := newDoors(func() time.Time { return now })
	secret, _ := d.link()
	session, _ := d.enter(secret)
	r := httptest.NewRequest("GET", "/admin/session", nil)
	r.AddCookie(&http.Cookie{Name: cookieName, Value: session})
	for range 3 {
		now = now.Add(sessionIdle)
		if !d.isOpen(r) {
			t.Fatal("a session in use ended")
		}
	}
	if now = now.Add(sessionIdle + time.Second); d.isOpen(r) {
		t.Error("a session left alone lives on")
	}
}

// A cookie goes to every port of a host, so it proves nothing by itself.
func TestACookieCountsOnlyFromOurOwnPages(t *testing.T) {
	api, node, _ := newAPI(t)
	b := newTab(t, api)
	b.do("GET", linkOf(t, api), "")
	for _, c := range []struct{ origin, site string }{
		{"", "same-origin"}, {"", ""}, {"http://localhost:3000", "same-site"}, {"http://localhost:3000", ""}, {"http://127.0.0.1:11435", ""},
		{"https://evil.example", "cross-site"}, {"null", "cross-site"}, {"http://localhost:11435", "cross-site"}, {"http://localhost:11435.evil.example", ""},
	} {
		b.origin, b.site = c.origin, c.site
		for _, path := range []string{"/admin/pause", "/admin/models/delete", "/admin/settings", "/admin/findings/x/cure", "/admin/jobs/J1/cancel", "/admin/test-traffic"} {
			if w := b.do("POST", path, `{"deployment":"n/r/m"}`); w.Code != http.StatusForbidden {
				t.Errorf("%s from origin %q site %q: %d", path, c.origin, c.site, w.Code)
			}
		}
	}
	if len(node.told) > 0 {
		t.Errorf("the node was told %v", node.told)
	}
	b.origin, b.site = "", "same-site" // a page of another port reads the log
	if w := b.do("GET", "/admin/log", ""); w.Code != http.StatusForbidden {
		t.Errorf("log: %d", w.Code)
	}
	if r := httptest.NewRequest("POST", "/admin/pause", nil); true { // a wrong token beside a good cookie
		r.Host = "localhost:11435"
		r.Header.Set("Origin", "http://localhost:11435")
		r.Header.Set(tokenName, "guess")
		r.AddCookie(b.cookies[cookieName])
		w := httptest.NewRecorder()
		if api.ServeHTTP(w, r); w.Code != http.StatusForbidden {
			t.Errorf("a wrong token: %d", w.Code)
		}
	}
}

func TestOnlyTheTokenMakesLinks(t *testing.T) {
	api, _, _ := newAPI(t)
	b := newTab(t, api)
	b.do("GET", linkOf(t, api), "")
	if w := b.do("POST", "/admin/enter-link", ""); w.Code != http.StatusForbidden {
		t.Errorf("an unlocked browser made a link: %d %s", w.Code, w.Body)
	}
	if w := do(api, "POST", "/admin/enter-link", "wrong", ""); w.Code != http.StatusForbidden {
		t.Errorf("a wrong token made a link: %d", w.Code)
	}
}

func TestWhatIsPrivateNeedsUnlockingToRead(t *testing.T) {
	api, _, _ := newAPI(t)
	b := newTab(t, api)
	for _, path := range []string{"/admin/log", "/admin/bundle"} {
		if w := b.do("GET", path, ""); w.Code != http.StatusForbidden {
			t.Errorf("%s: %d without unlocking", path, w.Code)
		}
	}
	b.do("GET", linkOf(t, api), "")
	for _, path := range []string{"/admin/log", "/admin/bundle", "/admin/bundle?names=yes"} {
		if w := b.do("GET", path, ""); w.Code != http.StatusOK || w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
}
