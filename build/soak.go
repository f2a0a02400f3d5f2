package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// soakTask takes the time that a change cannot: each fuzz test for a while,
// all race tests several times, the client libraries against a real runtime
// where one is found, the admin UI under the load of a large fleet, the Windows
// setup, and all packages twice.
func soakTask(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("soak", flag.ContinueOnError)
	each := flags.Duration("for", time.Minute, "time for each fuzz test")
	rounds := flags.Int("rounds", 5, "runs of all tests")
	live := flags.Bool("live", false, "only the clients against a real runtime")
	ui := flags.Bool("ui", false, "only the admin UI under load")
	windows := flags.Bool("windows", false, "only the Windows setup under Wine")
	packages := flags.Bool("packages", false, "only the packages, made twice and compared")
	if err := flags.Parse(args); err != nil {
		return err
	}
	s := &suite{began: time.Now()}
	s.step("what the tests need", func() error { return prepare(ctx, s) })
	if *live {
		s.step("clients against a real runtime", func() error { return s.liveClients(ctx) })
		return s.summary()
	}
	if *ui {
		s.step("admin UI under load", func() error { return s.browserSoak(ctx) })
		return s.summary()
	}
	if *windows {
		s.step("Windows setup under Wine", func() error { return s.wineTests(ctx) })
		return s.summary()
	}
	if *packages {
		s.step("packages made twice", func() error { return s.samePackages(ctx) })
		return s.summary()
	}
	s.step("fuzzing", func() error { return s.fuzz(ctx, *each) })
	s.step("all tests, again and again", func() error {
		flags := append(s.raceFlags(), fmt.Sprintf("-count=%d", *rounds), "-timeout=2h")
		return s.goTests(ctx, flags, "./...")
	})
	s.step("clients against a real runtime", func() error { return s.liveClients(ctx) })
	s.step("admin UI under load", func() error { return s.browserSoak(ctx) })
	s.step("Windows setup under Wine", func() error { return s.wineTests(ctx) })
	s.step("packages made twice", func() error { return s.samePackages(ctx) })
	return s.summary()
}

// fuzz runs every fuzz test by itself, which is how go test wants it. Inputs
// are made smaller for a second only: by default a minute goes into each, in
// which nothing new is tried.
func (s *suite) fuzz(ctx context.Context, each time.Duration) error {
	files, err := goFiles(ctx)
	if err != nil {
		return err
	}
	var wrong []error
	for _, f := range files {
		if !strings.HasSuffix(f, "_test.go") {
			continue
		}
		text, err := os.ReadFile(f)
		if err != nil {
			return err
		}
		for _, name := range fuzzTests(string(text)) {
			pkg := "./" + filepath.ToSlash(filepath.Dir(f))
			fmt.Printf("%s %s\n", pkg, name)
			err := sh(ctx, nil, "go", "test", "-run=^$", "-fuzz=^"+name+"$", "-fuzztime="+each.String(), "-fuzzminimizetime=1s", pkg)
			if err == nil {
				s.passed++
			}
			wrong = append(wrong, err)
		}
	}
	return errors.Join(wrong...)
}

// fuzzTests lists the fuzz tests of a test file.
func fuzzTests(text string) []string {
	var names []string
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, "func Fuzz"); ok {
			name, _, _ := strings.Cut(rest, "(")
			names = append(names, "Fuzz"+name)
		}
	}
	return names
}
