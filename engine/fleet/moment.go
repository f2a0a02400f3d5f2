package fleet

import "time"

// Moment is a time in words, for every text that names one: the clock of today,
// with its weekday within six days of now, with its date further off, and with
// its year in another one. It is in now's time zone.
func Moment(t, now time.Time) string {
	t = t.In(now.Location())
	day := func(t time.Time) time.Time { return time.Date(t.Year(), t.Month(), t.Day(), 12, 0, 0, 0, time.UTC) }
	switch days := day(t).Sub(day(now)).Abs() / (24 * time.Hour); {
	case days == 0:
		return t.Format("15:04")
	case days <= 6:
		return t.Format("Mon 15:04")
	case t.Year() == now.Year():
		return t.Format("2 Jan 15:04")
	}
	return t.Format("2 Jan 2006 15:04")
}
