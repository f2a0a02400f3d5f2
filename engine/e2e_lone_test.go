package engine

import (
	"fmt"
	"strings"
	"testing"

	"bellwether/engine/agent"
	"bellwether/engine/fleet"
	"bellwether/engine/runtime/runtimetest"
)

// lone is one engine in front of one runtime of each kind: nobody else can
// serve what one of them fails.
var lone = share(spec{
	more: ", parallel: 1",
	config: `
clients: {retry_after: 0.02}
routing: {circuit: 1000/1000 in 1s, settle: 0, auto_pull: "off"}
`,
	fakes: map[string]runtimetest.FakeConfig{
		"ollama": {Kind: runtimetest.Ollama, Parallel: 1, KeepAlive: -1, Models: []runtimetest.FakeModel{{Name: "chat:1b"}, {Name: "both"}}},
		"llama":  {Kind: runtimetest.LlamaServer, Parallel: 1, Models: []runtimetest.FakeModel{{Name: "both"}}},
	},
})

// The runtime dies under one request with others behind it: nothing was sent for
// any of those, so all wait for it to come back, the next in line too.
func TestRequestsBehindADeadRuntimeAllWaitForIt(t *testing.T) {
	r := lone.of(t)
	r.fresh(t)
	r.inject(runtimetest.Fault{Model: "chat:1b", Break: runtimetest.BreakHold, Times: 1})
	first := make(chan *answer, 1)
	go func() { first <- r.post(t, chatWire.path, chatWire.body("chat:1b", "go", false)) }()
	r.holding(t)
	behind := make(chan *answer, 3)
	for range cap(behind) {
		go func() { behind <- r.post(t, chatWire.path, chatWire.body("chat:1b", "go", false)) }()
	}
	r.await(t, "three to wait", func() bool { return r.lane("ollama", "chat:1b").Waiting == cap(behind) })
	r.fakes["ollama"].Kill()
	if a := <-first; a.Status != 502 {
		t.Errorf("the one that ran: %d %s", a.Status, a.Body)
	}
	r.await(t, "all to be held", func() bool { return len(r.queue.Status().Held) == cap(behind) })
	r.revive(t, "ollama")
	for range cap(behind) {
		a := <-behind
		if a.Status != 200 || a.Header.Get("X-Fleet-Retries") != "" {
			t.Errorf("behind it: %d, retries %q: %s", a.Status, a.Header.Get("X-Fleet-Retries"), a.Body)
		}
		if rec := r.decision(t, a.Header); rec.Retries != 0 || rec.Outcome != fleet.OutcomeOK {
			t.Errorf("record: %s, %d retries", rec.Outcome, rec.Retries)
		}
	}
}

// A failure is no retry.
func TestRetriesAreCountedAndNotFailures(t *testing.T) {
	r := lone.of(t)
	r.fresh(t)
	r.inject(runtimetest.Fault{Model: "chat:1b", Break: runtimetest.BreakCut})
	eachWay(t, wires, func(t *testing.T, w wire, stream bool) {
		a := r.post(t, w.path, w.body("chat:1b", "go", stream))
		rec := r.decision(t, a.Header)
		if a.Status != 502 || a.Header.Get("X-Fleet-Retries") != "" || rec.Retries != 0 || len(rec.Failover) != 1 {
			t.Errorf("%d, header %q; record: %d retries, %d failures", a.Status, a.Header.Get("X-Fleet-Retries"), rec.Retries, len(rec.Failover))
		}
		if msg := problemText(t, w, a); strings.Contains(msg, "attempts") {
			t.Errorf("one attempt is told as several: %s", msg)
		}
	})
	r.fresh(t)
}

// Asking again cures no wrong key; its owner does, and the doctor tells them.
func TestARuntimeThatRefusesOurKeySaysWhatHelps(t *testing.T) {
	r := lone.of(t)
	r.fresh(t)
	refuses := func() bool {
		for _, f := range r.agent.Doctor(t.Context()) {
			if f.ID == "runtime.ollama.key" {
				return f.Severity == agent.Broken && strings.Contains(f.Remedy, "api_key")
			}
		}
		return false
	}
	for _, status := range []int{401, 403} {
		r.inject(runtimetest.Fault{Model: "chat:1b", Status: status, Body: `{"error":"this key is not good"}`})
		eachWay(t, wires, func(t *testing.T, w wire, stream bool) {
			a := r.post(t, w.path, w.body("chat:1b", "go", stream))
			msg := problemText(t, w, a)
			if a.Status != 502 || a.Header.Get("X-Should-Retry") != "false" || a.Header.Get("Retry-After") != "" {
				t.Errorf("%d, x-should-retry %q, retry-after %q", a.Status, a.Header.Get("X-Should-Retry"), a.Header.Get("Retry-After"))
			}
			for _, says := range []string{fmt.Sprint("refuses Bellwether's calls (", status, "): this key is not good."), "set api_key of ollama under runtimes"} {
				if !strings.Contains(msg, says) {
					t.Errorf("%q is missing: %s", says, msg)
				}
			}
		})
		if !refuses() {
			t.Errorf("%d: the doctor does not say it", status)
		}
		r.fresh(t)
		chatWire.say(t, r, "chat:1b", "go", false)
		r.idle(t)
		if refuses() {
			t.Error("the doctor says it still")
		}
	}
}

// A runtime knows best when it can be asked again.
func TestARuntimesRetryAfterIsPassedOn(t *testing.T) {
	r := lone.of(t)
	r.fresh(t)
	for said, want := range map[string]string{"7": "7", "0": "1", "86400": "3600", "Fri, 01 Jan 2100 00:00:00 GMT": "3600", "soon": "1"} {
		r.inject(runtimetest.Fault{Model: "chat:1b", Status: 429, Body: `{"error":"slow down"}`, RetryAfter: said})
		eachWay(t, wires, func(t *testing.T, w wire, stream bool) {
			a := r.post(t, w.path, w.body("chat:1b", "go", stream))
			if a.Status != 429 || a.Header.Get("Retry-After") != want {
				t.Errorf("%q: %d, retry-after %q, want %s", said, a.Status, a.Header.Get("Retry-After"), want)
			}
		})
		r.fresh(t)
	}
}

// What a runtime has no way to do is no failure of a gateway.
func TestAModelThatCannotBeUnloadedSaysWhatFreesIt(t *testing.T) {
	r := lone.of(t)
	r.fresh(t)
	r.fakes["ollama"].Unload("both")
	if err := r.agent.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	const unload = `{"model":"both","keep_alive":0}`
	if a := r.post(t, "/api/generate", unload); a.Status != 400 || !strings.Contains(string(a.Body), "end that server") {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	id := func(runtime string) fleet.DeploymentID {
		for _, d := range r.registry.Snapshot().Nodes[0].Deployments {
			if d.ID.Runtime == runtime && fleet.SameModel(d.ID.Model, "both") {
				return d.ID
			}
		}
		t.Fatalf("%s does not have it", runtime)
		return fleet.DeploymentID{}
	}
	change := func(what, runtime string) *answer {
		return r.post(t, "/admin/models/"+what, fmt.Sprintf(`{"deployment":%q}`, id(runtime)), "X-Fleet-Admin", r.token)
	}
	if a := change("unload", "llama"); a.Status != 400 || !strings.Contains(string(a.Body), "end that server") || strings.Contains(string(a.Body), "doctor") {
		t.Errorf("by its owner: %d %s", a.Status, a.Body)
	}
	// Where another runtime has it too, that one gives it up.
	if a := change("load", "ollama"); a.Status != 200 {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	r.await(t, "it to be told as loaded", func() bool {
		d := r.registry.Snapshot().Nodes[0].Deployment(id("ollama"))
		return d != nil && d.Residency == fleet.Loaded
	})
	if a := r.post(t, "/api/generate", unload); a.Status != 200 || len(r.fakes["ollama"].Loaded()) > 0 && r.fakes["ollama"].Loaded()[0] == "both" {
		t.Errorf("%d %s, loaded %v", a.Status, a.Body, r.fakes["ollama"].Loaded())
	}
	// One that is at work stays for now.
	r.inject(runtimetest.Fault{Model: "chat:1b", Break: runtimetest.BreakHold, Times: 1})
	got := make(chan *answer, 1)
	go func() { got <- r.post(t, chatWire.path, chatWire.body("chat:1b", "go", false)) }()
	r.holding(t)
	if a := r.post(t, "/api/generate", `{"model":"chat:1b","keep_alive":0}`); a.Status != 409 || !strings.Contains(string(a.Body), "in use") {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	r.fakes["ollama"].Heal()
	<-got
}
