package engine

import (
	"testing"
	"time"
)

func TestSpansAreWrittenAsThePagesDo(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0.1 s", 300 * time.Millisecond: "0.3 s", time.Second: "1 s", 12 * time.Second: "12 s", 59*time.Second + 900*time.Millisecond: "1 min",
		290 * time.Second: "4 min 50 s", time.Minute: "1 min", time.Hour: "1 h", 190 * time.Minute: "3 h 10 min",
	} {
		if got := lasting(d); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
}
