//go:build darwin || windows

package tray

import "context"

// Place is where an icon may stand. On macOS and Windows there always is one,
// in the session of a person; in others the library does nothing.
type Place struct{}

// Find finds the place for the icon.
func Find(context.Context) (Place, error) { return Place{}, nil }

// Host reports whether something shows icons there.
func (Place) Host(context.Context) bool { return true }

// Hosts tells the same until ctx ends.
func (Place) Hosts(ctx context.Context) (<-chan bool, error) {
	out := make(chan bool, 1)
	out <- true
	go func() { <-ctx.Done(); close(out) }()
	return out, nil
}

// Standing is how the icon of a process fares.
type Standing int

// The standings.
const (
	Absent Standing = iota
	Waiting
	Shown
)

// Stands says nothing of its own here: the system shows every icon.
func (Place) Stands(context.Context, int) Standing { return Shown }
