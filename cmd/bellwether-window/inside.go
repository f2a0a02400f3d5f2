package main

import (
	"fmt"
	"io"
	"net/url"
	"strings"

	"bellwether/app/window/child"
)

// inside is what the window itself may show: the address it was opened at, and
// what else is of its origin. All other web is the browser's.
type inside struct {
	home *url.URL
	says io.Writer
}

// insideOf makes one for an address that isWebAddress.
func insideOf(address string, says io.Writer) inside {
	u, err := url.Parse(address)
	if err != nil {
		u = &url.URL{} // of no origin: nothing may be shown
	}
	return inside{u, says}
}

// startScheme is that of the window's own first page.
const startScheme = "wails"

// may reports whether an address is to be loaded here.
func (i inside) may(address string) bool {
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
	return i.home.Host != "" && u.Scheme == i.home.Scheme && u.Host == i.home.Host
}

// turnedAway hands what may not be loaded here to the parent, if somebody
// wanted to see it: a page by itself opens nothing.
func (i inside) turnedAway(address string, wanted bool) {
	u, err := url.Parse(address)
	if !wanted || err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return
	}
	_, _ = fmt.Fprintf(i.says, "%s%s\n", child.Outside, u) // a URL has no line's end in it
}
