package engine

import (
	"testing"
	"time"

	"bellwether/engine/queue"
)

func TestHeldUntilIsWhenTheFirstIsGivenUp(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 3, 9, 30, 0, 0, time.UTC)
	if at := heldUntil(nil, now); at != nil {
		t.Errorf("none is held, and until %v", at)
	}
	held := []queue.HeldStatus{{Request: "a", Left: 20 * time.Second}, {Request: "b", Left: 8400 * time.Millisecond}}
	if at := heldUntil(held, now); at == nil || !at.Equal(now.Add(8*time.Second)) {
		t.Errorf("until %v", at)
	}
}
