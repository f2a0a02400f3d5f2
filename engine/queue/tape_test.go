package queue

import (
	"testing"
	"time"
)

func TestTapeKeepsABurstAndThenTwoASecond(t *testing.T) {
	var p tape
	now := time.Now()
	count := func(n int) (kept int) {
		for range n {
			if p.takes(now) {
				kept++
			}
		}
		return kept
	}
	if got := count(100); got != 20 {
		t.Errorf("%d of the first hundred at once, want 20", got)
	}
	now = now.Add(time.Second)
	if got := count(100); got != 2 {
		t.Errorf("%d a second later, want 2", got)
	}
	now = now.Add(time.Hour)
	if got := count(100); got != 20 {
		t.Errorf("%d after an hour, want 20", got)
	}
}
