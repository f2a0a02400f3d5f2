package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
)

// goTests runs Go tests and counts them. It prints one line a package, and the
// whole output of what failed.
func (s *suite) goTests(ctx context.Context, flags []string, packages ...string) error {
	args := append(append([]string{"test", "-json"}, flags...), packages...)
	cmd := command(ctx, "go", args...)
	cmd.Stderr = os.Stderr // build trouble of the tool itself
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	c := newTestCount(s, os.Stdout)
	if err := c.read(out); err != nil {
		return err
	}
	failed := c.failed
	if err := cmd.Wait(); err != nil && failed == 0 {
		return fmt.Errorf("go test: %w", err) // it could not even run
	}
	if failed > 0 {
		return fmt.Errorf("%w: %d", errTestsFailed, failed)
	}
	return nil
}

// testEvent is one line of `go test -json`.
type testEvent struct {
	Action      string
	Package     string
	ImportPath  string // of build output
	Test        string
	Output      string
	Elapsed     float64
	FailedBuild string
}

// testCount follows the events of one run.
type testCount struct {
	suite  *suite
	out    io.Writer
	said   map[string][]string // output by "package test", "package " or "build package"
	failed int
	broken map[string]bool // packages with a failed test
}

func newTestCount(s *suite, out io.Writer) *testCount {
	return &testCount{suite: s, out: out, said: map[string][]string{}, broken: map[string]bool{}}
}

func (c *testCount) read(from io.Reader) error {
	lines := bufio.NewReader(from)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			c.line(line)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (c *testCount) line(line string) {
	var e testEvent
	if json.Unmarshal([]byte(line), &e) != nil {
		fmt.Fprint(c.out, line) // not one of its events: pass on
		return
	}
	key := e.Package + " " + e.Test
	switch e.Action {
	case "output":
		c.said[key] = append(c.said[key], e.Output)
	case "build-output":
		c.said["build "+e.ImportPath] = append(c.said["build "+e.ImportPath], e.Output)
	case "pass", "fail", "skip":
		c.end(e, key)
	}
}

// end counts a test, or closes a package.
func (c *testCount) end(e testEvent, key string) {
	defer delete(c.said, key)
	switch {
	case e.Test == "":
		c.endPackage(e)
	case e.Action == "pass":
		c.suite.passed++
	case e.Action == "skip":
		c.suite.skipped++
	default:
		c.fail()
		c.broken[e.Package] = true
		fmt.Fprintf(c.out, "FAIL %s %s\n%s", e.Package, e.Test, strings.Join(c.said[key], ""))
	}
}

func (c *testCount) endPackage(e testEvent) {
	switch {
	case e.FailedBuild != "":
		c.fail()
		fmt.Fprintf(c.out, "FAIL %s does not build\n%s", e.Package, strings.Join(c.said["build "+e.FailedBuild], ""))
	case e.Action == "fail":
		said := strings.Join(c.said[e.Package+" "], "")
		fmt.Fprintf(c.out, "FAIL %s (%.1f s)\n%s", e.Package, e.Elapsed, said)
		if !c.broken[e.Package] { // by itself: a leak, a race or a timeout after its tests
			c.fail()
		}
	case e.Action == "skip":
		fmt.Fprintf(c.out, "-    %s has no tests\n", e.Package)
	default:
		fmt.Fprintf(c.out, "ok   %s (%.1f s)\n", e.Package, e.Elapsed)
	}
}

func (c *testCount) fail() {
	c.failed++
	c.suite.failed++
}
