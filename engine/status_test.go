package engine

import (
	"testing"

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
