package agent

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"bellwether/engine/fleet"
	"bellwether/engine/runtime"
	"bellwether/engine/runtime/runtimetest"
)

// big is a model whose resident size is about a gigabyte.
func big(name string) runtimetest.FakeModel {
	return runtimetest.FakeModel{Name: name, Size: 900 * mib, KVBytesPerToken: 1}
}

func TestOneLoadServesAllWhoWait(t *testing.T) {
	f := ollama(t, "small")
	r := start(t, onOllama(f))
	f.Inject(runtimetest.Fault{Model: "small", LoadDelay: 100 * time.Millisecond})
	ended := make(chan error, 4)
	for range cap(ended) {
		g := r.grant(ident("ollama", "small:latest"))
		go func() {
			_, err := r.run(t.Context(), g)
			ended <- err
		}()
	}
	r.awaitResidency(ident("ollama", "small:latest"), fleet.Loading)
	for range cap(ended) {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	orders := 0
	for _, q := range f.Requests() {
		if q.Path == "/api/generate" {
			orders++
		}
	}
	if f.Loads("small") != 1 || orders != 1 {
		t.Errorf("%d loads by %d orders, want one of each", f.Loads("small"), orders)
	}
}

func TestLoadGoesOnWhileOneStillWaitsAndEndsWithTheLast(t *testing.T) {
	f := ollama(t, "small")
	r := start(t, onOllama(f))
	id := ident("ollama", "small:latest")
	f.Inject(runtimetest.Fault{Model: "small", LoadDelay: time.Minute})
	var leave [2]context.CancelFunc
	ended := make(chan error, 2)
	grants := []fleet.Grant{r.grant(id), r.grant(id)}
	for i := range leave {
		var ctx context.Context
		ctx, leave[i] = context.WithCancel(t.Context())
		go func() {
			_, err := r.run(ctx, grants[i])
			ended <- err
		}()
		r.await("both to wait", func(h fleet.Heartbeat) bool { return h.Running[id] >= 1 })
	}
	if err := f.Await(t.Context(), func() bool { return f.Waiting("small") == 1 }); err != nil {
		t.Fatal(err)
	}
	var waiters int
	for waiters != 2 {
		if err := r.ask(t.Context(), func(s *state) { waiters = s.lane(id).load.waiters }); err != nil {
			t.Fatal(err)
		}
	}
	leave[0]()
	wantFailure(t, <-ended, fleet.FailCancelled)
	if f.Waiting("small") != 1 {
		t.Error("the load ended although one still waits")
	}
	leave[1]()
	wantFailure(t, <-ended, fleet.FailCancelled)
	if err := f.Await(t.Context(), func() bool { return f.Waiting("small") == 0 }); err != nil {
		t.Errorf("the load nobody wants goes on: %v", err)
	}
	for _, g := range grants {
		if rel := r.awaitRelease(g); rel.Uncertain != 0 {
			t.Errorf("released = %+v: nothing was asked of the model", rel)
		}
	}
	r.await("nothing held", func(h fleet.Heartbeat) bool {
		got, _ := residencyOf(h, id)
		return got == fleet.OnDisk && heldBytes(h) == 0
	})
	f.Heal()
	r.must(r.run(t.Context(), r.grant(id)))
}

func TestDeadlineDuringALoadAbortsIt(t *testing.T) {
	f := ollama(t, "small")
	r := start(t, onOllama(f))
	f.Inject(runtimetest.Fault{Model: "small", LoadDelay: time.Minute})
	g := r.grant(ident("ollama", "small:latest"), func(g *fleet.Grant) { g.FirstContent = 50 * time.Millisecond })
	_, err := r.run(t.Context(), g)
	wantFailure(t, err, fleet.FailTimeout)
	if rel := r.awaitRelease(g); rel.Uncertain != 0 || rel.Load <= 0 {
		t.Errorf("released = %+v: the request never left", rel)
	}
	if err := f.Await(t.Context(), func() bool { return f.Waiting("small") == 0 }); err != nil {
		t.Error(err)
	}
}

func TestLoadFailureReachesAllWhoWaitWithItsReason(t *testing.T) {
	f := ollama(t, "small")
	r := start(t, onOllama(f))
	id := ident("ollama", "small:latest")
	f.Inject(runtimetest.Fault{Model: "small", LoadDelay: 50 * time.Millisecond, LoadFail: "unable to load model"})
	ended := make(chan error, 3)
	grants := []fleet.Grant{r.grant(id), r.grant(id), r.grant(id)}
	for _, g := range grants {
		go func() {
			_, err := r.run(t.Context(), g)
			ended <- err
		}()
	}
	for range grants {
		if fail := wantFailure(t, <-ended, fleet.FailLoad); !strings.Contains(fail.Message, "unable to load model") {
			t.Errorf("message = %q, want the runtime's reason", fail.Message)
		}
	}
	for _, g := range grants {
		r.awaitRelease(g)
	}
	r.await("nothing held", func(h fleet.Heartbeat) bool { return heldBytes(h) == 0 })
}

func TestEvictionUnloadsAndWaitsForAbsenceBeforeLoading(t *testing.T) {
	f := fake(t, runtimetest.FakeConfig{Models: []runtimetest.FakeModel{big("a"), big("b"), big("c")}})
	set := onOllama(f)
	set.Pools = poolOf(2200 * mib)
	r := start(t, set)
	a, b, c := ident("ollama", "a:latest"), ident("ollama", "b:latest"), ident("ollama", "c:latest")
	r.must(r.run(t.Context(), r.grant(a)))
	r.must(r.run(t.Context(), r.grant(b)))
	r.await("both measured", func(h fleet.Heartbeat) bool {
		return h.Deployments[0].ResidentBytes > 0 && h.Deployments[1].ResidentBytes > 0
	})

	_, err := r.run(t.Context(), r.grant(c))
	wantRefusal(t, err, fleet.CodeMemory) // no plan, no eviction

	f.ForgetRequests()
	g := r.grant(c, func(g *fleet.Grant) { g.Evict = []fleet.DeploymentID{a, b} })
	r.must(r.run(t.Context(), g))
	if got := f.Loaded(); !slices.Equal(got, []string{"b:latest", "c:latest"}) {
		t.Errorf("loaded = %v: want only as many evicted as it takes", got)
	}
	unloaded, seen := false, false
	for _, q := range f.Requests() {
		switch {
		case q.Path == "/api/generate" && strings.Contains(string(q.Body), `"keep_alive":0`):
			unloaded = true
		case q.Path == "/api/ps" && unloaded:
			seen = true
		case q.Path == "/api/generate" && q.Model == "c:latest" && !seen:
			t.Error("loaded before the victim's absence was looked at")
		}
	}
	if !unloaded {
		t.Error("no unload was ordered")
	}
	r.await("the victim on disk, with the time it left", func(h fleet.Heartbeat) bool {
		for _, d := range h.Deployments {
			if d.ID == a {
				return d.Residency == fleet.OnDisk && !d.UnloadedAt.IsZero() && d.ResidentBytes > 0
			}
		}
		return false
	})
}

func TestBusyOrPinnedVictimIsNotEvicted(t *testing.T) {
	f := fake(t, runtimetest.FakeConfig{Models: []runtimetest.FakeModel{big("a"), big("b"), big("c")}})
	set := onOllama(f)
	set.Pools = poolOf(2200 * mib)
	b := ident("ollama", "b:latest")
	r := start(t, set, func(c *Config) {
		c.Declare = func(d *fleet.Deployment) { d.Pinned = d.ID == b }
	})
	a, c := ident("ollama", "a:latest"), ident("ollama", "c:latest")
	r.must(r.run(t.Context(), r.grant(b)))
	f.Inject(runtimetest.Fault{Path: "/api/chat", Break: runtimetest.BreakHold, After: 1})
	run := r.open(r.grant(a))
	r.awaitResidency(a, fleet.Loaded)
	for _, victim := range []fleet.DeploymentID{a, b} {
		_, err := r.run(t.Context(), r.grant(c, func(g *fleet.Grant) { g.Evict = []fleet.DeploymentID{victim} }))
		wantRefusal(t, err, fleet.CodeMemory)
	}
	wantRefusal(t, r.Unload(t.Context(), "ollama", "a"), fleet.CodeAdmission)
	wantRefusal(t, r.Delete(t.Context(), "ollama", "a"), fleet.CodeAdmission)
	f.Heal()
	_ = drainTo(run)
	if got := f.Loaded(); !slices.Equal(got, []string{"a:latest", "b:latest"}) {
		t.Errorf("loaded = %v", got)
	}
}

// reluctant is a runtime whose unloads wait for the test.
type reluctant struct {
	scripted
	let chan struct{}
}

func (r *reluctant) Unload(ctx context.Context, _ string) error {
	select {
	case <-r.let:
		r.says(inventory(fleet.Deployment{ID: fleet.DeploymentID{Model: "m"}, WeightsBytes: gib}), nil)
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func TestLeavingDeploymentTakesNoNewWork(t *testing.T) {
	s := &reluctant{let: make(chan struct{})}
	s.chunks = 1
	s.says(inventory(loaded("m", gib)), nil)
	r := start(t, Settings{Runtimes: []runtime.Target{{Name: "tape", Kind: "tape", URL: "http://tape"}}}, func(c *Config) {
		c.Connect = func(context.Context, runtime.Target) (runtime.Adapter, error) { return s, nil }
	})
	id := ident("tape", "m")
	gone := make(chan error, 1)
	go func() { gone <- r.Unload(t.Context(), "tape", "m") }()
	r.awaitResidency(id, fleet.Leaving)
	_, err := r.run(t.Context(), r.grant(id))
	wantRefusal(t, err, fleet.CodeAdmission)
	wantRefusal(t, r.Unload(t.Context(), "tape", "m"), fleet.CodeAdmission)
	close(s.let)
	if err := <-gone; err != nil {
		t.Fatal(err)
	}
	r.awaitResidency(id, fleet.OnDisk)
	r.must(r.run(t.Context(), r.grant(id)))
}

func TestOwnerLoadsUnloadsAndDeletes(t *testing.T) {
	f := ollama(t, "small", "other")
	r := start(t, onOllama(f))
	id := ident("ollama", "small:latest")
	if err := r.Load(t.Context(), "ollama", "small"); err != nil {
		t.Fatal(err)
	}
	r.awaitResidency(id, fleet.Loaded)
	if err := r.Load(t.Context(), "ollama", "small"); err != nil || f.Loads("small") != 1 {
		t.Errorf("loading what is loaded: %v, %d loads", err, f.Loads("small"))
	}
	if err := r.Unload(t.Context(), "ollama", "SMALL:latest"); err != nil {
		t.Fatal(err)
	}
	if got := f.Loaded(); len(got) != 0 {
		t.Errorf("loaded = %v when Unload returned", got)
	}
	if err := r.Unload(t.Context(), "ollama", "small"); err != nil {
		t.Errorf("unloading what is not loaded: %v", err)
	}
	if err := r.Delete(t.Context(), "ollama", "other"); err != nil {
		t.Fatal(err)
	}
	if h := r.Heartbeat(); len(h.Deployments) != 1 {
		t.Errorf("deployments = %+v when Delete returned", h.Deployments)
	}
	wantRefusal(t, r.Load(t.Context(), "ollama", "other"), fleet.CodeModelAbsent)
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.releases) != 0 {
		t.Errorf("releases of orders that no router granted: %v", sortedKeys(r.releases))
	}
}

func TestUnknownSizeFollowsThePolicy(t *testing.T) {
	s := &sizeless{tape{chunks: 1}}
	for _, reject := range []bool{false, true} {
		r := start(t, Settings{RejectUnknown: reject, Runtimes: []runtime.Target{{Name: "tape", Kind: "tape", URL: "http://tape"}}},
			func(c *Config) {
				c.Connect = func(context.Context, runtime.Target) (runtime.Adapter, error) { return s, nil }
			})
		_, err := r.run(t.Context(), r.grant(ident("tape", "m")))
		if !reject {
			r.must(0, err)
			r.stop()
			continue
		}
		wantRefusal(t, err, fleet.CodeMemory)
	}
}

// sizeless is a runtime that says nothing of sizes and residency.
type sizeless struct{ tape }

func (s *sizeless) Inventory(ctx context.Context) (*runtime.Inventory, error) {
	inv, err := s.tape.Inventory(ctx)
	inv.ReportsResidency = false
	inv.Deployments[0].ResidentBytes, inv.Deployments[0].Residency = 0, fleet.OnDisk
	return inv, err
}

func TestLargerContextIsAReload(t *testing.T) {
	f := ollama(t, "small")
	r := start(t, onOllama(f))
	id := ident("ollama", "small:latest")
	r.must(r.run(t.Context(), r.grant(id, func(g *fleet.Grant) { g.Context = 2048 })))
	r.await("the loaded context", func(h fleet.Heartbeat) bool { return h.Deployments[0].LoadedContext == 2048 })
	r.must(r.run(t.Context(), r.grant(id, func(g *fleet.Grant) { g.Context = 2048 })))
	if n := f.Loads("small"); n != 1 {
		t.Errorf("%d loads with an unchanged context", n)
	}
	r.must(r.run(t.Context(), r.grant(id, func(g *fleet.Grant) { g.Context = 8192 })))
	r.await("the larger context", func(h fleet.Heartbeat) bool { return h.Deployments[0].LoadedContext == 8192 })
	if n := f.Loads("small"); n != 2 {
		t.Errorf("%d loads, want one reload", n)
	}
}
