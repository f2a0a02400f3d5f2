package budget

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"bellwether/engine/fleet"

	"pgregory.net/rapid"
)

// world is a machine that the ledger keeps the books of: what is really in
// memory follows from what was sent, and observations read it with a delay.
type world struct {
	l       *Ledger
	now     time.Time
	sizes   map[fleet.DeploymentID]Need
	real    map[fleet.DeploymentID]bool
	live    map[string]fleet.DeploymentID
	sent    map[string]bool
	next    int
	reading *Observation // taken, not delivered yet
}

func newWorld(t *rapid.T) *world {
	w := &world{l: New(Options{}), now: t0, sizes: map[fleet.DeploymentID]Need{},
		real: map[fleet.DeploymentID]bool{}, live: map[string]fleet.DeploymentID{}, sent: map[string]bool{}}
	limits := rapid.Int64Range(10, 40)
	w.l.SetPools([]fleet.Pool{
		{Name: "gpu0", Kind: fleet.PoolVRAM, Limit: limits.Draw(t, "vram"), Margin: 1},
		{Name: "ram", Kind: fleet.PoolRAM, Limit: limits.Draw(t, "ram"), Margin: 2},
	})
	for i := range 6 {
		n := Need{Label: Measured, Shares: []Share{{"gpu0", fleet.Know(rapid.Int64Range(1, 20).Draw(t, "gpu bytes"))}}}
		if rapid.Bool().Draw(t, "spills") {
			n.Shares = append(n.Shares, Share{"ram", fleet.Know(rapid.Int64Range(1, 20).Draw(t, "ram bytes"))})
		}
		w.sizes[id(fmt.Sprint("m", i))] = n
	}
	return w
}

func (w *world) anyModel(t *rapid.T) fleet.DeploymentID {
	return rapid.SampledFrom(slices.SortedFunc(maps.Keys(w.sizes), fleet.DeploymentID.Compare)).Draw(t, "model")
}

func (w *world) anyKey(t *rapid.T) string {
	if len(w.live) == 0 {
		t.Skip("nothing is reserved")
	}
	return rapid.SampledFrom(slices.Sorted(maps.Keys(w.live))).Draw(t, "key")
}

func (w *world) actions() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"pass time": func(t *rapid.T) {
			w.now = w.now.Add(time.Duration(rapid.IntRange(1, 60).Draw(t, "seconds")) * time.Second)
			w.l.Expire(w.now)
		},
		"reserve": func(t *rapid.T) {
			c := Candidate{Deployment: w.anyModel(t)}
			c.Need = w.sizes[c.Deployment]
			if rapid.Bool().Draw(t, "evicts") {
				c.Evict = []fleet.DeploymentID{w.anyModel(t)}
			}
			w.next++
			key := fmt.Sprint("g", w.next)
			if w.l.Reserve(key, c) == nil {
				w.live[key] = c.Deployment
			}
		},
		"send": func(t *rapid.T) {
			key := w.anyKey(t)
			model := w.live[key]
			for _, victim := range slices.SortedFunc(maps.Keys(w.sizes), fleet.DeploymentID.Compare) {
				if w.l.Leaving(victim) {
					t.Skip("a load waits until every victim is seen to be gone")
				}
			}
			w.l.Sent(key, w.now)
			w.sent[key], w.real[model] = true, true
		},
		"end": func(t *rapid.T) {
			key := w.anyKey(t)
			switch {
			case w.sent[key] && rapid.Bool().Draw(t, "uncertain"):
				w.l.Hold(key, 2*time.Minute, w.now)
			default:
				w.l.Release(key, w.now)
			}
			delete(w.live, key)
		},
		"look": func(t *rapid.T) {
			w.now = w.now.Add(time.Millisecond)
			o := Observation{Node: "studio", Runtime: "ollama", StartedAt: w.now, Resident: map[fleet.DeploymentID]Need{}}
			for m := range w.real {
				o.Resident[m] = w.sizes[m]
			}
			w.reading = &o
		},
		"deliver the reading": func(t *rapid.T) {
			if w.reading == nil {
				t.Skip("nothing was read")
			}
			w.l.Observe(*w.reading)
			w.reading = nil
		},
		"runtime unloads": func(t *rapid.T) {
			m := w.anyModel(t)
			if !w.l.Busy(m) {
				delete(w.real, m)
			}
		},
		"restart": func(t *rapid.T) {
			data, err := w.l.Export(w.now)
			if err != nil {
				t.Fatal(err)
			}
			pools := w.l.Pools(w.now)
			w.l = New(Options{})
			w.l.SetPools(pools)
			if err := w.l.Import(data, w.now); err != nil {
				t.Fatal(err)
			}
			w.l.Recover(2*time.Minute, w.now)
			clear(w.live)
			clear(w.sent)
			w.reading = nil
		},
		"": w.check,
	}
}

func (w *world) check(t *rapid.T) {
	for _, p := range w.l.Pools(w.now) {
		var committed, real int64
		for m, n := range w.sizes {
			b, _ := n.in(p.Name)
			if e := w.l.entries[m]; e != nil && !e.leaving {
				committed += b.V
			}
			if w.real[m] {
				real += b.V
				if e := w.l.entries[m]; e == nil && b.V > 0 {
					t.Fatalf("%s is in memory and the ledger knows nothing of it", m.Model)
				}
			}
		}
		if committed+p.Margin > p.Limit && committed > 0 {
			t.Fatalf("pool %s: %d committed, margin %d, limit %d", p.Name, committed, p.Margin, p.Limit)
		}
		if real > p.Limit-p.Margin {
			t.Fatalf("pool %s: %d really in memory, margin %d, limit %d", p.Name, real, p.Margin, p.Limit)
		}
		if held := Sum(&p).Held(); held != p.Held() {
			t.Fatalf("pool %s: parts sum to %d, holders to %d", p.Name, held, p.Held())
		}
	}
	for key := range w.l.keys {
		if w.live[key] == (fleet.DeploymentID{}) {
			t.Fatalf("reservation %s has no owner", key)
		}
	}
	if again, err := roundTrip(w.l, w.now); err != nil || !equalExports(w.l, again, w.now) {
		t.Fatalf("import(export(x)) is not x: %v", err)
	}
}

func TestNeverOverTheLimitAndNothingForgotten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		t.Repeat(w.actions())
	})
}

func roundTrip(l *Ledger, now time.Time) (*Ledger, error) {
	data, err := l.Export(now)
	if err != nil {
		return nil, err
	}
	again := New(l.opts)
	again.SetPools(l.pools)
	return again, again.Import(data, now)
}

func equalExports(a, b *Ledger, now time.Time) bool {
	for _, then := range []time.Time{now, now.Add(time.Minute)} { // ages and durations go on alike
		x, _ := a.Export(then)
		y, _ := b.Export(then)
		if !bytes.Equal(x, y) {
			return false
		}
	}
	return maps.Equal(a.keys, b.keys)
}

func TestOrderOfClaimsDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type claim struct {
			key   string
			model string
			size  int64
			sent  bool
		}
		claims := make([]claim, rapid.IntRange(1, 8).Draw(t, "claims"))
		for i := range claims {
			claims[i] = claim{fmt.Sprint("k", i), rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "model"),
				rapid.Int64Range(0, 9).Draw(t, "size"), rapid.Bool().Draw(t, "sent")}
		}
		build := func(order []claim) string {
			l := newLedger(1000, 1)
			for _, c := range order {
				l.Claim(c.key, asks(c.model, c.size))
			}
			for _, c := range claims { // the moment of sending decides, not the order of claims
				if c.sent {
					l.Sent(c.key, at(1))
				}
			}
			return text(l, at(2))
		}
		if a, b := build(claims), build(rapid.Permutation(claims).Draw(t, "order")); a != b {
			t.Fatalf("%s\n%s", a, b)
		}
	})
}

func TestMirrorOfPoolsIsThosePools(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		for range rapid.IntRange(0, 30).Draw(t, "steps") {
			w.now = w.now.Add(time.Second)
			c := Candidate{Deployment: w.anyModel(t)}
			c.Need = w.sizes[c.Deployment]
			w.next++
			key := fmt.Sprint("g", w.next)
			if w.l.Reserve(key, c) != nil {
				continue
			}
			if rapid.Bool().Draw(t, "sent") {
				w.l.Sent(key, w.now)
			}
			if rapid.Bool().Draw(t, "held") {
				w.l.Hold(key, time.Hour, w.now)
			}
		}
		want := w.l.Pools(w.now)
		got := Mirror(want, Options{}, w.now).Pools(w.now)
		for i := range want {
			if !slices.Equal(got[i].Holders, want[i].Holders) {
				t.Fatalf("pool %s\n got %v\nwant %v", want[i].Name, got[i].Holders, want[i].Holders)
			}
		}
	})
}

func BenchmarkReserveRelease(b *testing.B) {
	l := newLedger(60, 2)
	observe(l, at(0), map[string]int64{"a": 4, "b": 4, "c": 4, "d": 4})
	c := asks("a", 4)
	for b.Loop() {
		if l.Reserve("g", c) != nil {
			b.Fatal("denied")
		}
		l.Sent("g", t0)
		l.Release("g", t0)
	}
}
