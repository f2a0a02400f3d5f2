package agent

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"bellwether/engine/fleet"
	"bellwether/engine/runtime"
	"bellwether/platform/sense"
)

// stuck hangs whoever comes while it is shut, whatever their context says: as a
// tool of the system that cannot be ended, or a permission dialog at night.
type stuck struct {
	shut    atomic.Bool
	release chan struct{}
	hung    atomic.Int32 // that hang now
	came    atomic.Int32
}

func (s *stuck) pass() {
	s.came.Add(1)
	if s.shut.Load() {
		s.hung.Add(1)
		<-s.release
		s.hung.Add(-1)
	}
}

// stuckTape is a runtime whose observations may hang.
type stuckTape struct {
	tape
	look *stuck
}

func (s *stuckTape) Inventory(ctx context.Context) (*runtime.Inventory, error) {
	s.look.pass()
	return s.tape.Inventory(ctx)
}

// stuckRig is an agent on such a runtime, with such senses, in a bubble of its
// own time.
type stuckRig struct {
	*Agent
	senses, look *stuck
	beats        atomic.Int32
	memory       atomic.Int64 // that the senses read
	end          func()
}

func onStuck(t *testing.T, shut bool) *stuckRig {
	t.Helper()
	r := &stuckRig{senses: &stuck{release: make(chan struct{})}, look: &stuck{release: make(chan struct{})}}
	r.senses.shut.Store(shut)
	r.memory.Store(64 * gib)
	a, err := New(Config{
		Node: node, Hardware: machine(),
		Settings: Settings{Runtimes: []runtime.Target{{Name: "tape", Kind: "tape", URL: "http://tape"}}},
		Connect: func(context.Context, runtime.Target) (runtime.Adapter, error) {
			return &stuckTape{look: r.look}, nil
		},
		Sense: func(context.Context) sense.Readings {
			read := plenty()
			read.Available.V = r.memory.Load()
			r.senses.pass()
			return read
		},
		Release: func(fleet.Released) {},
		Report:  func(fleet.Heartbeat) { r.beats.Add(1) },
	})
	if err != nil {
		t.Fatal(err)
	}
	r.Agent = a
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = a.Run(ctx) }()
	r.end = func() { cancel(); <-ended }
	return r
}

// found is the finding of an id, its text "" where there is none.
func (r *stuckRig) found(id string) (f Finding) {
	_ = r.ask(context.Background(), func(s *state) {
		for _, f = range s.checkHangs() {
			if f.ID == id {
				return
			}
		}
		f = Finding{}
	})
	return f
}

// P-37: senses that hang are told of and begun anew, and what comes back late
// changes nothing.
func TestSensesThatHangAreToldAndBegunAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := onStuck(t, false)
		time.Sleep(time.Minute)
		if f := r.found("hang.senses"); f.Text != "" {
			t.Fatalf("while they answer: %+v", f)
		}
		r.senses.shut.Store(true)
		r.memory.Store(7 * gib) // what those that hang have read
		beats := r.beats.Load()
		time.Sleep(senseBound + 2*heartbeatEvery)
		f := r.found("hang.senses")
		if f.Severity != Warning || !strings.Contains(f.Text, "have not been read since") || f.Remedy == "" {
			t.Errorf("while they hang: %+v", f)
		}
		if n := r.senses.hung.Load(); n != 2 {
			t.Errorf("%d hang; want the one given up and the next", n)
		}
		if n := r.beats.Load() - beats; n < 4 {
			t.Errorf("%d heartbeats went out meanwhile", n)
		}
		r.senses.shut.Store(false)
		r.memory.Store(33 * gib)
		time.Sleep(2*senseBound + heartbeatEvery) // the second is given up too, and the third answers
		if f := r.found("hang.senses"); f.Text != "" {
			t.Errorf("once one came back: %+v", f)
		}
		close(r.senses.release)
		synctest.Wait()
		if got := r.Heartbeat().Readings.MemoryAvailable.V; got != 33*gib {
			t.Errorf("memory %d GiB: a late result counted", got/gib)
		}
		came := r.senses.came.Load()
		time.Sleep(10 * heartbeatEvery)
		if n := r.senses.came.Load() - came; n < 9 || n > 11 {
			t.Errorf("%d looks in ten beats afterwards: the loop is doubled, or gone", n)
		}
		r.end()
	})
}

// T-10: a permission dialog at night froze the agent, and the node was offline
// for hours. What may ask never holds the heartbeat up, not even at the start.
func TestADialogAtTheFirstReadingHoldsNoHeartbeatUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := onStuck(t, true)
		time.Sleep(helloPatience + time.Minute)
		h := r.Heartbeat()
		if r.beats.Load() < 10 || h.Sequence == 0 || len(h.Deployments) != 1 || h.Readings.MemoryAvailable.Known {
			t.Errorf("%d beats, %+v", r.beats.Load(), h)
		}
		if f := r.found("hang.senses"); f.Text == "" {
			t.Error("nothing says that the senses hang")
		}
		r.senses.shut.Store(false)
		close(r.senses.release) // the owner answers the dialog in the morning
		time.Sleep(2 * time.Minute)
		if h := r.Heartbeat(); !h.Readings.MemoryAvailable.Known || len(h.Pools) == 0 {
			t.Errorf("in the morning: %+v", h.Readings)
		}
		r.end()
	})
}

// P-37 for the observations of a runtime.
func TestAnObservationThatHangsIsToldAndBegunAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := onStuck(t, false)
		time.Sleep(time.Minute)
		r.look.shut.Store(true)
		time.Sleep(pollEvery + pollTimeout + hangSlack + time.Second)
		if f := r.found("hang.runtime-tape"); f.Severity != Warning || !strings.Contains(f.Text, "tape") {
			t.Errorf("while it hangs: %+v", f)
		}
		if n := r.look.hung.Load(); n != 2 {
			t.Errorf("%d hang; want the one given up and the next", n)
		}
		r.look.shut.Store(false)
		time.Sleep(2 * (pollTimeout + hangSlack))
		if f := r.found("hang.runtime-tape"); f.Text != "" {
			t.Errorf("once one came back: %+v", f)
		}
		close(r.look.release)
		r.end()
	})
}

// What hangs keeps nobody from ending.
func TestTheAgentEndsThoughItsSensesHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := onStuck(t, false)
		time.Sleep(time.Minute)
		r.senses.shut.Store(true)
		time.Sleep(2 * heartbeatEvery)
		began := time.Now()
		r.end()
		if took := time.Since(began); took > restPatience+time.Second {
			t.Errorf("it took %s", took)
		}
		close(r.senses.release)
	})
}
