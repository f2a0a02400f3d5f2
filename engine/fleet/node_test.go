package fleet

import "testing"

// A name that would mean either of two machines means none.
func TestNodesAreCalledByNameUnlessThatMeansSeveral(t *testing.T) {
	node := func(id, name string) Node { return Node{Heartbeat: Heartbeat{Node: id, Name: name}} }
	s := &Snapshot{Nodes: []Node{node("n1", "studio"), node("n2", "Attic"), node("n3", "attic"), node("n4", ""), node("n5", "n1")}}
	for id, want := range map[string]string{"n1": "studio", "n2": "n2", "n3": "n3", "n4": "n4", "n5": "n5", "gone": "gone"} {
		if got := s.NameOf(id); got != want {
			t.Errorf("%s is called %q, want %q", id, got, want)
		}
	}
	if got := s.Called(DeploymentID{Node: "n1", Runtime: "ollama", Model: "a/b:1"}); got != "studio/ollama/a/b:1" {
		t.Errorf("called %q", got)
	}
}
