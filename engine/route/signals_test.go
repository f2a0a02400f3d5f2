package route

import (
	"math"
	"strings"
	"testing"
	"time"

	"bellwether/engine/evidence"
	"bellwether/engine/fleet"
)

// oneNode is a fleet of one machine with one loaded model, changed by a test.
func oneNode(change func(*View, *Policy, *fleet.Node, *fleet.Deployment, *Query)) *Decision {
	v, p, q := parts()
	n := &v.Fleet.Nodes[0]
	change(v, p, n, &n.Deployments[0], q)
	return Decide(v, p, q)
}

func parts() (*View, *Policy, *Query) {
	s, err := ReadScenario(`
node studio memory 64GB bandwidth 400
  pool unified limit 60GB margin 2GB free 40GB
  runtime ollama pool unified
  model ollama/m weights 5GB resident 6GB loaded 8192 max_context 32768 kv 131072B slots 4 preallocated caps llm
ask m
`)
	if err != nil {
		panic(err)
	}
	step := &s.Steps[0]
	return step.View, step.Policy, &step.Query
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 }

// signal decides and returns one signal of the only candidate.
func signal(t *testing.T, of func(Signals) float64, change func(*View, *Policy, *fleet.Node, *fleet.Deployment, *Query)) float64 {
	t.Helper()
	d := oneNode(change)
	if len(d.Candidates) != 1 {
		t.Fatalf("no candidate:\n%s", d.Explain())
	}
	return of(d.Candidates[0].Signals)
}

const tb = int64(1) << 40

func TestWarmthTable(t *testing.T) {
	for name, c := range map[string]struct {
		residency fleet.Residency
		unloaded  time.Duration
		want      float64
	}{
		"loaded":                 {fleet.Loaded, 0, 50},
		"being loaded":           {fleet.Loading, 0, 40},
		"unloaded just now":      {fleet.OnDisk, time.Second, 30},
		"unloaded 30 min ago":    {fleet.OnDisk, 30 * time.Minute, 30},
		"unloaded over 30 min":   {fleet.OnDisk, 30*time.Minute + 1, 10},
		"on disk":                {fleet.OnDisk, 0, 10},
		"loaded after an unload": {fleet.Loaded, time.Minute, 50},
	} {
		got := signal(t, func(s Signals) float64 { return s.Warmth }, func(v *View, _ *Policy, _ *fleet.Node, d *fleet.Deployment, _ *Query) {
			d.Residency = c.residency
			if c.unloaded > 0 {
				d.UnloadedAt = v.Now.Add(-c.unloaded)
			}
		})
		if got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestMemoryFitTable(t *testing.T) {
	for _, c := range []struct {
		free float64 // times the size
		want float64
	}{{3, 20}, {2.01, 20}, {2, 15}, {1.51, 15}, {1.5, 8}, {1.21, 8}, {1.2, 3}, {1, 3}} {
		got := signal(t, func(s Signals) float64 { return s.MemoryFit }, func(_ *View, _ *Policy, n *fleet.Node, d *fleet.Deployment, _ *Query) {
			d.Residency, d.LoadedContext, d.ResidentBytes = fleet.OnDisk, 0, 1000*gb/100
			n.Pools[0].Limit, n.Pools[0].Free = tb, fleet.Know(int64(c.free*1000*gb/100))
		})
		if got != c.want {
			t.Errorf("r = %v: %v, want %v", c.free, got, c.want)
		}
	}
	for _, r := range []fleet.Residency{fleet.Loaded, fleet.Loading} {
		got := signal(t, func(s Signals) float64 { return s.MemoryFit }, func(_ *View, _ *Policy, n *fleet.Node, d *fleet.Deployment, _ *Query) {
			d.Residency = r
			n.Pools[0].Free = fleet.Know[int64](0)
		})
		if got != 20 {
			t.Errorf("%s: %v, want 20 whatever is free", r, got)
		}
	}
}

func TestQueueDepthTable(t *testing.T) {
	for depth, want := range map[int]float64{0: 0, 1: -6, 4: -24, 5: -30, 9: -30} {
		got := signal(t, func(s Signals) float64 { return s.QueueDepth }, func(v *View, _ *Policy, _ *fleet.Node, d *fleet.Deployment, _ *Query) {
			v.Lanes[d.ID] = Lane{Running: depth / 2, Waiting: depth - depth/2}
		})
		if got != want {
			t.Errorf("depth %d: %v, want %v", depth, got, want)
		}
	}
}

func TestNormalizedDepthIsClamped(t *testing.T) {
	v := bigView(3, 1) // 100, 200, 300 GB/s: median 200
	p := DefaultPolicy()
	p.Score.BandwidthNormalize = true
	for bw, want := range map[float64]float64{200: -24, 400: -12, 100: -30, 1e6: -6, 1: -30} {
		v.Fleet.Nodes[1].Hardware.BandwidthGBs = fleet.Know(200.0)
		v.Fleet.Nodes[2].Hardware.BandwidthGBs = fleet.Know(200.0)
		v.Fleet.Nodes[0].Hardware.BandwidthGBs = fleet.Know(bw)
		id := v.Fleet.Nodes[0].Deployments[0].ID
		v.Lanes = map[fleet.DeploymentID]Lane{id: {Running: 4}}
		for _, c := range Decide(v, p, bigQuery()).Candidates {
			if c.Deployment == id && c.Signals.QueueDepth != want {
				t.Errorf("%v GB/s: %v, want %v", bw, c.Signals.QueueDepth, want)
			}
		}
	}
}

func TestWaitUsesMeasurementFrom20SamplesOn(t *testing.T) {
	wait := func(n int, p75 float64, lane Lane, state fleet.Residency, bw fleet.Reading[float64], weights int64) float64 {
		return signal(t, func(s Signals) float64 { return s.Wait }, func(v *View, _ *Policy, node *fleet.Node, d *fleet.Deployment, _ *Query) {
			d.Residency, d.WeightsBytes = state, weights
			node.Hardware.BandwidthGBs = bw
			v.Lanes[d.ID] = lane
			v.Evidence = evidence.NewBook(map[evidence.Key]evidence.Speeds{evidence.KeyOf(d): {Seconds: evidence.Figure{V: p75, N: n}}}, nil)
		})
	}
	bw := fleet.Know(400.0)
	none := fleet.Reading[float64]{}
	for name, c := range map[string]struct{ got, want float64 }{
		"measured":                 {wait(20, 30, Lane{Running: 2}, fleet.Loaded, bw, 5*gb), -6},
		"at most 25":               {wait(20, 300, Lane{Running: 2}, fleet.Loaded, bw, 5*gb), -25},
		"no depth, no wait":        {wait(20, 300, Lane{}, fleet.Loaded, bw, 5*gb), 0},
		"rest of a load":           {wait(20, 30, Lane{Running: 1, LoadRemaining: 20 * time.Second}, fleet.Loading, bw, 5*gb), -5},
		"too few samples":          {wait(19, 300, Lane{Running: 2}, fleet.Loaded, bw, 5*gb), -2 * (100 / 480.0) / 10},
		"guess, 40 GB":             {wait(0, 0, Lane{Running: 2}, fleet.Loaded, bw, 40*gb), -2 * (100 / 120.0) / 10},
		"guess, slow: 10 at least": {wait(0, 0, Lane{Running: 2}, fleet.Loaded, fleet.Know(20.0), 40*gb), -2},
		"guess, bandwidth unknown": {wait(0, 0, Lane{Running: 2}, fleet.Loaded, none, 40*gb), -2 * (100 / 2.5) / 10},
		"guess, unknown and huge":  {wait(0, 0, Lane{Running: 1}, fleet.Loaded, none, 400*gb), -10},
		"guess, nothing is known":  {wait(0, 0, Lane{Running: 1}, fleet.Loaded, none, 0), -0.1},
		"guess, small: all one GB": {wait(0, 0, Lane{Running: 1}, fleet.Loaded, none, gb/2), -0.1},
	} {
		if !near(c.got, c.want) {
			t.Errorf("%s: %v, want %v", name, c.got, c.want)
		}
	}
}

func TestRoleAffinityTable(t *testing.T) {
	role := func(bw float64, memory, weights int64) float64 {
		return signal(t, func(s Signals) float64 { return s.RoleAffinity }, func(_ *View, _ *Policy, n *fleet.Node, d *fleet.Deployment, _ *Query) {
			n.Hardware.BandwidthGBs = fleet.Reading[float64]{V: bw, Known: bw > 0}
			n.Hardware.MemoryBytes = memory * gb
			d.WeightsBytes = weights * gb
			d.ResidentBytes = 0
		})
	}
	for name, c := range map[string]struct{ got, want float64 }{
		"large, 400":              {role(400, 64, 40), 15},
		"large, at most 25":       {role(1800, 64, 40), 25},
		"small, 400":              {role(400, 64, 3), 9},
		"small, never below 3":    {role(1800, 64, 3), 3},
		"small, 100":              {role(100, 16, 3), 13.5},
		"between, 400":            {role(400, 64, 10), 9},
		"20 GB is between":        {role(400, 64, 20), 9},
		"8 GB is between":         {role(1800, 64, 8), 15},
		"unknown size is between": {role(400, 64, 0), 9},
		"no bandwidth, large":     {role(0, 128, 40), 15},
		"no bandwidth, large 32":  {role(0, 32, 40), 5},
		"no bandwidth, large 16":  {role(0, 16, 40), 0},
		"no bandwidth, small 32":  {role(0, 32, 3), 15},
		"no bandwidth, small 128": {role(0, 128, 3), 8},
		"no bandwidth, small 192": {role(0, 192, 3), 3},
		"no bandwidth, between":   {role(0, 64, 10), 5},
	} {
		if !near(c.got, c.want) {
			t.Errorf("%s: %v, want %v", name, c.got, c.want)
		}
	}
}

func TestContextFitTable(t *testing.T) {
	fit := func(loaded, in, out int) float64 {
		return signal(t, func(s Signals) float64 { return s.ContextFit }, func(_ *View, _ *Policy, _ *fleet.Node, d *fleet.Deployment, q *Query) {
			d.LoadedContext, d.MaxContext = loaded, 1<<20
			q.Needs.Tokens = Tokens{Input: in, Output: out}
		})
	}
	for name, c := range map[string]struct{ got, want float64 }{
		"below 1":    {fit(8192, 8000, 1000), -15},
		"exactly 1":  {fit(8192, 7192, 1000), 3},
		"below 1.5":  {fit(15000, 9001, 1000), 3},
		"1.5":        {fit(15000, 9000, 1000), 7.5},
		"3":          {fit(30000, 9000, 1000), 12},
		"8":          {fit(80000, 9000, 1000), 15},
		"no tokens":  {fit(8192, 0, 0), 15},
		"unknown":    {fit(0, 1000, 1000), 0},
		"almost 3":   {fit(29999, 9000, 1000), 7.5},
		"almost 8":   {fit(79999, 9000, 1000), 12},
		"just below": {fit(9999, 9000, 1000), -15},
	} {
		if c.got != c.want {
			t.Errorf("%s: %v, want %v", name, c.got, c.want)
		}
	}
}

func TestSessionAffinityTable(t *testing.T) {
	affinity := func(depth int, age time.Duration, where, session string) float64 {
		node, runtime, _ := strings.Cut(where, "/")
		return signal(t, func(s Signals) float64 { return s.SessionAffinity }, func(v *View, _ *Policy, _ *fleet.Node, d *fleet.Deployment, q *Query) {
			v.Lanes[d.ID] = Lane{Running: depth}
			v.Pins["talk"] = Pin{Deployment: fleet.DeploymentID{Node: node, Runtime: runtime, Model: "m"}, At: v.Now.Add(-age)}
			q.Needs.Session = session
		})
	}
	for name, c := range map[string]struct{ got, want float64 }{
		"depth 0":       {affinity(0, 0, "studio/ollama", "talk"), 20},
		"depth 1":       {affinity(1, 0, "studio/ollama", "talk"), 20 / 1.5},
		"depth 2":       {affinity(2, 0, "studio/ollama", "talk"), 10},
		"900 s old":     {affinity(0, 900*time.Second, "studio/ollama", "talk"), 20},
		"idled out":     {affinity(0, 901*time.Second, "studio/ollama", "talk"), 0},
		"another cache": {affinity(0, 0, "studio/llama-server", "talk"), 0},
		"another node":  {affinity(0, 0, "laptop/ollama", "talk"), 0},
		"another talk":  {affinity(0, 0, "studio/ollama", "other"), 0},
		"no session id": {affinity(0, 0, "studio/ollama", ""), 0},
	} {
		if !near(c.got, c.want) {
			t.Errorf("%s: %v, want %v", name, c.got, c.want)
		}
	}
}

func TestAvailabilityCountsOnlyWhileLearning(t *testing.T) {
	for learning, want := range map[bool]float64{true: 7, false: 0} {
		got := signal(t, func(s Signals) float64 { return s.Availability }, func(_ *View, _ *Policy, n *fleet.Node, _ *fleet.Deployment, _ *Query) {
			n.State.Learning, n.State.Availability = learning, 0.7
		})
		if !near(got, want) {
			t.Errorf("learning %v: %v, want %v", learning, got, want)
		}
	}
}

func TestScoreIsTheSumOfItsSignals(t *testing.T) {
	for _, c := range Decide(bigView(5, 20), DefaultPolicy(), bigQuery()).Candidates {
		if !near(c.NodeScore, c.Signals.Total()) {
			t.Errorf("%s: %v, signals sum to %v", c.Deployment, c.NodeScore, c.Signals.Total())
		}
	}
}

func TestEvidenceLabelSaysWhatTheNumbersRestOn(t *testing.T) {
	v, p, q := parts()
	if got := Decide(v, p, q).Evidence; got != "p75:heuristic" {
		t.Errorf("got %s", got)
	}
	d := &v.Fleet.Nodes[0].Deployments[0]
	v.Evidence = evidence.NewBook(map[evidence.Key]evidence.Speeds{evidence.KeyOf(d): {Seconds: evidence.Figure{V: 3, N: 120}}}, nil)
	if got := Decide(v, p, q).Evidence; got != "p75:measured:120" {
		t.Errorf("got %s", got)
	}
}
