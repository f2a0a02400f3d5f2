package admin

import "time"

// ptr makes a value that may be absent one that is there.
func ptr[T any](v T) *T { return &v }

// known is a value whose zero means that it is not known.
func known[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

// moment is a time whose zero means none, to the millisecond.
func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return ptr(t.UTC().Truncate(time.Millisecond))
}

// list is never null in JSON.
func list[T any](v []T) []T {
	if v == nil {
		return []T{}
	}
	return v
}
