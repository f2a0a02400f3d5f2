package runtimetest

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"bellwether/engine/dialect"
	"bellwether/engine/fleet"
	"bellwether/engine/runtime"
)

// conformFailures: every way to fail has its class, so that the router knows
// what may be retried, where, and who is at fault.
func conformFailures(t *testing.T, s Setup) {
	t.Run("refused statuses", func(t *testing.T) {
		b := s.bench(t, FakeModel{})
		for _, c := range []struct {
			status int
			kind   string
			body   string
			class  fleet.FailureClass
			caller bool
			text   string
		}{
			{400, "", `{"error":"bad thing"}`, fleet.FailStatus, true, "bad thing"},
			{400, "", `{"error":{"message":"bad thing","type":"invalid_request_error","code":400}}`, fleet.FailStatus, true, "bad thing"},
			{422, "text/plain", "unprocessable", fleet.FailStatus, true, "unprocessable"},
			{408, "", `{"error":"too slow"}`, fleet.FailStatus, false, "too slow"},
			{429, "", `{"error":"too many"}`, fleet.FailBackPressure, false, "too many"},
			{503, "", QueueFull().Body, fleet.FailBackPressure, false, "server busy"},
			{503, "", `{"error":{"message":"Loading model","type":"unavailable_error","code":503}}`, fleet.FailBackPressure, false, "Loading model"},
			{503, "text/plain", "no", fleet.FailStatus, false, "no"},
			{500, "", `{"error":"it broke"}`, fleet.FailStatus, false, "it broke"},
			{502, "text/html", "<html><body>Bad Gateway at 10.0.0.7</body></html>", fleet.FailStatus, false, "Bad Gateway"}, // W-06
			{401, "", "", fleet.FailStatus, false, ""},
			{403, "", "", fleet.FailStatus, false, ""},
			{404, "text/plain", "404 page not found", fleet.FailStatus, false, ""},
			{404, "", `{"error":"model 'x' not found"}`, fleet.FailStatus, false, "not found"},
			{307, "", "", fleet.FailInvalid, false, ""},
			{500, "text/plain", "dial tcp 127.0.0.1:43210: open /home/someone/.ollama/models/blobs/sha256-1 and C:\\Users\\x: refused", fleet.FailStatus, false, "refused"},
		} {
			b.fake.Inject(Fault{Status: c.status, ContentType: c.kind, Body: c.body, Times: 1})
			_, err := b.run(b.chat("hi", true))
			f := b.wantClass(err, c.class, c.caller)
			if f.Status != c.status || !strings.Contains(f.Message, c.text) || f.MayRun {
				t.Errorf("%d %q: got %+v", c.status, c.body, f)
			}
			for _, secret := range []string{"127.0.0.1", "10.0.0.7", "/home", "Users", "<html"} {
				if strings.Contains(f.Message, secret) {
					t.Errorf("%s is shown: %s", secret, f.Message)
				}
			}
		}
		b.must(b.chat("hi", true))
	})
	t.Run("a success that is no completion", func(t *testing.T) {
		b := s.bench(t, FakeModel{})
		for _, body := range []string{"<html>hello</html>", "", "null", `{"status":"ok"}`, `[]`, `{"mess`} {
			for _, stream := range []bool{true, false} {
				b.fake.Inject(Fault{Status: 200, Body: body, Times: 1})
				_, err := b.run(b.chat("hi", stream))
				f := b.failure(err)
				if f.Class != fleet.FailInvalid && f.Class != fleet.FailBeforeOpen {
					t.Errorf("%q: got %s", body, f.Class)
				}
			}
		}
	})
	t.Run("broken before the first token", func(t *testing.T) { conformBreaks(t, s, 0, fleet.FailBeforeOpen) })
	t.Run("broken in mid-stream", func(t *testing.T) { conformBreaks(t, s, 3, fleet.FailMidStream) })
	t.Run("a frame that is none", func(t *testing.T) {
		b := s.bench(t, FakeModel{Tokens: 20})
		b.fake.Inject(Fault{Break: BreakGarbage, After: 3, Times: 1})
		a, err := b.run(b.chat("hi", true))
		if f := b.failure(err); f.Code != runtime.CodeMalformed || a.text == "" {
			t.Errorf("got %+v after %q", f, a.text)
		}
	})
	t.Run("the runtime killed in mid-stream, and back", func(t *testing.T) {
		b := s.bench(t, FakeModel{Tokens: 20})
		b.fake.Inject(Fault{Break: BreakHang, After: 3, Times: 1}) // else it may have ended before it is killed
		st, _, err := b.adapter.Do(b.Context(), b.chat("hi", true))
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close()
		for range 3 {
			if _, err := st.Next(); err != nil {
				t.Fatal(err)
			}
		}
		b.fake.Kill()
		for err == nil {
			_, err = st.Next()
		}
		b.wantClass(err, fleet.FailMidStream, false)
		_, err = b.adapter.Inventory(b.Context())
		b.wantClass(err, fleet.FailConnect, false)
		b.fake.Heal()
		if err := b.fake.Start(); err != nil {
			t.Fatal(err)
		}
		if s.single() {
			b.await("loaded again", func() bool { return len(b.fake.Loaded()) == 1 })
		}
		b.inventory()
	})
	t.Run("a refused connection has sent nothing", func(t *testing.T) {
		b := s.bench(t, FakeModel{})
		c := b.chat("hi", true)
		b.fake.Close()
		fresh := s.Open(t, b.adapter.Target()) // without a connection from before
		defer fresh.(runtime.Closer).Close()
		_, _, err := fresh.Do(b.Context(), c)
		if f := b.wantClass(err, fleet.FailConnect, false); f.MayRun {
			t.Error("it is said that it may run")
		}
	})
	t.Run("a prompt over the context", func(t *testing.T) {
		small := s
		small.Fake.Context = 64
		b := small.bench(t, FakeModel{})
		_, err := b.run(b.chat(strings.Repeat("many words ", 500), true))
		if f := b.wantClass(err, fleet.FailStatus, true); f.Code != runtime.CodeContextExceeded || f.Tokens < 1000 || f.Context != 64 {
			t.Errorf("got %+v, want both counts", f)
		}
	})
	t.Run("a missing model", func(t *testing.T) {
		if s.single() {
			t.Skip("a single server takes any name")
		}
		b := s.bench(t, FakeModel{})
		c := b.chat("hi", true)
		c.Model = "nope"
		_, err := b.run(c)
		if f := b.wantClass(err, fleet.FailStatus, false); f.Code != runtime.CodeModelNotFound {
			t.Errorf("got %+v", f)
		}
	})
	t.Run("a remote image is not fetched", func(t *testing.T) { // S-04
		b := s.bench(t, FakeModel{Capabilities: []string{"completion", "vision"}})
		before := len(b.fake.Requests())
		c := b.call(dialect.OpenAIChat, `{"model":"MODEL","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"http://169.254.169.254/x.png"}}]}]}`)
		_, err := b.run(c)
		b.wantClass(err, fleet.FailStatus, true)
		for _, r := range b.fake.Requests()[before:] {
			if strings.Contains(string(r.Body), "169.254") {
				t.Error("the address reached the runtime")
			}
		}
	})
	t.Run("the request after a failure is served", func(t *testing.T) {
		b := s.bench(t, FakeModel{Tokens: 20})
		for _, br := range []Break{BreakCut, BreakCutMid, BreakEnd, BreakError, BreakGarbage} {
			b.fake.Inject(Fault{Break: br, After: 3, Times: 1})
			if _, err := b.run(b.chat("hi", true)); err == nil {
				t.Errorf("%s was taken for an answer", br)
			}
			b.must(b.chat("hi", true))
		}
	})
}

// conformBreaks: however an answer breaks off after so many tokens, it is a
// failure of that class, and never taken for an end.
func conformBreaks(t *testing.T, s Setup, after int, class fleet.FailureClass) {
	breaks := []Break{BreakCut, BreakCutMid, BreakEnd, BreakError}
	if !s.single() {
		breaks = append(breaks, BreakRunner) // the death of a single server's runner is its own
	}
	for _, br := range breaks {
		for _, stream := range []bool{true, false} {
			b := s.bench(t, FakeModel{Tokens: 20})
			b.fake.Inject(Fault{Break: br, After: after, Times: 1})
			a, err := b.run(b.chat("hi", stream))
			f := b.failure(err)
			if f.Caller || f.MayRun || f.Message == "" {
				t.Errorf("%s, stream %v: got %+v", br, stream, f)
			}
			want := class
			if !stream {
				want = f.Class // whole answers break before they open, as a status or as a cut
			}
			if f.Class != want && !(after == 0 && f.Class == fleet.FailStatus) {
				t.Errorf("%s, stream %v: got %s (%s), want %s", br, stream, f.Class, f.Message, want)
			}
			if (a.text != "") != (stream && after > 0) {
				t.Errorf("%s, stream %v: %q came before", br, stream, a.text)
			}
			b.must(b.chat("hi", stream)) // the next one is served, whatever happened
		}
	}
}

// conformEndings: who leaves is noticed upstream, and what is left is known.
func conformEndings(t *testing.T, s Setup) {
	cancelled := func(t *testing.T, when Fault, end func(st dialect.Stream, cancel context.CancelCauseFunc), want fleet.FailureClass) {
		b := s.bench(t, FakeModel{Tokens: -1})
		b.fake.Inject(when)
		ctx, cancel := context.WithCancelCause(b.Context())
		defer cancel(nil)
		c := b.chat("hi", true)
		opened := make(chan dialect.Stream, 1)
		ended := make(chan error, 1)
		go func() {
			st, _, err := b.adapter.Do(ctx, c)
			if err != nil {
				ended <- err
				return
			}
			opened <- st
			for err == nil {
				_, err = st.Next()
			}
			ended <- err
		}()
		var st dialect.Stream
		if when.After > 0 {
			st = <-opened
			defer st.Close()
		}
		b.await("it runs", func() bool { return b.fake.Running(b.model) == 1 })
		end(st, cancel)
		if f := b.wantClass(<-ended, want, false); !f.MayRun {
			t.Errorf("it is not said that it may still run: %+v", f)
		}
		b.await("the runtime is told and stops at once", func() bool {
			all := b.fake.Requests()
			return b.fake.Running(b.model) == 0 && all[len(all)-1].Disconnected
		})
		if i, ok := b.adapter.(runtime.Idler); ok {
			var f *fleet.Failure
			if idle, err := i.Idle(b.Context(), b.model, 0); !idle && !(errors.As(err, &f) && f.Code == runtime.CodeUnsupported) {
				t.Errorf("idle %v, %v", idle, err)
			}
		}
	}
	gone := errors.New("client gone")
	t.Run("cancelled before the first token", func(t *testing.T) {
		cancelled(t, Fault{Break: BreakHang}, func(_ dialect.Stream, cancel context.CancelCauseFunc) { cancel(gone) }, fleet.FailCancelled)
	})
	t.Run("cancelled in mid-stream", func(t *testing.T) {
		cancelled(t, Fault{Break: BreakHang, After: 3}, func(_ dialect.Stream, cancel context.CancelCauseFunc) { cancel(gone) }, fleet.FailCancelled)
	})
	t.Run("closed while its reader waits", func(t *testing.T) {
		cancelled(t, Fault{Break: BreakHang, After: 3}, func(st dialect.Stream, _ context.CancelCauseFunc) { st.Close(); st.Close() }, fleet.FailCancelled)
	})
	t.Run("a deadline says which", func(t *testing.T) {
		given := &fleet.Failure{Class: fleet.FailTimeout, Message: "no token for 120 s"}
		cancelled(t, Fault{Break: BreakHang, After: 3}, func(_ dialect.Stream, cancel context.CancelCauseFunc) { cancel(given) }, fleet.FailTimeout)
	})
	t.Run("streams of every dress say the same", func(t *testing.T) {
		b := s.bench(t, FakeModel{Script: []Answer{{Text: spoken}}})
		for name, fault := range map[string]Fault{
			"comments": {Comments: true}, "CRLF": {CRLF: true}, "no space": {NoSpace: true}, "cut runes": {SplitUTF8: true},
			"all of them": {Comments: true, CRLF: true, NoSpace: true, SplitUTF8: true},
		} {
			fault.Times = 1
			b.fake.Inject(fault)
			if a := b.must(b.chat("hi", true)); a.text != spoken {
				t.Errorf("%s: %q", name, a.text)
			}
		}
		b.fake.Inject(Fault{Break: BreakHugeLine, After: 3, Times: 1})
		if a := b.must(b.chat("hi", true)); len(a.text) < 64<<10 && len(a.thinking) < 64<<10 && a.text != spoken {
			t.Errorf("a huge frame: %d bytes", len(a.text))
		}
	})
	t.Run("a stream closed after its end leaves its connection", func(t *testing.T) {
		b := s.bench(t, FakeModel{})
		b.must(b.chat("hi", true))
		before := b.fake.serving.connections()
		for range 20 {
			b.must(b.chat("hi", true))
			b.must(b.chat("hi", false))
		}
		// llama-server closes it, unannounced: there it is enough that none of
		// these was lost on it.
		if after := b.fake.serving.connections(); s.ollama() && after > before {
			t.Errorf("%d connections became %d", before, after)
		}
	})
	t.Run("after the end only EOF", func(t *testing.T) {
		b := s.bench(t, FakeModel{})
		st, _, err := b.adapter.Do(b.Context(), b.chat("hi", true))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := gather(st); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if c, err := st.Next(); c != nil || err != io.EOF {
				t.Errorf("got %v, %v", c, err)
			}
			st.Close()
		}
		if st.Buffered() {
			t.Error("a frame is promised after the end")
		}
	})
}
