package gateway

import (
	"strconv"
	"testing"
)

func TestClassifiersAnswersAreRememberedLatestFirst(t *testing.T) {
	var c taskCache
	for i := range tasksKept {
		c.put(strconv.Itoa(i), "math")
	}
	c.get("0") // looked at: the oldest is now 1
	c.put("new", "coding")
	for key, want := range map[string]bool{"0": true, "1": false, "2": true, "new": true} {
		if _, ok := c.get(key); ok != want {
			t.Errorf("%s is kept: %v, want %v", key, ok, want)
		}
	}
	if len(c.at) != tasksKept || c.order.Len() != tasksKept {
		t.Errorf("%d and %d are kept, want %d", len(c.at), c.order.Len(), tasksKept)
	}
}
