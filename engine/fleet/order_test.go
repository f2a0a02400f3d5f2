package fleet

import (
	"slices"
	"strings"
	"testing"
)

func TestNamesStandAsPeopleReadThem(t *testing.T) {
	want := []string{"", "Alpha:7b", "alpha:8b", "alpha:70b", "beta-009", "beta-9", "beta-10", "beta-109", "beta-110", "beta-110-mini", "Gamma", "gamma", "zeta-18446744073709551617", "über"}
	got := slices.Clone(want)
	slices.Sort(got)
	slices.SortFunc(got, Natural)
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func FuzzTheOrderOfNamesIsAnOrder(f *testing.F) {
	f.Add("a1", "a01", "A1")
	f.Add("a\xff2", "a\xff10", "a\xfe")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		if Natural(a, b) != -Natural(b, a) || (Natural(a, b) == 0) != (strings.Compare(a, b) == 0) {
			t.Errorf("%q and %q: %d, %d", a, b, Natural(a, b), Natural(b, a))
		}
		if Natural(a, b) < 0 && Natural(b, c) < 0 && Natural(a, c) >= 0 {
			t.Errorf("%q before %q before %q, and not the first before the last", a, b, c)
		}
	})
}
