package admin

import (
	"context"
	"net/http"
	"testing"

	"bellwether/engine/socket"
)

// A tab that is open shows at once that its browser was locked, wherever that
// was done: in another tab, or by a link that somebody else used too.
func TestOpenWindowsAreToldThatTheirSessionEnded(t *testing.T) {
	for name, end := range map[string]func(b *tab, link string){
		"locked in another tab": func(b *tab, _ string) { b.do("POST", "/admin/lock", "") },
		"by a link used twice":  func(b *tab, link string) { newTab(t, b.api).do("GET", link, "") },
	} {
		t.Run(name, func(t *testing.T) {
			r := newFeedRig(t)
			api, _, _ := newAPI(t, func(c *Config) { c.Feed = r.feed })
			b, link := newTab(t, api), linkOf(t, api)
			b.do("GET", link, "")
			other := newTab(t, api)
			other.do("GET", linkOf(t, api), "")
			open := func(b *tab) *window {
				header := http.Header{}
				if b != nil {
					header.Set("Cookie", b.cookies[cookieName].String())
				}
				w := r.openWith(t, header)
				if f := w.next(); f.Type != FrameHello {
					t.Fatalf("it begins with %s", f.Type)
				}
				return w
			}
			first, second, stranger, locked := open(b), open(b), open(other), open(nil)
			end(b, link)
			for _, w := range []*window{first, second} {
				for w.next().Type != FrameSession { // readings come in between
				}
			}
			if b.unlocked() || !other.unlocked() {
				t.Error("the session lives, or that of another browser does not")
			}
			r.node(1, 1, nil)
			for _, w := range []*window{stranger, locked} {
				w.until("the new machine", func() bool {
					for len(w.frames) > 0 {
						if f := w.next(); f.Type == FrameSession {
							t.Error("told of a session that is not its own")
						}
					}
					return w.state[SectionNodes]["n01"] != nil
				})
			}
		})
	}
}

func (r *feedRig) openWith(t testing.TB, header http.Header) *window {
	t.Helper()
	conn, err := socket.Dial(context.Background(), r.address, header, socket.Options{ReadLimit: 64 << 20})
	if err != nil {
		t.Fatal(err)
	}
	return r.reads(t, conn)
}
