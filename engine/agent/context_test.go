package agent

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

func TestWhoWaitsForACallsEndIsToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCallContext()
		var told [5]atomic.Int32
		var stops []func() bool
		for i := range told[:4] { // two more than there is room for
			stops = append(stops, c.AfterFunc(func() { told[i].Add(1) }))
		}
		if !stops[0]() || stops[0]() {
			t.Error("the first stop keeps it from being called, the second finds nothing")
		}
		c.AfterFunc(func() { told[4].Add(1) }) // in its place
		if stops[0]() {
			t.Error("a stop must not end another's wait")
		}
		why := errors.New("why")
		c.end(why)
		c.end(nil)
		synctest.Wait()
		for i, want := range []int32{0, 1, 1, 1, 1} {
			if got := told[i].Load(); got != want {
				t.Errorf("%d was told %d times, not %d", i, got, want)
			}
		}
		if !errors.Is(context.Cause(c), why) || stops[1]() {
			t.Errorf("the cause is %v", context.Cause(c))
		}
		late := make(chan struct{})
		if c.AfterFunc(func() { close(late) })() {
			t.Error("nothing can be stopped after the end")
		}
		<-late
	})
}
