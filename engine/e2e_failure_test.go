package engine

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"bellwether/engine/fleet"
	"bellwether/engine/runtime/runtimetest"
)

// twins is one engine in front of two Ollamas with the same models and short
// deadlines.
var twins = share(spec{
	more: ", parallel: 2",
	config: `
routing: {circuit: 1000/1000 in 1s, uncertain_hold: 0, settle: 0, auto_pull: "off", open_after: 1, timeouts: {first_content: 2, stream_idle: 1}}
`,
	fakes: map[string]runtimetest.FakeConfig{"left": twin, "right": twin},
})

var twin = runtimetest.FakeConfig{Kind: runtimetest.Ollama, Parallel: 2, MaxLoaded: 8, GPU: 1, KeepAlive: -1, Models: []runtimetest.FakeModel{
	{Name: "same:1b", Capabilities: []string{"completion", "tools"}},
	{Name: "slow:1b", Capabilities: []string{"completion"}},
	{Name: "embed:1b", Capabilities: []string{"embedding"}},
}}

// A request that failed before content is answered by the other runtime that
// has the model; the client sees nothing of it but the header.
func TestFailureBeforeContentIsServedByTheOtherRuntime(t *testing.T) {
	r := twins.of(t)
	for _, f := range []runtimetest.Fault{
		{Break: runtimetest.BreakCut}, {Break: runtimetest.BreakCutMid}, {Break: runtimetest.BreakRunner}, {Break: runtimetest.BreakEnd},
		{Break: runtimetest.BreakError}, {Break: runtimetest.BreakGarbage},
		{Status: 500, Body: `{"error":"llama runner process has terminated"}`}, {Status: 200, ContentType: "text/html", Body: "<html>captive portal</html>"},
		{Status: 200, Body: `{}`},
	} {
		t.Run(string(f.Break)+http.StatusText(f.Status), func(t *testing.T) {
			r.fresh(t)
			r.fakes["left"].Inject(f)
			retried := 0
			eachWay(t, wires, func(t *testing.T, w wire, stream bool) {
				if !stream && f.Break == runtimetest.BreakGarbage {
					return // a whole answer has no frames
				}
				s, a := w.say(t, r, "same:1b", "go", stream)
				if !s.ended || s.failed != "" || !strings.HasSuffix(s.text, "nine ten.") || a.Header.Get("X-Fleet-Deployment") != "studio/right/same:1b" {
					t.Errorf("%+v by %s: %s", s, a.Header.Get("X-Fleet-Deployment"), a.Body)
				}
				rec := r.decision(t, a.Header)
				if rec.Outcome != fleet.OutcomeOK || rec.Retries != len(rec.Failover) {
					t.Errorf("outcome %s, %d retries, %d steps", rec.Outcome, rec.Retries, len(rec.Failover))
				}
				if rec.Retries > 0 {
					retried++
					if a.Header.Get("X-Fleet-Retries") != "1" || rec.Failover[0].Deployment.Runtime != "left" {
						t.Errorf("retries %q, steps %+v", a.Header.Get("X-Fleet-Retries"), rec.Failover)
					}
				}
			})
			if retried == 0 {
				t.Error("no request met the failing runtime: nothing was shown")
			}
			r.idle(t)
		})
	}
}

// The runtime's process is killed while it has a request and has said nothing.
func TestARuntimeKilledBeforeContentIsReplacedByItsTwin(t *testing.T) {
	r := twins.of(t)
	for _, stream := range []bool{false, true} {
		r.fresh(t)
		r.inject(runtimetest.Fault{Break: runtimetest.BreakHold, Times: 1})
		got := make(chan *answer, 1)
		go func() { got <- r.post(t, "/v1/chat/completions", chatWire.body("same:1b", "go", stream)) }()
		killed := r.holding(t)
		r.fakes[killed].Kill()
		for _, f := range r.fakes {
			f.Heal()
		}
		a := <-got
		if s := chatWire.read(t, a, stream); !strings.HasSuffix(s.text, "nine ten.") || strings.Contains(a.Header.Get("X-Fleet-Deployment"), killed) {
			t.Errorf("%s was killed, %s served %+v", killed, a.Header.Get("X-Fleet-Deployment"), s)
		}
		r.revive(t, killed)
	}
}

// Nobody is left: the client gets the reason, at once.
func TestFailureEverywhereIsToldWithItsReasonInTime(t *testing.T) {
	r := twins.of(t)
	r.inject(runtimetest.Fault{Break: runtimetest.BreakCut})
	eachWay(t, wires, func(t *testing.T, w wire, stream bool) {
		began := time.Now()
		a := r.post(t, w.path, w.body("same:1b", "go", stream))
		msg := problemText(t, w, a)
		if a.Status != 502 || !strings.Contains(msg, "2 attempts") || !strings.Contains(msg, "same:1b on studio") || time.Since(began) > 3*time.Second {
			t.Errorf("after %v: %d %q", time.Since(began), a.Status, msg)
		}
		for _, secret := range []string{r.fakes["left"].URL(), r.fakes["right"].URL(), "127.0.0.1", "/tmp"} {
			if strings.Contains(string(a.Body), strings.TrimPrefix(secret, "http://")) {
				t.Errorf("the client is shown %q: %s", secret, a.Body)
			}
		}
		if rec := r.decision(t, a.Header); rec.Outcome != fleet.OutcomeFailed || rec.Status != 502 || len(rec.Failover) != 2 {
			t.Errorf("record: %s, %d, %d steps", rec.Outcome, rec.Status, len(rec.Failover))
		}
	})
	r.fresh(t)
	chatWire.say(t, r, "same:1b", "go", false)
}

// R-20 (BerriAI/litellm#32835, NuGuardAI/nuguard#455): no retry after content,
// it would say things twice. W-28 (BerriAI/litellm#38153): no second
// message_start. And the stream ends with one error frame in the client's own
// dialect and with no marker that could pass for an end.
func TestAStreamThatBreaksEndsInOneErrorAndNoFalseEnd(t *testing.T) {
	r := twins.of(t)
	for _, f := range []runtimetest.Break{runtimetest.BreakCut, runtimetest.BreakCutMid, runtimetest.BreakRunner, runtimetest.BreakEnd, runtimetest.BreakError, runtimetest.BreakGarbage} {
		for _, w := range wires {
			t.Run(string(f)+" "+w.name, func(t *testing.T) {
				r.fresh(t)
				r.inject(runtimetest.Fault{Break: f, After: 3})
				s, a := w.say(t, r, "same:1b", "go", true)
				if s.ended || s.failed == "" || s.text != "same:1b" && !strings.HasPrefix("same:1b answers: one two", s.text) || a.Err != nil {
					t.Errorf("%+v (%v): %s", s, a.Err, a.Body)
				}
				if s.finish != "" {
					t.Errorf("finish %q after a failure", s.finish)
				}
				if n := strings.Count(string(a.Body), s.failed[:20]); n != 1 && w.name != "responses" {
					t.Errorf("the error is told %d times: %s", n, a.Body)
				}
				if n := strings.Count(string(a.Body), "event: message_start"); w.name == "messages" && n != 1 {
					t.Errorf("%d message_start", n)
				}
				if n := len(served(r.fakes["left"])) + len(served(r.fakes["right"])); n != 1 {
					t.Errorf("%d attempts after content", n)
				}
				if rec := r.decision(t, a.Header); rec.Outcome == fleet.OutcomeOK || rec.Problem == "" || rec.Retries != 0 {
					t.Errorf("record: %s, %q, %d retries", rec.Outcome, rec.Problem, rec.Retries)
				}
				r.fresh(t) // waits until the slot is free
				if next, _ := w.say(t, r, "same:1b", "go", true); !next.ended {
					t.Error("the next request was not served")
				}
			})
		}
	}
}

// P-24: one progress-aware deadline instead of a constant. Silence before
// content and silence in a stream both end, each with its reason; a stream that
// goes on is not cut however long it takes.
func TestSilenceEndsInATimeoutAndSlownessDoesNot(t *testing.T) {
	r := twins.of(t)
	var all sync.WaitGroup
	check := func(w wire, model string, stream bool, more string, see func(s said, a *answer)) {
		all.Go(func() {
			a := r.post(t, w.path, w.body(model, "go", stream, more))
			var s said
			if a.Status == http.StatusOK {
				s = w.read(t, a, stream)
			}
			see(s, a)
		})
	}
	r.inject(runtimetest.Fault{Model: "same:1b", Break: runtimetest.BreakHang, After: 3},
		runtimetest.Fault{Model: "slow:1b", TokenDelay: 220 * time.Millisecond})
	check(chatWire, "same:1b", true, "", func(s said, a *answer) {
		if !strings.Contains(s.failed, "silent for 1s") || s.ended {
			t.Errorf("mid-stream: %+v: %s", s, a.Body)
		}
	})
	check(messagesWire, "slow:1b", true, "", func(s said, _ *answer) { // about 3 s, longer than every deadline
		if !s.ended || !strings.HasSuffix(s.text, "nine ten.") {
			t.Errorf("slow: %+v", s)
		}
	})
	all.Wait()
	r.fresh(t)
	r.inject(runtimetest.Fault{Break: runtimetest.BreakHang})
	check(chatWire, "same:1b", false, `,"max_tokens":5`, func(s said, a *answer) {
		if msg := problemText(t, chatWire, a); a.Status != 504 || !strings.Contains(msg, "no content came within 2s") {
			t.Errorf("before content: %d %q", a.Status, msg)
		}
	})
	check(ollamaChatWire, "slow:1b", true, "", func(s said, a *answer) { // opened after 1 s: in band
		if a.Status != 200 || !strings.Contains(s.failed, "did not answer in time") || s.ended {
			t.Errorf("open, before content: %d %+v: %s", a.Status, s, a.Body)
		}
	})
	all.Wait()
	r.idle(t)
}

// R-21 (BerriAI/litellm#19077, #27967): an exchange that holds the tool calls
// of one model is not moved to another model of that name.
func TestABoundExchangeIsNotMovedAndTheRecordSaysWhy(t *testing.T) {
	of := func(digest string) runtimetest.FakeConfig {
		return runtimetest.FakeConfig{Models: []runtimetest.FakeModel{{Name: "same:1b", Digest: strings.Repeat(digest, 64), Capabilities: []string{"completion", "tools"}}}}
	}
	r := newRig(t, spec{config: quick, fakes: map[string]runtimetest.FakeConfig{"left": of("a"), "right": of("b")}})
	s, a := chatWire.say(t, r, "same:1b", "go", false, chatWire.tools)
	if len(s.calls) != 1 {
		t.Fatalf("no call: %s", a.Body)
	}
	first := strings.Split(a.Header.Get("X-Fleet-Deployment"), "/")[1]
	r.fakes[first].Inject(runtimetest.Fault{Break: runtimetest.BreakCut})
	r.fakes["left"].ForgetRequests()
	r.fakes["right"].ForgetRequests()
	b := r.post(t, "/v1/chat/completions", `{"model":"same:1b","messages":[{"role":"user","content":"go"},{"role":"assistant","content":null,"tool_calls":[{"id":"`+s.calls[0].id+
		`","type":"function","function":{"name":"get_weather","arguments":"{}"}}]},{"role":"tool","tool_call_id":"`+s.calls[0].id+`","content":"sun"}]`+chatWire.tools+`}`)
	if b.Status != 502 {
		t.Errorf("status %d: %s", b.Status, b.Body)
	}
	for name, f := range r.fakes {
		if n := len(served(f)); name != first && n != 0 || name == first && n == 0 {
			t.Errorf("%s made the call, %s was asked %d times", first, name, n)
		}
	}
	rec := r.decision(t, b.Header)
	if rec.Requirements.Bound != "model" || !strings.Contains(rec.FailoverNote, "tool calls of one model") {
		t.Errorf("bound %q, note %q", rec.Requirements.Bound, rec.FailoverNote)
	}
}

// Speeds are learnt from answers, and a machine that misses each deadline gives
// none: that it missed one says that it is slower than it was taken to be.
func TestAMachineSlowerThanItsDeadlinesLearnsSo(t *testing.T) {
	const slow = `routing: {uncertain_hold: 0, settle: 0, timeouts: {first_content: 1}}`
	r := newRig(t, spec{config: slow, fakes: map[string]runtimetest.FakeConfig{"ollama": {Parallel: 1, KeepAlive: -1, DecodeRate: 9, Models: []runtimetest.FakeModel{{Name: "slow"}}}}})
	for _, ask := range []struct {
		status int
		why    string
	}{{504, "no speed is known, and it is slower than a guess"}, {200, "the deadline missed before makes the next one longer"}} {
		if a := r.post(t, "/v1/chat/completions", `{"model":"slow","max_tokens":12,"messages":[{"role":"user","content":"Count to twenty."}]}`); a.Status != ask.status {
			t.Errorf("%d, want %d: %s: %s", a.Status, ask.status, ask.why, a.Body)
		}
	}
}
