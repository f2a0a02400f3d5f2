package main

import (
	"bufio"
	"io"
	"strings"

	"bellwether/app/window/child"
)

// follow does what the parent says until there is no parent any more, and then
// quits. It is the reading goroutine's whole life.
func follow(orders io.Reader, raise, quit func()) {
	lines := bufio.NewScanner(orders)
	for lines.Scan() {
		if strings.TrimSpace(lines.Text()) == child.Show {
			raise()
		}
	}
	quit()
}
