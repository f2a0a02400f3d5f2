package runtime

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"go.uber.org/goleak"

	"bellwether/engine/fleet"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func connectTo(t testing.TB, url string) *remote {
	t.Helper()
	r, err := newRemote(Target{Name: "r", URL: url})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.shut)
	return r
}

// counted serves h and counts the connections opened to it.
func counted(t testing.TB, h http.HandlerFunc) (url string, opened *atomic.Int32) {
	opened = new(atomic.Int32)
	s := httptest.NewUnstartedServer(h)
	s.Config.ConnState = func(_ net.Conn, st http.ConnState) {
		if st == http.StateNew {
			opened.Add(1)
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	return s.URL, opened
}

func classOf(err error) fleet.FailureClass {
	var f *fleet.Failure
	if errors.As(err, &f) {
		return f.Class
	}
	return ""
}

func TestAConnectionIsUsedAgain(t *testing.T) { // P-29
	url, opened := counted(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/stream":
			_, _ = io.WriteString(w, `{"message":{"content":"a"}}`+"\n")
			w.(http.Flusher).Flush()
			_, _ = io.WriteString(w, ollamaDone+"\n")
		case "/missing":
			http.Error(w, "404 page not found", http.StatusNotFound)
		default:
			_, _ = io.WriteString(w, `{}`)
		}
	})
	r := connectTo(t, url)
	for range 20 {
		if _, err := r.call(t.Context(), "GET", "/x", nil); err != nil {
			t.Fatal(err)
		}
		if _, err := r.call(t.Context(), "POST", "/x", []byte("{}")); err != nil {
			t.Fatal(err)
		}
		_, _ = r.call(t.Context(), "GET", "/missing", nil)
		x, err := r.do(t.Context(), request{method: "POST", path: "/stream", body: []byte("{}")})
		if err != nil {
			t.Fatal(err)
		}
		s := &ollamaStream{plan: &ollamaPlan{}}
		s.x, s.lines.r = x, x
		if _, err := readOut(t, s); err != nil {
			t.Fatal(err)
		}
	}
	if n := opened.Load(); n != 1 {
		t.Errorf("80 calls in turn opened %d connections", n)
	}
}

func TestTheRuntimeSeesNothingOfTheClient(t *testing.T) {
	var got http.Header
	var host string
	url, _ := counted(t, func(w http.ResponseWriter, r *http.Request) {
		got, host = r.Header.Clone(), r.Host
		_, _ = io.WriteString(w, `{}`)
	})
	r, err := newRemote(Target{Name: "r", URL: url, APIKey: "sesame"})
	if err != nil {
		t.Fatal(err)
	}
	defer r.shut()
	if _, err := r.call(t.Context(), "POST", "/x", []byte("{}")); err != nil {
		t.Fatal(err)
	}
	if "http://"+host != url {
		t.Errorf("Host %q", host)
	}
	want := map[string]string{"Authorization": "Bearer sesame", "Content-Type": "application/json", "User-Agent": "bellwether", HeaderRouter: "call", "Content-Length": "2"}
	for name, value := range want {
		if got.Get(name) != value {
			t.Errorf("%s: got %q, want %q", name, got.Get(name), value)
		}
	}
	if len(got) != len(want) {
		t.Errorf("more was sent than is needed: %v", got)
	}
}

func TestARefusedConnectionHasSentNothing(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	url := "http://" + l.Addr().String()
	l.Close()
	_, err = connectTo(t, url).call(t.Context(), "POST", "/x", []byte("{}"))
	var f *fleet.Failure
	if !errors.As(err, &f) || f.Class != fleet.FailConnect || f.MayRun || strings.Contains(f.Message, "127.0.0.1") {
		t.Errorf("got %+v", f)
	}
}

func TestADroppedConnectionBeforeTheAnswer(t *testing.T) {
	url := rawServer(t, func(c net.Conn, _ *bufio.Reader) {})
	_, err := connectTo(t, url).call(t.Context(), "POST", "/x", []byte("{}"))
	var f *fleet.Failure
	if !errors.As(err, &f) || f.Class != fleet.FailBeforeOpen || f.MayRun {
		t.Errorf("got %+v", f)
	}
}

// rawServer accepts connections, reads one request each, and lets speak answer.
func rawServer(t *testing.T, speak func(c net.Conn, br *bufio.Reader)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer c.Close()
				br := bufio.NewReader(c)
				if r, err := http.ReadRequest(br); err == nil {
					_, _ = io.Copy(io.Discard, r.Body)
					speak(c, br)
				}
			})
		}
	})
	t.Cleanup(func() { l.Close(); wg.Wait() })
	return "http://" + l.Addr().String()
}

func TestAConnectionTheServerClosedIsReplacedUnseen(t *testing.T) {
	var served atomic.Int32
	url := rawServer(t, func(c net.Conn, _ *bufio.Reader) {
		served.Add(1)
		fmt.Fprint(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}") // and closes, unannounced
	})
	r := connectTo(t, url)
	for i := range 5 {
		if _, err := r.call(t.Context(), "GET", "/x", nil); err != nil {
			t.Fatalf("call %d: %v", i, err)
		}
	}
	if served.Load() != 5 {
		t.Errorf("served %d", served.Load())
	}
}

func TestAPostThatMayHaveRunIsNotSentTwice(t *testing.T) {
	var served atomic.Int32
	hold := make(chan struct{})
	url := rawServer(t, func(c net.Conn, br *bufio.Reader) {
		served.Add(1)
		fmt.Fprint(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
		if r, err := http.ReadRequest(br); err == nil { // the second on this connection is taken and dropped
			_, _ = io.Copy(io.Discard, r.Body)
			served.Add(1)
		}
		close(hold)
	})
	r := connectTo(t, url)
	if _, err := r.call(t.Context(), "POST", "/x", []byte("{}")); err != nil {
		t.Fatal(err)
	}
	_, err := r.call(t.Context(), "POST", "/x", []byte("{}"))
	if classOf(err) != fleet.FailBeforeOpen {
		t.Errorf("got %v", err)
	}
	<-hold
	if served.Load() != 2 {
		t.Errorf("the runtime saw %d requests", served.Load())
	}
}

// llama-server promises to keep the connection of a stream and closes it at
// the stream's end: a request sent on it is lost, and may not be sent again.
func TestAConnectionLlamaServerStreamedOnIsNotUsedAgain(t *testing.T) {
	var lost atomic.Int32
	url := rawServer(t, func(c net.Conn, br *bufio.Reader) {
		fmt.Fprint(c, "HTTP/1.1 200 OK\r\nKeep-Alive: timeout=5, max=100\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n")
		if _, err := http.ReadRequest(br); err == nil { // as if the close had crossed it on its way
			lost.Add(1)
		}
	})
	l, err := NewLlamaServer(Target{Name: "llama", URL: url})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for i := range 3 {
		if _, err := l.remote.call(t.Context(), "POST", "/x", []byte("{}")); err != nil {
			t.Errorf("call %d: %v", i, err)
		}
	}
	if lost.Load() != 0 {
		t.Errorf("%d requests were lost", lost.Load())
	}
}

func TestKeepAliveTimeoutsAreHonoured(t *testing.T) {
	for header, want := range map[string]time.Duration{
		"": idleFor, "timeout=5, max=100": 4 * time.Second, "timeout=1": 0, "timeout=900": idleFor, "max=3, timeout=10": 9 * time.Second, "timeout=x": idleFor,
	} {
		if got := keepAlive(header); got != want {
			t.Errorf("%q: got %v, want %v", header, got, want)
		}
	}
}

func TestAnAnswerBeforeTheBodyWasReadIsHeard(t *testing.T) {
	url := rawAccept(t, func(c net.Conn) {
		_, _ = bufio.NewReader(c).ReadString('\n')
		fmt.Fprint(c, "HTTP/1.1 413 Request Entity Too Large\r\nConnection: close\r\nContent-Length: 13\r\n\r\n{\"error\":\"x\"}")
		_ = c.(*net.TCPConn).CloseWrite()
		_, _ = io.Copy(io.Discard, c)
	})
	_, err := connectTo(t, url).call(t.Context(), "POST", "/x", make([]byte, 32<<20))
	var f *fleet.Failure
	if !errors.As(err, &f) || f.Status != 413 {
		t.Errorf("got %v", err)
	}
}

func rawAccept(t *testing.T, speak func(c net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { defer c.Close(); speak(c) })
		}
	})
	t.Cleanup(func() { l.Close(); wg.Wait() })
	return "http://" + l.Addr().String()
}

func TestEndlessHeadersAndOtherNonsenseAreNoAnswer(t *testing.T) {
	for name, speak := range map[string]func(c net.Conn){
		"endless headers": func(c net.Conn) {
			fmt.Fprint(c, "HTTP/1.1 200 OK\r\n")
			for {
				if _, err := fmt.Fprintf(c, "X-Filler: %s\r\n", strings.Repeat("x", 1000)); err != nil {
					return
				}
			}
		},
		"no HTTP": func(c net.Conn) { fmt.Fprint(c, "SSH-2.0-OpenSSH_9.6\r\n") },
	} {
		url := rawServer(t, func(c net.Conn, _ *bufio.Reader) { speak(c) })
		_, err := connectTo(t, url).call(t.Context(), "GET", "/x", nil)
		if classOf(err) != fleet.FailBeforeOpen {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestCancelCutsTheConnectionAtOnce(t *testing.T) {
	for _, when := range []string{"before the head", "in mid-stream"} {
		t.Run(when, func(t *testing.T) {
			arrived, left := make(chan struct{}), make(chan struct{})
			url, _ := counted(t, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body) // net/http sees a client leave only after it
				if when == "in mid-stream" {
					_, _ = io.WriteString(w, `{"message":{"content":"a"}}`+"\n")
					w.(http.Flusher).Flush()
				}
				close(arrived)
				<-r.Context().Done()
				close(left)
			})
			r := connectTo(t, url)
			ctx, cancel := context.WithCancelCause(t.Context())
			ended := make(chan error, 1)
			go func() {
				_, err := r.call(ctx, "POST", "/x", []byte("{}"))
				ended <- err
			}()
			<-arrived
			cancel(&fleet.Failure{Class: fleet.FailTimeout, Message: "no first token within 60 s"})
			err := <-ended
			var f *fleet.Failure
			if !errors.As(err, &f) || f.Class != fleet.FailTimeout || !f.MayRun || f.Message != "no first token within 60 s" {
				t.Errorf("got %+v", f)
			}
			<-left
		})
	}
}

func TestWithDrainAnAbandonedCallRunsToItsEnd(t *testing.T) { // W-26
	for _, when := range []string{"before the head", "in mid-stream"} {
		t.Run(when, func(t *testing.T) {
			arrived, abandoned, finished := make(chan struct{}), make(chan struct{}), make(chan error, 1)
			url, opened := counted(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/again" {
					_, _ = io.WriteString(w, "{}")
					return
				}
				if when == "in mid-stream" {
					_, _ = io.WriteString(w, `{"message":{"content":"a"}}`+"\n")
					w.(http.Flusher).Flush()
				}
				close(arrived)
				<-abandoned
				_, err := io.WriteString(w, strings.Repeat(`{"message":{"content":"b"}}`+"\n", 5000)+ollamaDone)
				finished <- errors.Join(err, r.Context().Err())
			})
			r := connectTo(t, url)
			ctx, cancel := context.WithCancel(t.Context())
			got := make(chan error, 1)
			go func() {
				x, err := r.open(ctx, request{method: "POST", path: "/x", body: []byte("{}")}, true)
				if err == nil {
					s := &ollamaStream{plan: &ollamaPlan{}}
					s.x, s.lines.r = x, x
					for err == nil {
						_, err = s.Next()
					}
					s.Close()
				}
				got <- err
			}()
			<-arrived
			cancel()
			if err := <-got; classOf(err) != fleet.FailCancelled {
				t.Errorf("the reader got %v", err)
			}
			close(abandoned)
			if err := <-finished; err != nil {
				t.Errorf("the runtime could not finish: %v", err)
			}
			r.drains.Wait()
			if _, err := r.call(t.Context(), "GET", "/again", nil); err != nil {
				t.Error(err)
			}
			if n := opened.Load(); n != 1 && when == "in mid-stream" {
				t.Errorf("a drained connection was not used again: %d opened", n)
			}
		})
	}
}

func TestADrainedCallEndsWithTheAdapter(t *testing.T) {
	left := make(chan struct{})
	url, _ := counted(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		close(left)
	})
	r := connectTo(t, url)
	x, err := r.open(t.Context(), request{method: "POST", path: "/x", body: []byte("{}")}, true)
	if err != nil {
		t.Fatal(err)
	}
	x.abandon()
	r.shut()
	<-left
}

func TestACertificateNobodyVouchesForIsRefused(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "{}") }))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	defer s.Close()
	_, err := connectTo(t, s.URL).call(t.Context(), "GET", "/x", nil)
	var f *fleet.Failure
	if !errors.As(err, &f) || f.Class != fleet.FailConnect || !strings.Contains(f.Message, "certificate") {
		t.Errorf("got %v", err)
	}
}

func TestAStreamedUploadHasItsEndOnlyWhenItsSourceHas(t *testing.T) {
	var got atomic.Value
	url, _ := counted(t, func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		got.Store(fmt.Sprintf("%d %v", len(b), err))
		w.WriteHeader(http.StatusCreated)
	})
	r := connectTo(t, url)
	x, err := r.do(t.Context(), request{method: "POST", path: "/b", stream: io.LimitReader(zeros{}, 1<<20)})
	if err != nil || x.status != http.StatusCreated || got.Load() != "1048576 <nil>" {
		t.Fatalf("got %v, %v", got.Load(), err)
	}
	x.settle()
	_, err = r.do(t.Context(), request{method: "POST", path: "/b", stream: io.MultiReader(io.LimitReader(zeros{}, 100), iotest.ErrReader(os.ErrClosed))})
	if err == nil {
		t.Error("half an upload was taken for whole")
	}
}

func BenchmarkCallOwnClient(b *testing.B) {
	url, _ := counted(b, benchAnswer)
	r := connectTo(b, url)
	body := []byte(`{"model":"tiny","stream":false,"messages":[{"role":"user","content":"hi"}]}`)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := r.call(context.Background(), "POST", "/api/chat", body); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkCallNetHTTP(b *testing.B) {
	url, _ := counted(b, benchAnswer)
	c := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256, DisableCompression: true}}
	defer c.CloseIdleConnections()
	body := `{"model":"tiny","stream":false,"messages":[{"role":"user","content":"hi"}]}`
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			resp, err := c.Post(url+"/api/chat", "application/json", strings.NewReader(body))
			if err != nil {
				b.Fatal(err)
			}
			_, _ = io.ReadAll(resp.Body)
			resp.Body.Close()
		}
	})
}

func benchAnswer(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_, _ = io.WriteString(w, `{"model":"tiny","created_at":"2026-11-29T22:33:28.346291821Z","message":{"role":"assistant","content":"node-a answers: one two three four five six seven eight nine ten."},"done":true,"done_reason":"stop"}`)
}
