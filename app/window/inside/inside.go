// Package inside keeps the window to its own origin and its page in it: what
// it may show, and, on Linux, the web view's question whether it may go
// somewhere and its word that the process behind the page is gone.
package inside

import (
	"fmt"
	"io"
	"net/url"
	"strings"

	"bellwether/app/window/child"
)

// Origin is what the window itself may show: the address it was opened at, and
// what else is of its origin. All other web is the browser's.
type Origin struct {
	home *url.URL
	says io.Writer
}

// Of makes one for the http address a window is opened at. What it turns away
// is told by a line each in says.
func Of(address string, says io.Writer) Origin {
	u, err := url.Parse(address)
	if err != nil {
		u = &url.URL{} // of no origin: nothing may be shown
	}
	return Origin{u, says}
}

// startScheme is that of the window's own first page.
const startScheme = "wails"

// may reports whether an address is to be loaded here.
func (o Origin) may(address string) bool {
	u, err := url.Parse(strings.TrimPrefix(address, "blob:")) // what a page made is of the page's origin
	if err != nil {
		return false
	}
	switch u.Scheme {
	case startScheme:
		return true
	case "about": // a frame without an address
		return u.Opaque == "blank" || u.Opaque == "srcdoc"
	}
	return o.owns(u)
}

func (o Origin) owns(u *url.URL) bool {
	return o.home.Host != "" && u.Scheme == o.home.Scheme && u.Host == o.home.Host
}

// turnedAway hands what may not be loaded here to the parent, if somebody
// wanted to see it: a page by itself opens nothing.
func (o Origin) turnedAway(address string, wanted bool) {
	u, err := url.Parse(address)
	if !wanted || err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return
	}
	_, _ = fmt.Fprintf(o.says, "%s%s\n", child.Outside, u) // a URL has no line's end in it
}
