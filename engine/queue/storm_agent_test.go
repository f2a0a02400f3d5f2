package queue

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"bellwether/engine/budget"
	"bellwether/engine/fleet"
)

// stormAgent is a node role with a real ledger; its mutex guards all below it.
type stormAgent struct {
	s     *storm
	name  string
	quiet atomic.Bool

	mu       sync.Mutex
	node     *fleet.Node
	ledger   *budget.Ledger
	loading  map[fleet.DeploymentID]chan struct{}
	includes uint64
	boots    int
	used     map[string]bool
	rng      *rand.Rand
}

func newStormAgent(s *storm, i int) *stormAgent {
	var deps []fleet.Deployment
	for m := range 6 {
		if (m+i)%4 == 3 {
			continue
		}
		d := onDisk(fmt.Sprint("m", m), 1+(m+i)%3)
		d.Kind, d.Preallocated, d.MaxContext = "ollama", true, 8192
		d.WeightsBytes = int64(4+m) * gb
		d.Capabilities = fleet.Capabilities{fleet.CapChat: {Support: fleet.Yes, Source: fleet.SourceRuntime}}
		deps = append(deps, d)
	}
	n := machine(fmt.Sprint("n", i), deps...)
	n.Sequence = 0
	n.Pools[0].Limit = 22 * gb
	n.Hardware.BandwidthGBs = fleet.Know(200 + 200*float64(i))
	a := &stormAgent{s: s, name: n.Node, node: n, ledger: budget.New(budget.Options{}),
		loading: map[fleet.DeploymentID]chan struct{}{}, used: map[string]bool{}, rng: rand.New(rand.NewPCG(uint64(i), 3))}
	a.node.Running = map[fleet.DeploymentID]int{}
	a.ledger.SetPools(n.Pools)
	return a
}

// live reports every 5 s, and lets the owner and the runtime have their ways.
func (a *stormAgent) live(ctx context.Context) {
	tick := time.NewTicker(5 * time.Second)
	defer tick.Stop()
	for {
		a.mu.Lock()
		if !a.quiet.Load() {
			a.happen()
		} else {
			a.node.State.Paused = false
		}
		a.mu.Unlock()
		a.report()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (a *stormAgent) happen() {
	a.node.State.Paused = a.rng.IntN(6) == 0
	if a.rng.IntN(40) == 0 {
		a.restart()
	}
	for i := range a.node.Deployments {
		d := &a.node.Deployments[i]
		if d.Residency == fleet.Loaded && !a.ledger.Busy(d.ID) && a.rng.IntN(10) == 0 {
			d.Residency = fleet.OnDisk // the runtime's own idle timer
		}
	}
}

// restart is a kill -9: what ran is lost and says so to nobody, the ledger comes
// back from disk.
func (a *stormAgent) restart() {
	a.boots++
	now := time.Now()
	saved, err := a.ledger.Export(now)
	if err != nil {
		a.s.t.Error(err)
	}
	a.ledger = budget.New(budget.Options{})
	a.ledger.SetPools(a.node.Pools)
	if err := a.ledger.Import(saved, now); err != nil {
		a.s.t.Error(err)
	}
	a.ledger.Recover(5*time.Second, now)
	a.node.Boot, a.node.Sequence, a.includes = fmt.Sprint(a.name, "-", a.boots+1), 0, 0
	clear(a.node.Running)
	for id, under := range a.loading {
		close(under)
		a.node.Deployment(id).Residency = fleet.OnDisk
	}
	clear(a.loading)
	for i := range a.node.Deployments {
		if d := &a.node.Deployments[i]; d.Residency == fleet.Leaving {
			d.Residency = fleet.Loaded
		}
	}
}

// lost reports whether the agent that took the grant is no more.
func (a *stormAgent) lost(g fleet.Grant) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return g.Boot != a.node.Boot
}

// report observes the runtime and sends what is, as copies.
func (a *stormAgent) report() {
	a.mu.Lock()
	now := time.Now()
	a.ledger.Expire(now)
	resident := map[fleet.DeploymentID]budget.Need{}
	for i := range a.node.Deployments {
		if d := &a.node.Deployments[i]; d.Residency == fleet.Loaded || d.Residency == fleet.Leaving {
			resident[d.ID] = a.need(d)
		}
	}
	a.ledger.Observe(budget.Observation{Node: a.name, Runtime: "ollama", StartedAt: now, Resident: resident})
	a.node.Sequence++
	h := a.node.Heartbeat
	h.IncludesGrant = a.includes
	h.Pools = a.pools(now)
	h.Deployments = slices.Clone(a.node.Deployments)
	h.Uncertain = a.ledger.Uncertain(now)
	h.Running = map[fleet.DeploymentID]int{}
	for id, n := range a.node.Running {
		if n > 0 {
			h.Running[id] = n
		}
	}
	a.mu.Unlock()
	a.s.reg.Report(h, now)
}

func (a *stormAgent) pools(now time.Time) []fleet.Pool {
	pools := a.ledger.Pools(now)
	pools[0].Free.V = max(0, pools[0].Limit-pools[0].Margin-pools[0].Held())
	return pools
}

func (a *stormAgent) need(d *fleet.Deployment) budget.Need {
	return budget.NeedOf(d, a.node.Runtime("ollama"), a.node.Pools)
}

// do is the agent's side of one grant.
func (a *stormAgent) do(g fleet.Grant, r *rand.Rand) (*fleet.Refusal, *fleet.Failure) {
	if no := a.admit(g, r); no != nil {
		return no, nil
	}
	f := a.load(g, r)
	if a.lost(g) {
		return nil, &fleet.Failure{Class: fleet.FailBeforeOpen}
	}
	if f != nil {
		a.release(g, 0)
		return nil, f
	}
	if r.IntN(300) == 0 {
		a.release(g, 0)
		return nil, &fleet.Failure{Class: fleet.FailBackPressure, Status: 503}
	}
	time.Sleep(time.Duration(20+r.IntN(400)) * time.Millisecond)
	if a.lost(g) {
		return nil, &fleet.Failure{Class: fleet.FailBeforeOpen}
	}
	switch {
	case r.IntN(40) == 0:
		a.release(g, 0)
		return nil, &fleet.Failure{Class: fleet.FailMidStream}
	case r.IntN(500) == 0:
		a.release(g, 5*time.Second)
		return nil, &fleet.Failure{Class: fleet.FailTimeout, MayRun: true}
	}
	a.release(g, 0)
	return nil, nil
}

// admit checks everything in one step, as agents do, and the promises of the
// dispatcher with it.
func (a *stormAgent) admit(g fleet.Grant, r *rand.Rand) *fleet.Refusal {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.includes = max(a.includes, g.Sequence)
	if a.used[g.ID] {
		a.s.t.Errorf("%s was presented twice", g.ID)
	}
	a.used[g.ID] = true
	d := a.node.Deployment(g.Deployment)
	no := func(code fleet.Code) *fleet.Refusal {
		return &fleet.Refusal{Code: code, Sequence: a.node.Sequence, Pools: a.pools(time.Now())}
	}
	if g.Boot != a.node.Boot {
		return no(fleet.CodeDraining)
	}
	if a.node.Running[d.ID] >= d.Slots {
		a.s.t.Errorf("%s: %d running on %d slots and one more was granted", d.ID, a.node.Running[d.ID], d.Slots)
	}
	if a.node.State.Paused {
		return no(fleet.CodePaused)
	}
	if r.IntN(150) == 0 {
		return no(fleet.CodePressure)
	}
	c := budget.Candidate{Deployment: d.ID, Need: a.need(d)}
	for _, v := range g.Evict {
		if a.node.Deployment(v).Residency == fleet.Loaded {
			c.Evict = append(c.Evict, v)
		}
	}
	if a.ledger.Reserve(g.ID, c) != nil {
		a.s.counts[noMemory].Add(1)
		return no(fleet.CodeMemory)
	}
	for _, v := range c.Evict {
		a.node.Deployment(v).Residency = fleet.Leaving
	}
	a.node.Running[d.ID]++
	return nil
}

// load brings the model in, once for all who wait for it, after its victims left.
func (a *stormAgent) load(g fleet.Grant, r *rand.Rand) *fleet.Failure {
	a.mu.Lock()
	d := a.node.Deployment(g.Deployment)
	if g.Boot != a.node.Boot {
		a.mu.Unlock()
		return nil
	}
	if d.Residency == fleet.Loaded {
		a.ledger.Sent(g.ID, time.Now())
		a.mu.Unlock()
		return nil
	}
	if under := a.loading[d.ID]; under != nil {
		a.mu.Unlock()
		<-under
		return nil
	}
	under := make(chan struct{})
	a.loading[d.ID] = under
	a.s.loads.Add(1)
	for i := range a.node.Deployments {
		if v := &a.node.Deployments[i]; v.Residency == fleet.Leaving {
			v.Residency = fleet.OnDisk
			a.ledger.Depart(v.ID)
		}
	}
	d.Residency = fleet.Loading
	a.ledger.Sent(g.ID, time.Now())
	a.checkMemory()
	a.mu.Unlock()
	a.report()
	time.Sleep(time.Duration(1000+r.IntN(3000)) * time.Millisecond)
	a.mu.Lock()
	if g.Boot != a.node.Boot {
		a.mu.Unlock()
		return nil
	}
	delete(a.loading, d.ID)
	close(under)
	fails := r.IntN(30) == 0
	d.Residency = fleet.Loaded
	if fails {
		d.Residency = fleet.OnDisk
	}
	a.mu.Unlock()
	a.report()
	if fails {
		return &fleet.Failure{Class: fleet.FailLoad}
	}
	return nil
}

func (a *stormAgent) release(g fleet.Grant, uncertain time.Duration) {
	a.mu.Lock()
	a.node.Running[g.Deployment]--
	now := time.Now()
	if uncertain > 0 {
		a.ledger.Hold(g.ID, uncertain, now)
	} else {
		a.ledger.Release(g.ID, now)
	}
	a.mu.Unlock()
	a.s.d.Released(fleet.Released{Grant: g.ID, Node: a.name, Deployment: g.Deployment, Sequence: g.Sequence, Uncertain: uncertain})
}

// checkMemory adds up what is really in memory.
func (a *stormAgent) checkMemory() {
	var sum int64
	for i := range a.node.Deployments {
		if d := &a.node.Deployments[i]; d.Residency != fleet.OnDisk {
			sum += d.WeightsBytes
		}
	}
	if limit := a.node.Pools[0].Limit - a.node.Pools[0].Margin; sum > limit {
		a.s.t.Errorf("%s: %d in memory, %d allowed", a.name, sum, limit)
	}
}

func (a *stormAgent) check() {
	for id, n := range a.node.Running {
		if n != 0 {
			a.s.t.Errorf("%s: %d still running", id, n)
		}
	}
}
