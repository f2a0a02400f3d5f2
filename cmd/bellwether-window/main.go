// Command bellwether-window is the admin UI's window: a child process of
// bellwether, in which a system's own web view shows the pages that bellwether
// serves. It holds no state and none of its parent's code.
//
//	BELLWETHER_URL   what to show: a one-time link
//	standard input   "show" raises the window, its end quits
//	standard output  "ready" with every page that stands; "outside URL" for
//	                 one that the browser is to show
//	exit code        see package child
//
// Without the tags desktop and production it is a stub that says so, built by
// `go build ./...` on a machine without any toolkit; `go run ./build window`
// builds the real one.
package main

import (
	"fmt"
	"net/url"
	"os"
	"runtime"

	"bellwether/app/window/child"
)

// version is set by release builds: -ldflags "-X main.version=1.2.3".
var version = "0.1.0-dev"

func main() { os.Exit(run()) }

func run() int {
	if len(os.Args) == 2 && os.Args[1] == "--version" {
		// Says in one word whether it can show anything, which tests of a release ask.
		fmt.Println("bellwether-window", version, kind)
		return child.Closed
	}
	address := os.Getenv(child.EnvURL)
	_ = os.Unsetenv(child.EnvURL) // the web view's own processes need not know it
	if !isWebAddress(address) {
		fmt.Fprintf(os.Stderr, "bellwether-window is started by bellwether: choose Open admin window in its tray menu, or run bellwether open. (%s holds no web address.)\n", child.EnvURL)
		return child.WrongUse
	}
	if child.DisplayMissing(runtime.GOOS, os.Getenv) {
		fmt.Fprintln(os.Stderr, "there is no display: neither DISPLAY nor WAYLAND_DISPLAY is set")
		return child.NoDisplay
	}
	return show(address, os.Stdin, os.Stdout)
}

// isWebAddress reports whether an address is one that bellwether would serve.
func isWebAddress(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Scheme == "http" && u.Host != ""
}
