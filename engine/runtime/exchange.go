package runtime

import (
	"context"
	"io"
	"sync/atomic"
	"time"

	"bellwether/engine/fleet"
)

// exchange is one request and its response. Its reader is one goroutine;
// abort may be called by any, at any time.
type exchange struct {
	head
	body io.Reader

	remote *remote
	wire   *wire
	ctx    context.Context // of this one call, for the cause of its end
	unhook func() bool     // stops the hook that cuts the wire when ctx ends
	ended  atomic.Bool     // the wire was given back or cut
	aborts atomic.Bool     // cut by us
	pumped *pumped         // set when an abandoned call is to run to its end
}

// Read reads the response's body and gives the connection back at its end.
func (x *exchange) Read(p []byte) (int, error) {
	n, err := x.body.Read(p)
	if err == io.EOF {
		x.finish()
	}
	return n, err
}

// finish gives the connection back; the body has been read to its end.
func (x *exchange) finish() {
	if !x.ended.CompareAndSwap(false, true) {
		return
	}
	if !x.unhook() || x.close || x.wire.br.Buffered() > 0 {
		x.wire.Close()
		return
	}
	x.remote.put(x.wire)
}

// abort cuts the connection, which is how a runtime learns that nobody waits
// any more. After the end of the body it does nothing.
func (x *exchange) abort() {
	if !x.ended.CompareAndSwap(false, true) {
		return
	}
	x.aborts.Store(true)
	x.unhook()
	x.wire.Close()
}

// settle reads the little that follows the runtime's own end marker (the last
// chunk's terminator), so that the connection can be used again. No more than
// a moment and a few bytes: else the connection is cut.
func (x *exchange) settle() {
	if x.ended.Load() {
		return
	}
	_ = x.wire.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
	var buf [512]byte
	for range 8 {
		if _, err := x.body.Read(buf[:]); err == io.EOF {
			_ = x.wire.SetReadDeadline(time.Time{})
			x.finish()
			return
		} else if err != nil {
			break
		}
	}
	x.abort()
}

// whole reads a body of at most most bytes and ends the exchange.
func (x *exchange) whole(most int64) ([]byte, error) {
	defer x.abort()
	b, err := io.ReadAll(io.LimitReader(x, most+1))
	if err != nil {
		return nil, x.readFailure(err, false)
	}
	if int64(len(b)) > most {
		return nil, &fleet.Failure{Class: fleet.FailInvalid, Status: x.status, Message: "the runtime's answer is too long"}
	}
	return b, nil
}
