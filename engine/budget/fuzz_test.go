package budget

import (
	"testing"
	"time"
)

// A save file may come from a crashed disk: it is refused or taken whole, and
// never brings the agent down.
func FuzzImport(f *testing.F) {
	l := newLedger(40, 2)
	l.Claim("g1", asks("a", 8))
	l.Sent("g1", t0)
	l.Claim("g2", asks("b", 8, "a"))
	l.Hold("g1", time.Minute, t0)
	seed, _ := l.Export(t0)
	f.Add(seed)
	f.Add([]byte(`{"version":1,"entries":[{"deployment":"n/r/m","reserved":[{"key":"k","need":{"shares":null}}]},{"deployment":"n/r/o","reserved":[{"key":"k","sent":true,"need":{"shares":[{"pool":"unified","bytes":{"v":-1,"known":true}}]}}]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		l := newLedger(40, 2)
		if l.Import(data, t0) != nil {
			return
		}
		l.Recover(time.Minute, t0)
		l.Admit(asks("a", 8, "b"))
		l.Expire(t0.Add(time.Hour))
		if _, err := l.Export(t0); err != nil {
			t.Fatal(err)
		}
		l.Pools(t0)
	})
}
