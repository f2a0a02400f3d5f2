package agent

import "testing"

// A small budget makes none of the machine's memory disappear.
func TestFreeMemoryIsToldAsSensedAndAsTheBudgetLeavesIt(t *testing.T) {
	set := onOllama(ollama(t, "small"))
	set.Pools = poolOf(gib / 2)
	p := start(t, set).Heartbeat().Pools[0]
	if p.Limit != gib/2 || !p.Sensed.Known || p.Sensed.V != 60*gib || !p.Free.Known || p.Free.V != gib/2 {
		t.Errorf("limit %d, sensed %+v, free of it %+v", p.Limit, p.Sensed, p.Free)
	}
}
