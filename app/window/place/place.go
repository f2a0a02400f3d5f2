// Package place puts the window where its screen has room for it. The decision
// is pure; asking GTK and carrying it out are Linux' alone, for the toolkit
// looks at whole monitors there, panels included.
package place

// Width is what the window has where there is room for it, in points; Height is
// each system's.
const Width = 1180

// Size is that of a window without its frame, in the screen's own points.
type Size struct{ Width, Height int }

// Rect is a part of the screen, in the screen's own points; its corner is the
// upper left one.
type Rect struct{ X, Y, Width, Height int }

// Space is what the window's monitor has to offer.
type Space struct {
	Work Rect // without panels and bars
	// Whole says that Work may hold panels none the less: Wayland tells no
	// program of them.
	Whole bool
}

// titleBar is the height that a window manager's frame takes at most, and bars
// what panels take where nobody says, both in points.
const (
	titleBar = 48
	bars     = 64
)

// Fit is the window's size and the corner of its frame: of the wanted size
// where there is room, in the middle of the space.
func Fit(want Size, s Space) Rect {
	room := Size{s.Work.Width, s.Work.Height - titleBar}
	if s.Whole {
		room.Height -= bars
	}
	r := Rect{Width: min(want.Width, room.Width), Height: min(want.Height, room.Height)}
	r.X = s.Work.X + (s.Work.Width-r.Width)/2
	r.Y = s.Work.Y + (s.Work.Height-r.Height-titleBar)/2
	return r
}
