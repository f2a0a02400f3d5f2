package main

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bellwether/engine/route"
	"bellwether/engine/store"
)

// stream is an answer under way as a client sees it.
type stream struct {
	resp  *http.Response
	lines *bufio.Scanner
}

// open starts a streamed request.
func (h *home) open(t testing.TB, path, body string) *stream {
	t.Helper()
	client := http.Client{Timeout: patience}
	resp, err := client.Post(h.address+path, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	return &stream{resp, bufio.NewScanner(resp.Body)}
}

// until reads to the first line that contains a text.
func (s *stream) until(t testing.TB, text string) {
	t.Helper()
	for s.lines.Scan() {
		if strings.Contains(s.lines.Text(), text) {
			return
		}
	}
	t.Fatalf("the stream ended without %q: %v", text, s.lines.Err())
}

// rest reads to the end; broken says whether the connection tore.
func (s *stream) rest() (lines []string, broken bool) {
	for s.lines.Scan() {
		if l := s.lines.Text(); l != "" {
			lines = append(lines, l)
		}
	}
	return lines, s.lines.Err() != nil
}

// holdChats keeps the next chat silent after some tokens, until released.
const holdChats = `{"inject":[{"path":"/api/chat","break":"hold","after":%d,"times":1}]}`

func runningOn(s *statusJSON, runtime string) bool {
	for _, q := range s.Queues {
		if q.Running > 0 && strings.Contains(q.Deployment, "/"+runtime+"/") {
			return true
		}
	}
	return false
}

func TestRuntimeKilledBeforeContentIsServedElsewhere(t *testing.T) {
	t.Parallel()
	one, two := fakeRuntime(t, "ollama", "-m", "tiny"), fakeRuntime(t, "ollama", "-m", "tiny")
	fakes := map[string]*fake{"one": one, "two": two}
	h := newHome(t, "", fakes)
	h.serve(t, anywhere)
	for _, f := range fakes {
		f.order(t, fmt.Sprintf(holdChats, 0))
	}
	type answer struct {
		status int
		body   string
	}
	got := make(chan answer, 1)
	go func() { status, body := h.ask(t, "tiny"); got <- answer{status, body} }()
	var first, second string
	until(t, "the request runs somewhere", func() bool {
		s := h.status(t)
		switch {
		case runningOn(&s, "one"):
			first, second = "one", "two"
		case runningOn(&s, "two"):
			first, second = "two", "one"
		}
		return first != ""
	})
	// Only a call that has reached the runtime can be lost with it.
	until(t, "the call is at the runtime", func() bool { return fakes[first].busy(t) })
	fakes[second].order(t, `{"heal":true}`)
	fakes[first].kill()
	a := <-got
	if a.status != http.StatusOK || !strings.Contains(a.body, "tiny answers") {
		t.Fatalf("%d %s", a.status, a.body)
	}
	rec := decode[route.Record](t, h.run(t, "decisions", "--limit", "1", "--json").out)
	if rec.Retries != 1 || len(rec.Failover) != 1 || !strings.Contains(rec.Chosen, "/"+second+"/") {
		t.Errorf("the record: %d retries, failover %+v, chosen %s, want the other runtime", rec.Retries, rec.Failover, rec.Chosen)
	}
	h.run(t, "decisions", rec.RequestID).says(t, "Failed on studio/"+first+"/tiny")
}

// busy reports whether the stand-in works on a request.
func (f *fake) busy(t testing.TB) bool {
	t.Helper()
	resp, err := http.Get(f.url + "/__control")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	state := decode[struct {
		Models map[string]struct{ Running int }
	}](t, string(b))
	for _, m := range state.Models {
		if m.Running > 0 {
			return true
		}
	}
	return false
}

func TestOnlyRuntimeKilledBeforeContentFailsWithItsReasonAndServesAgain(t *testing.T) {
	t.Parallel()
	h, f := studio(t)
	f.order(t, fmt.Sprintf(holdChats, 0))
	type answer struct {
		status int
		body   string
	}
	got := make(chan answer, 1)
	go func() { status, body := h.ask(t, "tiny"); got <- answer{status, body} }()
	until(t, "the call is at the runtime", func() bool { return f.busy(t) })
	f.kill()
	a := <-got
	if a.status != http.StatusBadGateway && a.status != http.StatusServiceUnavailable || !strings.Contains(a.body, "studio") || !strings.Contains(a.body, "tiny") {
		t.Errorf("%d %s, want an error that says what failed where", a.status, a.body)
	}
	until(t, "the runtime is known to be down", func() bool { return h.run(t, "status").code == exitDegraded })
	h.run(t, "status").says(t, "no runtime is up")
	f.restart(t)
	until(t, "the runtime is up again", func() bool { s := h.status(t); return s.up("ollama") })
	if status, body := h.ask(t, "tiny"); status != http.StatusOK {
		t.Errorf("after the runtime came back: %d %s", status, body)
	}
}

// dialects are streamed requests with what must and must not be seen when the
// runtime dies in the middle: one error in the client's shape, no false end.
var dialects = []struct {
	name, path, body string
	failed, finished string
}{
	{"openai", "/v1/chat/completions", chat("tiny", true), `"error"`, "[DONE]"},
	{"anthropic", "/v1/messages", `{"model":"tiny","stream":true,"max_tokens":100,"messages":[{"role":"user","content":"hi"}]}`, "event: error", "message_stop"},
	{"responses", "/v1/responses", `{"model":"tiny","stream":true,"input":"hi"}`, "event: response.failed", "response.completed"},
	{"ollama", "/api/chat", `{"model":"tiny","messages":[{"role":"user","content":"hi"}]}`, `"error"`, `"done":true`},
}

func TestRuntimeKilledMidStreamGivesOneErrorFrameAndServesAgain(t *testing.T) {
	t.Parallel()
	h, f := studio(t)
	for _, d := range dialects {
		f.order(t, fmt.Sprintf(holdChats, 3))
		s := h.open(t, d.path, d.body)
		s.until(t, "answers")
		f.kill()
		lines, _ := s.rest()
		failed := 0
		for _, l := range lines {
			if strings.Contains(l, d.failed) {
				failed++
			}
			if strings.Contains(l, d.finished) {
				t.Errorf("%s: a false end: %s", d.name, l)
			}
		}
		if failed != 1 {
			t.Errorf("%s: %d error frames, want one:\n%s", d.name, failed, strings.Join(lines, "\n"))
		}
		f.restart(t)
		until(t, "the runtime is up again", func() bool { s := h.status(t); return s.up("ollama") && len(s.Queues) == 0 })
		if status, body := h.ask(t, "tiny"); status != http.StatusOK {
			t.Errorf("%s: the next request: %d %s", d.name, status, body)
		}
	}
}

// onFile waits until a record is written, which takes a tenth of a second: what
// was decided in the very last moment may be lost with the process.
func onFile(t testing.TB, h *home, id string) {
	t.Helper()
	s, err := store.Open(filepath.Join(h.dir, "bellwether.db"), store.Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	until(t, "the record is on file", func() bool { _, err := s.Decision(t.Context(), id); return err == nil })
}

func TestEngineKilledMidStreamComesBackWithItsLedger(t *testing.T) {
	t.Parallel()
	h, f := studio(t)
	h.ask(t, "tiny")
	before := decode[route.Record](t, h.run(t, "decisions", "--limit", "1", "--json").out)
	onFile(t, h, before.RequestID)
	f.order(t, fmt.Sprintf(holdChats, 3))
	s := h.open(t, "/v1/chat/completions", chat("tiny", true))
	s.until(t, "answers")
	address := h.address
	h.engine.kill()
	if lines, broken := s.rest(); !broken || strings.Contains(strings.Join(lines, ""), "[DONE]") {
		t.Errorf("the client saw a clean end: %v", lines)
	}
	// The runtime is gone too for now, so that only the ledger can know what it had.
	f.kill()
	h.engine = h.launch(t, "--listen", strings.TrimPrefix(address, "http://"))
	h.ready(t)
	if h.address != address {
		t.Errorf("it serves at %s, before at %s", h.address, address)
	}
	st := h.status(t)
	held := false
	for _, p := range st.Pools {
		for _, holder := range p.Holders {
			held = held || strings.HasSuffix(holder.Deployment, "/ollama/tiny:latest")
		}
	}
	if !held {
		t.Errorf("the ledger is lost: %+v", st.Pools)
	}
	if out := h.run(t, "decisions", "--json").out; !strings.Contains(out, before.RequestID) {
		t.Error("decisions from before are lost")
	}
	f.restart(t)
	until(t, "the runtime is up again", func() bool { s := h.status(t); return s.up("ollama") })
	if status, body := h.ask(t, "tiny"); status != http.StatusOK {
		t.Errorf("after the restart: %d %s", status, body)
	}
}

func TestSIGTERMEndsWithinSecondsAndStreamsGetTheirEnd(t *testing.T) {
	t.Parallel()
	f := fakeRuntime(t, "ollama", "-m", "tiny", "--decode", "50")
	h := newHome(t, "", map[string]*fake{"ollama": f})
	h.serve(t, anywhere)
	s := h.open(t, "/v1/chat/completions", chat("tiny", true))
	s.until(t, "answers")
	stop(t, h.engine)
	lines, broken := s.rest()
	if text := strings.Join(lines, "\n"); broken || !strings.Contains(text, "[DONE]") && !strings.Contains(text, `"error"`) {
		t.Errorf("broken %v, want the end or an in-band error:\n%s", broken, text)
	}
	h.run(t, "status").ends(t, exitNoEngine).says(t, "no engine is running here")
}

func TestSIGTERMDoesNotWaitForASilentStreamForLong(t *testing.T) {
	t.Parallel()
	h, f := studio(t)
	f.order(t, fmt.Sprintf(holdChats, 3))
	s := h.open(t, "/v1/chat/completions", chat("tiny", true))
	s.until(t, "answers")
	began := time.Now()
	ended := make(chan struct{})
	var lines []string
	go func() { defer close(ended); lines, _ = s.rest() }()
	terminate(t, h.engine)
	if code := h.engine.wait(t); code != exitDone {
		t.Errorf("exit code %d", code)
	}
	if took := time.Since(began); took > 13*time.Second {
		t.Errorf("it took %s to end", took)
	}
	<-ended
	if text := strings.Join(lines, "\n"); !strings.Contains(text, `"error"`) || strings.Contains(text, "[DONE]") {
		t.Errorf("the stream's end, want one in-band error:\n%s", text)
	}
}
