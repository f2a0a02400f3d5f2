package route

import (
	"fmt"
	"testing"

	"bellwether/engine/evidence"
	"bellwether/engine/fleet"
)

// bigView is a fleet of nodes x models; every node has every model, a fifth of
// them loaded.
func bigView(nodes, models int) *View {
	f := &fleet.Snapshot{Version: 7, At: scenarioNow, Settled: true}
	lanes := map[fleet.DeploymentID]Lane{}
	for i := range nodes {
		n := fleet.Node{LastSeen: scenarioNow}
		n.Node, n.Name = fmt.Sprintf("node%02d", i), fmt.Sprintf("machine%02d", i)
		n.State.OwnRequests = "serve"
		n.Hardware = fleet.Hardware{MemoryBytes: 64 * gb, BandwidthGBs: fleet.Know(100 + 100*float64(i))}
		n.Pools = []fleet.Pool{{Name: "unified", Kind: fleet.PoolUnified, Total: 60 * gb, Limit: 60 * gb, Margin: 2 * gb, Free: fleet.Know[int64](24 * gb)}}
		n.Runtimes = []fleet.RuntimeState{{Name: "ollama", Kind: "ollama", Up: true, Pool: "unified"}}
		caps, _ := readCaps("agent")
		for k := range models {
			d := fleet.Deployment{
				ID:     fleet.DeploymentID{Node: n.Node, Runtime: "ollama", Model: fmt.Sprintf("model%02d:8b", k)},
				Digest: fmt.Sprintf("sha256:%064d", k), Kind: "ollama", WeightsBytes: int64(3+k) * gb,
				MaxContext: 40960, KVBytesToken: 131072, Capabilities: caps, Honours: []string{"seed", "top_k"},
			}
			if k%5 == i%5 {
				d.Residency, d.LoadedContext, d.ResidentBytes = fleet.Loaded, 8192, int64(4+k)*gb
				n.Pools[0].Holders = append(n.Pools[0].Holders, fleet.Holder{Deployment: d.ID, Kind: fleet.HoldResident, Bytes: fleet.Know(d.ResidentBytes)})
				lanes[d.ID] = Lane{Running: k % 3, LastUsed: int64(k)}
			}
			n.Deployments = append(n.Deployments, d)
		}
		f.Nodes = append(f.Nodes, n)
	}
	v := &View{Now: scenarioNow, Fleet: f, Lanes: lanes, Pins: map[string]Pin{}, Open: map[fleet.DeploymentID]Circuit{}}
	v.Evidence = measuredBook(f)
	v.Pins["talk"] = Pin{Deployment: f.Nodes[0].Deployments[0].ID, At: scenarioNow}
	return v
}

func measuredBook(f *fleet.Snapshot) *evidence.Book {
	speeds := map[evidence.Key]evidence.Speeds{}
	habits := map[evidence.ModelKey]evidence.Habits{}
	ratio := map[string]evidence.Ratio{"": {V: 1.1, Least: 0.9, N: 40}}
	for i := range f.Nodes {
		for k := range f.Nodes[i].Deployments {
			d := &f.Nodes[i].Deployments[k]
			fig := evidence.Figure{V: 12, N: 40}
			speeds[evidence.KeyOf(d)] = evidence.Speeds{Seconds: fig, Load: fig, Decode: fig, Prefill: fig}
			habits[evidence.ModelKeyOf(d)] = evidence.Habits{Calibration: ratio}
		}
	}
	return evidence.NewBook(speeds, habits)
}

func bigQuery() *Query {
	return &Query{Request: "r1", Model: "model00:8b", Attempt: 1, Arrived: scenarioNow, Origin: "node00", Needs: Requirements{
		Role: RoleChat, Streaming: true, NeedsTools: true, Tokens: Tokens{Input: 3000, Output: 1024}, Session: "talk", App: "bench",
	}}
}

// BenchmarkDecide: at most 50 us for 5 nodes x 20 deployments.
func BenchmarkDecide(b *testing.B) {
	v, p, q := bigView(5, 20), DefaultPolicy(), bigQuery()
	if d := Decide(v, p, q); d.Verdict != Serve {
		b.Fatal(d.Explain())
	}
	b.ReportAllocs()
	var room Room
	for b.Loop() {
		room.Decide(v, p, q)
	}
}

func BenchmarkDecideWithFallbacksAndTools(b *testing.B) {
	v, p, q := bigView(5, 20), DefaultPolicy(), bigQuery()
	p.ToolKey = scenarioKey
	q.Fallbacks = []string{"model01:8b", "model02:8b"}
	q.Needs.IssuedBy = IdentityTag(scenarioKey, v.Fleet.Nodes[0].Deployments[0].Identity())
	b.ReportAllocs()
	var room Room
	for b.Loop() {
		room.Decide(v, p, q)
	}
}

func BenchmarkDecideFleetOf50(b *testing.B) {
	v, p, q := bigView(50, 100), DefaultPolicy(), bigQuery()
	b.ReportAllocs()
	var room Room
	for b.Loop() {
		room.Decide(v, p, q)
	}
}

// BenchmarkDecideAuto: choosing among all models costs at most 0.2 ms more than
// a concrete name.
func BenchmarkDecideAuto(b *testing.B) {
	v, p, q := bigView(5, 20), DefaultPolicy(), bigQuery()
	q.Model, q.Needs.PrimaryTask = "auto", "coding"
	b.ReportAllocs()
	var room Room
	for b.Loop() {
		room.Decide(v, p, q)
	}
}

// wideAlias is a fleet of 20 machines that all have 60 models, and an alias that
// lists them all: 1,200 deployments to choose among.
func wideAlias() (*View, *Policy, *Query) {
	v, p, q := bigView(20, 60), DefaultPolicy(), bigQuery()
	a := Alias{Profile: ProfileBalanced}
	for i := range 60 {
		a.Models = append(a.Models, fmt.Sprintf("model%02d:8b", i))
	}
	p.Aliases = MergeAliases(map[string]Alias{"wide": a})
	q.Model, q.Needs.PrimaryTask = "wide", "coding"
	return v, p, q
}

func BenchmarkDecideWideAlias(b *testing.B) {
	v, p, q := wideAlias()
	if d := Decide(v, p, q); d.Verdict != Serve {
		b.Fatal(d.Explain())
	}
	b.ReportAllocs()
	var room Room
	for b.Loop() {
		room.Decide(v, p, q)
	}
}
