package admin

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net/http"
	"strings"
	"sync"
	"time"

	"bellwether/engine/socket"
)

const (
	cookieName = "bellwether_admin"
	tokenName  = "X-Fleet-Admin"
	// linkLife is how long a one-time link is good: from a command or the tray to
	// the browser that it opens.
	linkLife = time.Minute
	// sessionIdle is how long an unlocked browser may be left alone. Sessions are
	// kept in memory: a restart locks them all.
	sessionIdle = 7 * 24 * time.Hour
	mostLinks   = 16
	mostOpen    = 64
)

// digest is what is kept of a secret that was given out.
type digest [sha256.Size]byte

// doors are the ways in for browsers: one-time links, and the sessions that
// they open. Its mutex guards links, open and over.
type doors struct {
	now   func() time.Time
	ended func(session digest) // told of each session's end, without the mutex; nil = nobody
	mu    sync.Mutex
	links map[digest]link
	open  map[digest]time.Time // when each was last used
	over  []digest             // ended while the mutex was held
}

// hold takes the mutex; what it returns gives it back, and tells of the sessions
// that ended meanwhile.
func (d *doors) hold() (letGo func()) {
	d.mu.Lock()
	return func() {
		over := d.over
		d.over = nil
		d.mu.Unlock()
		for _, session := range over {
			if d.ended != nil {
				d.ended(session)
			}
		}
	}
}

// end ends a session, if it is one. The caller holds the mutex.
func (d *doors) end(session digest) {
	if _, open := d.open[session]; open {
		delete(d.open, session)
		d.over = append(d.over, session)
	}
}

// sessionOf is the session that a request names, zero without one.
func sessionOf(r *http.Request) (key digest) {
	if c, err := r.Cookie(cookieName); err == nil && c.Value != "" {
		key = sha256.Sum256([]byte(c.Value))
	}
	return key
}

// link is a one-time link. A used one is remembered until it would have ended.
type link struct {
	until time.Time
	used  bool
	by    digest // the session that it opened
}

func newDoors(now func() time.Time) *doors {
	return &doors{now: now, links: map[digest]link{}, open: map[digest]time.Time{}}
}

func newSecret() string {
	var b [24]byte
	_, _ = rand.Read(b[:])
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// link makes a one-time secret. The oldest go when there are many.
func (d *doors) link() (secret string, until time.Time) {
	secret, until = newSecret(), d.now().Add(linkLife)
	defer d.hold()()
	for len(d.links) >= mostLinks {
		delete(d.links, earliest(d.links, func(l link) time.Time { return l.until }))
	}
	d.links[sha256.Sum256([]byte(secret))] = link{until: until}
	return secret, until
}

// enter takes a one-time secret and opens a session. Who brings one a second
// time gets none, and closes what it opened: one of the two has seen the link
// of the other, on a command line perhaps, and it may have been the first.
func (d *doors) enter(secret string) (session string, ok bool) {
	key := sha256.Sum256([]byte(secret))
	defer d.hold()()
	l, known := d.links[key]
	switch {
	case !known:
		return "", false
	case !d.now().Before(l.until):
		delete(d.links, key)
		return "", false
	case l.used:
		d.end(l.by)
		return "", false
	}
	session = newSecret()
	l.used, l.by = true, sha256.Sum256([]byte(session))
	d.links[key] = l
	for len(d.open) >= mostOpen {
		d.end(earliest(d.open, func(used time.Time) time.Time { return used }))
	}
	d.open[l.by] = d.now()
	return session, true
}

// isOpen reports whether a request carries the cookie of an open session.
func (d *doors) isOpen(r *http.Request) bool {
	key := sessionOf(r)
	defer d.hold()()
	used, open := d.open[key]
	if !open || d.now().Sub(used) > sessionIdle {
		d.end(key)
		return false
	}
	d.open[key] = d.now()
	return true
}

// lock ends the session of a request.
func (d *doors) lock(r *http.Request) {
	defer d.hold()()
	d.end(sessionOf(r))
}

// earliest is the entry with the earliest time.
func earliest[V any](m map[digest]V, at func(V) time.Time) (oldest digest) {
	first := true
	for key, v := range m {
		if first || at(v).Before(at(m[oldest])) {
			oldest, first = key, false
		}
	}
	return oldest
}

// who says by what a request may change things; a refusal says what is missing.
//
//  1. The admin token in its header: programs of the owner. A wrong one is
//     refused, whatever else comes with it.
//  2. The cookie of an unlocked browser, from a page of this very address. A
//     cookie alone is no proof: browsers send it to every port of a host, and
//     for pages of its other ports.
func (a *api) who(r *http.Request) *Refusal {
	if token := r.Header.Get(tokenName); token != "" {
		if a.Token != "" && subtle.ConstantTimeCompare([]byte(token), []byte(a.Token)) == 1 {
			return nil
		}
		return &Refusal{Code: "admin_token_needed", Message: "This changes the machine and needs its owner; the admin token is not the right one.",
			Remedy: "Use the bellwether command as the user who runs it."}
	}
	if !a.doors.isOpen(r) {
		return &Refusal{Code: "admin_token_needed", Message: "This changes the machine and needs its owner.", Remedy: unlockWords}
	}
	if r.Header.Get("Origin") == "" && r.Method != http.MethodGet || !socket.SameOrigin(r) || fromElsewhere(r) {
		return &Refusal{Code: "origin_not_allowed", Message: "Only pages of this address may do this.", Remedy: "Do it in the admin UI at /ui/."}
	}
	return nil
}

// fromElsewhere reports that a browser says that another site or port asked.
func fromElsewhere(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	return site != "" && site != "same-origin" && site != "none"
}

const unlockWords = "Run bellwether open, or choose Open admin window in the tray menu: that unlocks this browser."

// owner lets only the owner through.
func (a *api) owner(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if no := a.who(r); no != nil {
			refuse(w, http.StatusForbidden, no.Code, no.Message, no.Remedy)
			return
		}
		next(w, r)
	}
}

// session tells a page whether it may change things.
func (a *api) session(w http.ResponseWriter, r *http.Request) {
	s := Session{Version: a.Version, NodeName: a.NodeName, Unlocked: a.who(r) == nil}
	if !s.Unlocked {
		s.Unlock = unlockWords
	}
	answer(w, http.StatusOK, s)
}

// enterLink makes a one-time link. Only the token does: an unlocked browser
// has no need of another.
func (a *api) enterLink(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get(tokenName) == "" {
		refuse(w, http.StatusForbidden, "admin_token_needed", "Only the owner's programs make links that unlock browsers.", unlockWords)
		return
	}
	secret, until := a.doors.link()
	answer(w, http.StatusOK, EnterLink{URL: a.Address + "/admin/enter?t=" + secret, ExpiresAt: until.UTC().Truncate(time.Second)})
}

// enter takes a one-time link. It answers with a page that goes on by script:
// after a redirect that another site began, browsers would keep a strict
// cookie back.
func (a *api) enter(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet { // a look at the headers must not use it up
		w.Header().Set("Allow", http.MethodGet)
		refuse(w, http.StatusMethodNotAllowed, "method_not_allowed", "A link is opened, not looked at.", "")
		return
	}
	session, ok := a.doors.enter(r.URL.Query().Get("t"))
	if !ok {
		page(w, http.StatusForbidden, "This link has been used, or is too old", "",
			"<p>A link unlocks one browser, once, within a minute.</p><p>For another one run <code>bellwether open</code>, or choose <b>Open admin window</b> in the tray menu.</p><p><a href=\"/ui/\">Look without unlocking</a></p>")
		return
	}
	http.SetCookie(w, &http.Cookie{Name: cookieName, Value: session, Path: "/admin/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
	page(w, http.StatusOK, "Unlocked", `location.replace("/ui/")`, "<p><a href=\"/ui/\">Go on to Bellwether</a></p>")
}

// lock ends this browser's session.
func (a *api) lock(w http.ResponseWriter, r *http.Request) {
	a.doors.lock(r)
	http.SetCookie(w, &http.Cookie{Name: cookieName, Path: "/admin/", HttpOnly: true, SameSite: http.SameSiteStrictMode, MaxAge: -1})
	answer(w, http.StatusOK, Session{Version: a.Version, NodeName: a.NodeName, Unlock: unlockWords})
}

// page writes a small page of our own. Title and text are ours; script runs
// under a nonce, and nothing else does.
func page(w http.ResponseWriter, status int, title, script, text string) {
	nonce := newSecret()
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'nonce-"+nonce+"'; style-src 'nonce-"+nonce+"'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	w.WriteHeader(status)
	var b strings.Builder
	b.WriteString(`<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark"><title>` + title + ` - Bellwether</title>`)
	b.WriteString(`<style nonce="` + nonce + `">body{font:16px/1.5 system-ui,sans-serif;max-width:34em;margin:15vh auto;padding:0 1.5em}code{font-family:ui-monospace,monospace}</style>`)
	if script != "" {
		b.WriteString(`<script nonce="` + nonce + `">` + script + `</script>`)
	}
	b.WriteString(`</head><body><h1>` + title + `</h1>` + text + `</body></html>`)
	_, _ = w.Write([]byte(b.String()))
}
