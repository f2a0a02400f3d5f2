package desk

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// tally is an owner that counts, without a lock: the race detector sees any
// two who have the turn at once.
type tally struct {
	desk *Desk[int]
	seen []int
	due  time.Time
	at   []time.Time // of its ticks
}

func (o *tally) Handle(m int) {
	o.seen = append(o.seen, m)
	switch {
	case m == 100:
		o.desk.Post(101) // owners may post
	case m < 0:
		o.due = time.Now().Add(time.Duration(-m) * time.Second)
	}
}

func (o *tally) Tick()          { o.at, o.due = append(o.at, time.Now()), time.Time{} }
func (o *tally) Due() time.Time { return o.due }

func newTally() *tally {
	o := &tally{}
	o.desk = New[int](o, time.Now)
	return o
}

// run runs a desk; stop ends it, and from then on the test has the turn.
func run(o *tally) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		o.desk.Run(ctx, nil)
		close(ended)
	}()
	return func() {
		cancel()
		<-ended
	}
}

func TestMessagesAreKeptUntilRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newTally()
		o.desk.Post(1)
		o.desk.Post(100)
		if len(o.seen) > 0 {
			t.Fatalf("handled before Run: %v", o.seen)
		}
		stop := run(o)
		synctest.Wait()
		stop()
		if len(o.seen) != 3 || o.seen[2] != 101 {
			t.Errorf("got %v", o.seen)
		}
	})
}

func TestThePosterHandlesItsMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newTally()
		stop := run(o)
		synctest.Wait() // it sleeps, and gave the turn back
		o.desk.Post(100)
		if len(o.seen) != 2 {
			t.Errorf("after Post: %v", o.seen)
		}
		stop()
	})
}

func TestTicksComeWhenDueAndNotBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newTally()
		stop := run(o)
		synctest.Wait()
		began := time.Now()
		o.desk.Post(-60)
		o.desk.Post(-5) // sooner than what the timer is set to
		time.Sleep(10 * time.Second)
		o.desk.Post(-3)
		time.Sleep(10 * time.Second)
		stop()
		if len(o.at) != 2 || o.at[0].Sub(began) != 5*time.Second || o.at[1].Sub(began) != 13*time.Second {
			t.Errorf("got ticks at %v after %v", o.at, began)
		}
	})
}

func TestEveryMessageIsHandledOnceAndInOrder(t *testing.T) {
	const posters, each = 8, 2000
	o := newTally()
	stop := run(o)
	var group sync.WaitGroup
	for p := range posters {
		group.Go(func() {
			for i := range each {
				o.desk.Post(1000 + p*each + i)
			}
		})
	}
	group.Wait()
	stop()
	if len(o.seen) != posters*each {
		t.Fatalf("%d messages of %d", len(o.seen), posters*each)
	}
	last := map[int]int{}
	for _, m := range o.seen {
		p, i := (m-1000)/each, (m-1000)%each
		if i != last[p] {
			t.Fatalf("of poster %d came %d, not %d", p, i, last[p])
		}
		last[p]++
	}
}

func TestRunEndsWhenItIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newTally()
		go func() {
			time.Sleep(time.Minute)
			o.desk.Post(1)
			o.desk.Post(2)
		}()
		o.desk.Run(context.Background(), func() bool { return len(o.seen) == 2 })
		o.desk.Post(7)
		if len(o.seen) != 2 {
			t.Errorf("handled without the turn: %v", o.seen)
		}
		if rest := o.desk.Close(); len(rest) != 1 || o.desk.Post(8) {
			t.Errorf("after Close: %v", rest)
		}
	})
}
