//go:build linux && desktop && production

package inside

/*
#cgo pkg-config: gtk+-3.0 webkit2gtk-4.1
void keep_inside(void);
*/
import "C"

import (
	"fmt"
	"time"

	"bellwether/app/window/child"
)

// guarded is the window's, and so is what is done when its page cannot be had
// again; set once, before the web view is asked anything.
var (
	guarded      Origin
	gaveUp       func(why string)
	lossesOfPage losses
)

// Keep has the web view load nothing that is not of the window: neither a
// link that its menu opens, nor an address dropped on it, nor where a page goes
// by itself. The toolkit has no say in that, so the view itself is asked. A page
// whose process ended is loaded again, a few times a minute; then, and where a
// page never stood, giveUp is called, which ends the window.
func Keep(o Origin, giveUp func(why string)) {
	guarded, gaveUp = o, giveUp
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

//export pageLost
func pageLost(address *C.char, tooBig C.int) C.int {
	why := "the process that draws it crashed, or was killed"
	if tooBig != 0 {
		why = "the process that draws it took too much memory"
	}
	if !guarded.loadable(C.GoString(address)) {
		gaveUp(why + ", before the page stood")
		return 0
	}
	if !lossesOfPage.again(time.Now()) {
		gaveUp(fmt.Sprintf("%s, more than %d times within %s", why, againAtMost, againIn))
		return 0
	}
	_, _ = fmt.Fprintf(guarded.says, "%s%s\n", child.Lost, why)
	return 1
}
