//go:build linux && desktop && production

package inside

/*
#cgo pkg-config: gtk+-3.0 webkit2gtk-4.1
void keep_inside(void);
*/
import "C"

// guarded is the window's; set once, before the web view is asked anything.
var guarded Origin

// Keep has the web view load nothing that is not of the window: neither a
// link that its menu opens, nor an address dropped on it, nor where a page goes
// by itself. The toolkit has no say in that, so the view itself is asked.
func Keep(o Origin) {
	guarded = o
	C.keep_inside()
}

//export mayLoad
func mayLoad(address *C.char, wanted C.int) C.int {
	uri := C.GoString(address)
	if guarded.may(uri) {
		return 1
	}
	guarded.turnedAway(uri, wanted != 0)
	return 0
}
