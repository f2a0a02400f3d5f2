// Command build runs the project's tasks: go run ./build TASK. Each task is a
// file of plain Go; together they need nothing but Go, and Node where client
// libraries or the UI are concerned.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
)

// Task is one thing to do.
type Task struct {
	Name string
	Args string // what may follow the name, for the list
	Doc  string
	Run  func(ctx context.Context, args []string) error
}

// tasks in the order of the list that `go run ./build` prints.
func tasks() []Task {
	return []Task{
		{"run", "[app] [FLAGS]", "build bellwether and serve on this machine; with app, with icon and window", runTask},
		{"demo", "[app]", "three stand-in runtimes, one bellwether, and what to try; with app, with icon and window; Ctrl-C ends all", demoTask},
		{"test", "", "everything a change must pass, from a bare checkout", testTask},
		{"check", "", "the quick part of test: what changed, and builds for three systems", checkTask},
		{"bench", "[live|go|tasks]", "tasks of labelled requests, Go benchmarks, then the live comparison with the bare runtime and a bare proxy", benchTask},
		{"ui", "", "build the admin UI", uiTask},
		{"window", "[FOLDER]", "build the admin UI's window into bin, or a folder", windowTask},
		{"desktop", "", "the part of test that needs a desktop: the tray in a panel that nobody sees", desktopTask},
		{"screen", "", "the part of test that needs a screen: the window on one that nobody sees", screenTask},
		{"packaged", "", "the part of test that makes packages: Linux's, installed into a folder", packagedTask},
		{"classify", "train DIR LEARN [MEASURE...]", "train the model that tells tasks apart, from open sets in a folder", classifyTask},
		{"catalogue", "PRIORS.csv", "make the catalogue's priors from a table of published scores", catalogueTask},
		{"package", "[FLAGS]", "make the packages of a release in dist: deb, rpm, tar.gz, Windows setup, macOS app; --help for flags", packageTask},
		{"soak", "[--for TIME]", "long fuzzing, repeated race tests, clients against a real runtime", soakTask},
	}
}

func main() { os.Exit(start(os.Args[1:])) }

func start(args []string) int {
	if len(args) == 3 && args[0] == bareProxyTask { // a process of the bench, no task for people
		return report(bareProxy(args[1], args[2]))
	}
	if len(args) == 3 && args[0] == windowHolderTask { // one of the window's tests
		return report(holdWindow(args[1], args[2]))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := toModuleRoot(); err != nil {
		return report(err)
	}
	if len(args) > 0 {
		for _, t := range tasks() {
			if t.Name == args[0] {
				return report(t.Run(ctx, args[1:]))
			}
		}
	}
	usage(os.Stderr)
	return 2
}

func usage(w io.Writer) {
	fmt.Fprintln(w, "usage: go run ./build TASK")
	for _, t := range tasks() {
		fmt.Fprintf(w, "  %-24s %s\n", t.Name+" "+t.Args, t.Doc)
	}
}

func report(err error) int {
	if err == nil {
		return 0
	}
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// toModuleRoot goes to the folder of go.mod, so that tasks work from anywhere
// in the project.
func toModuleRoot() error {
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return os.Chdir(dir)
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return fmt.Errorf("no go.mod here or above: run this inside the project")
		}
		dir = parent
	}
}
