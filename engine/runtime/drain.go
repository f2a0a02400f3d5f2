package runtime

import (
	"context"
	"io"
	"sync"
	"sync/atomic"
)

// open is do for a call that generates. With drain an abandoned call is not
// cut but read to its end (runtimes[].cancel: drain): some runtimes die of an
// abort and take every other call with them.
func (r *remote) open(ctx context.Context, q request, drain bool) (*exchange, error) {
	if !drain {
		return r.do(ctx, q)
	}
	if f := ended(ctx, false); f != nil {
		return nil, f
	}
	type opened struct {
		x   *exchange
		err error
	}
	var settled atomic.Bool    // whose the result is: set first by the caller, it is left
	ch := make(chan opened, 1) // the one result, where it is taken
	r.drains.Go(func() {
		x, err := r.do(r.life, q)
		if settled.CompareAndSwap(false, true) {
			ch <- opened{x, err}
		} else if err == nil {
			x.discard()
		}
	})
	var o opened
	select {
	case o = <-ch:
	case <-ctx.Done():
		if settled.CompareAndSwap(false, true) {
			return nil, ended(ctx, true)
		}
		o = <-ch // both at once
	}
	if o.err == nil {
		o.x.pump(ctx)
	}
	return o.x, o.err
}

// pump moves the body through a goroutine of its own, so that its reader can
// leave while the body is read on.
func (x *exchange) pump(ctx context.Context) {
	p := &pumped{ctx: ctx, chunks: make(chan []byte), left: make(chan struct{})}
	source := x.body
	x.body, x.pumped, x.ctx = p, p, ctx
	x.remote.drains.Go(func() {
		defer close(p.chunks)
		for {
			buf := make([]byte, 4<<10)
			n, err := source.Read(buf)
			if n > 0 {
				select {
				case p.chunks <- buf[:n]:
				case <-p.left:
				}
			}
			if err != nil {
				p.err = err
				p.done.Store(true)
				select {
				case <-p.left:
					x.closeDrained()
				default: // the reader takes the end, or leaves and closes
				}
				return
			}
		}
	})
}

// pumped is the reading end of a pump.
type pumped struct {
	ctx    context.Context // of the reader
	chunks chan []byte     // unbuffered: the runtime is to feel a slow reader
	left   chan struct{}   // closed when the reader is gone
	rest   []byte
	err    error       // of the body; set before done and before chunks is closed
	done   atomic.Bool // the body has ended
	shut   sync.Once   // the connection is closed or given back once, by whoever of the two is last
}

func (p *pumped) Read(b []byte) (int, error) {
	for len(p.rest) == 0 {
		select {
		case chunk, ok := <-p.chunks:
			if !ok {
				return 0, p.err
			}
			p.rest = chunk
		case <-p.left:
			return 0, io.ErrClosedPipe
		case <-p.ctx.Done():
			return 0, p.ctx.Err()
		}
	}
	n := copy(b, p.rest)
	p.rest = p.rest[n:]
	return n, nil
}

// abandon ends a call whose answer nobody wants any more.
func (x *exchange) abandon() {
	if x.pumped == nil {
		x.abort()
		return
	}
	if x.ended.CompareAndSwap(false, true) {
		x.aborts.Store(true)
		close(x.pumped.left)
		if x.pumped.done.Load() {
			x.closeDrained()
		}
	}
}

// closeDrained gives the connection back after an abandoned call's end.
func (x *exchange) closeDrained() {
	x.pumped.shut.Do(func() {
		if x.unhook() && x.pumped.err == io.EOF && !x.close && x.wire.br.Buffered() == 0 {
			x.remote.put(x.wire)
			return
		}
		x.wire.Close()
	})
}

// discard reads a body to its end for nobody.
func (x *exchange) discard() {
	_, _ = io.Copy(io.Discard, x)
	x.abort()
}
