package engine

import (
	"testing"

	"bellwether/engine/admin"
	"bellwether/engine/evidence"
	"bellwether/engine/fleet"
	"bellwether/engine/queue"
	"bellwether/engine/store"
)

// Records wait in memory first, so a full disk need not have lost any yet.
func TestDoctorSaysWhatHelpsAStoreThatCannotWrite(t *testing.T) {
	f := storeFinding(store.Health{Reason: "the disk that holds the data folder is full", Remedy: "free some space; writing goes on by itself"})
	if want := "Decision records are not being written (0 lost so far): the disk that holds the data folder is full."; f.Text != want {
		t.Errorf("text %q", f.Text)
	}
	if want := "free some space; writing goes on by itself. Requests are served all the same."; f.Remedy != want {
		t.Errorf("remedy %q", f.Remedy)
	}
}

// What a runtime had loaded before it went down is not shown as if it served.
func TestModelsOfARuntimeThatIsDownSaySo(t *testing.T) {
	e := &Engine{evidence: evidence.NewLedger()}
	id := fleet.DeploymentID{Node: "n", Runtime: "ollama", Model: "m"}
	n := fleet.Node{Heartbeat: fleet.Heartbeat{
		Runtimes:    []fleet.RuntimeState{{Name: "ollama", Reason: "connection refused"}},
		Deployments: []fleet.Deployment{{ID: id, Residency: fleet.Loaded}},
	}}
	for _, up := range []bool{false, true} {
		n.Runtimes[0].Up = up
		s := &admin.Status{}
		e.addNode(s, &n, nil)
		if got := s.Runtimes[0].Models[0].Degraded != ""; got == up {
			t.Errorf("runtime up %v: marked %v", up, got)
		}
	}
}

// The heartbeat is of before the requests came: 0 running, 10 waiting told of one
// machine two moments.
func TestRunningAndWaitingAreOfOneMoment(t *testing.T) {
	e := &Engine{evidence: evidence.NewLedger()}
	id := fleet.DeploymentID{Node: "n", Runtime: "ollama", Model: "m"}
	n := fleet.Node{Heartbeat: fleet.Heartbeat{
		Runtimes:    []fleet.RuntimeState{{Name: "ollama", Up: true}},
		Deployments: []fleet.Deployment{{ID: id}},
	}}
	s := &admin.Status{}
	e.addNode(s, &n, map[fleet.DeploymentID]queue.LaneStatus{id: {Deployment: id, Running: 2, Waiting: 10}})
	if m := s.Runtimes[0].Models[0]; m.Running != 2 || m.Waiting != 10 {
		t.Errorf("%d running, %d waiting, want 2 and 10", m.Running, m.Waiting)
	}
}
