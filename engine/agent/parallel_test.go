package agent

import (
	"testing"
	"time"

	"bellwether/engine/dialect"
)

// served simulates a runtime that works on slots calls at once, in order of
// arrival, and returns what each call shows when it has ended.
func served(base time.Time, slots int, arrive []time.Duration, busy time.Duration, streamed bool) []workShown {
	free := make([]time.Duration, slots)
	var out []workShown
	for _, at := range arrive {
		first := 0
		for i := range free {
			if free[i] < free[first] {
				first = i
			}
		}
		from := max(at, free[first])
		free[first] = from + busy
		w := workShown{sent: base.Add(at), end: base.Add(from + busy), times: &dialect.Timings{Prefill: busy / 4, Decode: busy - busy/4}}
		if streamed {
			w.content = base.Add(from + busy/4)
		}
		out = append(out, w)
	}
	return out
}

func TestOverlapOfFinishedCallsIsWhatTheRuntimeRunsAtOnce(t *testing.T) {
	base := time.Now()
	burst := make([]time.Duration, 12)
	var steady []time.Duration
	for i := range 40 {
		steady = append(steady, time.Duration(i)*150*time.Millisecond)
	}
	for name, c := range map[string]struct {
		slots    int
		arrive   []time.Duration
		most     int
		anyWaits bool
	}{
		"a burst on one slot":      {1, burst, 1, true},
		"a burst on two slots":     {2, burst, 2, true},
		"a burst on three slots":   {3, burst, 3, true},
		"steady, slots to spare":   {8, steady, 7, false}, // a second each, seven a second
		"steady, staggered on two": {2, steady, 2, true},
		"one by one":               {4, []time.Duration{0, 2 * time.Second, 4 * time.Second}, 1, false},
	} {
		for _, streamed := range []bool{true, false} {
			var p parallel
			most, waits := 0, 0
			for _, w := range served(base, c.slots, c.arrive, time.Second, streamed) {
				s, waited, ok := w.span()
				if !ok {
					t.Fatalf("%s: a call says nothing", name)
				}
				most = max(most, p.add(s, nil))
				if waited {
					waits++
				}
			}
			if most != c.most || waits > 0 != c.anyWaits {
				t.Errorf("%s, streamed %v: %d at once, %d waited; want %d, any %v", name, streamed, most, waits, c.most, c.anyWaits)
			}
		}
	}
}

func TestCallUnderWayCounts(t *testing.T) {
	base := time.Now()
	long := span{base, base.Add(time.Minute)}
	var p parallel
	if n := p.add(span{base.Add(time.Second), base.Add(2 * time.Second)}, []span{long}); n != 2 {
		t.Errorf("%d at once beside a long stream, want 2", n)
	}
}

func TestCallsThatShowNothingTeachNothing(t *testing.T) {
	base := time.Now()
	at := func(s float64) time.Time { return base.Add(time.Duration(s * float64(time.Second))) }
	second := &dialect.Timings{Prefill: 200 * time.Millisecond, Decode: 800 * time.Millisecond}
	for name, c := range map[string]struct {
		w          workShown
		ok, waited bool
	}{
		"no times":                     {workShown{sent: base, end: at(1)}, false, false},
		"too short":                    {workShown{sent: base, end: at(3), times: &dialect.Timings{Decode: time.Millisecond}}, false, false},
		"a slow reader":                {workShown{sent: base, content: at(0.2), end: at(3), times: second}, false, false},
		"content held back":            {workShown{sent: base, content: at(0.9), end: at(1), times: second}, true, false},
		"it waited":                    {workShown{sent: base, content: at(2.2), end: at(3), times: second}, true, true},
		"it was loaded in the runtime": {workShown{sent: base, content: at(2.2), end: at(3), times: &dialect.Timings{Load: 2 * time.Second, Prefill: second.Prefill, Decode: second.Decode}}, true, false},
	} {
		if _, waited, ok := c.w.span(); ok != c.ok || waited != c.waited {
			t.Errorf("%s: waited %v, ok %v", name, waited, ok)
		}
	}
}
