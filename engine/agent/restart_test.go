package agent

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"bellwether/engine/fleet"
	"bellwether/engine/runtime"
	"bellwether/engine/runtime/runtimetest"
)

func keeping(m *memory) func(*Config) { return func(c *Config) { c.Persist = m } }

// frozen returns a copy of what was saved, as a kill -9 would leave it.
func (m *memory) frozen() *memory {
	data, _ := m.LoadLedger()
	return &memory{data: data}
}

func TestNoByteLeavesBeforeTheLedgerIsOnFile(t *testing.T) {
	f := ollama(t, "small")
	disk := &memory{}
	r := start(t, onOllama(f), keeping(disk))
	disk.mu.Lock()
	disk.gate = make(chan struct{})
	disk.mu.Unlock()
	ended := make(chan error, 1)
	g := r.grant(ident("ollama", "small:latest"))
	go func() {
		_, err := r.run(t.Context(), g)
		ended <- err
	}()
	r.awaitResidency(g.Deployment, fleet.Loading)
	if err := r.Refresh(t.Context()); err != nil { // the agent is not stuck meanwhile
		t.Fatal(err)
	}
	for _, q := range f.Requests() {
		if q.Path == "/api/generate" || q.Path == "/api/chat" {
			t.Errorf("%s was sent before the ledger was saved", q.Path)
		}
	}
	disk.mu.Lock()
	close(disk.gate)
	disk.gate = nil
	disk.mu.Unlock()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
}

func TestKilledAgentForgetsNothing(t *testing.T) {
	f := ollama(t, "small")
	disk := &memory{}
	set := onOllama(f)
	r := start(t, set, keeping(disk))
	id := ident("ollama", "small:latest")
	f.Inject(runtimetest.Fault{Path: "/api/chat", Times: 1, Break: runtimetest.BreakHang})
	_, err := r.run(t.Context(), r.grant(id, func(g *fleet.Grant) { g.FirstContent = 50 * time.Millisecond }))
	wantFailure(t, err, fleet.FailTimeout)
	r.Pause("holiday", time.Time{})
	r.await("the hold", func(h fleet.Heartbeat) bool { return h.Uncertain[id] > 0 })
	left := r.killedNow(disk)
	r.stop()

	// The next one finds the runtime dead: all it knows is what was saved.
	f.Kill()
	r = start(t, set, keeping(left))
	h := r.Heartbeat()
	if !h.State.Paused || h.State.PauseReason != "holiday" {
		t.Errorf("state = %+v, want the pause", h.State)
	}
	if h.Uncertain[id] <= 0 || h.Uncertain[id] > DefaultUncertainHold || heldBytes(h) == 0 {
		t.Errorf("uncertain = %v, held %d: want the hold and its memory", h.Uncertain, heldBytes(h))
	}
	r.Resume()
	f.Heal()
	if err := f.Start(); err != nil {
		t.Fatal(err)
	}
	if err := r.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.must(r.run(t.Context(), r.grant(id))) // three more slots are free
}

// killedNow has the state as of now saved, and returns what a kill -9 would leave.
func (r *rig) killedNow(disk *memory) *memory {
	r.t.Helper()
	var saved <-chan struct{}
	if err := r.ask(r.t.Context(), func(s *state) { saved = s.saveAtOnce() }); err != nil {
		r.t.Fatal(err)
	}
	<-saved
	return disk.frozen()
}

func TestCallsOfAKilledAgentAreOverWhereTheRuntimeStopsWithThem(t *testing.T) {
	f := ollama(t, "small")
	disk := &memory{}
	r := start(t, onOllama(f), keeping(disk))
	id := ident("ollama", "small:latest")
	f.Inject(runtimetest.Fault{Break: runtimetest.BreakHold, After: 1})
	run := r.open(r.grant(id))
	left := r.killedNow(disk)
	run.Close()
	r.stop()
	f.Heal()
	if h := start(t, onOllama(f), keeping(left)).Heartbeat(); h.Uncertain[id] > 0 {
		t.Errorf("uncertain = %v, want none", h.Uncertain)
	}
}

// The memory an order to load may have had taken is counted until it is seen;
// the one slot is free at once.
func TestALoadOfAKilledAgentBlocksNoSlot(t *testing.T) {
	f := fake(t, runtimetest.FakeConfig{Parallel: 1, Models: []runtimetest.FakeModel{{Name: "small"}}})
	set := onOllama(f)
	set.Runtimes[0].Parallel = 1
	disk := &memory{}
	r := start(t, set, keeping(disk))
	id := ident("ollama", "small:latest")
	f.Inject(runtimetest.Fault{Model: "small", LoadDelay: time.Hour, Times: 1})
	ended := make(chan error, 1)
	go func() {
		_, err := r.run(t.Context(), r.grant(id))
		ended <- err
	}()
	if err := f.Await(t.Context(), func() bool { return f.Loading("small") }); err != nil {
		t.Fatal(err)
	}
	left := r.killedNow(disk)
	r.stop()
	wantFailure(t, <-ended, fleet.FailCancelled)
	f.Heal()
	next := start(t, set, keeping(left))
	h := next.Heartbeat()
	if len(h.Uncertain) > 0 || heldBytes(h) == 0 {
		t.Errorf("uncertain = %v, held %d: want no slot held, and the memory", h.Uncertain, heldBytes(h))
	}
	next.must(next.run(t.Context(), next.grant(id)))
}

// A server that tells of its slots is asked: the hold ends when it is idle.
func TestCallsOfAKilledAgentAreUncertainUntilTheRuntimeIsIdle(t *testing.T) {
	f := fake(t, runtimetest.FakeConfig{Kind: runtime.KindLlamaServer, Models: []runtimetest.FakeModel{{Name: "small"}}})
	set := Settings{Runtimes: []runtime.Target{target(f, "llama", runtime.KindLlamaServer)}}
	disk := &memory{}
	r := start(t, set, keeping(disk))
	id := r.Heartbeat().Deployments[0].ID
	r.awaitResidency(id, fleet.Loaded)
	f.Inject(runtimetest.Fault{Break: runtimetest.BreakHold, After: 1})
	run := r.open(r.grant(id))
	left := r.killedNow(disk)

	next := start(t, set, keeping(left)) // while the call still runs there
	next.awaitResidency(id, fleet.Loaded)
	_, err := next.run(t.Context(), next.grant(id))
	wantRefusal(t, err, fleet.CodeUncertainHold)
	run.Close()
	r.stop()
	f.Heal()
	next.await("the end of the hold", func(h fleet.Heartbeat) bool { return len(h.Uncertain) == 0 })
	next.must(next.run(t.Context(), next.grant(id)))
}

func TestFullDiskDoesNotStopServing(t *testing.T) {
	f := ollama(t, "small")
	disk := &memory{fail: errors.New("no space left on device")}
	r := start(t, onOllama(f), keeping(disk))
	r.must(r.run(t.Context(), r.grant(ident("ollama", "small:latest"))))
	found := false
	for _, x := range r.Doctor(t.Context()) {
		found = found || x.ID == "state" && x.Severity == Warning && x.Remedy != ""
	}
	if !found {
		t.Errorf("the doctor does not say that nothing is saved: %+v", r.Doctor(t.Context()))
	}
}

// A pause holds, and its owner learns that a restart ends it.
func TestAPauseThatCannotBeSavedSaysSo(t *testing.T) {
	f := ollama(t, "small")
	disk := &memory{}
	r := start(t, onOllama(f), keeping(disk))
	if err := r.Pause("a build", time.Time{}); err != nil {
		t.Errorf("saved: %v", err)
	}
	if err := r.Resume(); err != nil {
		t.Errorf("saved: %v", err)
	}
	disk.mu.Lock()
	disk.fail = errors.New("no space left on device")
	disk.mu.Unlock()
	if err := r.Pause("a build", time.Time{}); !errors.Is(err, disk.fail) {
		t.Errorf("on a full disk: %v, want %v", err, disk.fail)
	}
	_, err := r.run(t.Context(), r.grant(ident("ollama", "small:latest")))
	wantRefusal(t, err, fleet.CodePaused)
}

// A resume is no word on quitting, which had begun before.
func TestAResumeDoesNotCallAQuitOff(t *testing.T) {
	f := ollama(t, "small")
	r := start(t, onOllama(f))
	r.Drain()
	_ = r.Pause("a build", time.Time{})
	_ = r.Resume()
	r.await("draining", func(h fleet.Heartbeat) bool { return h.State.Draining && !h.State.Paused })
	_, err := r.run(t.Context(), r.grant(ident("ollama", "small:latest")))
	wantRefusal(t, err, fleet.CodeDraining)
}

func TestUnreadableStateIsNotFatal(t *testing.T) {
	f := ollama(t, "small")
	r := start(t, onOllama(f), keeping(&memory{data: []byte(`{"version":99}`)}))
	r.must(r.run(t.Context(), r.grant(ident("ollama", "small:latest"))))
}

func TestStoppedAgentEndsWhatRunsAndRefuses(t *testing.T) {
	f := ollama(t, "small")
	r := start(t, onOllama(f))
	f.Inject(runtimetest.Fault{Path: "/api/chat", Break: runtimetest.BreakHang, After: 1})
	g := r.grant(ident("ollama", "small:latest"))
	run := r.open(g)
	r.stop()
	wantFailure(t, drainTo(run), fleet.FailCancelled)
	if n := r.released(g); n != 1 {
		t.Errorf("released %d times", n)
	}
	_, err := r.run(t.Context(), r.grant(g.Deployment))
	wantRefusal(t, err, fleet.CodeDraining)
	r.Pause("late", time.Time{}) // nothing hangs after the end
	if err := r.Refresh(t.Context()); err == nil {
		t.Error("refresh after the end went well")
	}
}

func TestARuntimeThatIsNotUpYetHasTheModelsItHad(t *testing.T) {
	f := ollama(t, "small")
	id := ident("ollama", "small:latest")
	found := func(c *Config) { // while it is up
		c.Discover = func(ctx context.Context) []runtime.Target {
			at := target(f, "ollama", runtime.KindOllama)
			if _, _, err := runtime.Open(ctx, at); err != nil {
				return nil
			}
			return []runtime.Target{at}
		}
	}
	for name, set := range map[string]Settings{"declared": onOllama(f), "found": {}} {
		t.Run(name, func(t *testing.T) {
			disk := &memory{}
			r := start(t, set, found, keeping(disk))
			r.must(r.run(t.Context(), r.grant(id)))
			r.awaitResidency(id, fleet.Loaded)
			r.stop()
			f.Kill()

			r = start(t, set, found, keeping(disk))
			h := r.Heartbeat()
			if rt := h.Runtimes; len(rt) != 1 || rt[0].Up || rt[0].Unseen {
				t.Fatalf("runtimes = %+v, want one that was looked at and is down", rt)
			}
			if d := h.Deployments; len(d) != 1 || d[0].ID != id || d[0].Residency != fleet.OnDisk || d[0].Can(fleet.CapChat).Support != fleet.Yes {
				t.Fatalf("deployments = %+v, want what it had, not in memory", d)
			}
			_, err := r.run(t.Context(), r.grant(id))
			wantRefusal(t, err, fleet.CodeNoRuntime)
			if err := f.Start(); err != nil {
				t.Fatal(err)
			}
			if err := r.Refresh(t.Context()); err != nil {
				t.Fatal(err)
			}
			r.must(r.run(t.Context(), r.grant(id)))
		})
	}
}

func TestWhatWasFoundOnceAndDoesNotComeBackIsForgotten(t *testing.T) {
	f := ollama(t, "small")
	disk := &memory{}
	found := []runtime.Target{target(f, "ollama", runtime.KindOllama)}
	finding := func(c *Config) { c.Discover = func(context.Context) []runtime.Target { return found } }
	r := start(t, Settings{}, finding, keeping(disk))
	r.await("the models", func(h fleet.Heartbeat) bool { return len(h.Deployments) == 1 })
	r.stop()
	f.Kill()
	found = nil

	r = start(t, Settings{}, finding, keeping(disk))
	r.await("what was known", func(h fleet.Heartbeat) bool { return len(h.Deployments) == 1 })
	if err := r.ask(t.Context(), func(s *state) { s.servers["ollama"].downAt = s.now().Add(-restartTime) }); err != nil {
		t.Fatal(err)
	}
	_ = r.Refresh(t.Context())
	r.await("it to be gone", func(h fleet.Heartbeat) bool { return len(h.Runtimes) == 0 && len(h.Deployments) == 0 })
	r.stop()
	if h := start(t, Settings{}, finding, keeping(disk)).Heartbeat(); len(h.Runtimes) > 0 {
		t.Errorf("runtimes = %+v, want none after another start", h.Runtimes)
	}
}

func TestAModelDeletedWhileInMemoryTakesItsMemoryAndIsNotListed(t *testing.T) {
	f := ollama(t, "small", "other")
	r := start(t, onOllama(f))
	id := ident("ollama", "small:latest")
	r.must(r.run(t.Context(), r.grant(id)))
	if err := r.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	held := heldBytes(r.Heartbeat())
	removed, err := http.NewRequest(http.MethodDelete, f.URL()+"/api/delete", strings.NewReader(`{"model":"small"}`))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(removed)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if err := r.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	h := r.Heartbeat()
	if len(h.Deployments) != 1 || h.Deployments[0].ID == id {
		t.Errorf("deployments = %+v, want the other alone", h.Deployments)
	}
	if now := heldBytes(h); now != held || held == 0 {
		t.Errorf("%d bytes held, want the %d it takes", now, held)
	}
	_, err = r.run(t.Context(), r.grant(id))
	wantRefusal(t, err, fleet.CodeModelAbsent)
}
