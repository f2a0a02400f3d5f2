package main

import "testing"

// A busy spell is collected seldom, an idle process as Go does it, and between
// the two memory is given back once.
func TestHeapHasRoomWhileBusyAndGivesItBackAfter(t *testing.T) {
	const mb = 1 << 20
	var h heapRoom
	allocated := uint64(500 * mb)
	look := func(more, live uint64) (int, bool) {
		allocated += more
		return h.look(allocated, live)
	}
	if percent, release := look(0, 10*mb); percent != 0 || release {
		t.Fatalf("the first look has nothing to compare with, got %d, %v", percent, release)
	}
	if percent, release := look(mb, 10*mb); percent != 0 || release {
		t.Fatalf("an idle process is left alone, got %d, %v", percent, release)
	}
	for live, want := range map[uint64]int{0: 1000, mb: 1000, 16 * mb: 400, 20 * mb: 320, 500 * mb: 200} {
		if percent, release := look(100*mb, live); percent != want || release {
			t.Errorf("busy with %d MB alive: %d, %v; want %d", live/mb, percent, release, want)
		}
	}
	for i := range heapQuiet - 1 {
		if percent, release := look(mb, 10*mb); percent != 0 || release {
			t.Fatalf("quiet look %d: %d, %v", i, percent, release)
		}
	}
	look(heapBusy, 10*mb) // the spell goes on
	released := 0
	for range 3 * heapQuiet {
		percent, release := look(mb, 10*mb)
		if release {
			released++
		}
		if percent != 0 && (percent != heapIdle || !release) {
			t.Errorf("after the spell: %d, %v", percent, release)
		}
	}
	if released != 1 {
		t.Errorf("memory was given back %d times after one spell", released)
	}
}
