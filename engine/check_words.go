package engine

import (
	"fmt"
	"time"
)

// lasting writes a span of time as the pages do: 0.3 s, 12 s, 4 min 50 s, 3 h 10 min.
func lasting(d time.Duration) string {
	s := int64(d.Round(time.Second) / time.Second)
	switch {
	case d < time.Second:
		return fmt.Sprintf("%.1f s", max(0.1, d.Seconds()))
	case s < 60:
		return fmt.Sprintf("%d s", s)
	case s < 3600:
		return pair(s/60, "min", s%60, "s")
	}
	m := int64(d.Round(time.Minute) / time.Minute)
	return pair(m/60, "h", m%60, "min")
}

func pair(a int64, unit string, b int64, small string) string {
	if b == 0 {
		return fmt.Sprintf("%d %s", a, unit)
	}
	return fmt.Sprintf("%d %s %d %s", a, unit, b, small)
}
