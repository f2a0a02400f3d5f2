package fleet

import (
	"testing"
	"time"
)

func TestAMomentSaysItsDayUnlessItIsToday(t *testing.T) {
	zone := time.FixedZone("there", 2*3600)
	now := time.Date(2026, 11, 30, 23, 0, 0, 0, zone) // a Monday
	for _, c := range []struct {
		at   time.Time
		want string
	}{
		{now.Add(30 * time.Minute), "23:30"},
		{now.Add(-23 * time.Hour), "00:00"},
		{now.Add(time.Hour), "Tue 00:00"},
		{now.Add(100 * time.Hour), "Sat 03:00"},
		{now.Add(-24 * time.Hour), "Sun 23:00"},
		{now.AddDate(0, 0, 6), "Sun 23:00"},
		{now.AddDate(0, 0, 7), "7 Dec 23:00"},
		{now.AddDate(0, 2, 0), "30 Jan 2027 23:00"},
		{now.Add(30 * time.Minute).UTC(), "23:30"},
	} {
		if got := Moment(c.at, now); got != c.want {
			t.Errorf("%v is %q, want %q", c.at, got, c.want)
		}
	}
}
