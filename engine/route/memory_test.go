package route

import (
	"testing"

	"bellwether/engine/budget"
	"bellwether/engine/fleet"

	"pgregory.net/rapid"
)

// drawNode draws a machine with pools, runtimes and models in any state.
func drawNode(t *rapid.T, name string) fleet.Node {
	n := fleet.Node{LastSeen: scenarioNow}
	n.Node, n.Name = name, name
	n.Hardware.MemoryBytes = int64(rapid.IntRange(8, 192).Draw(t, "memory")) * gb
	if rapid.Bool().Draw(t, "bandwidth known") {
		n.Hardware.BandwidthGBs = fleet.Know(float64(rapid.IntRange(50, 1000).Draw(t, "bandwidth")))
	}
	pool := func(name string, kind fleet.PoolKind) fleet.Pool {
		p := fleet.Pool{Name: name, Kind: kind, Limit: int64(rapid.IntRange(4, 100).Draw(t, name+" limit")) * gb, Margin: 2 * gb}
		p.Total = p.Limit
		if rapid.Bool().Draw(t, name+" sensed") {
			p.Free = fleet.Know(int64(rapid.IntRange(0, 100).Draw(t, name+" free")) * gb)
		}
		return p
	}
	if rapid.Bool().Draw(t, "discrete") {
		n.Pools = []fleet.Pool{pool("gpu", fleet.PoolVRAM), pool("ram", fleet.PoolRAM)}
	} else {
		n.Pools = []fleet.Pool{pool("unified", fleet.PoolUnified)}
	}
	n.Runtimes = []fleet.RuntimeState{
		{Name: "ollama", Kind: "ollama", Up: true, Pool: n.Pools[0].Name, MaxLoaded: rapid.IntRange(0, 3).Draw(t, "max loaded")},
		{Name: "llama", Kind: "llama-server", Up: true, Pool: n.Pools[0].Name},
	}
	caps, _ := readCaps("agent")
	for _, model := range []string{"a", "b", "c", "d"} {
		rt := rapid.SampledFrom([]string{"ollama", "ollama", "llama"}).Draw(t, model+" runtime")
		d := fleet.Deployment{ID: fleet.DeploymentID{Node: name, Runtime: rt, Model: model}, Kind: n.Runtime(rt).Kind, Capabilities: caps, MaxContext: 65536, KVBytesToken: 65536}
		d.WeightsBytes = int64(rapid.IntRange(0, 40).Draw(t, model+" weights")) * gb
		if rapid.Bool().Draw(t, model+" measured") {
			d.ResidentBytes = d.WeightsBytes + gb
			d.ResidentVRAM = int64(rapid.IntRange(0, int(d.ResidentBytes/gb)).Draw(t, model+" vram")) * gb
		}
		d.Residency = fleet.Residency(rapid.IntRange(0, 3).Draw(t, model+" residency"))
		d.Pinned = rapid.Bool().Draw(t, model+" pinned")
		if d.Residency == fleet.Loaded {
			d.LoadedContext = 8192
			if rapid.Bool().Draw(t, model+" held") {
				for _, s := range budget.NeedOf(&d, n.Runtime(rt), n.Pools).Shares {
					p := n.Pool(s.Pool)
					p.Holders = append(p.Holders, fleet.Holder{Deployment: d.ID, Kind: fleet.HoldResident, Bytes: s.Bytes})
				}
			}
		}
		n.Deployments = append(n.Deployments, d)
	}
	return n
}

func drawView(t *rapid.T, nodes int) *View {
	v := &View{Now: scenarioNow, Fleet: &fleet.Snapshot{Version: 1, Settled: true}, Lanes: map[fleet.DeploymentID]Lane{}, Pins: map[string]Pin{}, Open: map[fleet.DeploymentID]Circuit{}}
	for i := range nodes {
		n := drawNode(t, string(rune('p'+i)))
		for _, d := range n.Deployments {
			if rapid.Bool().Draw(t, "lane") {
				v.Lanes[d.ID] = Lane{Running: rapid.IntRange(0, 2).Draw(t, "running"), LastUsed: int64(rapid.IntRange(0, 9).Draw(t, "last"))}
			}
		}
		v.Fleet.Nodes = append(v.Fleet.Nodes, n)
	}
	return v
}

func drawQuery(t *rapid.T) *Query {
	q := &Query{Request: "r", Model: rapid.SampledFrom([]string{"a", "b", "c:latest", "auto", "auto:fast"}).Draw(t, "model"), Attempt: 1, Arrived: scenarioNow, Origin: "p",
		Needs: Requirements{Role: RoleChat, Streaming: true, App: "x", Tokens: Tokens{Input: rapid.IntRange(0, 20000).Draw(t, "in"), Output: 1024}}}
	if rapid.Bool().Draw(t, "fallback") {
		q.Fallbacks = []string{"d", "b"}
	}
	if rapid.Bool().Draw(t, "tasks") {
		q.Needs.PrimaryTask, q.Needs.Tasks = "coding", map[string]float64{"coding": 0.5, "chat": 0.3, "math": 0.2}
	}
	return q
}

// What Decide plans, the node's own ledger must admit: both have one idea of
// what a model takes, and a plan that is always refused would wait for ever.
func TestLedgerAdmitsEveryPlan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v, p, q := drawView(t, 2), DefaultPolicy(), drawQuery(t)
		d := Decide(v, p, q)
		if d.Verdict != Serve || !d.Plan.Load {
			return
		}
		n := v.Fleet.Node(d.Chosen.Node)
		dep := n.Deployment(d.Chosen)
		rt := n.Runtime(d.Chosen.Runtime)
		ledger := budget.Mirror(n.Pools, budget.Options{}, v.Now)
		need := budget.NeedOf(dep, rt, n.Pools)
		if d.Plan.Need > 0 {
			need = need.Resized(d.Plan.Need)
		}
		denial := ledger.Admit(budget.Candidate{Deployment: d.Chosen, Need: need, Evict: d.Plan.Evict, MaxLoaded: rt.MaxLoaded})
		if denial != nil {
			t.Fatalf("%v\n%s", denial, d.Explain())
		}
		for _, victim := range d.Plan.Evict {
			o := n.Deployment(victim)
			if o.Pinned || o.Residency != fleet.Loaded || v.Lanes[victim].Depth() > 0 || victim == d.Chosen {
				t.Fatalf("%s is no victim\n%s", victim, d.Explain())
			}
		}
	})
}

// No victim is named that the load could do without.
func TestPlanEvictsNoMoreThanNeeded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v, p, q := drawView(t, 1), DefaultPolicy(), drawQuery(t)
		d := Decide(v, p, q)
		if d.Verdict != Serve {
			return
		}
		for _, spared := range d.Plan.Evict {
			w := copyView(v)
			w.Fleet.Node(spared.Node).Deployment(spared).Pinned = true
			other := Decide(w, p, q)
			smaller := other.Plan.Context < d.Plan.Context // where there is no room for the whole need
			if other.Chosen == d.Chosen && len(other.Plan.Evict) == 0 && !smaller {
				t.Fatalf("%s need not leave\n%s", spared, d.Explain())
			}
		}
	})
}

func TestVictimOrderIsLeastRecentlyUsedThenLoadedThenID(t *testing.T) {
	s, err := ReadScenario(`
node studio memory 64GB bandwidth 400
  pool unified limit 40GB margin 2GB
    holds ollama/a bytes 10GB
    holds ollama/b bytes 10GB
    holds ollama/c bytes 10GB
  runtime ollama pool unified
  model ollama/c weights 9GB resident 10GB loaded 4096 loaded_ago 10m caps llm
  model ollama/a weights 9GB resident 10GB loaded 4096 loaded_ago 5m caps llm
  model ollama/b weights 9GB resident 10GB loaded 4096 loaded_ago 5m caps llm
  model ollama/new weights 9GB resident 10GB caps llm
ask new
lane studio/ollama/c last 4
ask new
lane studio/ollama/a last 5
ask new
lane studio/ollama/b running 1
lane studio/ollama/a last 3
ask new
`)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"c", "a", "b", "a"} {
		step := &s.Steps[i]
		d := Decide(step.View, step.Policy, &step.Query)
		if len(d.Plan.Evict) != 1 || d.Plan.Evict[0].Model != want {
			t.Errorf("ask %d: evicts %v, want %s", i+1, d.Plan.Evict, want)
		}
	}
}

// a model with work of any kind is never a victim.
func TestModelsAtWorkAreNeverVictims(t *testing.T) {
	base := `
node studio memory 64GB bandwidth 400
  pool unified limit 20GB margin 2GB
    holds ollama/old bytes 10GB
  runtime ollama pool unified
  model ollama/old weights 9GB resident 10GB loaded 4096 caps llm %s
  model ollama/new weights 9GB resident 10GB caps llm
%s
ask new
`
	for name, c := range map[string][2]string{
		"busy slot":       {"slots_busy 1", ""},
		"pinned":          {"pinned", ""},
		"request waiting": {"", "lane studio/ollama/old waiting 1"},
		"running there":   {"", "node studio\n  running ollama/old 1"},
		"may still run":   {"", "node studio\n  uncertain ollama/old 30s"},
		"pinned by name":  {"", "policy pinned_models OLD"},
	} {
		text := base
		for _, part := range c {
			text = replaceOnce(text, "%s", part)
		}
		s, err := ReadScenario(text)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		step := &s.Steps[0]
		if d := Decide(step.View, step.Policy, &step.Query); d.Verdict != Hold {
			t.Errorf("%s:\n%s", name, d.Explain())
		}
	}
	s, err := ReadScenario(replaceOnce(replaceOnce(base, "%s", ""), "%s", ""))
	if err != nil {
		t.Fatal(err)
	}
	if d := Decide(s.Steps[0].View, s.Steps[0].Policy, &s.Steps[0].Query); d.Verdict != Serve || len(d.Plan.Evict) != 1 {
		t.Errorf("idle, it must leave:\n%s", d.Explain())
	}
}

// A llama-server with one model keeps it as long as it runs.
func TestRuntimeThatCannotUnloadGivesNoVictim(t *testing.T) {
	s, err := ReadScenario(`
node studio memory 64GB bandwidth 400
  pool unified limit 20GB margin 2GB
    holds llama/old bytes 10GB
  runtime ollama pool unified
  runtime llama kind llama-server pool unified
  model llama/old weights 9GB resident 10GB loaded 4096 caps llm
  model ollama/new weights 9GB resident 10GB caps llm
ask new
node studio
  model llama/more weights 9GB caps llm
ask new
`)
	if err != nil {
		t.Fatal(err)
	}
	if d := Decide(s.Steps[0].View, s.Steps[0].Policy, &s.Steps[0].Query); d.Verdict != Hold {
		t.Errorf("got\n%s", d.Explain())
	}
	if d := Decide(s.Steps[1].View, s.Steps[1].Policy, &s.Steps[1].Query); d.Verdict != Serve {
		t.Errorf("in router mode it can:\n%s", d.Explain())
	}
}

// M-01: weights and slots x context, not weights alone.
func TestNeedGrowsWithTheContextLoaded(t *testing.T) {
	d := oneNode(func(_ *View, _ *Policy, _ *fleet.Node, d *fleet.Deployment, q *Query) {
		d.Residency, d.LoadedContext, d.ResidentBytes = fleet.OnDisk, 0, 0
		q.Needs.Tokens = Tokens{Input: 12000, Output: 1024}
	})
	weights := int64(5 * gb)
	want := weights + (weights*15+99)/100 + (16384-4096)*131072*4
	if d.Plan.Context != 16384 || d.Plan.Need != want {
		t.Errorf("context %d, need %d, want 16384 and %d", d.Plan.Context, d.Plan.Need, want)
	}
}

func replaceOnce(s, old, with string) string {
	for i := 0; i+len(old) <= len(s); i++ {
		if s[i:i+len(old)] == old {
			return s[:i] + with + s[i+len(old):]
		}
	}
	return s
}
