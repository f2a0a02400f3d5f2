package route

import (
	"encoding/json"
	"slices"
	"testing"

	"bellwether/engine/fleet"

	"pgregory.net/rapid"
)

// shuffle returns the same fleet in another order of everything in it.
func shuffle(t *rapid.T, v *View) *View {
	w := copyView(v)
	w.Fleet.Nodes = rapid.Permutation(w.Fleet.Nodes).Draw(t, "nodes")
	for i := range w.Fleet.Nodes {
		n := &w.Fleet.Nodes[i]
		n.Deployments = rapid.Permutation(n.Deployments).Draw(t, "deployments")
		n.Runtimes = rapid.Permutation(n.Runtimes).Draw(t, "runtimes")
	}
	return w
}

func bytesOf(t *rapid.T, d *Decision) string {
	b, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestSameInputsSameBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v, p, q := drawView(t, 3), DefaultPolicy(), drawQuery(t)
		a, b := Decide(v, p, q), Decide(v, p, q)
		if bytesOf(t, a) != bytesOf(t, b) || a.Explain() != b.Explain() {
			t.Fatalf("two answers:\n%s\n%s", a.Explain(), b.Explain())
		}
	})
}

func TestInputOrderNeverMatters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v, p, q := drawView(t, 3), DefaultPolicy(), drawQuery(t)
		a, b := Decide(v, p, q), Decide(shuffle(t, v), p, q)
		if bytesOf(t, a) != bytesOf(t, b) {
			t.Fatalf("order matters:\n%s\n%s", a.Explain(), b.Explain())
		}
	})
}

func TestDecideChangesNothingItLooksAt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v, p, q := drawView(t, 2), DefaultPolicy(), drawQuery(t)
		before, _ := json.Marshal([]any{v.Fleet, q, p})
		Decide(v, p, q)
		after, _ := json.Marshal([]any{v.Fleet, q, p})
		if string(before) != string(after) {
			t.Fatal("Decide changed its input")
		}
	})
}

func TestExcludedNeverWins(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v, p, q := drawView(t, 3), DefaultPolicy(), drawQuery(t)
		for i := range v.Fleet.Nodes {
			n := &v.Fleet.Nodes[i]
			n.State.Paused = rapid.Bool().Draw(t, "paused")
			n.Runtimes[0].Up = rapid.Bool().Draw(t, "up")
			n.Deployments[0].Disabled = rapid.Bool().Draw(t, "disabled")
		}
		d := Decide(v, p, q)
		if d.Verdict != Serve {
			return
		}
		n := v.Fleet.Node(d.Chosen.Node)
		if len(d.Exclusions[d.Chosen]) > 0 || n.State.Paused || n.Deployment(d.Chosen).Disabled || !n.Runtime(d.Chosen.Runtime).Up {
			t.Fatalf("an excluded deployment won:\n%s", d.Explain())
		}
		if !slices.ContainsFunc(d.Candidates, func(c Candidate) bool { return c.Deployment == d.Chosen }) {
			t.Fatal("the chosen is no candidate")
		}
	})
}

// A machine that is out changes nothing by being there.
func TestExcludedMachineNeverChangesTheChoice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v, p, q := drawView(t, 3), DefaultPolicy(), drawQuery(t)
		out := &v.Fleet.Nodes[2]
		out.State.Paused = true
		with := Decide(v, p, q)
		without := copyView(v)
		without.Fleet.Nodes = slices.DeleteFunc(without.Fleet.Nodes, func(n fleet.Node) bool { return n.Node == out.Node })
		if d := Decide(without, p, q); with.Verdict == Serve && (d.Verdict != Serve || d.Chosen != with.Chosen || bytesOf(t, &Decision{Plan: d.Plan}) != bytesOf(t, &Decision{Plan: with.Plan})) {
			t.Fatalf("it changed the choice:\n%s\n%s", with.Explain(), d.Explain())
		}
	})
}

// More free memory never scores less, nor turns a yes into a no.
func TestMoreMemoryNeverScoresLess(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v, p, q := drawView(t, 1), DefaultPolicy(), drawQuery(t)
		more := copyView(v)
		extra := int64(rapid.IntRange(0, 60).Draw(t, "extra")) * gb
		for i := range more.Fleet.Nodes[0].Pools {
			pool := &more.Fleet.Nodes[0].Pools[i]
			pool.Limit += extra
			pool.Total += extra
			if pool.Free.Known {
				pool.Free.V += extra
			}
		}
		less := Decide(v, p, q)
		for _, c := range less.Candidates {
			if slices.Contains(c.Notes, "context_doubtful") {
				continue // others that surely hold the request may come before it
			}
			i := slices.IndexFunc(Decide(more, p, q).Candidates, func(o Candidate) bool { return o.Deployment == c.Deployment })
			if i < 0 {
				t.Fatalf("%s is out with %d GB more\n%s", c.Deployment, extra/gb, Decide(more, p, q).Explain())
			}
			o := Decide(more, p, q).Candidates[i]
			evicts := slices.Contains(c.Notes, "evicts") // what leaves makes room for slots, too
			if o.NodeScore < c.NodeScore-1e-9 || o.Slots < c.Slots && !evicts {
				t.Fatalf("%s: %v and %d slots with more, %v and %d before", c.Deployment, o.NodeScore, o.Slots, c.NodeScore, c.Slots)
			}
		}
	})
}

// equal nodes are used in turn, whatever the order they are listed in.
func TestEqualNodesAreUsedInTurn(t *testing.T) {
	v, p, q := bigView(4, 1), DefaultPolicy(), bigQuery()
	q.Needs.Session = ""
	for i := range v.Fleet.Nodes {
		n := &v.Fleet.Nodes[i]
		n.Hardware.BandwidthGBs = fleet.Know(400.0)
		n.Deployments[0].Residency, n.Deployments[0].LoadedContext = fleet.Loaded, 8192
	}
	v.Lanes = map[fleet.DeploymentID]Lane{}
	count := map[string]int{}
	for turn := range 40 {
		d := Decide(v, p, q)
		count[d.Chosen.Node]++
		v.Lanes[d.Chosen] = Lane{LastUsed: int64(turn + 1)}
	}
	for node, n := range count {
		if n != 10 {
			t.Errorf("%s was chosen %d times of 40, want 10", node, n)
		}
	}
}

// A retry never goes back to where it failed, and ends.
func TestRetriesEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v, p, q := drawView(t, 3), DefaultPolicy(), drawQuery(t)
		model := ""
		for range 20 {
			d := Decide(v, p, q)
			if d.Verdict != Serve {
				return
			}
			if slices.Contains(q.Failed, d.Chosen) {
				t.Fatalf("back to %s", d.Chosen)
			}
			if model != "" && d.Chosen.Model != model && q.Changed {
				t.Fatalf("changed the model twice")
			}
			q.Changed = q.Changed || model != "" && !fleet.SameModel(d.Chosen.Model, model)
			model = d.Chosen.Model
			q.Failed = append(q.Failed, d.Chosen)
			q.Attempt++
		}
		t.Fatal("20 attempts")
	})
}
