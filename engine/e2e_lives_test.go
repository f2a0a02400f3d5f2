package engine

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"bellwether/engine/fleet"
	"bellwether/engine/runtime/runtimetest"
)

// W-22 (BerriAI/litellm#37322, #14953): nothing was sent during a long load,
// and proxies or clients dropped the line. A stream that still waits is opened
// with signs of life that its protocol allows; what is known only later comes
// in trailers. W-21: our own comment is one line, since a blank line after it
// makes openai-python dispatch an empty event.
func TestAStreamThatWaitsIsOpenedWithSignsOfLife(t *testing.T) {
	r := twins.of(t)
	for _, f := range r.fakes {
		f.Unload("slow:1b")
	}
	r.await(t, "the model to be seen on disk", func() bool {
		_ = r.agent.Refresh(t.Context())
		return r.residency("left", "slow:1b") == fleet.OnDisk && r.residency("right", "slow:1b") == fleet.OnDisk
	})
	r.inject(runtimetest.Fault{Model: "slow:1b", LoadDelay: 1800 * time.Millisecond})
	var all sync.WaitGroup
	for _, w := range wires {
		all.Go(func() {
			s, a := w.say(t, r, "slow:1b", "go", true)
			first := a.records(t)[0]
			alive := map[string]bool{
				"chat": commented(a.records(t)), "completions": commented(a.records(t)),
				"responses":   strings.Contains(string(a.Body), "event: response.in_progress"),
				"messages":    first.event == "message_start" && strings.Contains(string(a.Body), "event: ping"),
				"ollama chat": first.json2().str("message.content") == "" && first.json2().at("done") == false, "ollama generate": first.json2().at("done") == false,
			}[w.name]
			if !alive || !s.ended || !strings.HasSuffix(s.text, "nine ten.") {
				t.Errorf("%s: alive %v, %+v: %s", w.name, alive, s, a.Body)
			}
			if strings.HasPrefix(string(a.Body), ":") && strings.Contains(string(a.Body[:40]), "\n\n") {
				t.Errorf("%s: a blank line after a comment: %q", w.name, a.Body[:60])
			}
			for _, r := range a.records(t) {
				if strings.HasPrefix(w.path, "/v1") && r == (record{}) {
					t.Errorf("%s: an empty event: %s", w.name, a.Body)
				}
			}
			if a.Header.Get("X-Fleet-Deployment") != "" || !strings.HasSuffix(a.Trailer.Get("X-Fleet-Deployment"), "/slow:1b") || a.Header.Get("X-Fleet-Request-Id") == "" {
				t.Errorf("%s: headers %v, trailers %v", w.name, a.Header, a.Trailer)
			}
		})
	}
	all.Wait()
}

func commented(list []record) bool {
	return slices.ContainsFunc(list, func(r record) bool { return r.comment != "" })
}

// json2 is json without a test to fail: a record that is no JSON is empty.
func (r record) json2() tree { return parse(silent{}, []byte(or(r.data, "{}"))) }

// silent takes the place of a test where a failure is looked at later.
type silent struct{ testing.TB }

func (silent) Helper()               {}
func (silent) Fatalf(string, ...any) {}

// W-22 again: from the moment the stream is open, errors come inside it, with
// the code they would have had.
func TestAnErrorAfterTheStreamWasOpenedComesInBand(t *testing.T) {
	r := twins.of(t)
	r.inject(runtimetest.Fault{Path: "*", Model: "slow:1b", Delay: 1300 * time.Millisecond, Status: 400, Body: `{"error":"no such sampler"}`})
	var all sync.WaitGroup
	for _, w := range wires {
		all.Go(func() {
			s, a := w.say(t, r, "slow:1b", "go", true)
			if s.ended || s.finish != "" || !strings.Contains(s.failed, "no such sampler") {
				t.Errorf("%s: %+v: %s", w.name, s, a.Body)
			}
			if rec := r.decision(t, a.Header); rec.Outcome != fleet.OutcomeRefused || rec.Status != http.StatusOK || !strings.Contains(rec.Problem, "no such sampler") {
				t.Errorf("%s: %s, %d, %q", w.name, rec.Outcome, rec.Status, rec.Problem)
			}
		})
	}
	all.Wait()
}

func (r *rig) residency(runtimeName, model string) fleet.Residency {
	n := r.registry.Snapshot().Node(r.nodeID)
	for _, d := range n.Deployments {
		if d.ID.Runtime == runtimeName && fleet.SameModel(d.ID.Model, model) {
			return d.Residency
		}
	}
	return fleet.OnDisk
}

// W-25 (BerriAI/litellm#37140, #13774, ollama/ollama#11889) and R-04 (an
// earlier router's #17: slots leaked when the client had left before the answer
// began): wherever the client leaves, the runtime is told at once, the slot is
// free, and the record says who left.
func TestAClientThatLeavesFreesEverything(t *testing.T) {
	r := twins.of(t)
	hold := runtimetest.Fault{Break: runtimetest.BreakHold}
	midway := runtimetest.Fault{Break: runtimetest.BreakHold, After: 3}
	for _, c := range []struct {
		name   string
		fault  runtimetest.Fault
		stream bool
	}{
		{"in mid-stream", midway, true},
		{"before content", hold, true},
		{"without streaming", hold, false},
		{"without streaming in the middle", midway, false},
	} {
		for _, w := range wires {
			t.Run(c.name+" "+w.name, func(t *testing.T) {
				r.fresh(t)
				r.inject(c.fault)
				ctx, leave := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() {
					resp, err := send(ctx, r.client, http.MethodPost, r.base+w.path, w.body("same:1b", "go", c.stream), "X-Fleet-Session", "s-"+w.name)
					if err == nil {
						_, err = resp.Body.Read(make([]byte, 1))
						<-ctx.Done()
						_ = resp.Body.Close()
					}
					ended <- err
				}()
				name := r.holding(t)
				left := time.Now()
				leave()
				<-ended
				r.await(t, "the runtime to be told", func() bool {
					all := served(r.fakes[name])
					return len(all) > 0 && all[len(all)-1].Disconnected
				})
				r.idle(t)
				if took := time.Since(left); took > time.Second {
					t.Errorf("it took %v until the slot was free", took)
				}
				r.await(t, "the record", func() bool { return r.latest(t).Outcome == fleet.OutcomeClientDisconnected })
			})
		}
	}
}

// W-25 and R-04: while it is queued, held or loading.
func TestAClientThatLeavesWhileWaitingIsForgotten(t *testing.T) {
	r := twins.of(t)
	r.inject(runtimetest.Fault{Break: runtimetest.BreakHold})
	body := chatWire.body("same:1b", "go", true)
	var running []context.CancelFunc
	var ended sync.WaitGroup
	begin := func() context.CancelFunc {
		ctx, leave := context.WithCancel(t.Context())
		ended.Go(func() {
			if resp, err := send(ctx, r.client, http.MethodPost, r.base+"/v1/chat/completions", body); err == nil {
				<-ctx.Done()
				_ = resp.Body.Close()
			}
		})
		return leave
	}
	slots := func() (running, waiting int) {
		for _, l := range r.queue.Status().Lanes {
			running, waiting = running+l.Running, waiting+l.Waiting
		}
		return running, waiting
	}
	for range 4 { // two runtimes, two slots each
		running = append(running, begin())
	}
	r.await(t, "all slots to be taken", func() bool {
		return r.fakes["left"].Running("same:1b")+r.fakes["right"].Running("same:1b") == 4
	})
	waits := []context.CancelFunc{begin(), begin()}
	r.await(t, "two requests to wait", func() bool { _, n := slots(); return n == 2 })
	for _, leave := range waits {
		leave()
	}
	r.await(t, "nobody to wait", func() bool { n, w := slots(); return n == 4 && w == 0 })
	if n := len(served(r.fakes["left"])) + len(served(r.fakes["right"])); n != 4 {
		t.Errorf("%d requests reached a runtime", n)
	}
	for _, leave := range running {
		leave()
	}
	ended.Wait()
	r.idle(t)

	// While the model loads: nobody wants it any more, so the load ends too.
	r.fresh(t)
	for _, f := range r.fakes {
		f.Unload("slow:1b")
	}
	_ = r.agent.Refresh(t.Context())
	r.inject(runtimetest.Fault{Model: "slow:1b", LoadDelay: patience})
	body = chatWire.body("slow:1b", "go", false)
	leave := begin()
	loading := func() bool { return r.fakes["left"].Loading("slow:1b") || r.fakes["right"].Loading("slow:1b") }
	r.await(t, "the load", loading)
	leave()
	ended.Wait()
	r.idle(t)
	r.await(t, "the load to be given up", func() bool { return !loading() })
}

// W-26 (mostlygeek/llama-swap#980): an abort kills a fragile backend. cancel:
// drain lets it finish, and the slot is taken until it has.
func TestAFragileRuntimeIsDrainedInsteadOfAborted(t *testing.T) {
	r := newRig(t, spec{config: quick, more: ", cancel: drain, parallel: 1", fakes: map[string]runtimetest.FakeConfig{
		"llama": {Kind: runtimetest.LlamaServer, Models: []runtimetest.FakeModel{{Name: "gguf-1b"}}}}})
	f := r.fakes["llama"]
	// The rest takes its time, so that the leaving is noticed before the end.
	f.Inject(runtimetest.Fault{Break: runtimetest.BreakHold, After: 3, TokenDelay: 60 * time.Millisecond})
	s := r.stream(t, "/v1/chat/completions", chatWire.body("gguf-1b", "go", true))
	s.line("content")
	r.holding(t)
	s.leave()
	if f.Running("gguf-1b") != 1 || r.lane("llama", "gguf-1b").Running != 1 {
		t.Errorf("%d run at the runtime, %d in the lane; want the abandoned one", f.Running("gguf-1b"), r.lane("llama", "gguf-1b").Running)
	}
	f.Heal()
	r.await(t, "the record", func() bool { return r.latest(t).Outcome == fleet.OutcomeClientDisconnected })
	r.idle(t)
	if q := lastServed(t, f); q.Disconnected || !q.Done {
		t.Errorf("the runtime was cut off: %+v", q)
	}
	chatWire.say(t, r, "gguf-1b", "go", false)
}

// R-05 (an earlier router's #22, #23): 24,650 "completed", among them
// disconnects and answers without an end. What is no validated completion is
// not called one.
func TestOnlyAValidatedAnswerCountsAsCompleted(t *testing.T) {
	r := twins.of(t)
	outcome := func(w wire, stream bool, f runtimetest.Fault) fleet.Outcome {
		r.fresh(t)
		r.inject(f)
		a := r.post(t, w.path, w.body("same:1b", "go", stream))
		return r.decision(t, a.Header).Outcome
	}
	for _, c := range []struct {
		stream bool
		fault  runtimetest.Fault
		want   []fleet.Outcome
	}{
		{true, runtimetest.Fault{}, []fleet.Outcome{fleet.OutcomeOK}},
		{false, runtimetest.Fault{}, []fleet.Outcome{fleet.OutcomeOK}},
		{true, runtimetest.Fault{Break: runtimetest.BreakEnd, After: 3}, []fleet.Outcome{fleet.OutcomeTruncated}},
		{true, runtimetest.Fault{Break: runtimetest.BreakCut, After: 3}, []fleet.Outcome{fleet.OutcomeTruncated}},
		{true, runtimetest.Fault{Break: runtimetest.BreakGarbage, After: 3}, []fleet.Outcome{fleet.OutcomeStreamInvalidAfterCommit}},
		{false, runtimetest.Fault{Status: 200, Body: "hello"}, []fleet.Outcome{fleet.OutcomeFailed}},
		{true, runtimetest.Fault{Status: 400, Body: `{"error":"no"}`}, []fleet.Outcome{fleet.OutcomeRefused}},
	} {
		for _, w := range []wire{chatWire, messagesWire, ollamaChatWire} {
			if got := outcome(w, c.stream, c.fault); !slices.Contains(c.want, got) {
				t.Errorf("%s, stream %v, %s %d: %s, want %v", w.name, c.stream, c.fault.Break, c.fault.Status, got, c.want)
			}
		}
	}
	text := string(r.get(t, "/metrics").Body)
	if !strings.Contains(text, `outcome="ok"`) || !strings.Contains(text, `outcome="stream_invalid_after_commit"`) || !strings.Contains(text, `outcome="failed"`) {
		t.Error("the metrics do not tell outcomes apart")
	}
}

// One app may have so many requests under way; the next is 429, and what the
// app has under way is not disturbed.
func TestAnAppOverItsLimitGets429AndNobodyElse(t *testing.T) {
	r := newRig(t, spec{config: "clients: {max_in_flight: 2, retry_after: 7}\n" + quick, fakes: map[string]runtimetest.FakeConfig{"left": twin}})
	r.fakes["left"].Inject(runtimetest.Fault{Path: "/api/chat", Break: runtimetest.BreakHold})
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() { chatWire.say(t, r, "same:1b", "go", false, `,"user":"a"`) })
	}
	r.await(t, "two under way", func() bool { return r.fakes["left"].Running("same:1b") == 2 })
	for _, w := range wires {
		a := r.post(t, w.path, w.body("same:1b", "go", true))
		problemText(t, w, a)
		if a.Status != 429 || a.Header.Get("Retry-After") != "7" {
			t.Errorf("%s: %d, Retry-After %q: %s", w.name, a.Status, a.Header.Get("Retry-After"), a.Body)
		}
	}
	r.fakes["left"].Heal()
	all.Wait()
	chatWire.say(t, r, "same:1b", "go", false)
}
