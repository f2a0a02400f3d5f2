package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"time"

	"bellwether/engine/socket"
)

const (
	// pageMost is how large a state may be, in bytes, to come with the page. One of
	// a few machines is a tenth of it.
	pageMost = 256 << 10
	// pageWait is how long the page waits for the feed: it is of use without.
	pageWait = 100 * time.Millisecond
	// pageLead is how long the feed watches on for a page that took the state
	// along, until its socket is there.
	pageLead = 5 * time.Second
)

// stateAt is where in a page its state goes: before the end of its body; false
// where it comes without, because it has no such place or its asker may not read
// the feed.
func (f *Feed) stateAt(page []byte, r *http.Request) (at int, ok bool) {
	at = bytes.LastIndex(page, []byte("</body>"))
	return at, at >= 0 && f != nil && mayRead(r)
}

// stateBlock is the state of the moment for a page, so that it shows figures
// before its socket brings any: the frame that a reader is welcomed with, as a
// block of data that no browser runs. It is nil where the state is too large, or
// too long in coming.
func (f *Feed) stateBlock(ctx context.Context) []byte {
	state := f.welcome(ctx)
	if state == nil || len(state) > pageMost {
		return nil
	}
	var out bytes.Buffer
	out.Grow(len(state) + len(state)/8)
	out.WriteString(`<script type="application/json" id="state">`)
	json.HTMLEscape(&out, state)
	out.WriteString("</script>\n  ")
	return out.Bytes()
}

// mayRead reports whether who asks for the page may be told the state with it:
// the rule of the feed's own socket, which also heeds what browsers say of who
// asked besides the Origin.
func mayRead(r *http.Request) bool { return socket.SameOrigin(r) && !fromElsewhere(r) }

// welcome is what a reader who came now would be told first, nil when it does
// not come in time.
func (f *Feed) welcome(ctx context.Context) []byte {
	ctx, stop := context.WithTimeout(ctx, pageWait)
	defer stop()
	told := make(chan []byte, 1)
	select {
	case f.in <- func(w *watch) { told <- w.welcome() }:
	case <-f.done:
		return nil
	case <-ctx.Done():
		return nil
	}
	select {
	case state := <-told:
		return state
	case <-ctx.Done():
		return nil
	}
}

// welcome begins to watch for a reader who is on its way.
func (w *watch) welcome() []byte {
	if w.sub != nil {
		w.flush()
	}
	if w.sub == nil {
		w.begin()
	}
	w.until = w.f.src.Now().Add(pageLead)
	w.arm()
	return w.all()
}
