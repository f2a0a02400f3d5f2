package socket

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve answers upgrades; each connection is given to handle before it is served.
func serve(t *testing.T, o Options, handle func(*Conn), on func(c *Conn, text []byte) error) (address string, ended <-chan error) {
	t.Helper()
	ends := make(chan error, 200)
	ctx, stop := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		serving.Add(1)
		defer serving.Done()
		c, err := Upgrade(w, r, o)
		if err != nil {
			return
		}
		if handle != nil {
			handle(c)
		}
		ends <- c.Serve(ctx, func(text []byte) error { return on(c, text) })
	}))
	t.Cleanup(func() {
		stop()
		s.Close()
		serving.Wait()
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	})
	return "ws" + strings.TrimPrefix(s.URL, "http"), ends
}

func echo(c *Conn, text []byte) error { c.Send(append([]byte("again: "), text...)); return nil }

// client reads a connection's messages into a channel until it ends.
func client(t *testing.T, address string, header http.Header, o Options) (c *Conn, got <-chan string, ended <-chan error) {
	t.Helper()
	c, err := Dial(t.Context(), address, header, o)
	if err != nil {
		t.Fatal(err)
	}
	texts, end := make(chan string, 4096), make(chan error, 1)
	var done sync.WaitGroup
	done.Go(func() { end <- c.Serve(context.Background(), func(b []byte) error { texts <- string(b); return nil }) })
	t.Cleanup(func() { c.Cut(Normal, "", nil); done.Wait() })
	return c, texts, end
}

func TestMessagesPassBothWaysInOrder(t *testing.T) {
	address, _ := serve(t, Options{}, nil, echo)
	c, got, _ := client(t, address, nil, Options{})
	for i := range 100 {
		if !c.Send(fmt.Append(nil, i)) {
			t.Fatal("not taken")
		}
	}
	for i := range 100 {
		if text := <-got; text != fmt.Sprintf("again: %d", i) {
			t.Fatalf("message %d is %q", i, text)
		}
	}
}

func TestPagesOfOtherOriginsAreRefused(t *testing.T) {
	address, _ := serve(t, Options{}, nil, echo)
	own := "http://" + strings.TrimPrefix(address, "ws://")
	for origin, want := range map[string]bool{
		"": true, own: true, strings.ToUpper(own): true,
		"http://evil.example": false, "null": false, "wails://wails": false, "http://": false, own + ".evil.example": false, "http://127.0.0.1:1": false, "chrome-extension://" + strings.TrimPrefix(own, "http://"): false,
	} {
		h := http.Header{}
		if origin != "" {
			h.Set("Origin", origin)
		}
		c, err := Dial(t.Context(), address, h, Options{})
		if c != nil {
			c.Cut(Normal, "", nil)
			_ = c.Serve(t.Context(), func([]byte) error { return nil })
		}
		var refused *RefusedError
		if want != (err == nil) || err != nil && (!errors.As(err, &refused) || refused.Status != http.StatusForbidden) {
			t.Errorf("origin %q: %v, let in should be %t", origin, err, want)
		}
	}
}

func TestARefusedUpgradeIsAnsweredInTheCallersWords(t *testing.T) {
	address, _ := serve(t, Options{Refuse: func(w http.ResponseWriter, _ *http.Request, status int, reason string) {
		http.Error(w, "ours: "+reason, status)
	}}, nil, echo)
	resp, err := http.Get("http" + strings.TrimPrefix(address, "ws"))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusBadRequest {
		t.Errorf("a plain request got %s", resp.Status)
	}
}

func TestASlowReaderIsToldAndCutAndTheOthersAreNot(t *testing.T) {
	conns := make(chan *Conn, 2)
	address, ended := serve(t, Options{Queue: 8, WriteWait: time.Minute}, func(c *Conn) { conns <- c }, echo)

	frozen, err := Dial(t.Context(), address, nil, Options{}) // nobody reads it
	if err != nil {
		t.Fatal(err)
	}
	slow := <-conns
	_, got, _ := client(t, address, nil, Options{ReadLimit: 1 << 20})
	quick := <-conns

	piece := []byte(strings.Repeat("x", 512<<10)) // more than the system's own buffers hold, soon
	taken := 0
	for slow.Send(piece) {
		taken++
	}
	if taken < 8 || taken > 200 {
		t.Errorf("a reader that reads nothing took %d messages of 512 KiB", taken)
	}
	slow.Cut(TryAgainLater, "you read too slowly", []byte("resync"))
	if !quick.Send([]byte("still here")) || <-got != "still here" {
		t.Error("the quick reader was not served")
	}
	var closed *CloseError
	if err := <-ended; !errors.As(err, &closed) || closed.Code != TryAgainLater {
		t.Errorf("the slow one ended with %v", err)
	}
	_ = frozen.ws.Close()
}

func TestAReaderThatIsOnlyBehindReadsTheLastWordAndTheCode(t *testing.T) {
	conns := make(chan *Conn, 1)
	address, _ := serve(t, Options{Queue: 4}, func(c *Conn) { conns <- c }, echo)
	_, got, ended := client(t, address, nil, Options{})
	(<-conns).Cut(TryAgainLater, "behind", []byte("resync"))
	if text := <-got; text != "resync" {
		t.Errorf("read %q", text)
	}
	var closed *CloseError
	if err := <-ended; !errors.As(err, &closed) || closed.Code != TryAgainLater || closed.Reason != "behind" {
		t.Errorf("ended with %v", err)
	}
}

func TestMessagesOverTheLimitAndBinaryOnesEndTheConnection(t *testing.T) {
	address, ended := serve(t, Options{ReadLimit: 100}, nil, echo)
	c, _, _ := client(t, address, nil, Options{})
	c.Send(make([]byte, 200))
	var closed *CloseError
	if err := <-ended; !errors.As(err, &closed) || closed.Code != TooBig {
		t.Errorf("a long message: %v", err)
	}
	c, err := Dial(t.Context(), address, nil, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.ws.WriteMessage(2, []byte{1}); err != nil {
		t.Fatal(err)
	}
	_ = c.Serve(t.Context(), func([]byte) error { return nil })
	if err := <-ended; !errors.As(err, &closed) || closed.Code != Unsupported {
		t.Errorf("a binary message: %v", err)
	}
}

func TestAHandlersErrorEndsTheConnectionAsMisbehaved(t *testing.T) {
	address, ended := serve(t, Options{}, nil, func(*Conn, []byte) error { return errors.New("nonsense") })
	c, _, _ := client(t, address, nil, Options{})
	c.Send([]byte("?"))
	var closed *CloseError
	if err := <-ended; !errors.As(err, &closed) || closed.Code != Misbehaved || closed.Reason != "nonsense" {
		t.Errorf("ended with %v", err)
	}
}

func TestASilentOtherSideCountsAsGone(t *testing.T) {
	address, ended := serve(t, Options{Ping: 20 * time.Millisecond}, nil, echo)
	c, err := Dial(t.Context(), address, nil, Options{}) // reads nothing, so it answers no ping
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.ws.Close() }()
	var closed *CloseError
	if err := <-ended; !errors.As(err, &closed) || !strings.Contains(closed.Reason, "timeout") {
		t.Errorf("ended with %v", err)
	}
}

func TestPingsKeepAQuietConnectionOpen(t *testing.T) {
	conns := make(chan *Conn, 1)
	address, ended := serve(t, Options{Ping: 50 * time.Millisecond}, func(c *Conn) { conns <- c }, echo)
	c, got, _ := client(t, address, nil, Options{})
	timer := time.NewTimer(400 * time.Millisecond)
	defer timer.Stop()
	select {
	case err := <-ended:
		t.Fatalf("ended: %v", err)
	case <-timer.C:
	}
	c.Send([]byte("hello"))
	if text := <-got; text != "again: hello" {
		t.Errorf("read %q", text)
	}
}

// That nothing is left, TestMain finds.
func TestAHundredComeAndGoAndLeaveNothing(t *testing.T) {
	address, ended := serve(t, Options{}, nil, echo)
	for i := range 100 {
		c, err := Dial(t.Context(), address, nil, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if i%2 == 0 {
			_ = c.ws.Close() // without a word
			<-ended
			continue
		}
		c.Cut(Normal, "bye", nil)
		_ = c.Serve(t.Context(), func([]byte) error { return nil })
		var closed *CloseError
		if err := <-ended; !errors.As(err, &closed) || closed.Code != Normal {
			t.Errorf("ended with %v", err)
		}
	}
}

func TestAMessageLargerThanTheAllowanceIsTakenAlone(t *testing.T) {
	conns := make(chan *Conn, 1)
	address, _ := serve(t, Options{QueueBytes: 10}, func(c *Conn) { conns <- c }, echo)
	_, got, _ := client(t, address, nil, Options{})
	if c := <-conns; !c.Send([]byte("more than ten bytes")) {
		t.Error("not taken")
	}
	if text := <-got; text != "more than ten bytes" {
		t.Errorf("read %q", text)
	}
}
