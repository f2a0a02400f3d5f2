package agent

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"bellwether/engine/fleet"
	"bellwether/engine/runtime"
	"bellwether/engine/runtime/runtimetest"
	"bellwether/platform/hardware"
)

// scripted is an adapter whose inventory the test decides.
type scripted struct {
	tape
	mu       sync.Mutex
	next     func() (*runtime.Inventory, error)
	asked    atomic.Int32
	together atomic.Int32
	most     atomic.Int32
}

func (s *scripted) Inventory(context.Context) (*runtime.Inventory, error) {
	s.asked.Add(1)
	now := s.together.Add(1)
	defer s.together.Add(-1)
	for {
		most := s.most.Load()
		if now <= most || s.most.CompareAndSwap(most, now) {
			break
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.next()
}

func (s *scripted) says(inv *runtime.Inventory, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next = func() (*runtime.Inventory, error) { return inv, err }
}

func inventory(ds ...fleet.Deployment) *runtime.Inventory {
	return &runtime.Inventory{Version: "1", Deployments: ds, ReportsResidency: true}
}

func loaded(model string, bytes int64) fleet.Deployment {
	return fleet.Deployment{ID: fleet.DeploymentID{Model: model}, Residency: fleet.Loaded, ResidentBytes: bytes}
}

func onScript(t *testing.T, s *scripted) *rig {
	return start(t, Settings{Runtimes: []runtime.Target{{Name: "tape", Kind: "tape", URL: "http://tape"}}}, func(c *Config) {
		c.Connect = func(context.Context, runtime.Target) (runtime.Adapter, error) { return s, nil }
	})
}

func TestFailedObservationChangesNoResidency(t *testing.T) {
	s := &scripted{}
	s.says(inventory(loaded("m", gib)), nil)
	r := onScript(t, s)
	id := ident("tape", "m")
	r.awaitResidency(id, fleet.Loaded)
	s.says(nil, errors.New("half an answer"))
	if err := r.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if h := r.Heartbeat(); !h.Runtimes[0].Up || heldBytes(h) != gib {
		t.Errorf("after one failed look: %+v, %d held", h.Runtimes[0], heldBytes(h))
	}
	if err := r.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	h := r.Heartbeat()
	if got, _ := residencyOf(h, id); h.Runtimes[0].Up || h.Runtimes[0].Reason != "half an answer" || got != fleet.Loaded || heldBytes(h) != gib {
		t.Errorf("after two: %+v, %s, %d held; want down, and still counted", h.Runtimes[0], got, heldBytes(h))
	}
	s.says(inventory(loaded("m", gib)), nil)
	if err := r.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if h := r.Heartbeat(); !h.Runtimes[0].Up || h.Runtimes[0].Reason != "" {
		t.Errorf("back: %+v", h.Runtimes[0])
	}
}

func TestRefusedConnectionIsDownAtOnce(t *testing.T) {
	s := &scripted{}
	s.says(inventory(loaded("m", gib)), nil)
	r := onScript(t, s)
	s.says(nil, &fleet.Failure{Class: fleet.FailConnect, Message: "connection refused"})
	if err := r.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if h := r.Heartbeat(); h.Runtimes[0].Up || h.Runtimes[0].Reason != "connection refused" {
		t.Errorf("runtime = %+v", h.Runtimes[0])
	}
}

func TestNeverTwoObservationsAtOnce(t *testing.T) {
	s := &scripted{}
	s.says(inventory(loaded("m", gib)), nil)
	r := onScript(t, s)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if err := r.Refresh(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := s.most.Load(); n != 1 {
		t.Errorf("%d observations at once", n)
	}
	if n := s.asked.Load(); n > 41 {
		t.Errorf("%d observations for 20 callers", n)
	}
}

func TestModelTheRuntimeEvictedIsNoticedAndDated(t *testing.T) {
	f := ollama(t, "small")
	r := start(t, onOllama(f))
	id := ident("ollama", "small:latest")
	r.must(r.run(t.Context(), r.grant(id)))
	r.awaitResidency(id, fleet.Loaded)
	f.Unload("small")
	if err := r.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	h := r.Heartbeat()
	if d := h.Deployments[0]; d.Residency != fleet.OnDisk || d.UnloadedAt.IsZero() || d.UnloadedAt.Before(d.LoadedAt) || heldBytes(h) != 0 {
		t.Errorf("deployment = %+v, %d held", d, heldBytes(h))
	}
	r.must(r.run(t.Context(), r.grant(id, func(g *fleet.Grant) { g.Load = false })))
	if n := f.Loads("small"); n != 2 {
		t.Errorf("%d loads", n)
	}
}

func TestDeploymentIsMeasuredAndRemembered(t *testing.T) {
	s := &scripted{}
	d := loaded("m", 3*gib)
	d.Digest = "d1"
	s.says(inventory(d), nil)
	r := onScript(t, s)
	r.awaitResidency(ident("tape", "m"), fleet.Loaded)
	gone := fleet.Deployment{ID: d.ID, Digest: "d1", WeightsBytes: gib}
	s.says(inventory(gone), nil)
	if err := r.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := r.Heartbeat().Deployments[0].ResidentBytes; got != 3*gib {
		t.Errorf("size on disk = %d, want as last measured", got)
	}
	gone.Digest = "d2"
	s.says(inventory(gone), nil)
	if err := r.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := r.Heartbeat().Deployments[0].ResidentBytes; got != 0 {
		t.Errorf("size of a re-pulled model = %d, want it to start over", got)
	}
}

func TestModelOutsideTheGPUIsDegraded(t *testing.T) {
	s := &scripted{}
	card := hardware.GPU{Name: "card", ID: "GPU-1", VRAM: hardware.Reading[int64]{V: 24 * gib, Known: true}}
	mixed := loaded("m", 10*gib)
	mixed.Kind, mixed.ResidentVRAM = runtime.KindOllama, 2*gib
	s.says(inventory(mixed), nil)
	r := start(t, Settings{Runtimes: []runtime.Target{{Name: "tape", Kind: "tape", URL: "http://tape"}}}, func(c *Config) {
		c.Connect = func(context.Context, runtime.Target) (runtime.Adapter, error) { return s, nil }
		c.Hardware = machine()
		c.Hardware.GPUs = []hardware.GPU{card}
	})
	h := r.Heartbeat()
	if h.Deployments[0].Degraded == "" {
		t.Error("a model that slid to the CPU is not marked")
	}
	if h.Pools[0].Held() != 2*gib || h.Pools[1].Held() != 8*gib {
		t.Errorf("held %d in VRAM and %d in RAM, want it split as reported", h.Pools[0].Held(), h.Pools[1].Held())
	}
	warned := false
	for _, x := range r.Doctor(t.Context()) {
		warned = warned || x.ID == "model.m" && x.Severity == Warning
	}
	if !warned {
		t.Error("the doctor does not mention it")
	}
	whole := mixed
	whole.ResidentVRAM = 10 * gib
	s.says(inventory(whole), nil)
	if err := r.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if d := r.Heartbeat().Deployments[0]; d.Degraded != "" {
		t.Errorf("degraded = %q with all of it in VRAM", d.Degraded)
	}
}

func TestDiscoveredRuntimesJoinTheDeclaredAndComeBackByThemselves(t *testing.T) {
	declared, found := ollama(t, "small"), ollama(t, "other")
	var looks atomic.Int32
	r := start(t, onOllama(declared), func(c *Config) {
		c.Discover = func(context.Context) []runtime.Target {
			looks.Add(1)
			same := target(declared, "ollama", runtime.KindOllama)
			return []runtime.Target{same, target(found, "ollama", runtime.KindOllama)}
		}
	})
	h := r.Heartbeat()
	if len(h.Runtimes) != 2 || h.Runtimes[1].Name != "ollama-2" || !h.Runtimes[1].Up || looks.Load() != 1 {
		t.Fatalf("runtimes = %+v after %d looks", h.Runtimes, looks.Load())
	}
	r.must(r.run(t.Context(), r.grant(ident("ollama-2", "other:latest"))))
	found.Kill()
	if err := r.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if h := r.Heartbeat(); len(h.Runtimes) != 2 || h.Runtimes[1].Up || h.Runtimes[1].Reason == "" {
		t.Fatalf("runtimes = %+v, want the vanished one down with its reason", h.Runtimes)
	}
	if err := found.Start(); err != nil {
		t.Fatal(err)
	}
	if err := r.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if h := r.Heartbeat(); !h.Runtimes[1].Up {
		t.Errorf("runtimes = %+v, want it back by itself", h.Runtimes)
	}
}

func TestRuntimeWithoutKindIsRecognised(t *testing.T) {
	f := fake(t, runtimetest.FakeConfig{Kind: runtimetest.LlamaServer, Models: []runtimetest.FakeModel{{Name: "small"}}})
	r := start(t, Settings{Runtimes: []runtime.Target{{Name: "mine", URL: f.URL()}}})
	if h := r.Heartbeat(); h.Runtimes[0].Kind != runtime.KindLlamaServer || !h.Runtimes[0].Up {
		t.Errorf("runtime = %+v", h.Runtimes[0])
	}
}

func TestSettingsChangeLive(t *testing.T) {
	one, two := ollama(t, "small"), ollama(t, "other")
	r := start(t, onOllama(one))
	set := Settings{Runtimes: []runtime.Target{target(two, "second", runtime.KindOllama)}, Pools: poolOf(gib)}
	r.Configure(set)
	r.await("the other runtime alone, with its models", func(h fleet.Heartbeat) bool {
		return len(h.Runtimes) == 1 && h.Runtimes[0].Name == "second" && h.Runtimes[0].Up &&
			len(h.Deployments) == 1 && h.Pools[0].Limit == gib
	})
	_, err := r.run(t.Context(), r.grant(ident("ollama", "small:latest")))
	wantRefusal(t, err, fleet.CodeNoRuntime)
	r.must(r.run(t.Context(), r.grant(ident("second", "other:latest"))))
}

func TestWakeLooksAtEverythingAnew(t *testing.T) {
	s := &scripted{}
	s.says(inventory(loaded("m", gib)), nil)
	r := onScript(t, s)
	looks, senses := false, false
	err := r.ask(t.Context(), func(st *state) {
		now := st.now()
		st.lastTick, st.lastWall = now, now.Add(-time.Hour).Round(0) // the wall clock went on alone
		st.noticeWake(now)
		looks, senses = st.servers["tape"].polling.Under(), due(st.senseDue, now)
	})
	if err != nil {
		t.Fatal(err)
	}
	if !looks || !senses {
		t.Errorf("after waking: looks at runtimes %v, reads the machine %v", looks, senses)
	}
}

func TestModelTheRuntimeIsLoadingCountsAlready(t *testing.T) {
	s := &scripted{}
	d := fleet.Deployment{ID: fleet.DeploymentID{Model: "m"}, Residency: fleet.Loading, WeightsBytes: gib}
	s.says(inventory(d), nil)
	r := onScript(t, s)
	if h := r.Heartbeat(); heldBytes(h) < gib {
		t.Errorf("held %d while the runtime loads", heldBytes(h))
	}
}
