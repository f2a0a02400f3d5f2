package engine

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"bellwether/engine/fleet"
	"bellwether/engine/queue"
	"bellwether/engine/route"
)

// fleetOf is a settled fleet with one Ollama on each node, which has one
// embedding model in memory: "node digest" pairs.
func fleetOf(pairs ...string) *fleet.Snapshot {
	now := time.Now()
	s := &fleet.Snapshot{Version: 1, At: now, Settled: true}
	for i := 0; i < len(pairs); i += 2 {
		node, digest := pairs[i], pairs[i+1]
		s.Nodes = append(s.Nodes, fleet.Node{LastSeen: now, Heartbeat: fleet.Heartbeat{
			Node: node, Name: node, Boot: "1", Sequence: 1,
			Pools:    []fleet.Pool{{Name: "ram", Kind: fleet.PoolUnified, Total: 64 << 30, Limit: 64 << 30, Free: fleet.Know[int64](60 << 30)}},
			Runtimes: []fleet.RuntimeState{{Name: "ollama", Kind: "ollama", Up: true, Pool: "ram", ObservedAt: now}},
			Deployments: []fleet.Deployment{{
				ID: fleet.DeploymentID{Node: node, Runtime: "ollama", Model: "nomic"}, Digest: digest, Kind: "ollama",
				WeightsBytes: 1 << 28, MaxContext: 8192, LoadedContext: 8192, Residency: fleet.Loaded, Slots: 4,
				Capabilities: fleet.Capabilities{fleet.CapEmbedding: {Support: fleet.Yes, Source: fleet.SourceRuntime}},
			}},
		}})
	}
	return s
}

const (
	digestA = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	digestB = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
)

// The rules of an anchor, one line each: what the policy has, what the contract
// declares, what the fleet has, and what comes of it.
func TestAnchorsFollowTheirRules(t *testing.T) {
	at := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	declared := func(id string) route.Anchor { return route.Anchor{Identity: id, Source: route.AnchorDeclared} }
	for name, c := range map[string]struct {
		has   *route.Anchor
		says  string
		fleet *fleet.Snapshot
		due   bool
		want  string // source and identity; "" = nothing changes
	}{
		"nothing is known":              {nil, "", fleetOf("studio", ""), true, ""},
		"not due yet":                   {nil, "", fleetOf("studio", digestA), false, ""},
		"the first known":               {nil, "", fleetOf("attic", "", "bench", digestB, "studio", digestA), true, "bound " + digestB},
		"declared, and nobody has it":   {nil, digestA, fleetOf("studio", digestB), true, "declared " + digestA},
		"declared needs no fleet":       {nil, digestA, &fleet.Snapshot{}, false, "declared " + digestA},
		"declared already":              {new(declared(digestA)), digestA, fleetOf("studio", digestB), true, ""},
		"bound stays":                   {&route.Anchor{Identity: digestA, Source: route.AnchorBound, From: "x"}, "", fleetOf("studio", digestB), true, ""},
		"a declaration moves it":        {&route.Anchor{Identity: digestA, Source: route.AnchorBound, From: "x"}, digestB, fleetOf("studio", digestB), true, "declared " + digestB},
		"another declaration too":       {new(declared(digestA)), digestB, fleetOf(), false, "declared " + digestB},
		"a declaration is taken back":   {new(declared(digestA)), "", fleetOf("studio", digestB), true, "recorded " + digestA},
		"recorded stays":                {&route.Anchor{Identity: digestA, Source: route.AnchorRecorded}, "", fleetOf("studio", digestB), true, ""},
		"what members declared is kept": {&route.Anchor{Identity: "v1", Source: route.AnchorDeclared, From: "studio/llama/nomic"}, "", fleetOf("studio", digestB), true, ""},
	} {
		doc := &FleetPolicy{Revision: 1}
		if c.has != nil {
			doc.Anchors = map[string]route.Anchor{"wiki": *c.has}
		}
		contracts := map[string]route.Contract{"wiki": {Members: []string{"nomic"}, Identity: c.says}}
		more := anchorsFor(doc, contracts, c.fleet, func(string) bool { return c.due }, at)
		got := ""
		if a, ok := more["wiki"]; ok {
			got = string(a.Source) + " " + a.Identity
			if a.Source != route.AnchorRecorded && !a.At.Equal(at) {
				t.Errorf("%s: at %s", name, a.At)
			}
		}
		if got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

// entrance is one gateway's side of a fleet: its own picture, its own dispatcher,
// and the policy it shares with all others.
type entrance struct {
	snap   atomic.Pointer[fleet.Snapshot]
	binder *binder
	queue  *queue.Dispatcher
	policy func() *route.Policy
}

func openEntrance(file *policyFile, snap *fleet.Snapshot) *entrance {
	d := &entrance{}
	d.snap.Store(snap)
	contracts := func() map[string]route.Contract {
		return map[string]route.Contract{"wiki": {Members: []string{"nomic"}}}
	}
	var mu sync.Mutex // guards the two below
	var doc *FleetPolicy
	var policy *route.Policy
	d.policy = func() *route.Policy {
		mu.Lock()
		defer mu.Unlock()
		if now := file.Current(); now != doc {
			doc, policy = now, route.DefaultPolicy()
			policy.Contracts = contracts()
			anchorContracts(policy.Contracts, doc)
		}
		return policy
	}
	d.queue = queue.New(queue.Config{Policy: d.policy, Fleet: d.snap.Load})
	d.binder = &binder{file: file, fleet: d.snap.Load, contracts: contracts,
		changed: d.queue.FleetChanged, log: slog.New(slog.DiscardHandler)}
	return d
}

// first is what the gateway does with the first request to a contract.
func (d *entrance) first(id string) *queue.Ticket {
	if c, name := d.policy().ContractFor("wiki"); c.Anchor == nil {
		d.binder.Want(name)
	}
	return d.queue.Submit(&route.Query{Request: id, Model: "wiki", Attempt: 1, Arrived: time.Now(),
		Needs: route.Requirements{Role: route.RoleEmbedding, App: id, Tokens: route.Tokens{Input: 10}}})
}

// Two gateways get the first request to one contract at the same time, and to
// each another member has become known first. However they race, one space
// comes of it: what either serves has the identity that the policy holds.
func TestAThousandRacesOfTwoFirstRequestsBindOneSpace(t *testing.T) {
	dir := t.TempDir()
	ctx, stop := context.WithCancel(t.Context())
	var loops sync.WaitGroup
	defer loops.Wait()
	defer stop()
	won := map[string]int{}
	for round := range 1000 {
		file := policyAt(t, filepath.Join(dir, fmt.Sprintf("%d.json", round)))
		entrances := []*entrance{openEntrance(file, fleetOf("bench", digestB)), openEntrance(file, fleetOf("studio", digestA))}
		roundCtx, end := context.WithCancel(ctx)
		for _, d := range entrances {
			loops.Go(func() { _ = d.queue.Run(roundCtx) })
		}
		answers := make([]queue.Answer, len(entrances))
		var start, racers sync.WaitGroup
		start.Add(1)
		for k := range entrances {
			i := (k + round) % len(entrances) // who was started last often comes first
			racers.Go(func() {
				start.Wait()
				answers[i] = <-entrances[i].first(fmt.Sprintf("r%d", i)).C()
			})
		}
		start.Done()
		racers.Wait()
		anchor := file.Current().Anchors["wiki"].Identity
		served := 0
		for i, a := range answers {
			own := entrances[i].snap.Load().Nodes[0].Deployments[0].Digest
			switch {
			case a.Grant != nil && own != anchor:
				t.Fatalf("round %d: %s served, and the anchor is %s", round, own, anchor)
			case a.Grant != nil:
				served++
			case own == anchor || a.Decision.RefuseCode != route.RefuseSpace:
				t.Fatalf("round %d: the gateway of %s got %s, and the anchor is %s", round, own, a.Decision.Explain(), anchor)
			}
		}
		if served != 1 || file.Current().Revision != 1 {
			t.Fatalf("round %d: %d served, revision %d", round, served, file.Current().Revision)
		}
		if again := policyAt(t, file.path).Current().Anchors["wiki"].Identity; again != anchor {
			t.Fatalf("round %d: %s is in force, %s on disk", round, anchor, again)
		}
		won[anchor]++
		end()
	}
	t.Logf("bound to %v", won)
}

func TestUnboundContractIsBoundOnceAMemberBecomesKnown(t *testing.T) {
	file := policyAt(t, filepath.Join(t.TempDir(), "fleet-policy.json"))
	snap := fleetOf("studio", "")
	b := &binder{file: file, fleet: func() *fleet.Snapshot { return snap }, changed: func() {}, log: slog.New(slog.DiscardHandler),
		contracts: func() map[string]route.Contract {
			return map[string]route.Contract{"asked": {Members: []string{"nomic"}}, "not-asked": {Members: []string{"nomic"}}}
		}}
	b.Saved()
	b.Want("asked")
	if rev := file.Current().Revision; rev != 0 {
		t.Fatalf("bound to nothing: revision %d", rev)
	}
	snap = fleetOf("bench", digestB, "studio", digestA)
	b.FleetChanged()
	anchors := file.Current().Anchors
	if len(anchors) != 1 || anchors["asked"].Identity != digestB || anchors["asked"].From != "bench/ollama/nomic" {
		t.Errorf("got %+v", anchors)
	}
	b.FleetChanged()
	b.Want("asked")
	if rev := file.Current().Revision; rev != 1 {
		t.Errorf("settled again: revision %d", rev)
	}
}

// What is bound when the settings are read waits until every machine has
// reported: else the first to speak would decide.
func TestSavedContractWaitsForTheWholePicture(t *testing.T) {
	file := policyAt(t, filepath.Join(t.TempDir(), "fleet-policy.json"))
	snap := fleetOf("studio", digestA)
	snap.Settled = false
	b := &binder{file: file, fleet: func() *fleet.Snapshot { return snap }, changed: func() {}, log: slog.New(slog.DiscardHandler),
		contracts: func() map[string]route.Contract {
			return map[string]route.Contract{"wiki": {Members: []string{"nomic"}}}
		}}
	b.Saved()
	b.Want("wiki")
	if rev := file.Current().Revision; rev != 0 {
		t.Fatalf("bound before all had reported: %+v", file.Current())
	}
	snap = fleetOf("bench", digestB, "studio", digestA)
	b.FleetChanged()
	if a := file.Current().Anchors["wiki"]; a.Identity != digestB {
		t.Errorf("got %+v", file.Current())
	}
}

// A request that comes before all machines have reported waits, and is served
// by what its contract is then bound to.
func TestRequestOfTheFirstSecondWaitsForItsAnchor(t *testing.T) {
	file := policyAt(t, filepath.Join(t.TempDir(), "fleet-policy.json"))
	snap := fleetOf("studio", digestA)
	snap.Settled = false
	d := openEntrance(file, snap)
	ctx, stop := context.WithCancel(t.Context())
	var loop sync.WaitGroup
	defer loop.Wait()
	defer stop()
	loop.Go(func() { _ = d.queue.Run(ctx) })
	d.binder.Saved()
	ticket := d.first("r")
	if s := d.queue.Status(); len(s.Held) != 1 {
		t.Fatalf("not held: %+v", s)
	}
	next := fleetOf("bench", digestB, "studio", digestA)
	next.Version = 2
	d.snap.Store(next)
	d.queue.FleetChanged() // it may be judged before it is bound
	d.binder.FleetChanged()
	if a := <-ticket.C(); a.Grant == nil || a.Grant.Deployment.Node != "bench" || file.Current().Anchors["wiki"].Identity != digestB {
		t.Errorf("got %+v, %s", a, a.Decision.Explain())
	}
}
