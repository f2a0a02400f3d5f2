package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"bellwether/app/window"
)

// standInBrowser has a program open pages in a browser that only notes them.
func (w *windowStage) standInBrowser(program *exec.Cmd) error {
	w.browser = filepath.Join(w.dir, "browser.txt")
	dir := filepath.Join(w.dir, "stand-ins")
	script := fmt.Sprintf("#!/bin/sh\nprintf '%%s\\n' \"$1\" >> '%s'\n", w.browser)
	program.Env = append(program.Env, "PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	return putFile(filepath.Join(dir, "xdg-open"), []byte(script), 0o755)
}

// otherSite is one that is not the admin UI: it counts who comes.
type otherSite struct {
	*httptest.Server
	visits atomic.Int64
}

func newOtherSite() *otherSite {
	o := &otherSite{}
	o.Server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		o.visits.Add(1)
		_, _ = rw.Write([]byte("<!doctype html><title>Elsewhere</title>"))
	}))
	return o
}

// plantedLink covers the middle of the page with a link, and tells when it is
// there. No page of the UI leads out by itself; texts of models may come to.
const plantedLink = `addEventListener('load', () => {
  const a = document.createElement('a')
  a.href = %q
  a.textContent = 'Elsewhere'
  Object.assign(a.style, {position: 'fixed', inset: '25%%', zIndex: 1000, background: 'gold', font: '40px sans-serif'})
  document.body.append(a)
  requestAnimationFrame(() => setTimeout(() => fetch('/ui/planted'), 300))
})`

// opensLinksOutside follows a link out of the real admin UI, by a click, and
// looks where it leads. The UI comes through a proxy that plants the link.
func (w *windowStage) opensLinksOutside(ctx context.Context) error {
	elsewhere := newOtherSite()
	defer elsewhere.Close()
	engine, err := w.engineURL()
	if err != nil {
		return err
	}
	address := elsewhere.URL + "/library?q=a&b=c"
	planted := make(chan struct{}, 1)
	proxy := httptest.NewServer(plant(engine, fmt.Sprintf(plantedLink, address), planted))
	defer proxy.Close()
	win := window.New(window.Options{Program: w.window, Log: slog.New(slog.DiscardHandler),
		Link: func(ctx context.Context) (string, error) {
			link, err := w.link(ctx)
			return strings.Replace(link, engine.String(), proxy.URL, 1), err
		},
		OpenBrowser: func(url string) error { return fmt.Errorf("the window asked for %s, and not the UI", url) }})
	defer win.Close()
	if err := win.Open(ctx); err != nil {
		return err
	}
	select {
	case <-planted:
	case <-time.After(30 * time.Second):
		return errors.New("the admin UI does not show in the window")
	}
	if err := w.atTheMiddle(ctx, "click", "1"); err != nil {
		return err
	}
	err = poll(ctx, 15*time.Second, "the engine opens the link in the browser", func() bool {
		opened, _ := os.ReadFile(w.browser)
		return string(opened) == address+"\n"
	})
	_, shotErr := w.screenshot(ctx, filepath.Join(w.dir, "link-out.png"))
	w.keepShot(filepath.Join(w.dir, "link-out.png"))
	if n := elsewhere.visits.Load(); err == nil && n != 0 {
		err = fmt.Errorf("the window went to the other site itself, %d times", n)
	}
	return errors.Join(err, shotErr)
}

// plant passes requests on to the engine as if they came from its own pages,
// with a script added to the UI's page; told gets word when that has run.
func plant(engine *url.URL, script string, told chan<- struct{}) http.Handler {
	const name = "/ui/planted.js"
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(engine)
			r.Out.Host = engine.Host
			r.Out.Header.Del("Accept-Encoding") // the page is to be read
			if r.In.Header.Get("Origin") != "" {
				r.Out.Header.Set("Origin", engine.String())
			}
		},
		FlushInterval: -1, // the feed is a stream
		ModifyResponse: func(resp *http.Response) error {
			if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html") || !strings.HasPrefix(resp.Request.URL.Path, "/ui/") {
				return nil
			}
			page, err := io.ReadAll(resp.Body)
			if err != nil {
				return err
			}
			page = bytes.Replace(page, []byte("</head>"), []byte(`<script src="`+name+`"></script></head>`), 1)
			resp.Body = io.NopCloser(bytes.NewReader(page))
			resp.ContentLength = int64(len(page))
			resp.Header.Set("Content-Length", strconv.Itoa(len(page)))
			return nil
		},
	}
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case name:
			rw.Header().Set("Content-Type", "text/javascript")
			_, _ = io.WriteString(rw, script)
		case "/ui/planted":
			select {
			case told <- struct{}{}:
			default: // the page was loaded again
			}
		default:
			proxy.ServeHTTP(rw, r)
		}
	})
}

// engineURL is where the stage's bellwether serves.
func (w *windowStage) engineURL() (*url.URL, error) {
	var state struct{ Address string }
	raw, err := os.ReadFile(filepath.Join(w.data, "engine.json"))
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(raw, &state); err != nil {
		return nil, err
	}
	return url.Parse(state.Address)
}

// atTheMiddle does something with the pointer at the middle of the only window.
func (w *windowStage) atTheMiddle(ctx context.Context, do ...string) error {
	id, err := w.theWindow(ctx)
	if err != nil {
		return err
	}
	_, err = w.output(ctx, "xdotool", append([]string{"windowactivate", "--sync", id, "mousemove", "--window", id, "590", "370"}, do...)...)
	return err
}

// rovingPage asks for another site in the ways that a page has by itself, one
// after the other, and then leaves one link in the middle for its user.
const rovingPage = `<!doctype html><title>Bellwether</title>
<meta http-equiv="refresh" content="0; url=%[1]s/refresh">
<iframe src="%[1]s/frame"></iframe>
<a href="%[1]s/clicked" style="position:fixed;inset:25%%;background:gold">Elsewhere</a>
<script>
addEventListener('load', () => {
  open('%[1]s/opened')
  setTimeout(() => location.href = '/redirected', 200)
  setTimeout(() => location.href = '%[1]s/went', 400)
  setTimeout(() => fetch('/stands'), 1000)
})
</script>`

// staysInside opens a page that wants to be elsewhere. Nothing of the kind is
// loaded; what its user clicks goes to the browser.
func (w *windowStage) staysInside(ctx context.Context) error {
	elsewhere := newOtherSite()
	defer elsewhere.Close()
	stands := make(chan struct{}, 1)
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/redirected":
			http.Redirect(rw, r, elsewhere.URL+"/redirected", http.StatusFound)
		case "/stands":
			stands <- struct{}{}
		default:
			rw.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = fmt.Fprintf(rw, rovingPage, elsewhere.URL)
		}
	}))
	defer server.Close()
	browser := make(chan string, 16) // more than the page asks for
	win := window.New(window.Options{Program: w.window, Log: slog.New(slog.DiscardHandler),
		Link:        func(context.Context) (string, error) { return server.URL, nil },
		OpenBrowser: func(url string) error { browser <- url; return nil }})
	defer win.Close()
	if err := win.Open(ctx); err != nil {
		return err
	}
	select {
	case <-stands:
	case <-time.After(20 * time.Second):
		return errors.New("the page was left")
	}
	if n := elsewhere.visits.Load(); n != 0 {
		return fmt.Errorf("the page got to the other site by itself, %d times", n)
	}
	if len(browser) != 0 {
		return fmt.Errorf("the page opened the browser by itself: %s", <-browser)
	}
	// The last is the web view's own menu, of which the first line opens the link.
	for _, way := range [][]string{{"click", "1"}, {"click", "2"}, {"click", "3", "sleep", "1", "key", "Down", "key", "Return"}} {
		if err := w.atTheMiddle(ctx, way...); err != nil {
			return err
		}
		select {
		case got := <-browser:
			if got != elsewhere.URL+"/clicked" {
				return fmt.Errorf("by %s the browser was sent to %s", way, got)
			}
		case <-time.After(15 * time.Second):
			_, err := w.screenshot(ctx, filepath.Join(w.dir, "stays.png"))
			w.keepShot(filepath.Join(w.dir, "stays.png"))
			return errors.Join(fmt.Errorf("%s on a link opened nothing", way), err)
		}
	}
	if n := elsewhere.visits.Load(); n != 0 {
		return fmt.Errorf("the window went to the other site itself, %d times", n)
	}
	return nil
}
