package gateway

import (
	"encoding/json"
	"net/http"
	"strconv"
	"sync"
	"time"

	"bellwether/engine/dialect"
)

// keepAliveEvery is the pause between signs of life on an open, silent stream.
const keepAliveEvery = 10 * time.Second

// slowReader is how long a client may leave a write blocked before it counts
// as gone; a stuck client must not keep a slot.
const slowReader = 90 * time.Second

// responder writes one answer to the client. A stream passes three states
// (routing.md 12): open (200, headers, keep-alives only), content, end. Its
// mutex guards the writer between the request's goroutine and the timer that
// sends keep-alives while that goroutine waits.
type responder struct {
	mu       sync.Mutex
	w        http.ResponseWriter
	rc       *http.ResponseController
	enc      dialect.Encoder     // nil for answers sent whole
	facts    func([]fact) []fact // appends the answer's own headers
	timer    *time.Timer
	opened   bool // status and headers are out
	body     bool // content is out: nothing can be retried any more
	over     bool // the end, or an error, is out
	late     bool // opened before the deployment was known: facts go to trailers
	buf      []byte
	pooled   *[]byte   // where buf goes when it ends
	patience time.Time // write deadline in force
	err      error     // first failed write
}

func newResponder(w http.ResponseWriter, enc dialect.Encoder, facts func([]fact) []fact) *responder {
	a := &responder{w: w, rc: http.NewResponseController(w), enc: enc, facts: facts}
	if enc != nil {
		a.pooled = streamBuffers.Get().(*[]byte)
		a.buf = (*a.pooled)[:0]
	}
	return a
}

// openAfter arms the timer that opens a stream which still waits after d:
// some clients give up when no headers come within half a minute.
func (a *responder) openAfter(d time.Duration) {
	if a.enc == nil || d <= 0 {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.timer = time.AfterFunc(d, a.keepAlive)
}

// stop ends the keep-alives; nothing is written after it returns but by the
// caller's own goroutine.
func (a *responder) stop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.over = true
	if a.timer != nil {
		a.timer.Stop()
	}
	if a.pooled != nil && cap(a.buf) <= 4*mostKept {
		*a.pooled, a.buf = a.buf, nil
		streamBuffers.Put(a.pooled)
	}
	a.pooled = nil
}

// rename replaces the encoder, for a model name that is known only now; not
// once the stream is open.
func (a *responder) rename(encoder func() dialect.Encoder) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.enc != nil && !a.opened {
		a.enc = encoder()
	}
}

// broken reports whether a write to the client failed.
func (a *responder) broken() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.err != nil
}

// isLate reports whether the stream was opened before anyone could serve it:
// the client saw 200 whatever came then.
func (a *responder) isLate() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.late
}

func (a *responder) keepAlive() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.body || a.over || a.err != nil {
		return
	}
	a.buf = a.buf[:0]
	if !a.opened {
		a.late = true
		a.open()
	}
	a.buf = a.enc.KeepAlive(a.buf)
	a.flush(true)
	a.timer.Reset(keepAliveEvery)
}

// open sends status and headers, and what the protocol wants before content.
func (a *responder) open() {
	room := factRooms.Get().(*factRoom)
	facts := append(room[:0], fact{"Content-Type", a.enc.ContentType()}, fact{"Cache-Control", "no-cache"}, fact{"X-Accel-Buffering", "no"})
	if !a.late {
		facts = a.facts(facts)
	}
	setFacts(a.w.Header(), facts)
	factRooms.Put(room)
	a.opened = true
	a.w.WriteHeader(http.StatusOK)
	a.buf = a.enc.Open(a.buf)
}

// chunk relays one chunk. more says that a further one is here already, so
// that the flush can wait for it, the first one's too. It returns the first
// failed write.
func (a *responder) chunk(c *dialect.Chunk, more bool) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.opened {
		a.open()
	}
	a.body = true
	a.buf = a.enc.Chunk(a.buf, c)
	a.flush(!more)
	return a.err
}

// end sends the terminator, after validation only.
func (a *responder) end() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.opened {
		a.open()
	}
	a.buf = a.enc.End(a.buf)
	a.finish()
	return a.err
}

// fail reports a problem: with its real status before the stream is open, in
// band afterwards.
func (a *responder) fail(g *Gateway, proto dialect.Protocol, p *dialect.Problem, id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over {
		return
	}
	if !a.opened {
		a.over = true
		if a.timer != nil {
			a.timer.Stop()
		}
		if !a.late {
			setFacts(a.w.Header(), a.facts(nil))
		}
		g.refuse(a.w, proto, p, id)
		return
	}
	a.buf = a.enc.Fail(a.buf, p)
	a.finish()
}

// failUnopened is fail where nothing is out yet, and nothing else.
func (a *responder) failUnopened(g *Gateway, proto dialect.Protocol, p *dialect.Problem, id string) {
	a.mu.Lock()
	unopened := !a.opened
	a.mu.Unlock()
	if unopened {
		a.fail(g, proto, p, id)
	}
}

func (a *responder) finish() {
	a.over = true
	if a.timer != nil {
		a.timer.Stop()
	}
	a.flush(true)
	if a.late {
		for _, f := range a.facts(nil) {
			a.w.Header().Set(http.TrailerPrefix+f.name, f.value)
		}
	}
}

// mostKept is how much of a stream may gather here while further chunks are
// known to follow at once.
const mostKept = 16 << 10

// streamBuffers are the buffers of streams that ended: each would grow anew to
// the size of a burst, and be cleared on the way.
var streamBuffers = sync.Pool{New: func() any { b := make([]byte, 0, 2*mostKept); return &b }}

// flush writes the buffer out and pushes it through net/http's own; without
// force it waits for the next call, within mostKept.
func (a *responder) flush(force bool) {
	if a.err != nil {
		a.buf = a.buf[:0]
		return
	}
	if !force && len(a.buf) < mostKept {
		return
	}
	if now := time.Now(); now.After(a.patience.Add(-slowReader / 2)) {
		a.patience = now.Add(slowReader)
		_ = a.rc.SetWriteDeadline(a.patience)
	}
	if len(a.buf) > 0 {
		_, a.err = a.w.Write(a.buf)
		a.buf = a.buf[:0]
	}
	if force && a.err == nil {
		a.err = a.rc.Flush()
	}
}

// whole sends an answer in one piece.
func (a *responder) whole(contentType string, body []byte) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	room := factRooms.Get().(*factRoom)
	facts := a.facts(append(room[:0], fact{"Content-Type", contentType}, fact{"Content-Length", strconv.Itoa(len(body))}))
	setFacts(a.w.Header(), facts)
	factRooms.Put(room)
	a.opened, a.body, a.over = true, true, true
	_ = a.rc.SetWriteDeadline(time.Now().Add(slowReader))
	if _, a.err = a.w.Write(body); a.err == nil {
		a.err = a.rc.Flush() // before the bookkeeping, which the client need not wait for
	}
	return a.err
}

// mostBodyKept is the largest answer whose memory is used for another: most
// are far smaller.
const mostBodyKept = 64 << 10

var bodyRooms = sync.Pool{New: func() any { return new([]byte) }}

// sendWhole sends a reply in one piece.
func (x *exchange) sendWhole(reply *dialect.Reply) error {
	room := bodyRooms.Get().(*[]byte)
	body := dialect.AppendReply((*room)[:0], x.req, x.ident, reply)
	err := x.out.whole(dialect.ReplyContentType(x.proto), body)
	if cap(body) <= mostBodyKept {
		*room = body
		bodyRooms.Put(room)
	}
	return err
}

// fact is a header of an answer, mostly about how it came to be; its name is
// canonical.
type fact struct{ name, value string }

// factRoom is where the headers of one answer are gathered.
type factRoom [16]fact

var factRooms = sync.Pool{New: func() any { return new(factRoom) }}

// setFacts sets headers whose names are canonical already, with one
// allocation for all values: there are a dozen on every answer.
func setFacts(h http.Header, facts []fact) {
	values := make([]string, len(facts))
	for i, f := range facts {
		values[i] = f.value
		h[f.name] = values[i : i+1 : i+1]
	}
}

// refusePath refuses a request for what it is, before its endpoint is looked
// for: in the envelope of whoever answers at the path.
func (g *Gateway) refusePath(w http.ResponseWriter, r *http.Request, path string, p *dialect.Problem) {
	if !ownsPath(path) {
		g.refuse(w, protocolOf(path, r), p, "")
		return
	}
	var said struct { // as the admin surface says it, admin.Refusal
		Error struct {
			Code    string `json:"code"`
			Message string `json:"message"`
			Remedy  string `json:"remedy,omitempty"`
		} `json:"error"`
	}
	said.Error.Code, said.Error.Message, said.Error.Remedy = p.Code, p.Message, p.Remedy
	body, _ := json.Marshal(said) // texts only
	g.writeProblem(w, "application/json", body, p)
}

// refuse writes a problem as an HTTP answer in the caller's dialect.
func (g *Gateway) refuse(w http.ResponseWriter, proto dialect.Protocol, p *dialect.Problem, id string) {
	contentType, body := dialect.EncodeProblem(proto, p, wireID(id))
	g.writeProblem(w, contentType, body, p)
}

func (g *Gateway) writeProblem(w http.ResponseWriter, contentType string, body []byte, p *dialect.Problem) {
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	dialect.ProblemHeaders(p, h.Set)
	if p.MaxTokens > 0 {
		h.Set("X-Fleet-Context-Overflow", strconv.Itoa(p.Tokens)+"/"+strconv.Itoa(p.MaxTokens))
	}
	w.WriteHeader(p.Status)
	_, _ = w.Write(body)
	g.metrics.refused(p)
}
