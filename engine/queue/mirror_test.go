package queue

import (
	"testing"
	"time"

	"bellwether/engine/fleet"
)

// decide and reserve in one step.
func TestTwoGrantsInARowNeverTakeTheSameMemory(t *testing.T) {
	x := newFx(t, machine("studio", onDisk("a", 1), onDisk("b", 1), onDisk("c", 1)))
	x.submit("a", "a")
	x.submit("b", "b")
	x.submit("c", "c") // 11.5 GB each, 30 GB to take: two fit
	x.want("grant a studio; grant b studio; held c")
	x.use("a", "b")
	x.pass(10 * time.Second)
	x.want("")
	pools := x.d.view.Fleet.Nodes[0].Pools
	if held := pools[0].Held(); held <= 22*gb {
		t.Errorf("the mirror shows %d held", held)
	}
	if free := pools[0].Free.V; free > 8*gb {
		t.Errorf("the mirror shows %d free", free)
	}
}

func TestALateHeartbeatErasesNoGrant(t *testing.T) {
	studio := machine("studio", onDisk("a", 1), onDisk("b", 1), onDisk("c", 1))
	x := newFx(t, studio)
	x.submit("a", "a")
	x.submit("b", "b")
	x.use("a", "b")
	x.report(studio) // sent before the grants arrived: includes none
	x.submit("c", "c")
	x.want("grant a studio; grant b studio; held c")
	studio.IncludesGrant = 2
	studio.Pools[0].Holders = []fleet.Holder{{Deployment: x.grants["a"].Deployment, Kind: fleet.HoldReserved, Bytes: fleet.Know(9 * gb)}}
	x.report(studio) // includes b's sequence, but b is nowhere: the claim stands
	if n := len(x.d.nodes["studio"].claims); n != 1 {
		t.Errorf("%d claims, want b's", n)
	}
}

func TestClaimEndsWithTheReportThatShowsIt(t *testing.T) {
	studio := machine("studio", onDisk("a", 1), onDisk("b", 1))
	x := newFx(t, studio)
	x.submit("a", "a")
	x.use("a")
	studio.IncludesGrant = 1
	studio.Pools[0].Holders = []fleet.Holder{{Deployment: x.grants["a"].Deployment, Kind: fleet.HoldReserved, Bytes: fleet.Know(11 * gb)}}
	x.report(studio)
	if n := len(x.d.nodes["studio"].claims); n != 0 {
		t.Errorf("%d claims left though the node shows it", n)
	}
	x.release("a")
	x.complete("a")
	x.wantEmpty()
}

func TestModelBeingLoadedIsNotLoadedTwice(t *testing.T) {
	x := newFx(t, machine("studio", onDisk("a", 2)))
	x.submit("a1", "a")
	x.submit("a2", "a")
	x.submit("a3", "a")
	x.want("grant a1 studio; grant a2 studio")
	if !x.grants["a1"].Load || x.grants["a2"].Load {
		t.Errorf("load: first %v, second %v; want the first only", x.grants["a1"].Load, x.grants["a2"].Load)
	}
	if left := x.d.view.Lanes[x.grants["a1"].Deployment].LoadRemaining; left <= 0 {
		t.Errorf("the view shows %v left of the load", left)
	}
	x.pass(time.Second)
	x.d.refreshView()
	if left := x.d.view.Lanes[x.grants["a1"].Deployment].LoadRemaining; left <= 5*time.Second || left >= 6*time.Second { // 11.5 GB at 2 GB/s
		t.Errorf("a second later the view shows %v left", left)
	}
}

func TestAbandonedLoadGivesItsMemoryBack(t *testing.T) {
	x := newFx(t, machine("studio", onDisk("a", 1), onDisk("b", 1), onDisk("c", 1)))
	x.submit("a", "a")
	x.submit("b", "b")
	x.submit("c", "c")
	x.abandon("a")
	x.want("grant a studio; grant b studio; held c; done a client_disconnected client gone; grant c studio")
}

// a model that answers is not evicted for another one.
func TestHeldForMemoryRunsWhenTheVictimFallsIdle(t *testing.T) {
	studio := machine("studio", loaded("a", 1), loaded("b", 1), loaded("c", 1), onDisk("d", 1))
	x := newFx(t, studio)
	for _, n := range []string{"a", "b", "c"} {
		x.submit(n, n)
		x.use(n)
	}
	x.submit("d", "d")
	x.want("grant a studio; grant b studio; grant c studio; held d")
	x.release("b")
	x.complete("b")
	x.want("grant d studio; done b ok")
	g := x.grants["d"]
	if !g.Load || len(g.Evict) == 0 {
		t.Fatalf("grant %+v, want a load with victims", g)
	}
	for _, victim := range g.Evict {
		if victim.Model == "a" {
			t.Error("the busy model is a victim")
		}
	}
	x.submit("victim", g.Evict[0].Model)
	x.want("held victim") // it leaves: nothing more is given to it
}
