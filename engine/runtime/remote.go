package runtime

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"bellwether/engine/fleet"
)

// HeaderRouter marks what a Bellwether says and asks: it is on every answer of
// our own door, so that discovery never takes us for a runtime, and on every
// call to a runtime, so that a door reached by mistake can see the loop.
const HeaderRouter = "X-Fleet-Router"

const (
	dialTimeout = 5 * time.Second // a host that drops packets; a closed port answers at once
	idleMost    = 256             // connections kept for reuse
	idleFor     = 90 * time.Second
	headMost    = 64 << 10 // bytes of status line and headers accepted
	outMost     = 4 << 10  // bytes of a request that are put together before they are sent
	// A connection idle for longer than this is asked whether its peer has
	// closed it before a request is entrusted to it. A generation must not be
	// sent twice, so the usual blind retry is not open to us.
	idleTrusted = time.Second
)

// remote is a runtime's HTTP/1.1 server: where it is, the key it wants, and
// the idle connections to it. It is our own client because a call needs three
// things net/http's does not give: to know whether the request left at all, to
// read on the caller's goroutine without handing each frame over to two others,
// and to hold no goroutine for an idle connection. There is no overall timeout, no compression, no proxy, no redirect
// and no header of the client's: the context governs.
type remote struct {
	secure bool
	addr   string // host:port dialled
	host   string // Host header
	prefix string // path before every path
	auth   string // value of Authorization, "" = none
	dialer net.Dialer
	// onceOnly: the server closes a connection after an answer in chunks, though
	// it says that it keeps it. The next request on it would be lost.
	onceOnly bool

	mu     sync.Mutex // guards idle, closed, led
	idle   []*wire    // newest last
	closed bool
	led    string // where the newest connection led, see server

	drains sync.WaitGroup  // abandoned calls read to their end (Target.Drain)
	life   context.Context // of drained calls; ends with shut
	end    context.CancelFunc
}

// key is what it authenticates with, "" = nothing.
func (r *remote) key() string { return strings.TrimPrefix(r.auth, "Bearer ") }

func newRemote(t Target) (*remote, error) {
	u, err := ParseTarget(t.URL)
	if err != nil {
		return nil, err
	}
	r := &remote{secure: u.Scheme == "https", addr: u.Host, host: u.Host, prefix: strings.TrimRight(u.Path, "/")}
	r.life, r.end = context.WithCancel(context.Background())
	r.dialer = net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}
	if t.APIKey != "" {
		if strings.ContainsAny(t.APIKey, "\r\n\x00") {
			return nil, errors.New("runtime " + t.Name + ": the api_key holds a line break")
		}
		r.auth = "Bearer " + t.APIKey
	}
	return r, nil
}

// wire is one connection, owned by one exchange or by the idle list.
type wire struct {
	net.Conn
	br       *bufio.Reader
	headLeft int64  // bytes the response head may still take; < 0 = not reading a head
	out      []byte // what a short request is put together in
	reused   bool
	idledAt  time.Time
	keep     time.Duration // how long the server keeps it idle
}

var errHeadTooLong = errors.New("response headers too long")

// cut closes the connection under whoever uses it.
func (w *wire) cut() { w.Close() }

func (w *wire) Read(p []byte) (int, error) {
	if w.headLeft == 0 {
		return 0, errHeadTooLong
	}
	n, err := w.Conn.Read(p)
	if w.headLeft > 0 {
		w.headLeft = max(0, w.headLeft-int64(n))
	}
	return n, err
}

// request is what do sends.
type request struct {
	method, path string
	body         []byte    // whole body, JSON
	stream       io.Reader // or: a body of unknown length, sent chunked
}

// do sends a request and returns when the response's head is here. The error
// is a *fleet.Failure that says whether anything was sent.
func (r *remote) do(ctx context.Context, q request) (*exchange, error) {
	for {
		w, err := r.connect(ctx)
		if err != nil {
			return nil, dialFailure(ctx, err)
		}
		unhook := onEnd(ctx, w.cut)
		x, sent, err := r.roundTrip(w, q)
		if err == nil {
			x.remote, x.wire, x.ctx, x.unhook = r, w, ctx, unhook
			if x.router {
				x.abort() // it may have taken the port after the runtime ended
				return nil, &fleet.Failure{Class: fleet.FailStatus, Status: x.status, Code: CodeOurselves, Message: "at the runtime's address a Bellwether answers"}
			}
			return x, nil
		}
		unhook()
		w.Close()
		stale := w.reused && (!sent || q.method == http.MethodGet || q.method == http.MethodHead)
		if stale && q.stream == nil && ctx.Err() == nil && !errors.Is(err, errHeadTooLong) {
			continue // the server had closed it; the next one is another or new
		}
		return nil, openFailure(ctx, err, sent)
	}
}

// onEnd has f called on a goroutine of its own when ctx ends, until stop is
// called. A context that offers that itself (see context.AfterFunc) is asked
// directly, which spares what the general way allocates.
func onEnd(ctx context.Context, f func()) (stop func() bool) {
	if c, can := ctx.(interface{ AfterFunc(f func()) func() bool }); can {
		return c.AfterFunc(f)
	}
	return context.AfterFunc(ctx, f)
}

// roundTrip writes the request and reads the response's head. sent is true
// once the whole request was handed to the system: from then on the server
// may be at work.
func (r *remote) roundTrip(w *wire, q request) (x *exchange, sent bool, err error) {
	werr := r.write(w, q)
	if werr != nil && w.reused {
		return nil, false, werr
	}
	// A server may refuse before it has read all: then the write fails and the
	// answer is there nevertheless.
	if werr != nil {
		_ = w.SetReadDeadline(time.Now().Add(time.Second))
	}
	h, err := w.readHead(q.method)
	if err != nil {
		if werr != nil {
			err = werr
		}
		return nil, werr == nil, err
	}
	h.close = h.close || werr != nil || r.onceOnly && h.chunked
	w.keep = h.keep
	return &exchange{head: h, body: h.body(w.br)}, true, nil
}

func (r *remote) write(w *wire, q request) error {
	head := append(w.out[:0], q.method...)
	head = append(head, ' ')
	head = append(head, r.prefix...)
	head = append(head, q.path...)
	head = append(head, " HTTP/1.1\r\nHost: "...)
	head = append(head, r.host...)
	head = append(head, "\r\nUser-Agent: bellwether\r\n"+HeaderRouter+": call\r\n"...)
	if r.auth != "" {
		head = append(head, "Authorization: "...)
		head = append(head, r.auth...)
		head = append(head, "\r\n"...)
	}
	switch {
	case q.stream != nil:
		head = append(head, "Content-Type: application/octet-stream\r\nTransfer-Encoding: chunked\r\n\r\n"...)
		if _, err := w.Write(head); err != nil {
			return err
		}
		return writeChunked(w, q.stream)
	case q.method == http.MethodGet || q.method == http.MethodHead:
		head = append(head, "\r\n"...)
	default:
		head = append(head, "Content-Type: application/json\r\nContent-Length: "...)
		head = strconv.AppendInt(head, int64(len(q.body)), 10)
		head = append(head, "\r\n\r\n"...)
	}
	w.out = head
	if len(q.body) <= outMost-len(head) {
		w.out = append(head, q.body...)
		_, err := w.Write(w.out)
		return err
	}
	bufs := net.Buffers{head, q.body}
	_, err := bufs.WriteTo(w.Conn)
	return err
}

// writeChunked copies a body of unknown length. A failing source leaves the
// chunked body without its end, so that the server cannot take it for whole.
func writeChunked(w io.Writer, body io.Reader) error {
	bw := bufio.NewWriterSize(w, 64<<10)
	buf := make([]byte, 32<<10)
	for {
		n, err := body.Read(buf)
		if n > 0 {
			_, _ = bw.WriteString(strconv.FormatInt(int64(n), 16) + "\r\n")
			_, _ = bw.Write(buf[:n])
			if _, werr := bw.WriteString("\r\n"); werr != nil {
				return werr
			}
		}
		if err == io.EOF {
			_, _ = bw.WriteString("0\r\n\r\n")
			return bw.Flush()
		}
		if err != nil {
			return err
		}
	}
}

func (r *remote) connect(ctx context.Context) (*wire, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for {
		w := r.take()
		if w == nil {
			return r.dial(ctx)
		}
		if w.alive() {
			return w, nil
		}
		w.Close()
	}
}

func (r *remote) dial(ctx context.Context) (*wire, error) {
	c, err := r.dialer.DialContext(ctx, "tcp", r.addr)
	if err != nil {
		return nil, err
	}
	r.noteServer(c)
	if r.secure {
		name, _, _ := net.SplitHostPort(r.addr)
		tc := tls.Client(c, &tls.Config{ServerName: name, MinVersion: tls.VersionTLS12})
		if err := tc.HandshakeContext(ctx); err != nil {
			c.Close()
			return nil, err
		}
		c = tc
	}
	w := &wire{Conn: c, headLeft: -1}
	w.br = bufio.NewReaderSize(w, len(room{}))
	return w, nil
}

// noteServer keeps where a connection led. Who is reached at an address of this
// machine's own is at home, by whatever name. Behind TLS the name counts too: one
// address serves many there.
func (r *remote) noteServer(c net.Conn) {
	to, ok := c.RemoteAddr().(*net.TCPAddr)
	from, also := c.LocalAddr().(*net.TCPAddr)
	if !ok || !also {
		return
	}
	host := to.AddrPort().Addr().Unmap().String()
	if isOwnLoopback(to.IP) || to.IP.Equal(from.IP) {
		host = thisMachine
	}
	led := net.JoinHostPort(host, strconv.Itoa(to.Port)) + r.prefix
	if r.secure {
		led += " as " + strings.ToLower(r.addr)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.led = led
}

// server says which server answers, "" before any did: two addresses that lead
// to one have it in common. See Inventory.Server.
func (r *remote) server() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.led
}

// take returns the idle connection used last, nil if there is none, and drops
// those kept too long.
func (r *remote) take() *wire {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.idle) > 0 && now.Sub(r.idle[0].idledAt) >= r.idle[0].keep {
		r.idle[0].Close()
		r.idle = r.idle[1:]
	}
	n := len(r.idle)
	if n == 0 {
		return nil
	}
	w := r.idle[n-1]
	r.idle[n-1] = nil
	r.idle = r.idle[:n-1]
	return w
}

func (r *remote) put(w *wire) {
	w.reused, w.idledAt = true, time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || len(r.idle) >= idleMost || w.keep <= 0 {
		w.Close()
		return
	}
	r.idle = append(r.idle, w)
}

// alive reports whether an idle connection is still open at the other end.
func (w *wire) alive() bool {
	idle := time.Since(w.idledAt)
	if idle >= w.keep {
		return false
	}
	if idle < idleTrusted {
		return true
	}
	_ = w.SetReadDeadline(time.Now().Add(100 * time.Microsecond))
	_, err := w.br.Peek(1)
	_ = w.SetReadDeadline(time.Time{})
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout() // data unasked for, or the end: not to be used
}

// shut closes the idle connections, ends drained calls and waits for them.
// Other calls under way are ended by their own contexts.
func (r *remote) shut() {
	r.end()
	r.mu.Lock()
	r.closed = true
	for _, w := range r.idle {
		w.Close()
	}
	r.idle = nil
	r.mu.Unlock()
	r.drains.Wait()
}
