package window

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"bellwether/app/window/child"
)

// The tests run a real child process: this very program, which behaves as a
// window would, well or badly, by the role it finds in its environment.
const (
	envRole  = "TEST_WINDOW_ROLE"
	envDiary = "TEST_WINDOW_DIARY" // a file to which it writes what happens to it
	envOwn   = "TEST_WINDOW_OWN"   // "parent": be not the window but who opens one
)

func TestMain(m *testing.M) {
	if role := os.Getenv(envRole); role != "" && os.Getenv(child.EnvURL) != "" {
		os.Exit(window(role))
	}
	if os.Getenv(envOwn) == "parent" { // asked after the role, which its window inherits
		parent()
	}
	os.Exit(m.Run())
}

// window plays the window program and returns its exit code.
func window(role string) int {
	write("pid %d", os.Getpid())
	write("url %s", os.Getenv(child.EnvURL))
	kind, rest, _ := strings.Cut(role, " ")
	code, _ := strconv.Atoi(rest)
	switch kind {
	case "silent": // never has a page, and hears nothing
		select {}
	case "exit": // ends with a code before it has a page
		fmt.Fprintln(os.Stderr, "Overriding existing handler for signal 10. Set JSC_SIGNAL_FOR_GC if you want")
		fmt.Fprintln(os.Stderr, "the last words of the window")
		return code
	case "panic":
		fmt.Fprintln(os.Stderr, "panic: failed to init GTK\n\ngoroutine 1 [running]:\nmain.main()\n\t/some/file.go:12 +0x1d")
		return 2
	}
	fmt.Println("something else first")
	fmt.Println(child.Ready)
	if kind == "leads" { // a link out of it was clicked, and another page stands
		fmt.Println(child.Outside + "https://example.com/a?b=c")
		fmt.Println(child.Ready)
	}
	if kind == "loses" { // its page went away, and it has it again
		fmt.Println(child.Lost + "its process crashed")
		fmt.Println(child.Ready)
	}
	if kind == "dies" { // shortly after its page stood
		fmt.Fprintln(os.Stderr, "the web process crashed")
		return code
	}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		write("%s", lines.Text())
		if kind == "hangs" {
			continue
		}
		fmt.Println(child.Shown)
		if kind == "closes" { // its user closes it when it is raised
			return child.Closed
		}
	}
	write("end")
	if kind == "deaf" {
		select {}
	}
	return child.Closed
}

func write(format string, args ...any) {
	f, err := os.OpenFile(os.Getenv(envDiary), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, _ = fmt.Fprintf(f, format+"\n", args...)
		_ = f.Close()
	}
}

// parent opens a window and then does nothing until it is killed.
func parent() {
	w := New(Options{Program: os.Args[0], Log: slog.New(slog.DiscardHandler),
		Link:        func(context.Context) (string, error) { return "http://localhost:1/x", nil },
		OpenBrowser: func(string) error { return io.EOF }})
	if err := w.Open(context.Background()); err != nil {
		fmt.Println("no window:", err)
		os.Exit(1)
	}
	fmt.Println("open")
	select {}
}

// diary reads what happened to the windows of a test.
type diary string

func (d diary) lines() []string {
	b, _ := os.ReadFile(string(d))
	return strings.Split(strings.TrimSpace(string(b)), "\n")
}

func (d diary) count(line string) (n int) {
	for _, l := range d.lines() {
		if l == line {
			n++
		}
	}
	return n
}

func (d diary) pids() (pids []int) {
	for _, l := range d.lines() {
		if s, ok := strings.CutPrefix(l, "pid "); ok {
			n, _ := strconv.Atoi(s)
			pids = append(pids, n)
		}
	}
	return pids
}

// until waits for a thing that another process does.
func until(t *testing.T, what string, so func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	end := time.After(20 * time.Second)
	for !so() {
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("%s: not within 20 s", what)
		}
	}
}
