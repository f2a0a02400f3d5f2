package agent

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"bellwether/engine/fleet"
	"bellwether/engine/runtime"
	"bellwether/engine/runtime/runtimetest"
)

// TestNothingIsExceededLostOrLeaked throws grants, disconnects, failures,
// unloads and deaths of the runtime at a node, and asks of every instant:
// running <= slots, no pool over its limit; and of the end: each admitted
// grant released exactly once, each refused one never, nothing held, and (by
// TestMain) no goroutine left.
func TestNothingIsExceededLostOrLeaked(t *testing.T) {
	const slots, limit = 2, 2200 // MiB: two of the three models
	f := fake(t, runtimetest.FakeConfig{Parallel: 8, Models: []runtimetest.FakeModel{big("a"), big("b"), big("c")}})
	set := onOllama(f)
	set.Runtimes[0].Parallel = slots
	set.Pools = poolOf(limit * mib)
	set.UncertainHold = 20 * time.Millisecond
	var over atomic.Pointer[string]
	r := start(t, set, func(c *Config) {
		report := c.Report
		c.Report = func(h fleet.Heartbeat) {
			for _, p := range h.Pools {
				// What is on its way out makes room for what waits for its absence.
				p.Holders = slices.DeleteFunc(slices.Clone(p.Holders), func(x fleet.Holder) bool {
					got, _ := residencyOf(h, x.Deployment)
					return got == fleet.Leaving
				})
				if p.Held() > p.Limit {
					text := fmt.Sprintf("pool %s holds %d of %d MiB: %+v", p.Name, p.Held()/mib, p.Limit/mib, p.Holders)
					over.CompareAndSwap(nil, &text)
				}
			}
			if in := f.Loaded(); len(in) > 2 {
				text := fmt.Sprintf("in memory: %v", in)
				over.CompareAndSwap(nil, &text)
			}
			for id, n := range h.Running {
				if n > slots {
					text := fmt.Sprintf("%d requests run on %s", n, id)
					over.CompareAndSwap(nil, &text)
				}
			}
			report(h)
		}
		c.Persist = &memory{}
	})
	models := []fleet.DeploymentID{ident("ollama", "a:latest"), ident("ollama", "b:latest"), ident("ollama", "c:latest")}
	breaks := []runtimetest.Break{runtimetest.BreakCut, runtimetest.BreakCutMid, runtimetest.BreakEnd, runtimetest.BreakError,
		runtimetest.BreakGarbage, runtimetest.BreakRunner, runtimetest.BreakHang}

	var mu sync.Mutex
	admitted, refused := map[string]bool{}, map[string]bool{}
	var served atomic.Int32
	worker := func(seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 7))
		for range 40 {
			id := models[rnd.IntN(3)]
			g := r.grant(id, func(g *fleet.Grant) {
				g.FirstContent, g.Idle = 400*time.Millisecond, 100*time.Millisecond
				for _, v := range rnd.Perm(3) {
					if models[v] != id {
						g.Evict = append(g.Evict, models[v])
					}
				}
			})
			ctx, leave := context.WithCancel(t.Context())
			switch rnd.IntN(10) {
			case 0:
				time.AfterFunc(time.Duration(rnd.IntN(3000))*time.Microsecond, leave)
			case 1:
				f.Inject(runtimetest.Fault{Times: 1, Break: breaks[rnd.IntN(len(breaks))], After: rnd.IntN(4)})
			case 2:
				f.Inject(runtimetest.Fault{Times: 1, Model: id.Model, LoadFail: "broken"})
			case 3:
				_ = r.Unload(ctx, "ollama", models[rnd.IntN(3)].Model)
			case 4:
				f.Unload(models[rnd.IntN(3)].Model)
			}
			_, err := r.run(ctx, g)
			leave()
			var no *fleet.Refusal
			mu.Lock()
			if errors.As(err, &no) {
				refused[g.ID] = true
			} else {
				admitted[g.ID] = true
			}
			mu.Unlock()
			if err == nil {
				served.Add(1)
			}
			if no != nil { // as a router does, the lane stays closed until a newer report
				r.await("a newer report", func(h fleet.Heartbeat) bool { return h.Sequence > no.Sequence })
			}
		}
	}
	var all sync.WaitGroup
	for seed := range uint64(8) {
		all.Go(func() { worker(seed) })
	}
	working, rest := context.WithCancel(t.Context())
	var reaper sync.WaitGroup
	reaper.Go(func() { // the runtime dies and comes back
		for range 3 {
			deaths := served.Load() + 30
			if f.Await(working, func() bool { return served.Load() >= deaths && f.Running("a")+f.Running("b")+f.Running("c") > 0 }) != nil {
				return
			}
			f.Kill()
			if err := f.Start(); err != nil {
				t.Error(err)
			}
		}
	})
	all.Wait()
	rest()
	reaper.Wait()
	f.Heal()

	r.until("every admitted grant's release", func() bool { return len(r.releases) >= len(admitted) })
	r.await("nothing running or uncertain", func(h fleet.Heartbeat) bool { return len(h.Running) == 0 && len(h.Uncertain) == 0 })
	if text := over.Load(); text != nil {
		t.Error(*text)
	}
	r.mu.Lock()
	for id, rel := range r.releases {
		if len(rel) != 1 || !admitted[id] {
			t.Errorf("grant %s: %d releases, admitted %v, refused %v", id, len(rel), admitted[id], refused[id])
		}
	}
	r.mu.Unlock()
	if err := r.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, id := range models {
		err := r.Unload(t.Context(), id.Runtime, id.Model)
		var no *fleet.Refusal
		for errors.As(err, &no) && no.Code == fleet.CodeAdmission { // a load that was given up is still ending
			r.await("a newer report", func(h fleet.Heartbeat) bool { return h.Sequence > no.Sequence })
			err = r.Unload(t.Context(), id.Runtime, id.Model)
		}
		if err != nil {
			t.Errorf("unload %s: %v", id, err)
		}
	}
	r.await("an empty ledger", func(h fleet.Heartbeat) bool { return heldBytes(h) == 0 })
	if served.Load() < 20 {
		t.Errorf("only %d requests were served: the test tests nothing", served.Load())
	}
	t.Logf("%d admitted, %d served, %d refused", len(admitted), served.Load(), len(refused))
}

// TestTwoRuntimesShareOnePool checks that memory is counted over runtimes.
func TestTwoRuntimesShareOnePool(t *testing.T) {
	one := fake(t, runtimetest.FakeConfig{Models: []runtimetest.FakeModel{big("a")}})
	two := fake(t, runtimetest.FakeConfig{Models: []runtimetest.FakeModel{big("b")}})
	r := start(t, Settings{Pools: poolOf(1500 * mib), Runtimes: []runtime.Target{
		target(one, "one", runtime.KindOllama), target(two, "two", runtime.KindOllama)}})
	a, b := ident("one", "a:latest"), ident("two", "b:latest")
	r.must(r.run(t.Context(), r.grant(a)))
	_, err := r.run(t.Context(), r.grant(b))
	wantRefusal(t, err, fleet.CodeMemory)
	r.must(r.run(t.Context(), r.grant(b, func(g *fleet.Grant) { g.Evict = []fleet.DeploymentID{a} })))
	if len(one.Loaded()) != 0 || len(two.Loaded()) != 1 {
		t.Errorf("loaded: %v and %v", one.Loaded(), two.Loaded())
	}
}
