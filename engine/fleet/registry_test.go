package fleet

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

var t0 = time.Date(2026, 11, 3, 9, 0, 0, 0, time.UTC)

func at(seconds float64) time.Time { return t0.Add(time.Duration(seconds * float64(time.Second))) }

// story drives a registry with ticks every second and tells it as text.
type story struct {
	t   *testing.T
	r   *Registry
	now float64
	seq uint64
}

func newStory(t *testing.T, local string) *story {
	return &story{t: t, r: NewRegistry(local, 15*time.Second, 30*time.Second)}
}

func (s *story) report(nodes ...string) {
	for _, n := range nodes {
		s.seq++
		s.r.Report(Heartbeat{Node: n, Boot: "1", Sequence: s.seq}, at(s.now))
	}
}

// pass lets time go by in ticks, with the named nodes reporting every 5 s.
func (s *story) pass(seconds int, reporting ...string) {
	for range seconds {
		s.now++
		if int(s.now)%5 == 0 {
			s.report(reporting...)
		}
		s.r.Tick(at(s.now))
	}
}

func (s *story) want(want string) {
	s.t.Helper()
	var parts []string
	for _, n := range s.r.Snapshot().Nodes {
		parts = append(parts, n.Node+" "+n.Liveness.String())
	}
	if got := strings.Join(parts, ", "); got != want {
		s.t.Errorf("at %v s\n got %q\nwant %q", s.now, got, want)
	}
}

func TestSilentNodeIsLateAt15AndOfflineAt30Seconds(t *testing.T) {
	s := newStory(t, "a")
	s.report("a", "b", "c")
	s.pass(14, "a", "c")
	s.want("a alive, b alive, c alive")
	s.pass(1, "a", "c")
	s.want("a alive, b late, c alive")
	s.pass(14, "a", "c")
	s.want("a alive, b late, c alive")
	s.pass(1, "a", "c")
	s.want("a alive, b offline, c alive")
	s.report("b")
	s.want("a alive, b alive, c alive")
}

// if every node goes stale together, suspect yourself.
func TestWhenAllFallSilentTogetherTheLastStateIsKeptForAWhile(t *testing.T) {
	s := newStory(t, "a")
	s.report("a", "b", "c", "d")
	s.pass(44, "a")
	s.want("a alive, b alive, c alive, d alive")
	s.pass(1, "a")
	s.want("a alive, b offline, c offline, d offline")
}

func TestTwoNodesLostAtDifferentTimesAreLost(t *testing.T) {
	s := newStory(t, "a")
	s.report("a", "b", "c")
	s.pass(10, "a", "c")
	s.pass(20, "a")
	s.want("a alive, b offline, c late")
	s.pass(10, "a")
	s.want("a alive, b offline, c offline")
}

func TestTheOnlyOtherNodeSwitchedOffIsNoReasonForDoubt(t *testing.T) {
	s := newStory(t, "a")
	s.report("a", "b")
	s.pass(30, "a")
	s.want("a alive, b offline")
}

// router busy, heartbeats late.
func TestAfterItsOwnLoopWasLateItDoubtsItselfFirst(t *testing.T) {
	s := newStory(t, "a")
	s.report("a", "b", "c")
	s.pass(5, "a", "b", "c")
	s.now += 60 // frozen
	s.r.Tick(at(s.now))
	s.want("a alive, b alive, c alive")
	s.pass(14, "a", "b")
	s.want("a alive, b alive, c alive")
	s.pass(1, "a", "b")
	s.want("a alive, b alive, c offline")
}

func TestGoneNodeIsOutAtOnceUntilItReportsAgain(t *testing.T) {
	s := newStory(t, "a")
	s.report("a", "b")
	s.r.Gone("b", at(1))
	s.want("a alive, b offline")
	s.pass(3, "a")
	s.want("a alive, b offline")
	s.report("b")
	s.pass(1, "a")
	s.want("a alive, b alive")
	s.r.Forget("b", at(5))
	s.want("a alive")
}

func TestOlderReportsAreDropped(t *testing.T) {
	r := NewRegistry("a", 15*time.Second, 30*time.Second)
	say := func(boot string, seq uint64, name string) {
		r.Report(Heartbeat{Node: "a", Boot: boot, Sequence: seq, Name: name}, at(0))
	}
	want := func(name string) {
		t.Helper()
		if got := r.Snapshot().Node("a").Name; got != name {
			t.Errorf("kept %q, want %q", got, name)
		}
	}
	say("x", 7, "seven")
	say("x", 6, "six")
	want("seven")
	say("x", 7, "seven again")
	want("seven")
	say("y", 1, "after restart")
	want("after restart")
	say("x", 8, "from before the restart")
	want("after restart")
}

func TestSettledWhenAllExpectedHaveReportedOrTimeIsOver(t *testing.T) {
	s := newStory(t, "a")
	if s.r.Snapshot().Settled {
		t.Error("settled before anything was heard")
	}
	s.report("a")
	if !s.r.Snapshot().Settled {
		t.Error("not settled though the only expected member reported")
	}
	s.r.Expect([]string{"a", "b", "c"}, 3*time.Second, at(0))
	if s.r.Snapshot().Settled {
		t.Error("settled though b and c have not reported")
	}
	s.report("b")
	s.pass(2)
	if s.r.Snapshot().Settled {
		t.Error("settled though c has not reported")
	}
	s.pass(1)
	if !s.r.Snapshot().Settled {
		t.Error("not settled after 3 s")
	}
}

func TestSnapshotOfTheLocalNodeSaysSo(t *testing.T) {
	s := newStory(t, "a")
	s.report("b", "a")
	if n := s.r.Snapshot().Node("a"); n == nil || !n.Local {
		t.Error("a is not marked local")
	}
	if n := s.r.Snapshot().Node("b"); n == nil || n.Local {
		t.Error("b is marked local")
	}
}

func TestPublishedSnapshotNeverChanges(t *testing.T) {
	s := newStory(t, "a")
	s.report("a", "b", "c")
	old := s.r.Snapshot()
	before := fmt.Sprint(old.Version, old.Nodes)
	s.report("aa", "b")
	s.pass(40, "a")
	s.r.Forget("c", at(60))
	if after := fmt.Sprint(old.Version, old.Nodes); after != before {
		t.Errorf("it changed:\n%s\n%s", before, after)
	}
	if now := s.r.Snapshot().Version; now <= old.Version {
		t.Errorf("version %d after %d", now, old.Version)
	}
}

func TestQuietTickPublishesNothing(t *testing.T) {
	s := newStory(t, "a")
	s.report("a")
	v := s.r.Snapshot().Version
	s.pass(4)
	if got := s.r.Snapshot().Version; got != v {
		t.Errorf("version went from %d to %d without a change", v, got)
	}
}

func TestEveryWatcherIsToldOfChangesOnce(t *testing.T) {
	s := newStory(t, "a")
	one, two := s.r.Changed(), s.r.Changed()
	s.report("a", "b")
	for i, c := range []<-chan struct{}{one, two} {
		select {
		case <-c:
		default:
			t.Errorf("watcher %d was not told", i)
		}
		select {
		case <-c:
			t.Errorf("watcher %d was told twice", i)
		default:
		}
	}
}

func TestRegistryUnderManyReporters(t *testing.T) {
	r := NewRegistry("n0", 15*time.Second, 30*time.Second)
	var wg sync.WaitGroup
	for n := range 8 {
		wg.Go(func() {
			for i := range 200 {
				r.Report(Heartbeat{Node: fmt.Sprint("n", n), Boot: "1", Sequence: uint64(i + 1)}, at(float64(i)))
				r.Tick(at(float64(i)))
				for _, node := range r.Snapshot().Nodes {
					_ = node.Liveness
				}
			}
		})
	}
	wg.Wait()
	if got := len(r.Snapshot().Nodes); got != 8 {
		t.Errorf("%d nodes, want 8", got)
	}
}

func BenchmarkReport(b *testing.B) {
	r := NewRegistry("n00", 15*time.Second, 30*time.Second)
	var seq uint64
	for b.Loop() {
		seq++
		r.Report(Heartbeat{Node: fmt.Sprintf("n%02d", seq%50), Boot: "1", Sequence: seq}, t0)
	}
}
