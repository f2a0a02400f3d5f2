package engine

import (
	"bufio"
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"bellwether/engine/fleet"
	"bellwether/engine/runtime/runtimetest"
)

// stormRequests is how many requests the storm has, over stormClients at once.
const (
	stormRequests = 10_000
	stormClients  = 24
)

// and W-25 as a property: whatever clients and runtimes do, nothing
// leaks. Ten thousand requests in every protocol over two runtimes; one in
// eight leaves at some moment, runtimes fail in every way and lose their models
// meanwhile. Afterwards there is no lane, ticket, grant or running request, the
// goroutines are those of before, and every request has its record.
func TestNothingLeaksInAStorm(t *testing.T) {
	small := runtimetest.FakeConfig{Kind: runtimetest.Ollama, Parallel: 4, MaxLoaded: 8, GPU: 1, KeepAlive: -1, KeepRequests: -1,
		Models: []runtimetest.FakeModel{{Name: "a:1b", Tokens: 2}, {Name: "b:1b", Tokens: 2}}}
	r := newRig(t, spec{config: quick, more: ", parallel: 4", fakes: map[string]runtimetest.FakeConfig{"left": small, "right": small}})
	for _, m := range []string{"a:1b", "b:1b"} {
		chatWire.say(t, r, m, "warm up", true)
	}
	r.quiet(t)
	before := busy()

	requests := int64(stormRequests)
	if testing.Short() {
		requests /= 10
	}
	var next, answered, broken atomic.Int64
	var all sync.WaitGroup
	for c := range stormClients {
		all.Go(func() {
			rng := rand.New(rand.NewPCG(7, uint64(c)))
			for {
				n := next.Add(1)
				if n > requests {
					return
				}
				if n%50 == 0 {
					r.disturb(rng)
				}
				ok, failed := r.one(rng)
				answered.Add(ok)
				broken.Add(failed)
			}
		})
	}
	all.Wait()
	for _, f := range r.fakes {
		f.Heal()
	}
	r.idle(t)
	r.quiet(t)
	for name, f := range r.fakes {
		for _, m := range []string{"a:1b", "b:1b"} {
			r.await(t, name+" to be idle", func() bool { return f.Running(m) == 0 && f.Waiting(m) == 0 })
			if most := f.MaxRunning(m); most > 4 {
				t.Errorf("%s had %d requests of %s on 4 slots", name, most, m)
			}
		}
	}
	r.await(t, "the agent to count nothing as running", func() bool { return len(r.agent.Heartbeat().Running) == 0 })
	r.await(t, "no memory to be reserved", func() bool {
		for _, p := range r.agent.Heartbeat().Pools {
			for _, h := range p.Holders {
				if h.Kind == fleet.HoldReserved || h.Kind == fleet.HoldUncertain {
					return false
				}
			}
		}
		return true
	})
	var now []string
	if !r.until(func() bool { now = busy(); return len(now) <= len(before) }) {
		t.Errorf("%d goroutines, before %d:\n%s", len(now), len(before), strings.Join(now, "\n\n"))
	}

	if err := r.store.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	h, counted := r.store.Health(), r.counted(t)
	if got := int(h.Written + h.Dropped); got != counted {
		t.Errorf("%d requests, %d records written and %d dropped", counted, h.Written, h.Dropped)
	}
	if seen := int(answered.Load() + broken.Load()); counted < seen || seen < int(requests)/2 || broken.Load() == 0 {
		t.Errorf("%d requests counted, %d answered, %d broken: the storm was none", counted, answered.Load(), broken.Load())
	}
	t.Logf("%d requests: %d answered, %d broken, %d clients left", counted, answered.Load(), broken.Load(), requests-answered.Load()-broken.Load())
	s, _ := chatWire.say(t, r, "a:1b", "and now", true)
	if !s.ended {
		t.Error("the next request was not served")
	}
}

// one makes one random request; one in eight leaves before its end.
func (r *rig) one(rng *rand.Rand) (answered, broken int64) {
	w := wires[rng.IntN(len(wires))]
	model := []string{"a:1b", "b:1b"}[rng.IntN(2)]
	ctx, leave := context.WithCancel(context.Background())
	defer leave()
	leaves := rng.IntN(8) == 0
	moment := rng.IntN(3)
	if leaves && moment == 0 { // at any time from now
		var gone sync.WaitGroup
		gone.Go(func() { runtime.Gosched(); leave() })
		defer gone.Wait()
	}
	resp, err := send(ctx, r.client, http.MethodPost, r.base+w.path, w.body(model, "go", rng.IntN(4) != 0))
	if err != nil {
		return 0, 0
	}
	defer resp.Body.Close()
	if leaves {
		if moment == 1 {
			_, _ = bufio.NewReader(resp.Body).ReadByte()
		}
		leave()
		return 0, 0
	}
	b, err := io.ReadAll(resp.Body)
	if resp.StatusCode != http.StatusOK || err != nil || strings.Contains(string(b), `"error":{`) || strings.Contains(string(b), `{"error"`) {
		return 0, 1
	}
	return 1, 0
}

// disturb lets something go wrong at one runtime.
func (r *rig) disturb(rng *rand.Rand) {
	f := r.fakes[[]string{"left", "right"}[rng.IntN(2)]]
	model := []string{"a:1b", "b:1b"}[rng.IntN(2)]
	switch rng.IntN(10) {
	case 0:
		f.Unload(model)
	case 1:
		f.KillRunner(model)
	case 2:
		f.Heal() // forget what was planned, so that the list stays short
	case 3:
		f.Inject(runtimetest.Fault{Status: 500, Body: "boom", Times: 1 + rng.IntN(3)})
	default:
		breaks := []runtimetest.Break{runtimetest.BreakCut, runtimetest.BreakCutMid, runtimetest.BreakEnd, runtimetest.BreakError, runtimetest.BreakGarbage, runtimetest.BreakRunner}
		f.Inject(runtimetest.Fault{Break: breaks[rng.IntN(len(breaks))], After: rng.IntN(5), Times: 1 + rng.IntN(3)})
	}
}

// quiet closes what lies idle: connections of clients and to runtimes.
func (r *rig) quiet(t testing.TB) {
	t.Helper()
	r.client.CloseIdleConnections()
	r.idle(t)
}

// busy lists the goroutines, without those that wait for something to be said
// on an open connection: both sides keep connections for later.
func busy() []string {
	stacks := make([]byte, 8<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	return slices.DeleteFunc(strings.Split(string(stacks), "\n\n"), func(s string) bool { return strings.Contains(s, "net.(*conn).Read") })
}

// counted is how many inference requests the gateway says have ended.
func (r *rig) counted(t testing.TB) int {
	t.Helper()
	n := 0
	for line := range strings.Lines(string(r.get(t, "/metrics").Body)) {
		if value, ok := strings.CutPrefix(line, "bellwether_requests_total{"); ok {
			_, value, _ = strings.Cut(value, "} ")
			k, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if err != nil {
				t.Fatalf("metrics: %q", line)
			}
			n += int(k)
		}
	}
	return n
}
