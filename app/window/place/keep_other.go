//go:build !(linux && desktop && production)

package place

// Largest is the greatest width and height that a window may be given; 0 = the
// toolkit sets no limit, which it does on Linux alone.
const Largest = 0

// Height fits the smallest usual screens, 1366 x 768 with a bar below and
// 1280 x 800 with a menu bar and a dock, frame included.
const Height = 690

// Keep leaves the window where its system puts it.
func Keep() {}
