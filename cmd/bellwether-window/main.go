// Command bellwether-window is the admin UI's window: a child process of
// bellwether, in which a system's own web view shows the pages that bellwether
// serves. It holds no state and needs none of its parent's code.
package main

import (
	"os"

	"bellwether/app/window/child"
)

func main() { os.Exit(child.NoWindow) }
