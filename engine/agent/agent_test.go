package agent

import (
	"context"
	"testing"
	"time"

	"bellwether/engine/fleet"
	"bellwether/engine/runtime"
	"bellwether/engine/runtime/runtimetest"
	"bellwether/platform/sense"
)

func ollama(t *testing.T, models ...string) *runtimetest.Fake {
	var c runtimetest.FakeConfig
	for _, m := range models {
		c.Models = append(c.Models, runtimetest.FakeModel{Name: m})
	}
	c.Parallel = 4
	return fake(t, c)
}

func onOllama(f *runtimetest.Fake) Settings {
	return Settings{Runtimes: []runtime.Target{target(f, "ollama", runtime.KindOllama)}}
}

func TestFirstHeartbeatShowsWhatIsHere(t *testing.T) {
	f := ollama(t, "small", "other")
	r := start(t, onOllama(f))
	h := r.Heartbeat()
	if len(h.Runtimes) != 1 || !h.Runtimes[0].Up || h.Runtimes[0].Kind != runtime.KindOllama || h.Runtimes[0].Version == "" {
		t.Errorf("runtimes = %+v", h.Runtimes)
	}
	if len(h.Deployments) != 2 || h.Deployments[0].ID != ident("ollama", "other:latest") || h.Deployments[0].Residency != fleet.OnDisk {
		t.Errorf("deployments = %+v", h.Deployments)
	}
	if len(h.Pools) != 1 || h.Pools[0].Limit != 56*gib || !h.Pools[0].Free.Known || h.Boot != r.Boot() {
		t.Errorf("pools = %+v of boot %s", h.Pools, h.Boot)
	}
}

func TestRequestLoadsRunsAndReleasesOnce(t *testing.T) {
	f := ollama(t, "small")
	r := start(t, onOllama(f))
	id := ident("ollama", "small:latest")
	g := r.grant(id)
	n, err := r.run(t.Context(), g)
	if err != nil || n == 0 {
		t.Fatalf("%d chunks, %v", n, err)
	}
	rel := r.awaitRelease(g)
	if rel.Uncertain != 0 || rel.Load <= 0 || rel.Sequence != g.Sequence || rel.Deployment != id {
		t.Errorf("released = %+v", rel)
	}
	r.await("the measured size", func(h fleet.Heartbeat) bool {
		return len(h.Deployments) == 1 && h.Deployments[0].Residency == fleet.Loaded && h.Deployments[0].ResidentBytes > 0 && heldBytes(h) > 0
	})
	g2 := r.grant(id)
	r.must(r.run(t.Context(), g2))
	if rel := r.awaitRelease(g2); rel.Load != 0 {
		t.Errorf("warm request: load = %v", rel.Load)
	}
	if f.Loads("small") != 1 || r.released(g) != 1 {
		t.Errorf("%d loads, %d releases", f.Loads("small"), r.released(g))
	}
}

func TestGrantIsGoodOnceForThisBootAndEpoch(t *testing.T) {
	f := ollama(t, "small")
	r := start(t, onOllama(f))
	id := ident("ollama", "small:latest")
	g := r.grant(id, func(g *fleet.Grant) { g.Epoch = 7 })
	r.must(r.run(t.Context(), g))
	_, err := r.run(t.Context(), g)
	wantRefusal(t, err, fleet.CodeAdmission)
	_, err = r.run(t.Context(), r.grant(id, func(g *fleet.Grant) { g.Epoch = 6 }))
	wantRefusal(t, err, fleet.CodeAdmission)
	_, err = r.run(t.Context(), r.grant(id, func(g *fleet.Grant) { g.Epoch, g.Boot = 7, "earlier" }))
	refusal := wantRefusal(t, err, fleet.CodeAdmission)
	if refusal.Sequence == 0 || len(refusal.Pools) == 0 {
		t.Errorf("refusal = %+v, want the ledger and its sequence", refusal)
	}
	r.awaitRelease(g)
	r.await("a newer heartbeat, so that the lane opens", func(h fleet.Heartbeat) bool { return h.Sequence > refusal.Sequence })
	if n := r.released(g); n != 1 {
		t.Errorf("released %d times", n)
	}
}

func TestRefusalsNameTheirReason(t *testing.T) {
	f := ollama(t, "small")
	set := onOllama(f)
	set.OwnRequests = "serve"
	r := start(t, set)
	id := ident("ollama", "small:latest")
	for _, c := range []struct {
		name   string
		change func(*sense.Readings)
		ready  func(fleet.Heartbeat) bool
		grant  func(*fleet.Grant)
		code   fleet.Code
	}{
		{"unknown model", nil, nil, func(g *fleet.Grant) { g.Deployment.Model = "nope" }, fleet.CodeModelAbsent},
		{"unknown runtime", nil, nil, func(g *fleet.Grant) { g.Deployment.Runtime = "nope" }, fleet.CodeNoRuntime},
		{"critical pressure", func(s *sense.Readings) { s.Pressure.V = sense.PressureCritical },
			func(h fleet.Heartbeat) bool { return h.State.Pressure == "critical" }, nil, fleet.CodePressure},
		{"critical pressure spares not even the owner", func(s *sense.Readings) { s.Pressure.V = sense.PressureCritical },
			func(h fleet.Heartbeat) bool { return h.State.Pressure == "critical" }, func(g *fleet.Grant) { g.Origin = node }, fleet.CodePressure},
		{"battery", func(s *sense.Readings) { s.OnBattery.V = true },
			func(h fleet.Heartbeat) bool { return h.State.OnBattery == fleet.Yes }, nil, fleet.CodeBattery},
	} {
		r.sense(func(s *sense.Readings) {
			*s = plenty()
			if c.change != nil {
				c.change(s)
			}
		})
		if c.ready != nil {
			r.await(c.name, c.ready)
		}
		g := r.grant(id)
		if c.grant != nil {
			c.grant(&g)
		}
		_, err := r.run(t.Context(), g)
		wantRefusal(t, err, c.code)
		r.sense(func(s *sense.Readings) { *s = plenty() })
		r.await("calm", func(h fleet.Heartbeat) bool { return h.State.Pressure == "" && h.State.OnBattery == fleet.No })
	}
	r.sense(func(s *sense.Readings) { s.OnBattery.V = true })
	r.await("battery", func(h fleet.Heartbeat) bool { return h.State.OnBattery == fleet.Yes })
	r.must(r.run(t.Context(), r.grant(id, func(g *fleet.Grant) { g.Origin = node })))
}

func TestSlotsAreNeverExceeded(t *testing.T) {
	f := fake(t, runtimetest.FakeConfig{Parallel: 8, Models: []runtimetest.FakeModel{{Name: "small"}}})
	set := onOllama(f)
	set.Runtimes[0].Parallel = 2
	r := start(t, set)
	id := ident("ollama", "small:latest")
	f.Inject(runtimetest.Fault{Path: "/api/chat", Break: runtimetest.BreakHold})
	held := make([]fleet.Grant, 2)
	ended := make(chan error, len(held))
	for i := range held {
		held[i] = r.grant(id)
		go func() {
			_, err := r.run(context.Background(), held[i])
			ended <- err
		}()
	}
	if err := f.Await(t.Context(), func() bool { return f.Running("small") == 2 }); err != nil {
		t.Fatal(err)
	}
	_, err := r.run(t.Context(), r.grant(id))
	refusal := wantRefusal(t, err, fleet.CodeAdmission)
	f.Heal()
	for range held {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	r.await("a report after the slot came free", func(h fleet.Heartbeat) bool { return h.Sequence > refusal.Sequence && h.Running[id] < 2 })
	r.must(r.run(t.Context(), r.grant(id)))
	if n := f.MaxRunning("small"); n > 2 {
		t.Errorf("%d ran at once", n)
	}
}

func TestPausedNodeRefusesAtOnceAndFinishesWhatRuns(t *testing.T) {
	f := ollama(t, "small")
	r := start(t, onOllama(f))
	id := ident("ollama", "small:latest")
	f.Inject(runtimetest.Fault{Path: "/api/chat", Break: runtimetest.BreakHold, After: 2})
	run, err := r.Do(t.Context(), r.grant(id), question(t, "small"))
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	if _, err := run.Next(); err != nil {
		t.Fatal(err)
	}
	r.Pause("build", time.Time{})
	_, err = r.run(t.Context(), r.grant(id))
	wantRefusal(t, err, fleet.CodePaused)
	_, err = r.run(t.Context(), r.grant(id, func(g *fleet.Grant) { g.Origin = node }))
	wantRefusal(t, err, fleet.CodePaused)
	r.await("pause in the heartbeat", func(h fleet.Heartbeat) bool { return h.State.Paused && h.State.PauseReason == "build" })
	f.Heal()
	for {
		if _, err := run.Next(); err != nil {
			if err.Error() != "EOF" {
				t.Errorf("a running request ended with %v, want it to finish", err)
			}
			break
		}
	}
	r.Resume()
	r.must(r.run(t.Context(), r.grant(id)))
}

func TestPauseEndsByItself(t *testing.T) {
	f := ollama(t, "small")
	r := start(t, onOllama(f))
	r.Pause("call", time.Now().Add(50*time.Millisecond))
	r.await("pause", func(h fleet.Heartbeat) bool { return h.State.Paused })
	r.await("its end", func(h fleet.Heartbeat) bool { return !h.State.Paused })
	r.must(r.run(t.Context(), r.grant(ident("ollama", "small:latest"))))
}

func TestPauseHandsOverOnlyWhatHasNoContent(t *testing.T) {
	f := ollama(t, "small")
	set := onOllama(f)
	set.OnPause = PauseHandover
	r := start(t, set)
	id := ident("ollama", "small:latest")
	r.must(r.run(t.Context(), r.grant(id))) // warm
	f.Inject(runtimetest.Fault{Path: "/api/chat", Times: 1, Break: runtimetest.BreakHold, After: 2},
		runtimetest.Fault{Path: "/api/chat", Skip: 1, Break: runtimetest.BreakHold})
	begun, err := r.Do(t.Context(), r.grant(id), question(t, "small"))
	if err != nil {
		t.Fatal(err)
	}
	defer begun.Close()
	if _, err := begun.Next(); err != nil {
		t.Fatal(err)
	}
	silent := r.grant(id)
	ended := make(chan error, 1)
	go func() {
		_, err := r.run(context.Background(), silent)
		ended <- err
	}()
	if err := f.Await(t.Context(), func() bool { return f.Running("small") == 2 }); err != nil {
		t.Fatal(err)
	}
	r.Pause("game", time.Time{})
	wantFailure(t, <-ended, fleet.FailRefused)
	if rel := r.awaitRelease(silent); rel.Uncertain != 0 {
		t.Errorf("an aborted call at a runtime that stops: %+v, want no uncertainty", rel)
	}
	f.Heal()
	for {
		if _, err := begun.Next(); err != nil {
			if err.Error() != "EOF" {
				t.Errorf("the one with content ended with %v", err)
			}
			break
		}
	}
}

func TestPauseCancelsAfterItsGrace(t *testing.T) {
	f := ollama(t, "small")
	set := onOllama(f)
	set.OnPause, set.CancelGrace = PauseCancel, 30*time.Millisecond
	r := start(t, set)
	f.Inject(runtimetest.Fault{Path: "/api/chat", Break: runtimetest.BreakHang, After: 2})
	g := r.grant(ident("ollama", "small:latest"))
	run, err := r.Do(t.Context(), g, question(t, "small"))
	if err != nil {
		t.Fatal(err)
	}
	r.Pause("game", time.Time{})
	for err == nil {
		_, err = run.Next()
	}
	wantFailure(t, err, fleet.FailCancelled)
	r.awaitRelease(g)
	if err := f.Await(t.Context(), func() bool { return f.Running("small") == 0 }); err != nil {
		t.Error(err)
	}
}
