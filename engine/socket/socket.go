// Package socket carries messages over websockets: the admin feed and the link
// between machines stand on it. It is the only importer of the websocket
// library, and knows nothing of what the messages say.
//
// A Conn has one goroutine that reads, the caller's of Serve, and one that
// writes. Whoever sends never waits: what a slow reader does not take piles up
// to a limit, then it is cut off with code 1013 (try again later), and nobody
// else is slowed down. Both goroutines have ended when Serve returns.
package socket

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"
)

// Options are a connection's limits. The zero value of a field means its default.
type Options struct {
	// Queue is how many messages may wait to be written; 256 by default.
	Queue int
	// QueueBytes is how many bytes those may have together; 16 MiB by default. A
	// single message may be larger while nothing else waits.
	QueueBytes int64
	// ReadLimit is the largest message taken, in bytes; 64 KiB by default.
	ReadLimit int64
	// Ping is how often the other side is asked for a sign of life; 15 s by
	// default. Without one for twice that long it counts as gone.
	Ping time.Duration
	// WriteWait is how long one message may take to be written; 10 s by default.
	WriteWait time.Duration
	// Refuse answers a request that is no upgrade, or from a page of another
	// origin; nil = in plain text.
	Refuse func(w http.ResponseWriter, r *http.Request, status int, reason string)
}

func (o Options) withDefaults() Options {
	return Options{
		Queue: orDefault(o.Queue, 256), QueueBytes: orDefault(o.QueueBytes, 16<<20), ReadLimit: orDefault(o.ReadLimit, 64<<10),
		Ping: orDefault(o.Ping, 15*time.Second), WriteWait: orDefault(o.WriteWait, 10*time.Second), Refuse: o.Refuse,
	}
}

func orDefault[T int | int64 | time.Duration](v, def T) T {
	if v == 0 {
		return def
	}
	return v
}

// Close codes (RFC 6455, and 1013 of its registry).
const (
	Normal        = websocket.CloseNormalClosure
	GoingAway     = websocket.CloseGoingAway       // the server stops
	Unsupported   = websocket.CloseUnsupportedData // binary where text is spoken
	Misbehaved    = websocket.ClosePolicyViolation
	TooBig        = websocket.CloseMessageTooBig
	TryAgainLater = websocket.CloseTryAgainLater // it read too slowly
)

const (
	handshake = 5 * time.Second // for the whole upgrade
	farewell  = time.Second     // for the other side to answer a close
)

// Conn is one websocket. Send and Cut may be called from any goroutine.
type Conn struct {
	ws     *websocket.Conn
	o      Options
	out    chan []byte // buffer: the allowance of a slow reader
	queued atomic.Int64

	once   sync.Once
	stop   chan struct{} // closed by the first Cut
	cut    CloseError    // why; readable after stop
	last   []byte        // said before the close; readable after stop
	late   *time.Timer   // closes the connection the hard way; readable after stop
	unread chan struct{} // closed when nothing more is read
}

// CloseError says how a connection ended.
type CloseError struct {
	Code   int
	Reason string
}

func (e *CloseError) Error() string { return "websocket closed: " + e.Reason }

// Upgrade makes a request a websocket. A page of another origin is refused;
// programs, which send no Origin, are not. With an error the request has been
// answered.
func Upgrade(w http.ResponseWriter, r *http.Request, o Options) (*Conn, error) {
	o = o.withDefaults()
	up := websocket.Upgrader{
		HandshakeTimeout: handshake, ReadBufferSize: 1 << 10, WriteBufferSize: 8 << 10, WriteBufferPool: &writeBuffers,
		CheckOrigin: SameOrigin,
	}
	if o.Refuse != nil {
		up.Error = func(w http.ResponseWriter, r *http.Request, status int, reason error) {
			o.Refuse(w, r, status, reason.Error())
		}
	}
	ws, err := up.Upgrade(w, r, nil)
	if err != nil {
		return nil, err
	}
	return newConn(ws, o), nil
}

var writeBuffers sync.Pool // of gorilla, shared by all connections: most are idle most of the time

// Dial opens a websocket to ws:// or wss:// address.
func Dial(ctx context.Context, address string, header http.Header, o Options) (*Conn, error) {
	d := websocket.Dialer{HandshakeTimeout: handshake, ReadBufferSize: 4 << 10, WriteBufferSize: 4 << 10}
	ws, resp, err := d.DialContext(ctx, address, header)
	if err != nil {
		if resp != nil && errors.Is(err, websocket.ErrBadHandshake) {
			return nil, &RefusedError{Status: resp.StatusCode}
		}
		return nil, err
	}
	return newConn(ws, o.withDefaults()), nil
}

// RefusedError says that the other side would not upgrade.
type RefusedError struct{ Status int }

func (e *RefusedError) Error() string { return "no websocket: " + http.StatusText(e.Status) }

// SameOrigin reports whether a request comes from a page of the very address
// that it goes to, or from no page at all.
func SameOrigin(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && strings.EqualFold(u.Host, r.Host)
}

func newConn(ws *websocket.Conn, o Options) *Conn {
	return &Conn{ws: ws, o: o, out: make(chan []byte, o.Queue), stop: make(chan struct{}), unread: make(chan struct{})}
}

// Send hands a message over to be written and never waits. It reports false
// when the connection ends, or has too much waiting: then the caller should
// Cut it. The bytes must not be changed afterwards.
func (c *Conn) Send(text []byte) bool {
	select {
	case <-c.stop:
		return false
	default:
	}
	if n := int64(len(text)); c.queued.Add(n) > c.o.QueueBytes && c.queued.Load() != n {
		c.queued.Add(-n)
		return false
	}
	select {
	case c.out <- text:
		return true
	default:
		c.queued.Add(-int64(len(text)))
		return false
	}
}

// Cut ends the connection with a close code; what waits is not sent any more,
// but last is, unless nil, if the other side takes it within a second. It
// returns at once; the first call counts.
func (c *Conn) Cut(code int, reason string, last []byte) {
	c.once.Do(func() {
		c.cut, c.last = CloseError{code, reason}, last
		// A message that is stuck must not hold up the end for long.
		c.late = time.AfterFunc(2*farewell, func() { _ = c.ws.NetConn().Close() })
		close(c.stop)
	})
}

// Serve reads until the connection ends, and returns why: a *CloseError. on
// gets every message; its error cuts the connection as misbehaved. The end of
// ctx closes it as going away. It must be called once.
func (c *Conn) Serve(ctx context.Context, on func(text []byte) error) error {
	unhook := context.AfterFunc(ctx, func() { c.Cut(GoingAway, "the server stops", nil) })
	defer unhook()
	var writer sync.WaitGroup
	writer.Go(c.write)
	err := c.read(on)
	close(c.unread)
	c.Cut(Normal, "the other side left", nil) // no news if it was cut before
	writer.Wait()
	c.late.Stop()
	if c.cut.Code != Normal {
		return &c.cut
	}
	var closed *websocket.CloseError
	switch {
	case errors.Is(err, websocket.ErrReadLimit):
		return &CloseError{TooBig, "a message over the limit"}
	case errors.As(err, &closed):
		return &CloseError{closed.Code, closed.Text}
	}
	return &CloseError{websocket.CloseAbnormalClosure, err.Error()}
}

func (c *Conn) read(on func([]byte) error) error {
	c.ws.SetReadLimit(c.o.ReadLimit)
	alive := func(string) error { return c.ws.SetReadDeadline(time.Now().Add(2 * c.o.Ping)) }
	_ = alive("")
	c.ws.SetPongHandler(alive)
	for {
		kind, text, err := c.ws.ReadMessage()
		switch {
		case err != nil:
			return err
		case kind != websocket.TextMessage:
			c.Cut(Unsupported, "only text is understood here", nil)
			continue // until it answers the close
		}
		_ = alive("")
		select {
		case <-c.stop:
			continue
		default:
		}
		if err := on(text); err != nil {
			c.Cut(Misbehaved, err.Error(), nil)
		}
	}
}

// write is the one writer of messages.
func (c *Conn) write() {
	defer func() { _ = c.ws.Close() }()
	ping := time.NewTicker(c.o.Ping)
	defer ping.Stop()
	for {
		select {
		case <-c.stop:
			c.part()
			return
		case text := <-c.out:
			c.queued.Add(-int64(len(text)))
			_ = c.ws.SetWriteDeadline(time.Now().Add(c.o.WriteWait))
			if c.ws.WriteMessage(websocket.TextMessage, text) != nil {
				return // the reader sees it too, now that the connection is closed
			}
		case <-ping.C:
			if c.ws.WriteControl(websocket.PingMessage, nil, time.Now().Add(c.o.WriteWait)) != nil {
				return
			}
		}
	}
}

// part says goodbye, and waits a moment for the answer: to close at once could
// throw away what the other side has not read yet.
func (c *Conn) part() {
	by := time.Now().Add(farewell)
	if c.last != nil {
		_ = c.ws.SetWriteDeadline(by)
		if c.ws.WriteMessage(websocket.TextMessage, c.last) != nil {
			return
		}
	}
	if c.ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(c.cut.Code, c.cut.Reason), by) != nil {
		return
	}
	wait := time.NewTimer(farewell)
	defer wait.Stop()
	select {
	case <-c.unread:
	case <-wait.C:
	}
}
