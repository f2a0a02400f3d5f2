package admin

import (
	"testing"
	"time"

	"bellwether/engine/fleet"
)

// What is free on a machine is told as sensed; what the budget leaves of it apart.
func TestAPoolsFreeMemoryIsTheMachines(t *testing.T) {
	p := &fleet.Pool{Name: "unified", Total: 32e9, Limit: 5e8, Free: fleet.Know[int64](0), Sensed: fleet.Know[int64](22e9)}
	if v := poolView(&fleet.Node{}, p, time.Time{}); *v.FreeBytes != 22e9 || *v.UsableBytes != 0 {
		t.Errorf("free %d, usable %d", *v.FreeBytes, *v.UsableBytes)
	}
	p.Sensed = fleet.Reading[int64]{} // of an older version
	if v := poolView(&fleet.Node{}, p, time.Time{}); *v.FreeBytes != 0 {
		t.Errorf("free %d", *v.FreeBytes)
	}
}
