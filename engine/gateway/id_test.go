package gateway

import (
	"regexp"
	"testing"
	"time"
)

func TestRequestIDsSortAsTheRequestsCameAndDiffer(t *testing.T) {
	shape := regexp.MustCompile(`^[0-9a-f]{32}$`)
	seen := map[string]bool{}
	last := ""
	for n := range 1000 {
		now := time.UnixMilli(1772366400000 + int64(n)*977)
		a, b := newID(now), newID(now)
		if !shape.MatchString(a) || a <= last || b <= last {
			t.Fatalf("%q or %q after %q", a, b, last)
		}
		if seen[a] || seen[b] || a == b {
			t.Fatalf("%q or %q came twice", a, b)
		}
		seen[a], seen[b] = true, true
		last = max(a, b)
	}
}
