package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// runTask builds bellwether and serves, or runs the desktop app. It is built to
// a file first, not run by `go run`, so that Ctrl-C reaches it and its exit
// code reaches us.
func runTask(ctx context.Context, args []string) error {
	dir, err := os.MkdirTemp("", "bellwether-run")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	fmt.Println("Building ...")
	uiIfAtHand(ctx)
	if err := goBuild(ctx, dir, "./cmd/bellwether"); err != nil {
		return err
	}
	args = serveArgs(args)
	if args[0] == "app" { // serve has no window to open
		windowIfAtHand(ctx, dir)
	}
	fmt.Println("Apps find it at http://localhost:11435 unless its first lines say otherwise. Ctrl-C ends it.")
	cmd := command(ctx, filepath.Join(dir, exe("bellwether")), args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err = cmd.Run()
	if ctx.Err() != nil {
		return nil // ended by Ctrl-C, as asked
	}
	return err
}

// serveArgs are the program's arguments for those of the task: those of serve,
// unless they begin with app, the same with an icon in the bar. A leading --,
// which many write out of habit to end the task's own flags, is left out.
func serveArgs(args []string) []string {
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) > 0 && args[0] == "app" {
		return args
	}
	return append([]string{"serve"}, args...)
}
