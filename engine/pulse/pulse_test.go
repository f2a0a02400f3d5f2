package pulse

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func at(second int) time.Time { return time.Unix(1_000_000+int64(second), 0) }

// P-37: a hung worker stopped the state for ever.
func TestARoundThatHangsIsGivenUpAndTheNextBegun(t *testing.T) {
	r := Round{Bound: 10 * time.Second}
	first, ok := r.Begin(at(0))
	if !ok {
		t.Fatal("the first was not begun")
	}
	if _, ok := r.Begin(at(9)); ok {
		t.Error("two at once")
	}
	if !r.Hung(at(9)).IsZero() || !r.Hung(at(10)).Equal(at(0)) || !r.Due().Equal(at(10)) {
		t.Errorf("hung %v and %v, due %v", r.Hung(at(9)), r.Hung(at(10)), r.Due())
	}
	second, ok := r.Begin(at(10))
	if !ok || second == first {
		t.Fatal("the next was not begun")
	}
	if r.End(first) {
		t.Error("the result of one given up was taken")
	}
	if _, ok := r.Begin(at(29)); ok {
		t.Error("the second has twice the time")
	}
	third, ok := r.Begin(at(30))
	if !ok || !r.Hung(at(31)).Equal(at(0)) {
		t.Errorf("third %v, hung since %v", ok, r.Hung(at(31)))
	}
	if !r.End(third) || r.End(third) || r.Under() || !r.Hung(at(40)).IsZero() {
		t.Error("its return did not end the trouble, or twice")
	}
	if _, ok := r.Begin(at(41)); !ok || !r.Due().Equal(at(51)) {
		t.Errorf("afterwards: %v, due %v", ok, r.Due())
	}
}

func TestRoundsThatHangForEverLeaveOneAnHourBehind(t *testing.T) {
	r := Round{Bound: 10 * time.Second}
	begun := 0
	for s := range 24 * 3600 {
		if _, ok := r.Begin(at(s)); ok {
			begun++
		}
	}
	if begun > 24+10 {
		t.Errorf("%d were begun in a day", begun)
	}
}

// worker is a loop like the product's: whoever pings waits for its turn.
type worker struct {
	in   chan func()
	stop chan struct{}
}

func newWorker() *worker {
	w := &worker{in: make(chan func()), stop: make(chan struct{})}
	go func() {
		for {
			select {
			case f := <-w.in:
				f()
			case <-w.stop:
				return
			}
		}
	}()
	return w
}

func (w *worker) ping() {
	done := make(chan struct{})
	w.in <- func() { close(done) }
	<-done
}

// P-37, with loops that really hang.
func TestALoopThatHangsIsToldAndItsReturnToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		good, bad := newWorker(), newWorker()
		var mu sync.Mutex
		var told [][]Hang
		w := NewWatch([]Loop{{Name: "good", Ping: good.ping}, {Name: "bad", Ping: bad.ping, Bound: 20 * time.Second}}, slog.New(slog.DiscardHandler), func(hung []Hang) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, hung)
		})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); w.Run(ctx) }()
		time.Sleep(time.Minute)
		if hung := w.Hung(); hung != nil {
			t.Fatalf("at first: %v", hung)
		}
		release := make(chan struct{})
		began := time.Now()
		bad.in <- func() { <-release }
		time.Sleep(19 * time.Second)
		if hung := w.Hung(); hung != nil {
			t.Errorf("too early: %v", hung)
		}
		time.Sleep(time.Minute)
		hung := w.Hung()
		if len(hung) != 1 || hung[0].Name != "bad" || hung[0].Since.Sub(began).Abs() > time.Second {
			t.Errorf("hung: %v, since %v", hung, began)
		}
		close(release)
		synctest.Wait()
		if hung := w.Hung(); hung != nil {
			t.Errorf("after its return: %v", hung)
		}
		mu.Lock()
		defer mu.Unlock()
		if len(told) != 2 || len(told[0]) != 1 || told[1] != nil {
			t.Errorf("told %v, want once of each", told)
		}
		stop()
		<-ended
		close(good.stop)
		close(bad.stop)
	})
}

func TestALookThatIsLateItselfSuspectsNobody(t *testing.T) {
	release := make(chan struct{})
	w := NewWatch([]Loop{{Name: "loop", Ping: func() { <-release }}}, slog.New(slog.DiscardHandler), nil)
	w.look(at(0), false)
	w.look(at(3600), true) // the machine slept
	if hung := w.Hung(); hung != nil {
		t.Errorf("after sleep: %v", hung)
	}
	w.look(at(3629), false)
	w.look(at(3630), false)
	if hung := w.Hung(); !slices.Equal(hung, []Hang{{"loop", at(3600)}}) {
		t.Errorf("then: %v", hung)
	}
	close(release)
}

func TestWaitLeavesWhatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g sync.WaitGroup
		release := make(chan struct{})
		g.Go(func() { <-release })
		if Wait(&g, time.Second) {
			t.Error("it waited for what hangs")
		}
		close(release)
		if !Wait(&g, time.Second) {
			t.Error("it did not wait for what ends")
		}
	})
}
