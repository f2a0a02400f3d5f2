package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// clientTests runs the vendors' client libraries against a real bellwether
// over real stand-in runtimes.
func (s *suite) clientTests(ctx context.Context) error {
	if !exists(filepath.Join(clientsDir, "package.json")) {
		fmt.Println("none yet")
		return nil
	}
	dir, err := os.MkdirTemp("", "bellwether-clients")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := goBuild(ctx, dir, "./cmd/bellwether", "./cmd/fakeruntime"); err != nil {
		return err
	}
	return s.nodeTests(ctx, clientsDir, "*.test.js", 2*time.Minute,
		"BELLWETHER="+filepath.Join(dir, exe("bellwether")),
		"FAKERUNTIME="+filepath.Join(dir, exe("fakeruntime")))
}

// nodeTests runs the files of a folder that match a pattern, each for at most
// a time, and counts their tests.
func (s *suite) nodeTests(ctx context.Context, dir, pattern string, each time.Duration, env ...string) error {
	files, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil {
		return err
	}
	args := []string{"--test", "--test-concurrency=1", "--test-reporter=spec", fmt.Sprintf("--test-timeout=%d", each.Milliseconds())}
	for _, f := range files {
		args = append(args, filepath.Base(f))
	}
	cmd := command(ctx, "node", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	counts, err := readNodeSummary(io.TeeReader(out, os.Stdout))
	if err != nil {
		return err
	}
	err = cmd.Wait()
	s.passed += counts["pass"]
	s.failed += counts["fail"] + counts["cancelled"]
	s.skipped += counts["skipped"]
	switch {
	case counts["fail"]+counts["cancelled"] > 0:
		return fmt.Errorf("%w: %d", errTestsFailed, counts["fail"]+counts["cancelled"])
	case err != nil:
		return fmt.Errorf("node: %w", err)
	case counts["pass"] == 0:
		return errors.New("node ran no test")
	}
	return nil
}

// nodeCount is a line of the summary at the end: "ℹ pass 41".
var nodeCount = regexp.MustCompile(`^(?:\x1b\[\d+m)?\S+ (pass|fail|cancelled|skipped) (\d+)`)

func readNodeSummary(from io.Reader) (map[string]int, error) {
	counts := map[string]int{}
	lines := bufio.NewReader(from)
	for {
		line, err := lines.ReadString('\n')
		if m := nodeCount.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
			counts[m[1]], _ = strconv.Atoi(m[2])
		}
		if err == io.EOF {
			return counts, nil
		}
		if err != nil {
			return nil, err
		}
	}
}
