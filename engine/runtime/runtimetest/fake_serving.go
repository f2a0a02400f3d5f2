package runtimetest

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
)

// silent swallows net/http's complaints about connections that faults cut.
var silent = log.New(io.Discard, "", 0)

// serving owns the listener, its connections and the handlers' context.
type serving struct {
	mu     sync.Mutex // guards what follows
	addr   string
	server *http.Server
	ended  chan struct{}
	conns  map[*conn]struct{}
	cancel context.CancelFunc
	total  int // connections accepted since start
	active int
	idle   chan struct{} // closed when active falls to 0 while stop waits
}

// conn is a connection that can be reset.
type conn struct {
	*net.TCPConn
	s      *serving
	hangUp atomic.Bool // close it after the answer under way, unannounced
}

type connKey struct{}

// hangUp has the request's connection closed after its answer, which does not
// say so.
func hangUp(r *http.Request) {
	if c, ok := r.Context().Value(connKey{}).(*conn); ok {
		c.hangUp.Store(true)
	}
}

func (c *conn) Close() error {
	c.s.mu.Lock()
	delete(c.s.conns, c)
	c.s.mu.Unlock()
	return c.TCPConn.Close()
}

// listener hands out conns.
type listener struct {
	net.Listener
	s *serving
}

func (l listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	tracked := &conn{TCPConn: c.(*net.TCPConn), s: l.s}
	l.s.mu.Lock()
	l.s.conns[tracked] = struct{}{}
	l.s.total++
	l.s.mu.Unlock()
	return tracked, nil
}

func (s *serving) start(h http.Handler) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.server != nil {
		return fmt.Errorf("fake runtime: already started")
	}
	l, err := net.Listen("tcp", s.addr)
	if err != nil {
		return fmt.Errorf("fake runtime: %w", err)
	}
	s.addr = l.Addr().String()
	s.conns, s.total = map[*conn]struct{}{}, 0
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	s.server = &http.Server{
		Handler:     h,
		BaseContext: func(net.Listener) context.Context { return ctx },
		ConnContext: func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, connKey{}, c) },
		ConnState: func(c net.Conn, state http.ConnState) {
			if t, ok := c.(*conn); ok && state == http.StateIdle && t.hangUp.Load() {
				_ = t.Close()
			}
		},
		ErrorLog: silent,
	}
	s.ended = make(chan struct{})
	go func(server *http.Server, ended chan struct{}) {
		defer close(ended)
		_ = server.Serve(listener{l, s})
	}(s.server, s.ended)
	return nil
}

// stop ends everything and waits for it. A killed server resets its
// connections instead of closing them.
func (s *serving) stop(kill bool) {
	s.mu.Lock()
	server, ended := s.server, s.ended
	s.server = nil
	if server == nil {
		s.mu.Unlock()
		return
	}
	if kill {
		for c := range s.conns {
			_ = c.SetLinger(0)
		}
	}
	cancel := s.cancel
	s.mu.Unlock()
	_ = server.Close()
	cancel()
	<-ended
	if idle := s.untilIdle(); idle != nil {
		<-idle
	}
}

// untilIdle is closed when the last handler has left; nil when none is there.
func (s *serving) untilIdle() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.active == 0 {
		return nil
	}
	s.idle = make(chan struct{})
	return s.idle
}

func (s *serving) enter() {
	s.mu.Lock()
	s.active++
	s.mu.Unlock()
}

func (s *serving) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.active--
	if s.active == 0 && s.idle != nil {
		close(s.idle)
		s.idle = nil
	}
}

func (s *serving) address() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.addr
}

func (s *serving) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.total
}
