package admin

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"
)

// uiPolicy lets the UI load what it brought and talk to where it came from,
// and nothing else.
const uiPolicy = "default-src 'self'; img-src 'self' data:; connect-src 'self'; style-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// ui serves the built UI below /ui/. Assets carry a hash in their names and
// never change; index.html is asked for anew each time. A path that names no
// file, without an extension, is the UI's own to make sense of.
type ui struct {
	files  fs.FS // nil = there is none
	feed   *Feed // whose state comes with the page; nil = it comes without
	serve  http.Handler
	packed packed
}

func newUI(files fs.FS, feed *Feed) *ui {
	u := &ui{files: files, feed: feed}
	if files != nil {
		u.serve = http.StripPrefix("/ui/", http.FileServerFS(files))
	}
	return u
}

func (u *ui) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		refuse(w, http.StatusMethodNotAllowed, "method_not_allowed", "The UI is read, not written.", "")
		return
	}
	if r.URL.Path == "/ui" {
		http.Redirect(w, r, "/ui/", http.StatusPermanentRedirect)
		return
	}
	name := strings.TrimPrefix(path.Clean("/"+strings.TrimPrefix(r.URL.Path, "/ui/")), "/")
	if !u.has("index.html") {
		u.unbuilt(w)
		return
	}
	h := w.Header()
	h.Set("Content-Security-Policy", uiPolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	switch {
	case strings.HasPrefix(name, "assets/") && u.has(name):
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
		h.Add("Vary", "Accept-Encoding")
		if b := u.packed.of(u.files, name, r); b != nil {
			h.Set("Content-Encoding", "gzip")
			http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(b))
			return
		}
	case name != "" && name != "index.html" && u.has(name):
		h.Set("Cache-Control", "public, max-age=3600")
	case strings.HasPrefix(name, "assets/"), name != "index.html" && path.Ext(name) != "":
		h.Set("Cache-Control", "no-store") // of another build
		http.NotFound(w, r)
		return
	default:
		u.index(w, r)
		return
	}
	u.serve.ServeHTTP(w, r)
}

// index answers with the page itself: with the state of the moment in it, or
// without one, and then perhaps only that it has not changed.
func (u *ui) index(w http.ResponseWriter, r *http.Request) {
	text, err := fs.ReadFile(u.files, "index.html")
	if err != nil {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	if at, ok := u.feed.stateAt(text, r); ok {
		u.indexWithState(w, r, text[:at], text[at:])
		return
	}
	sum := sha256.Sum256(text)
	h.Set("Cache-Control", "no-cache")
	h.Set("ETag", `"`+hex.EncodeToString(sum[:8])+`"`)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(text))
}

// indexWithState sends the page with the state between two parts of it. The first
// sets out at once: it names what the browser has to fetch meanwhile.
func (u *ui) indexWithState(w http.ResponseWriter, r *http.Request, before, after []byte) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Add("Vary", "Accept-Encoding")
	packs := takesGzip(r)
	if packs {
		h.Set("Content-Encoding", "gzip")
	}
	if r.Method == http.MethodHead {
		return
	}
	out := inParts(w, packs)
	_, _ = out.Write(before)
	_ = out.Flush()
	_, _ = out.Write(u.feed.stateBlock(r.Context()))
	_, _ = out.Write(after)
	_ = out.Close()
}

func (u *ui) has(name string) bool {
	if u.files == nil || strings.HasPrefix(path.Base(name), ".") {
		return false
	}
	info, err := fs.Stat(u.files, name)
	return err == nil && info.Mode().IsRegular()
}

func (u *ui) unbuilt(w http.ResponseWriter) {
	page(w, http.StatusOK, "The admin UI is not built", "",
		"<p>This Bellwether serves apps, but was built without its pages. In its source folder run</p><p><code>go run ./build ui</code></p><p>and build it again. Everything it shows is also to be had by command: <code>bellwether status</code>, <code>decisions</code>, <code>doctor</code>.</p>")
}
