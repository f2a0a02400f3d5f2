package main

import (
	"context"
	"fmt"
	"os"
)

// benchTask reads the tasks of labelled requests, runs the Go benchmarks and
// the live comparison; an argument chooses one of them.
func benchTask(ctx context.Context, args []string) error {
	only := ""
	if len(args) > 0 {
		only = args[0]
	}
	if only != "" && only != "go" && only != "live" && only != "tasks" {
		return fmt.Errorf("bench %s: there are go, live and tasks", only)
	}
	if only == "" || only == "tasks" {
		headline(os.Stdout, "tasks read from labelled requests")
		if err := benchTasks(os.Stdout); err != nil || only == "tasks" {
			return err
		}
	}
	if only != "live" {
		headline(os.Stdout, "Go benchmarks")
		if err := sh(ctx, nil, "go", "test", "-run=^$", "-bench=.", "-benchmem", "-benchtime=0.5s", "-p=1", "./..."); err != nil {
			return err
		}
	}
	if only == "go" {
		return nil
	}
	headline(os.Stdout, "live comparison")
	return benchLive(ctx, os.Stdout)
}
