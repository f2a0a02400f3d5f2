//go:build !(desktop && production)

package main

import (
	"fmt"
	"io"
	"os"

	"bellwether/app/window/child"
)

const kind = "stub"

// show says that this build has no window in it.
func show(string, io.Reader, io.Writer) int {
	fmt.Fprintln(os.Stderr, "this bellwether-window was built without a window; go run ./build window builds one")
	return child.NoWindow
}

// Used by the real window only, and kept compiled and tested everywhere.
var _, _ = start, follow
