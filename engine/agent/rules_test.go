package agent

import (
	"strconv"
	"testing"
	"time"

	"bellwether/engine/dialect"
	"bellwether/engine/fleet"
	"bellwether/platform/hardware"
	"bellwether/platform/sense"
)

func TestPoolsAreLaidOutByWhatTheMachineIs(t *testing.T) {
	bytes := func(n int64) hardware.Reading[int64] { return hardware.Reading[int64]{V: n, Known: true} }
	for _, c := range []struct {
		name     string
		facts    hardware.Facts
		total    int64 // a container's limit, 0 = none
		settings []PoolSetting
		want     []fleet.Pool // name, kind, total, limit, margin
	}{
		{"Mac of 16 GB", hardware.Facts{Memory: bytes(16 * gib), Unified: true}, 0, nil,
			[]fleet.Pool{{Name: "unified", Kind: fleet.PoolUnified, Total: 16 * gib, Limit: 12 * gib, Margin: 2 * gib}}},
		{"Mac of 128 GB", hardware.Facts{Memory: bytes(128 * gib), Unified: true}, 0, nil,
			[]fleet.Pool{{Name: "unified", Kind: fleet.PoolUnified, Total: 128 * gib, Limit: 96 * gib, Margin: 2 * gib}}},
		{"Mac whose owner raised the wired limit", hardware.Facts{Memory: bytes(128 * gib), Unified: true, GPULimit: bytes(120 * gib)}, 0, nil,
			[]fleet.Pool{{Name: "unified", Kind: fleet.PoolUnified, Total: 128 * gib, Limit: 120 * gib, Margin: 2 * gib}}},
		{"PC with a card", hardware.Facts{Memory: bytes(32 * gib), GPUs: []hardware.GPU{{VRAM: bytes(24 * gib)}}}, 0, nil,
			[]fleet.Pool{{Name: "gpu0", Kind: fleet.PoolVRAM, Total: 24 * gib, Limit: 24 * gib, Margin: 2 * gib},
				{Name: "ram", Kind: fleet.PoolRAM, Total: 32 * gib, Limit: 28 * gib, Margin: 2 * gib}}},
		{"PC with two cards", hardware.Facts{Memory: bytes(256 * gib), GPUs: []hardware.GPU{{VRAM: bytes(24 * gib)}, {VRAM: bytes(12 * gib)}}}, 0, nil,
			[]fleet.Pool{{Name: "gpus", Kind: fleet.PoolVRAM, Total: 36 * gib, Limit: 36 * gib, Margin: 2 * gib},
				{Name: "ram", Kind: fleet.PoolRAM, Total: 256 * gib, Limit: 240 * gib, Margin: 2 * gib}}},
		{"a card of unknown memory is no pool of 0 bytes", hardware.Facts{Memory: bytes(32 * gib), GPUs: []hardware.GPU{{}}}, 0, nil,
			[]fleet.Pool{{Name: "ram", Kind: fleet.PoolRAM, Total: 32 * gib, Limit: 28 * gib, Margin: 2 * gib}}},
		{"container", hardware.Facts{Memory: bytes(64 * gib)}, 8 * gib, nil,
			[]fleet.Pool{{Name: "ram", Kind: fleet.PoolRAM, Total: 8 * gib, Limit: 7 * gib, Margin: 2 * gib}}},
		{"the owner's word", hardware.Facts{Memory: bytes(64 * gib)}, 0, []PoolSetting{{Name: "ram", Memory: 10 * gib, Margin: 0}, {Name: "gpu0", Memory: 1}},
			[]fleet.Pool{{Name: "ram", Kind: fleet.PoolRAM, Total: 64 * gib, Limit: 10 * gib, Margin: 0}}},
		{"a limit without a name is the main pool's", hardware.Facts{Memory: bytes(64 * gib)}, 0, []PoolSetting{{Memory: 10 * gib, Margin: 1 * gib}},
			[]fleet.Pool{{Name: "ram", Kind: fleet.PoolRAM, Total: 64 * gib, Limit: 10 * gib, Margin: 1 * gib}}},
		{"what names the pool counts over that", hardware.Facts{Memory: bytes(64 * gib)}, 0, []PoolSetting{{Name: "ram", Memory: 20 * gib, Margin: -1}, {Memory: 10 * gib, Margin: 1 * gib}},
			[]fleet.Pool{{Name: "ram", Kind: fleet.PoolRAM, Total: 64 * gib, Limit: 20 * gib, Margin: 1 * gib}}},
		{"the owner's limit with the default margin", hardware.Facts{Memory: bytes(64 * gib)}, 0, []PoolSetting{{Name: "ram", Memory: 10 * gib, Margin: -1}},
			[]fleet.Pool{{Name: "ram", Kind: fleet.PoolRAM, Total: 64 * gib, Limit: 10 * gib, Margin: 2 * gib}}},
	} {
		var r sense.Readings
		if c.total > 0 {
			r.Total = sense.Reading[int64]{V: c.total, Known: true}
		}
		got := layout(c.facts, r, c.settings)
		if len(got) != len(c.want) {
			t.Errorf("%s: %+v", c.name, got)
			continue
		}
		for i, w := range c.want {
			g := got[i]
			if g.Name != w.Name || g.Kind != w.Kind || g.Total != w.Total || g.Limit != w.Limit || g.Margin != w.Margin {
				t.Errorf("%s: pool %d = %+v, want %+v", c.name, i, g, w)
			}
		}
	}
}

func TestHeartbeatIncludesNoGrantStillOnItsWay(t *testing.T) {
	b := newGrantBook()
	now := time.Now()
	take := func(n uint64) { b.take(&fleet.Grant{Sequence: n}, now) }
	take(1)
	take(3) // 2 is late, or was never used
	if got := b.included(now); got != 1 {
		t.Errorf("included = %d with a gap, want 1", got)
	}
	take(2)
	if got := b.included(now); got != 3 {
		t.Errorf("included = %d after the late one, want 3", got)
	}
	take(7)
	now = now.Add(fleet.GrantTTL)
	if got := b.included(now); got != 7 {
		t.Errorf("included = %d when the missing ones are too old to be used, want 7", got)
	}
	b.take(&fleet.Grant{Epoch: 2, Sequence: 1}, now)
	if got := b.included(now); got != 1 {
		t.Errorf("included = %d after a new router, which counts anew", got)
	}
}

func TestAGrantIsGoodOnce(t *testing.T) {
	b := newGrantBook()
	for n := range uint64(3 * grantMemory / 2) {
		g := &fleet.Grant{ID: strconv.FormatUint(n, 36), Sequence: n}
		if b.spent(g) {
			t.Fatalf("grant %d is spent before it was used", n)
		}
		if b.use(g); !b.spent(g) {
			t.Fatalf("grant %d is not spent", n)
		}
	}
	// A router that lost sight of this node for a moment may count some anew.
	if b.spent(&fleet.Grant{ID: "another", Sequence: grantMemory}) {
		t.Error("another grant of a number is spent")
	}
}

func TestClimbingLatencyIsNoted(t *testing.T) {
	var p pace
	feed := func(seconds ...int) (changed bool) {
		for _, s := range seconds {
			changed = p.add(time.Duration(s) * time.Second)
		}
		return changed
	}
	if feed(50, 130, 160) || p.note() != "" {
		t.Error("judged before there is a trend")
	}
	if !feed(190) || p.note() == "" {
		t.Error("50, 130, 160, 190 s is not noted")
	}
	if !feed(4) || p.note() != "" {
		t.Error("the note outlives the cause")
	}
	p = pace{}
	if feed(1, 2, 4, 8); p.note() != "" {
		t.Error("quick answers are called slow")
	}
	p = pace{}
	if feed(60, 61, 60, 62, 61); p.note() != "" {
		t.Error("steadily slow is called climbing")
	}
}

func TestCapOfARuntimeIsLearnedFromItsOwnEvictions(t *testing.T) {
	var c capLearner
	c.see(3, true)
	if c.most != 0 {
		t.Error("one eviction may have been for memory")
	}
	c.see(3, true)
	if c.most != 3 {
		t.Errorf("most = %d after two evictions at three models", c.most)
	}
	c.see(4, false)
	if c.most != 0 {
		t.Errorf("most = %d although four were seen", c.most)
	}
	c.see(3, true)
	c.see(3, true)
	if c.most != 0 {
		t.Errorf("most = %d although it has kept four: those were for memory", c.most)
	}
}

func TestCapOfARuntimeIsDoubtedAfterLongQuiet(t *testing.T) {
	var c capLearner
	c.see(2, true)
	c.see(2, true)
	for range capDoubt + 1 {
		c.see(2, false)
	}
	if c.most != 0 {
		t.Errorf("most = %d: nothing could ever show that the cap is gone", c.most)
	}
	c.see(2, true)
	if c.most != 2 {
		t.Errorf("most = %d after it showed again", c.most)
	}
}

func TestOrderToUnloadIsRecognised(t *testing.T) {
	for body, want := range map[string]bool{
		`{"model":"m","keep_alive":0}`:                true,
		`{"model":"m","prompt":"hi","keep_alive":0}`:  false,
		`{"model":"m"}`:                               false,
		`{"model":"m","keep_alive":"5m"}`:             false,
		`{"model":"m","keep_alive":0,"prompt":""}`:    true,
		`{"model":"m","keep_alive":"0","prompt":""}`:  true,
		`{"model":"m","keep_alive":"0s","prompt":""}`: true,
	} {
		q, p := dialect.Parse(dialect.OllamaGenerate, []byte(body))
		if p != nil {
			t.Fatal(p)
		}
		if unloads(q) != want {
			t.Errorf("%s: unloads = %v", body, unloads(q))
		}
	}
}
