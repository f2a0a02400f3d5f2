//go:build linux && desktop && production

package place

/*
#cgo pkg-config: gtk+-3.0
void put_in_place(void);
*/
import "C"

// Largest is the greatest width and height that a window may be given. Left to
// itself the toolkit takes the monitor's of the start, and the window could not
// grow on a larger one.
const Largest = 16000

// Height is for screens with room; Keep takes it back on others.
const Height = 740

// Keep sizes and places the window once it stands.
func Keep() { C.put_in_place() }

//export fit
func fit(x, y, width, height *C.int, whole C.int) {
	r := Fit(Size{Width, Height}, Space{Rect{int(*x), int(*y), int(*width), int(*height)}, whole != 0})
	*x, *y, *width, *height = C.int(r.X), C.int(r.Y), C.int(r.Width), C.int(r.Height)
}
