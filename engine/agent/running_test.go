package agent

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"bellwether/engine/dialect"
	"bellwether/engine/fleet"
	"bellwether/engine/runtime"
	"bellwether/engine/runtime/runtimetest"
)

// open starts a request that must get as far as an answer.
func (r *rig) open(g fleet.Grant) *Running {
	r.t.Helper()
	run, err := r.Do(r.t.Context(), g, question(r.t, g.Deployment.Model))
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(run.Close)
	return run
}

// drainTo reads to the end and returns what ended it.
func drainTo(run *Running) error {
	for {
		if _, err := run.Next(); err != nil {
			return err
		}
	}
}

func TestNoContentInTimeFailsAndHoldsTheDeployment(t *testing.T) {
	f := ollama(t, "small")
	set := onOllama(f)
	set.UncertainHold = 300 * time.Millisecond
	r := start(t, set)
	id := ident("ollama", "small:latest")
	r.must(r.run(t.Context(), r.grant(id)))
	f.Inject(runtimetest.Fault{Path: "/api/chat", Times: 1, Break: runtimetest.BreakHang})
	g := r.grant(id, func(g *fleet.Grant) { g.FirstContent = 50 * time.Millisecond })
	_, err := r.run(t.Context(), g)
	if fail := wantFailure(t, err, fleet.FailTimeout); !fail.MayRun {
		t.Errorf("failure = %+v, want it to say that the call may still run", fail)
	}
	if rel := r.awaitRelease(g); rel.Uncertain != set.UncertainHold {
		t.Errorf("released = %+v, want an uncertain hold of %v", rel, set.UncertainHold)
	}
	r.await("the hold in the heartbeat", func(h fleet.Heartbeat) bool { return h.Uncertain[id] > 0 })
	r.await("its end", func(h fleet.Heartbeat) bool { return len(h.Uncertain) == 0 })
	if n := r.released(g); n != 1 {
		t.Errorf("released %d times", n)
	}
}

func TestUncertainHoldKeepsItsSlot(t *testing.T) {
	f := ollama(t, "small")
	set := onOllama(f)
	set.Runtimes[0].Parallel = 1
	r := start(t, set)
	id := ident("ollama", "small:latest")
	f.Inject(runtimetest.Fault{Path: "/api/chat", Times: 1, Break: runtimetest.BreakHang})
	_, err := r.run(t.Context(), r.grant(id, func(g *fleet.Grant) { g.FirstContent = 50 * time.Millisecond }))
	wantFailure(t, err, fleet.FailTimeout)
	r.await("the hold", func(h fleet.Heartbeat) bool { return h.Uncertain[id] > 0 })
	_, err = r.run(t.Context(), r.grant(id))
	wantRefusal(t, err, fleet.CodeUncertainHold)
	wantRefusal(t, r.Unload(t.Context(), "ollama", "small"), fleet.CodeUncertainHold)
}

func TestSilenceMidStreamFails(t *testing.T) {
	f := ollama(t, "small")
	r := start(t, onOllama(f))
	f.Inject(runtimetest.Fault{Path: "/api/chat", Break: runtimetest.BreakHang, After: 3})
	g := r.grant(ident("ollama", "small:latest"), func(g *fleet.Grant) { g.Idle = 60 * time.Millisecond })
	n, err := r.run(t.Context(), g)
	wantFailure(t, err, fleet.FailTimeout)
	if n == 0 || r.awaitRelease(g).Uncertain == 0 {
		t.Errorf("%d chunks before the silence; want some, and an uncertain hold", n)
	}
}

func TestTotalTimeEndsARequestThatNobodyReads(t *testing.T) {
	f := ollama(t, "small")
	r := start(t, onOllama(f))
	f.Inject(runtimetest.Fault{Path: "/api/chat", Break: runtimetest.BreakHang, After: 1})
	g := r.grant(ident("ollama", "small:latest"), func(g *fleet.Grant) { g.Total = 150 * time.Millisecond })
	run := r.open(g)
	if rel := r.awaitRelease(g); rel.Uncertain == 0 { // the reader never came back
		t.Errorf("released = %+v", rel)
	}
	_, err := run.Next()
	wantFailure(t, err, fleet.FailTimeout)
	if err := f.Await(t.Context(), func() bool { return f.Running("small") == 0 }); err != nil {
		t.Error(err)
	}
}

func TestClientGoneStopsTheRuntimeAtOnce(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault runtimetest.Fault
	}{
		{"before the answer", runtimetest.Fault{Path: "/api/chat", Break: runtimetest.BreakHang}},
		{"mid-stream", runtimetest.Fault{Path: "/api/chat", Break: runtimetest.BreakHang, After: 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := ollama(t, "small")
			r := start(t, onOllama(f))
			id := ident("ollama", "small:latest")
			r.must(r.run(t.Context(), r.grant(id)))
			f.Inject(c.fault)
			g := r.grant(id)
			ctx, leave := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() {
				_, err := r.run(ctx, g)
				ended <- err
			}()
			if err := f.Await(t.Context(), func() bool { return f.Running("small") == 1 }); err != nil {
				t.Fatal(err)
			}
			left := time.Now()
			leave()
			wantFailure(t, <-ended, fleet.FailCancelled)
			if err := f.Await(t.Context(), func() bool { return f.Running("small") == 0 }); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(left); took > 5*time.Second {
				t.Errorf("the runtime was told after %v", took)
			}
			if rel := r.awaitRelease(g); rel.Uncertain != 0 {
				t.Errorf("released = %+v: this runtime confirms cancels", rel)
			}
		})
	}
}

func TestReleasedExactlyOnceWhoeverEndsFirst(t *testing.T) {
	f := ollama(t, "small")
	r := start(t, onOllama(f))
	g := r.grant(ident("ollama", "small:latest"))
	ctx, leave := context.WithCancel(t.Context())
	run, err := r.Do(ctx, g, question(t, "small"))
	if err != nil {
		t.Fatal(err)
	}
	go leave()
	go run.Close()
	_ = drainTo(run)
	run.Close()
	r.awaitRelease(g)
	if err := r.Refresh(t.Context()); err != nil { // any second one would be in by now
		t.Fatal(err)
	}
	if n := r.released(g); n != 1 {
		t.Errorf("released %d times", n)
	}
	if _, err := run.Next(); err == nil {
		t.Error("a closed answer still gives chunks")
	}
}

func TestRuntimeKilledBeforeContentFailsAndComesBack(t *testing.T) {
	f := ollama(t, "small")
	r := start(t, onOllama(f))
	id := ident("ollama", "small:latest")
	r.must(r.run(t.Context(), r.grant(id)))
	f.Inject(runtimetest.Fault{Path: "/api/chat", Break: runtimetest.BreakHang})
	g := r.grant(id)
	ended := make(chan error, 1)
	go func() {
		_, err := r.run(t.Context(), g)
		ended <- err
	}()
	if err := f.Await(t.Context(), func() bool { return f.Running("small") == 1 }); err != nil {
		t.Fatal(err)
	}
	f.Kill()
	wantFailure(t, <-ended, fleet.FailBeforeOpen)
	if rel := r.awaitRelease(g); rel.Uncertain != 0 {
		t.Errorf("released = %+v: a dead runtime runs nothing", rel)
	}
	r.await("the runtime to be down, with its reason", func(h fleet.Heartbeat) bool { return !h.Runtimes[0].Up && h.Runtimes[0].Reason != "" })
	_, err := r.run(t.Context(), r.grant(id))
	wantRefusal(t, err, fleet.CodeNoRuntime)
	f.Heal()
	if err := f.Start(); err != nil {
		t.Fatal(err)
	}
	if err := r.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.await("the runtime to be back, empty", func(h fleet.Heartbeat) bool {
		got, ok := residencyOf(h, id)
		return h.Runtimes[0].Up && ok && got == fleet.OnDisk && heldBytes(h) == 0
	})
	r.must(r.run(t.Context(), r.grant(id)))
}

func TestRuntimeKilledMidStreamFailsOnce(t *testing.T) {
	f := ollama(t, "small")
	r := start(t, onOllama(f))
	f.Inject(runtimetest.Fault{Path: "/api/chat", Break: runtimetest.BreakHang, After: 2})
	g := r.grant(ident("ollama", "small:latest"))
	run := r.open(g)
	if _, err := run.Next(); err != nil {
		t.Fatal(err)
	}
	f.Kill()
	wantFailure(t, drainTo(run), fleet.FailMidStream)
	r.awaitRelease(g)
	if n := r.released(g); n != 1 {
		t.Errorf("released %d times", n)
	}
}

func TestRefusedConnectionAssumesNothing(t *testing.T) {
	f := ollama(t, "small")
	r := start(t, onOllama(f))
	f.Kill()
	g := r.grant(ident("ollama", "small:latest"))
	_, err := r.run(t.Context(), g)
	var failure *fleet.Failure
	if errors.As(err, &failure) { // else the poll was faster, and it is a refusal
		if failure.Class != fleet.FailConnect {
			t.Errorf("failure = %+v", failure)
		}
		r.awaitRelease(g)
	}
	r.await("down with nothing held", func(h fleet.Heartbeat) bool { return !h.Runtimes[0].Up && heldBytes(h) == 0 })
}

func TestDrainingRuntimeRunsAbandonedCallsToTheirEnd(t *testing.T) {
	for _, after := range []int{0, 2} {
		f := ollama(t, "small")
		set := onOllama(f)
		set.Runtimes[0].Drain = true
		set.Runtimes[0].Parallel = 1
		r := start(t, set)
		id := ident("ollama", "small:latest")
		f.Inject(runtimetest.Fault{Path: "/api/chat", Times: 1, Break: runtimetest.BreakHold, After: after})
		ctx, leave := context.WithCancel(t.Context())
		g := r.grant(id)
		ended := make(chan error, 1)
		go func() {
			_, err := r.run(ctx, g)
			ended <- err
		}()
		if err := f.Await(t.Context(), func() bool { return f.Running("small") == 1 }); err != nil {
			t.Fatal(err)
		}
		leave()
		if after == 0 {
			wantFailure(t, <-ended, fleet.FailCancelled) // the client is not kept waiting
		}
		_, err := r.run(t.Context(), r.grant(id))
		wantRefusal(t, err, fleet.CodeAdmission) // the slot is still held
		f.Heal()
		if rel := r.awaitRelease(g); rel.Uncertain != 0 {
			t.Errorf("after %d tokens: released = %+v, want a certain end", after, rel)
		}
		if after > 0 {
			<-ended
		}
		for _, q := range f.Requests() {
			if q.Path == "/api/chat" && q.Disconnected {
				t.Errorf("after %d tokens: the runtime saw its client leave", after)
			}
		}
		r.stop()
	}
}

func TestAbortedCallIsConfirmedIdleWhereTheRuntimeCanBeAsked(t *testing.T) {
	f := fake(t, runtimetest.FakeConfig{Kind: runtimetest.LlamaServer, Parallel: 2, Models: []runtimetest.FakeModel{{Name: "small"}}})
	r := start(t, Settings{Runtimes: []runtime.Target{target(f, "llama", runtime.KindLlamaServer)}})
	h := r.Heartbeat()
	if len(h.Deployments) != 1 {
		t.Fatalf("deployments = %+v", h.Deployments)
	}
	id := h.Deployments[0].ID
	r.awaitResidency(id, fleet.Loaded)
	f.Inject(runtimetest.Fault{Break: runtimetest.BreakHold, After: 2})
	g := r.grant(id, func(g *fleet.Grant) { g.Load = false })
	run := r.open(g)
	if _, err := run.Next(); err != nil {
		t.Fatal(err)
	}
	run.Close()
	if rel := r.awaitRelease(g); rel.Uncertain != 0 {
		t.Errorf("released = %+v, want the end confirmed by the runtime", rel)
	}
	f.Heal()
	r.must(r.run(t.Context(), r.grant(id, func(g *fleet.Grant) { g.Load = false })))
}

func TestOwnUnloadRequestLoadsNothing(t *testing.T) {
	f := ollama(t, "small")
	r := start(t, onOllama(f))
	q, p := dialect.Parse(dialect.OllamaGenerate, []byte(`{"model":"small","keep_alive":0}`))
	if p != nil {
		t.Fatal(p)
	}
	g := r.grant(ident("ollama", "small:latest"))
	run, err := r.Do(t.Context(), g, q)
	if err != nil {
		t.Fatal(err)
	}
	if err := drainTo(run); !errors.Is(err, io.EOF) {
		t.Errorf("ended with %v", err)
	}
	r.awaitRelease(g)
	if n := f.Loads("small"); n != 0 {
		t.Errorf("%d loads for an order to unload", n)
	}
}
