package queue

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"bellwether/engine/event"
	"bellwether/engine/fleet"
	"bellwether/engine/route"
)

// storm is a fleet in a bubble of fake time: the real dispatcher, registry and
// Decide, agents with real ledgers, and gateways whose clients come, wait, go
// and fail at random.
type storm struct {
	t      *testing.T
	d      *Dispatcher
	reg    *fleet.Registry
	agents map[string]*stormAgent
	ends   sync.Map // request -> *atomic.Int32
	loads  atomic.Int32
	counts [8]atomic.Int32
}

// What may happen to a request, for the count at the end.
const (
	served = iota
	gaveUp
	turnedAway
	failedFor
	heldOut
	noMemory // grants that an agent refused for memory
)

func TestStormLeavesNothingBehind(t *testing.T) {
	requests := 10_000
	if testing.Short() {
		requests = 1_500
	}
	synctest.Test(t, func(t *testing.T) { runStorm(t, requests, 7) })
}

func runStorm(t *testing.T, requests int, seed uint64) {
	s := &storm{t: t, reg: fleet.NewRegistry("n0", 15*time.Second, 30*time.Second), agents: map[string]*stormAgent{}}
	hub := event.NewHub[Event](1 << 17)
	sub := hub.Subscribe()
	p := route.DefaultPolicy()
	p.MaxInFlight = 300
	s.d = New(Config{
		Policy: func() *route.Policy { return p }, Fleet: s.reg.Snapshot, Events: hub,
	})
	ctx, stop := context.WithCancel(t.Context())
	var engine, clients sync.WaitGroup
	engine.Go(func() { _ = s.d.Run(ctx) })
	engine.Go(func() { s.watch(ctx) })
	for i := range 4 {
		a := newStormAgent(s, i)
		s.agents[a.name] = a
		engine.Go(func() { a.live(ctx) })
	}
	synctest.Wait()
	arrivals := rand.New(rand.NewPCG(seed, 11))
	for i := range requests {
		own := arrivals.Uint64()
		clients.Go(func() { s.client(i, rand.New(rand.NewPCG(own, uint64(i)))) })
		time.Sleep(time.Duration(arrivals.ExpFloat64() * float64(20*time.Millisecond)))
	}
	clients.Wait()
	for _, a := range s.agents {
		a.quiet.Store(true)
	}
	time.Sleep(3 * time.Minute) // uncertain holds, reports, reaping
	synctest.Wait()
	stop()
	engine.Wait()
	s.check(requests, sub)
}

func (s *storm) check(requests int, sub *event.Sub[Event]) {
	wantEmpty(s.t, s.d)
	ends := 0
	s.ends.Range(func(request, n any) bool {
		ends++
		if got := n.(*atomic.Int32).Load(); got != 1 {
			s.t.Errorf("%v ended %d times at its gateway", request, got)
		}
		return true
	})
	done := map[string]int{}
	for {
		select {
		case e := <-sub.C:
			if e.Kind == EventDone {
				done[e.Request]++
			}
			continue
		default:
		}
		break
	}
	if ends != requests || len(done) != requests || sub.Lagged() {
		s.t.Errorf("%d requests: %d ended at gateways, %d in the dispatcher", requests, ends, len(done))
	}
	for r, n := range done {
		if n != 1 {
			s.t.Errorf("%s ended %d times in the dispatcher", r, n)
		}
	}
	for _, a := range s.agents {
		a.check()
	}
	s.t.Logf("served %d, clients gone %d, refused %d, failed %d, held out %d, loads %d, refused by a ledger %d",
		s.counts[served].Load(), s.counts[gaveUp].Load(), s.counts[turnedAway].Load(),
		s.counts[failedFor].Load(), s.counts[heldOut].Load(), s.loads.Load(), s.counts[noMemory].Load())
	if got := s.counts[served].Load(); int(got) < requests/2 {
		s.t.Errorf("only %d of %d served: the storm tests too little", got, requests)
	}
}

// watch brings the registry's changes to the dispatcher, and its time to it.
func (s *storm) watch(ctx context.Context) {
	changed := s.reg.Changed()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-changed:
			s.d.FleetChanged()
		case now := <-tick.C:
			s.reg.Tick(now)
		}
	}
}

// client is one request from its gateway's side.
func (s *storm) client(i int, r *rand.Rand) {
	name := fmt.Sprint("r", i)
	fashion := int(time.Now().Unix()/15) % 6 // what most ask for changes
	q := route.Query{Request: name, Model: fmt.Sprint("m", (fashion+min(r.IntN(6), r.IntN(6), r.IntN(6)))%6), Origin: "n0"}
	q.Needs.Role, q.Needs.App, q.Needs.Batch = route.RoleChat, fmt.Sprint("app", r.IntN(3)), r.IntN(5) == 0
	q.Needs.Tokens = route.Tokens{Input: 100, Output: 50 + r.IntN(400)}
	if r.IntN(4) == 0 {
		q.Needs.Session, q.Needs.SessionPins = fmt.Sprint("s", r.IntN(50)), true
	}
	t := s.d.Submit(&q)
	gone := time.NewTimer(time.Hour)
	if r.IntN(10) == 0 {
		gone.Reset(time.Duration(r.IntN(8000)) * time.Millisecond)
	}
	defer gone.Stop()
	for {
		select {
		case <-gone.C:
			t.Abandon("client gone")
			s.end(name, gaveUp)
			return
		case a := <-t.C():
			if s.attempt(t, a, r, name) {
				return
			}
		}
	}
}

// attempt acts on one answer and reports whether the request has ended.
func (s *storm) attempt(t *Ticket, a Answer, r *rand.Rand, name string) bool {
	if a.Grant == nil {
		if a.HeldOut {
			s.end(name, heldOut)
		} else {
			s.end(name, turnedAway)
		}
		return true
	}
	g := *a.Grant
	if r.IntN(200) == 0 {
		time.Sleep(2500 * time.Millisecond) // a gateway that dawdles
	}
	if r.IntN(100) == 0 {
		t.Abandon("gone before use")
		s.end(name, gaveUp)
		return true
	}
	if !t.Used(g) {
		return false
	}
	refusal, failure := s.agents[g.Deployment.Node].do(g, r)
	switch {
	case refusal != nil:
		t.Refused(g, refusal)
		return false
	case failure != nil && (failure.Class == fleet.FailBackPressure || r.IntN(4) > 0):
		if r.IntN(2) == 0 {
			s.d.Completed(fleet.Completed{Grant: g.ID, Outcome: fleet.OutcomeFailed, Failure: failure, Retry: true})
		}
		t.Retry(g, *failure, false)
		return false
	case failure != nil:
		s.end(name, failedFor)
		s.d.Completed(fleet.Completed{Grant: g.ID, Outcome: fleet.OutcomeFailed, Failure: failure})
		return true
	}
	s.end(name, served)
	s.d.Completed(fleet.Completed{Grant: g.ID, Outcome: fleet.OutcomeOK, Validated: true})
	if r.IntN(3) == 0 {
		s.d.Completed(fleet.Completed{Grant: g.ID, Outcome: fleet.OutcomeOK, Validated: true})
		t.Abandon("deferred")
	}
	return true
}

func (s *storm) end(name string, how int) {
	n, _ := s.ends.LoadOrStore(name, new(atomic.Int32))
	n.(*atomic.Int32).Add(1)
	s.counts[how].Add(1)
}
