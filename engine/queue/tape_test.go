package queue

import (
	"fmt"
	"testing"
	"time"

	"bellwether/engine/fleet"
)

func TestTapeKeepsABurstByTheFleetsSizeAndThenTwoASecond(t *testing.T) {
	for deployments, burst := range map[int]int{1: 100, 40: 100, 200: 20, 201: 0} {
		var p tape
		now := time.Now()
		count := func(n int) (kept int) {
			for range n {
				if p.takes(now, deployments) {
					kept++
				}
			}
			return kept
		}
		if got := count(500); got != burst {
			t.Errorf("%d deployments: %d of the first five hundred at once, want %d", deployments, got, burst)
		}
		now = now.Add(time.Second)
		if got := count(100); got != min(2, burst) {
			t.Errorf("%d deployments: %d a second later, want 2", deployments, got)
		}
		now = now.Add(time.Hour)
		if got := count(500); got != burst {
			t.Errorf("%d deployments: %d after an hour, want %d", deployments, got, burst)
		}
	}
}

func TestAFloodOfServedRequestsLeavesTheScenariosOfFailuresKept(t *testing.T) {
	x := newFx(t, machine("studio", loaded("qwen3", 500)), machine("tower", loaded("qwen3", 500)))
	kept := func(name string) bool { return x.tickets[name].decision.Scenario != "" }
	last := ""
	for i := range 300 {
		last = fmt.Sprint("r", i)
		x.submit(last, "qwen3")
	}
	if !kept("r0") || !kept("r99") || kept(last) {
		t.Errorf("of a flood the first hundred are kept: %v %v %v", kept("r0"), kept("r99"), kept(last))
	}
	x.use(last)
	x.retry(last, fleet.FailBeforeOpen)
	if !kept(last) {
		t.Error("a request that failed somewhere is not kept")
	}
	x.submit("nobody", "no-such-model")
	if !kept("nobody") {
		t.Error("a request that nobody can serve is not kept")
	}
}
