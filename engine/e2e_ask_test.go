package engine

import (
	"context"
	"errors"
	"testing"
	"time"

	"bellwether/engine/dialect"
	"bellwether/engine/fleet"
	"bellwether/engine/gateway"
	"bellwether/engine/runtime/runtimetest"
)

// question is a request as one of our own parts would make it.
func question(model, text string) *dialect.Request {
	return &dialect.Request{Model: model, Stream: true, Messages: []dialect.Message{
		{Role: dialect.RoleUser, Parts: []dialect.Part{{Kind: dialect.PartText, Text: dialect.Quote(text)}}},
	}}
}

func problemOf(t *testing.T, err error) *dialect.Problem {
	t.Helper()
	var p *dialect.Problem
	if !errors.As(err, &p) {
		t.Fatalf("got %v, want a problem", err)
	}
	return p
}

// A request of our own goes the way of any other: it gets a place, is validated
// and recorded once, and leaves nothing behind.
func TestAskedRequestIsAnsweredAndRecordedLikeAnApps(t *testing.T) {
	r := twins.of(t)
	a, err := r.gateway.Ask(t.Context(), question("same:1b", "go"), gateway.AskOptions{App: "bellwether/test", Task: "math", Batch: true})
	if err != nil {
		t.Fatal(err)
	}
	if a.Reply.Text.Empty() || a.Reply.Finish != dialect.FinishStop || a.Usage.Output <= 0 || a.TTFT <= 0 || a.Took < a.TTFT || a.Deployment.Model != "same:1b" {
		t.Errorf("got %+v with %+v", a, a.Reply)
	}
	rec := r.decisionOf(t, a.ID)
	if rec.Outcome != fleet.OutcomeOK || rec.App != "bellwether/test" || rec.Requirements.PrimaryTask != "math" || !rec.Requirements.Batch {
		t.Errorf("recorded %s of %s for %s, batch %v", rec.Outcome, rec.App, rec.Requirements.PrimaryTask, rec.Requirements.Batch)
	}
	r.idle(t)
}

func TestAskedDeploymentIsTheOnlyOneThatAnswers(t *testing.T) {
	r := twins.of(t)
	for _, rt := range []string{"left", "right"} {
		id := fleet.DeploymentID{Node: r.nodeID, Runtime: rt, Model: "same:1b"}
		if a, err := r.gateway.Ask(t.Context(), question("", "go"), gateway.AskOptions{Deployment: id}); err != nil || a.Deployment != id {
			t.Errorf("%s: got %+v, %v", rt, a, err)
		}
	}
	r.fakes["left"].Inject(runtimetest.Fault{Break: runtimetest.BreakCut})
	a, err := r.gateway.Ask(t.Context(), question("", "go"), gateway.AskOptions{Deployment: fleet.DeploymentID{Node: r.nodeID, Runtime: "left", Model: "same:1b"}})
	if err == nil || a.Failure == nil || a.Reply != nil || len(served(r.fakes["right"])) != 1 {
		t.Errorf("a failing one was answered elsewhere: %+v, %v", a, err)
	}
	r.idle(t)
}

func TestAskedRequestIsTriedAgainElsewhereUnlessToldNotTo(t *testing.T) {
	r := twins.of(t)
	failed := 0
	for range 4 { // equal nodes take turns
		r.fakes["left"].Inject(runtimetest.Fault{Break: runtimetest.BreakCut})
		a, err := r.gateway.Ask(t.Context(), question("same:1b", "go"), gateway.AskOptions{})
		if err != nil || a.Failure != nil || a.Deployment.Runtime != "right" {
			t.Fatalf("got %+v, %v", a, err)
		}
		if _, err = r.gateway.Ask(t.Context(), question("same:1b", "go"), gateway.AskOptions{NoRetry: true}); err != nil {
			failed++
		}
	}
	if failed == 0 {
		t.Error("one attempt only, and yet the failing runtime was never the end of it")
	}
	r.idle(t)
}

func TestAskThatWouldHoldIsRefusedAtOnceWhereItMayNotWait(t *testing.T) {
	r := newRig(t, spec{fakes: map[string]runtimetest.FakeConfig{"left": twin}})
	r.agent.Pause("tests", time.Time{})
	r.await(t, "the pause to be known", func() bool { return r.registry.Snapshot().Nodes[0].State.Paused })
	began := time.Now()
	a, err := r.gateway.Ask(t.Context(), question("same:1b", "go"), gateway.AskOptions{NoHold: true})
	if p := problemOf(t, err); p.Code != string(fleet.CodePaused) || time.Since(began) > 2*time.Second || a.Failure != nil {
		t.Errorf("after %v: %+v", time.Since(began), p)
	}
	if rec := r.decisionOf(t, a.ID); rec.Outcome != fleet.OutcomeHeldOut {
		t.Errorf("recorded as %s", rec.Outcome)
	}
	a, err = r.gateway.Ask(t.Context(), question("same:1b", "go"), gateway.AskOptions{Timeout: 50 * time.Millisecond})
	if p := problemOf(t, err); p.Code != "timeout" || r.decisionOf(t, a.ID).Outcome != fleet.OutcomeHeldOut {
		t.Errorf("waiting ended with %+v", p)
	}
	if n := len(served(r.fakes["left"])); n != 0 {
		t.Errorf("a paused machine was asked %d times", n)
	}
	r.idle(t)
}

// The deadline is the agent's: the call may still run, so its deployment is held.
func TestAskThatTimesOutLeavesAnUncertainHold(t *testing.T) {
	made := spec{fakes: map[string]runtimetest.FakeConfig{"left": twin}, more: ", parallel: 1"}
	r := newRig(t, made)
	r.load(t, made)
	r.inject(runtimetest.Fault{Break: runtimetest.BreakHold, Times: 1})
	a, err := r.gateway.Ask(t.Context(), question("slow:1b", "go"), gateway.AskOptions{Timeout: time.Second})
	if p := problemOf(t, err); p.Code != "timeout" || a.Failure == nil || a.Failure.Class != fleet.FailTimeout || !a.Failure.MayRun {
		t.Fatalf("got %+v, %+v", p, a.Failure)
	}
	r.await(t, "an uncertain hold", func() bool {
		_, held := r.registry.Snapshot().Nodes[0].Uncertain[a.Deployment]
		return held
	})
	_, err = r.gateway.Ask(t.Context(), question("slow:1b", "go"), gateway.AskOptions{NoHold: true})
	if p := problemOf(t, err); p.Code != string(fleet.CodeUncertainHold) {
		t.Errorf("asked again: %+v", p)
	}
}

func TestAskIsGivenUpWithItsContext(t *testing.T) {
	r := twins.of(t)
	r.inject(runtimetest.Fault{Break: runtimetest.BreakHold})
	ctx, cancel := context.WithCancel(t.Context())
	end := make(chan error, 1)
	go func() {
		_, err := r.gateway.Ask(ctx, question("same:1b", "go"), gateway.AskOptions{})
		end <- err
	}()
	r.holding(t)
	cancel()
	if p := problemOf(t, <-end); p.Code != "cancelled" {
		t.Errorf("got %+v", p)
	}
	r.fresh(t)
}

// A probe may ask for what is not known or was found missing before; what the
// operator denies stays denied.
func TestProbingAsksForWhatOthersMayNot(t *testing.T) {
	r := newRig(t, spec{fakes: map[string]runtimetest.FakeConfig{"left": twin},
		config: "deployments: [{match: 'slow:1b', capabilities: {tools: false}}]"})
	for _, c := range []struct {
		model         string
		plain, probed bool
	}{
		{"same:1b", false, true}, // vision: not said by the runtime
		{"slow:1b", false, false},
	} {
		q := question(c.model, "go")
		if c.model == "slow:1b" {
			q.Tools = []dialect.Tool{{Name: "f", Parameters: dialect.Raw(`{"type":"object","properties":{}}`)}}
		} else {
			q.Messages[0].Parts = append(q.Messages[0].Parts, dialect.Part{Kind: dialect.PartImage, MIME: "image/png", Data: []byte("iVBORw0KGgo=")})
		}
		for probing, want := range map[bool]bool{false: c.plain, true: c.probed} {
			a, _ := r.gateway.Ask(t.Context(), q, gateway.AskOptions{Probing: probing, NoHold: true})
			if got := a.Deployment.Model != ""; got != want {
				t.Errorf("%s, probing %v: placed %v, want %v", c.model, probing, got, want)
			}
		}
	}
}
