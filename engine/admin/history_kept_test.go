package admin

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"bellwether/engine/fleet"
	"bellwether/engine/queue"
)

// sampled is a history of n samples that end at end.
func sampled(end time.Time, n int) *Past {
	p := NewPast()
	id := fleet.DeploymentID{Node: "n", Runtime: "r", Model: "m"}
	for i := range n {
		if i%7 == 3 {
			continue // a sample that was missed
		}
		p.Sample(end.Add(time.Duration(i+1-n)*HistoryStep), &fleet.Snapshot{Nodes: []fleet.Node{{Heartbeat: fleet.Heartbeat{
			Node: "n", Readings: fleet.Readings{CPU: fleet.Know(0.125), MemoryUsed: fleet.Reading[int64]{V: 9, Known: i%2 == 0}},
			Pools: []fleet.Pool{{Name: "ram", Limit: 100, Margin: 2, Free: fleet.Reading[int64]{V: 7, Known: i%2 == 0},
				Holders: []fleet.Holder{{Deployment: id, Kind: fleet.HoldResident, Bytes: fleet.Know(int64(i))}, {Deployment: id, Kind: fleet.HoldAssumed, Bytes: fleet.Know(int64(2 * i))}}}}}}}},
			&queue.Status{Lanes: []queue.LaneStatus{{Deployment: id, Running: 1, Waiting: i}}})
	}
	return p
}

var noon = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

func TestTheLastHourIsRestoredAsItWasKept(t *testing.T) {
	before := sampled(noon, 500)
	after := NewPast()
	if err := after.Restore(before.Keep(), noon.Add(3*time.Second)); err != nil {
		t.Fatal(err)
	}
	if was, is := before.History(time.Time{}), after.History(time.Time{}); !reflect.DeepEqual(was, is) {
		t.Errorf("restored:\n%+v\nwant\n%+v", is, was)
	}
	if NewPast().Keep() != nil {
		t.Error("an empty history is kept")
	}
	if err := NewPast().Restore(nil, noon); err != nil {
		t.Errorf("of a first start: %v", err)
	}
}

func TestTheTimeBetweenTwoStartsIsAGap(t *testing.T) {
	after := NewPast()
	back := noon.Add(20 * time.Minute)
	if err := after.Restore(sampled(noon, 360).Keep(), back); err != nil {
		t.Fatal(err)
	}
	id := fleet.DeploymentID{Node: "n", Runtime: "r", Model: "m"}
	after.Sample(back, &fleet.Snapshot{Nodes: []fleet.Node{{Heartbeat: fleet.Heartbeat{Node: "n", Pools: []fleet.Pool{{Name: "ram", Limit: 100,
		Holders: []fleet.Holder{{Deployment: id, Kind: fleet.HoldResident, Bytes: fleet.Know(int64(1234))}}}}}}}}, &queue.Status{})
	h := after.History(time.Time{})
	line := h.Pools["n/ram"].ResidentBytes
	if h.Samples != historySamples || !h.From.Add(359*HistoryStep).Equal(back) || line[359] == nil || *line[359] != 1234 {
		t.Fatalf("%d samples from %v", h.Samples, h.From)
	}
	for i, v := range line {
		if age := 359 - i; v != nil && age > 0 && age < 120 {
			t.Fatalf("a sample of %d steps ago, while nothing ran: %d", age, *v)
		}
	}
	if line[359-120] == nil || *line[359-120] != 359 {
		t.Error("the last sample before the stop is not where it belongs")
	}
}

func TestWhatIsTooOldOrOfTheFutureIsNotRestored(t *testing.T) {
	kept := sampled(noon, 360).Keep()
	for _, now := range []time.Time{noon.Add(-2 * time.Hour), noon.Add(2 * time.Hour), noon.Add(9000 * time.Hour)} { // a clock that was set back, too
		p := NewPast()
		if err := p.Restore(kept, now); err != nil {
			t.Error(err)
		}
		for key, line := range p.History(time.Time{}).Pools {
			for _, v := range line.ResidentBytes {
				if v != nil {
					t.Fatalf("at %v pool %s has a sample", now, key)
				}
			}
		}
	}
}

func TestADamagedOrForeignHistoryIsNotTaken(t *testing.T) {
	pack := func(text string) []byte {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, _ = z.Write([]byte(text))
		_ = z.Close()
		return b.Bytes()
	}
	kept := sampled(noon, 360).Keep()
	bent := func(change func(map[string]any)) []byte {
		h := map[string]any{}
		z, _ := gzip.NewReader(bytes.NewReader(kept))
		if err := json.NewDecoder(z).Decode(&h); err != nil {
			t.Fatal(err)
		}
		change(h)
		text, _ := json.Marshal(h)
		return pack(string(text))
	}
	flipped := bytes.Clone(kept)
	flipped[len(flipped)/2] ^= 0x40
	for what, b := range map[string][]byte{
		"text": []byte("hello"), "half": kept[:len(kept)/2], "flipped": flipped, "no json": pack("[1,2"), "other json": pack(`{"rows":[]}`),
		"other version": bent(func(h map[string]any) { h["format"] = "bellwether history 9" }),
		"other steps":   bent(func(h map[string]any) { h["step_seconds"] = 60 }),
		"no time":       bent(func(h map[string]any) { h["from"] = "0001-01-01T00:00:00Z" }),
		"crooked time":  bent(func(h map[string]any) { h["from"] = "2026-11-29T11:00:03Z" }),
		"less than none": bent(func(h map[string]any) {
			h["samples"] = -1
		}),
		"too many":     bent(func(h map[string]any) { h["samples"] = math.MaxInt32 }),
		"short lists":  bent(func(h map[string]any) { h["samples"] = 359 }),
		"lacking ones": bent(func(h map[string]any) { delete(h["pools"].(map[string]any)["n/ram"].(map[string]any), "limit_bytes") }),
		"large":        pack(strings.Repeat(" ", keptMost+10)),
	} {
		p := NewPast()
		if err := p.Restore(b, noon); err == nil || len(p.pools)+len(p.nodes) > 0 || p.last != 0 {
			t.Errorf("%s: %v, %d pools", what, err, len(p.pools))
		}
	}
}

func BenchmarkKeep50Nodes(b *testing.B) {
	p := NewPast()
	for i := range historySamples {
		snap := &fleet.Snapshot{}
		for n := range 50 {
			snap.Nodes = append(snap.Nodes, fleet.Node{Heartbeat: fleet.Heartbeat{Node: strings.Repeat("n", 16) + string(rune('A'+n)), Pools: []fleet.Pool{{Name: "unified", Limit: 1 << 36, Free: fleet.Know(int64(i * n << 22))}}}})
		}
		p.Sample(noon.Add(time.Duration(i)*HistoryStep), snap, &queue.Status{})
	}
	b.ReportAllocs()
	for b.Loop() {
		b.ReportMetric(float64(len(p.Keep())), "B/kept")
	}
}
