package admin

import (
	"testing"
	"time"

	"bellwether/engine/fleet"
	"bellwether/engine/queue"
)

func TestTheLastHourIsKeptInSamples(t *testing.T) {
	p := NewPast()
	if h := p.History(time.Time{}); h.Samples != 0 || len(h.Pools) != 0 {
		t.Errorf("of nothing: %+v", h)
	}
	start := time.Unix(1_800_000_000, 0).UTC()
	id := fleet.DeploymentID{Node: "n", Runtime: "r", Model: "m"}
	at := func(i int) time.Time { return start.Add(time.Duration(i) * HistoryStep) }
	for i := range 500 {
		if i == 490 {
			continue // a sample that was missed
		}
		snap := &fleet.Snapshot{Nodes: []fleet.Node{{Heartbeat: fleet.Heartbeat{Node: "n", Readings: fleet.Readings{CPU: fleet.Know(0.5)},
			Pools: []fleet.Pool{{Name: "ram", Limit: 100, Margin: 2, Free: fleet.Reading[int64]{V: 7, Known: i%2 == 0}, Holders: []fleet.Holder{{Deployment: id, Kind: fleet.HoldResident, Bytes: fleet.Know(int64(i))}}}}}}}}
		if i >= 495 {
			snap.Nodes[0].Liveness = fleet.Offline
		}
		p.Sample(at(i), snap, &queue.Status{Lanes: []queue.LaneStatus{{Deployment: id, Running: 1, Waiting: 2}}})
	}
	h := p.History(time.Time{})
	pool, node := h.Pools["n/ram"], h.Nodes["n"]
	if h.Samples != historySamples || !h.From.Equal(at(500-historySamples)) || h.StepSeconds != 10 || len(pool.ResidentBytes) != historySamples {
		t.Fatalf("%d samples from %v", h.Samples, h.From)
	}
	last := func(i int) int { return historySamples - 500 + i }
	if *pool.ResidentBytes[last(489)] != 489 || pool.ResidentBytes[last(490)] != nil || *pool.ResidentBytes[last(491)] != 491 || pool.ResidentBytes[last(497)] != nil {
		t.Error("the samples do not stand where they belong")
	}
	if pool.FreeBytes[last(489)] != nil || *pool.FreeBytes[last(488)] != 7 || *pool.LimitBytes[0] != 100 || *node.CPUPercent[0] != 50 || node.MemoryUsedBytes[0] != nil ||
		*node.RunningRequests[0] != 1 || *node.WaitingRequests[0] != 2 || node.WaitingRequests[last(490)] != nil {
		t.Errorf("pool %v node %v", pool.FreeBytes[last(488)], node)
	}
	if h := p.History(at(480)); h.Samples != 20 || !h.From.Equal(at(480)) {
		t.Errorf("since: %d from %v", h.Samples, h.From)
	}
	if h := p.History(at(600)); h.Samples != 0 {
		t.Errorf("of the future: %d", h.Samples)
	}
	for i := 500; i < 500+2*historySamples; i++ {
		p.Sample(at(i), &fleet.Snapshot{}, &queue.Status{})
	}
	if len(p.pools)+len(p.nodes) != 0 {
		t.Error("a machine that is long gone is kept")
	}
}
