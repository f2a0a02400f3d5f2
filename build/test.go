package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// testTask is what a change must pass. It goes on after a failure, so that one
// run tells all, and ends with the number of tests passed and failed.
func testTask(ctx context.Context, _ []string) error {
	s := &suite{began: time.Now()}
	s.step("what the tests need", func() error { return prepare(ctx, s) })
	s.step("format", func() error { return checkFormat(ctx) })
	s.step("vet", func() error { return vet(ctx) })
	s.step("staticcheck", func() error { return sh(ctx, nil, "go", "tool", "staticcheck", "./...") })
	s.step("Go tests", func() error { return s.goTests(ctx, s.raceFlags(), "./...") })
	s.step("client libraries", func() error { return s.clientTests(ctx) })
	s.step("admin UI", func() error { return s.uiTests(ctx) })
	s.step("admin UI in a browser", func() error { return s.browserTests(ctx) })
	s.step("builds for other systems", func() error { return buildEverywhere(ctx) })
	s.step("window on a screen", func() error { return s.windowTests(ctx) })
	s.step("tray on a desktop", func() error { return s.desktopTests(ctx) })
	s.step("packages", func() error { return s.packageTests(ctx) })
	return s.summary()
}

// suite counts what passed and failed over all steps.
type suite struct {
	began          time.Time
	passed, failed int
	skipped        int
	steps          []stepResult
	noRace         bool
}

type stepResult struct {
	name string
	took time.Duration
	err  error
}

// step runs one step and notes its end. A step that fails by itself, not by
// tests it counted, counts as one failure.
func (s *suite) step(name string, run func() error) {
	headline(os.Stdout, "%s", name)
	began := time.Now()
	err := run()
	if err != nil {
		fmt.Println(err)
		if !errors.Is(err, errTestsFailed) {
			s.failed++
		}
	}
	s.steps = append(s.steps, stepResult{name, time.Since(began), err})
}

// try runs one test of a step, and counts it.
func (s *suite) try(name string, run func() error) error {
	began := time.Now()
	if err := run(); err != nil {
		s.failed++
		fmt.Printf("FAIL %s: %v\n", name, err)
		return errTestsFailed
	}
	s.passed++
	fmt.Printf("ok   %s (%.1f s)\n", name, time.Since(began).Seconds())
	return nil
}

// errTestsFailed says that tests failed which are counted already.
var errTestsFailed = errors.New("tests failed")

// summary prints how each step ended; its last line is the count.
func (s *suite) summary() error {
	headline(os.Stdout, "summary")
	for _, r := range s.steps {
		state := "ok"
		if r.err != nil {
			state = "FAILED"
		}
		fmt.Printf("%-7s %-22s %6.1f s\n", state, r.name, r.took.Seconds())
	}
	fmt.Printf("in %s, %d skipped\n", time.Since(s.began).Round(time.Second), s.skipped)
	fmt.Printf("%d passed, %d failed\n", s.passed, s.failed)
	if s.failed > 0 {
		os.Exit(1) // the count stays the last line
	}
	return nil
}

// raceFlags are the flags of a whole test run: with the race detector where a
// C compiler is at hand, which it needs on Linux and Windows.
func (s *suite) raceFlags() []string {
	flags := []string{"-count=1", "-timeout=10m", "-p=2"}
	if s.noRace {
		return flags
	}
	return append(flags, "-race")
}

// checkFormat lists the files that gofmt would change.
func checkFormat(ctx context.Context) error {
	files, err := goFiles(ctx)
	if err != nil {
		return err
	}
	wrong, err := output(ctx, "gofmt", append([]string{"-l"}, files...)...)
	if err != nil {
		return err
	}
	if wrong != "" {
		return fmt.Errorf("not formatted (gofmt -w would do it):\n%s", wrong)
	}
	fmt.Println(len(files), "files")
	return nil
}

// goFiles lists the project's own Go files.
func goFiles(ctx context.Context) ([]string, error) {
	if has("git") && exists(".git") {
		list, err := output(ctx, "git", "ls-files", "--cached", "--others", "--exclude-standard", "*.go")
		if err == nil {
			var files []string
			for f := range strings.Lines(list) {
				if f = strings.TrimSpace(f); exists(f) {
					files = append(files, f)
				}
			}
			return files, nil
		}
	}
	var files []string
	err := filepath.WalkDir(".", func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() && (d.Name() == "node_modules" || len(d.Name()) > 1 && d.Name()[0] == '.') {
			return filepath.SkipDir
		}
		if strings.HasSuffix(path, ".go") {
			files = append(files, path)
		}
		return err
	})
	return files, err
}

// systems are the three that the product runs on.
var systems = []string{"linux", "darwin", "windows"}

// vet looks at the code as each system compiles it, tests included.
func vet(ctx context.Context) error {
	var wrong []error
	for _, goos := range systems {
		fmt.Println("go vet for", goos)
		wrong = append(wrong, sh(ctx, []string{"GOOS=" + goos, "CGO_ENABLED=0"}, "go", "vet", "./..."))
	}
	return errors.Join(wrong...)
}
